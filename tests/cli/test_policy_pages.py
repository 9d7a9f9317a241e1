"""docs/policies/: a page for each policy of the examples, as `policy check --report` writes it.

To write them again: `pytest tests/cli/test_policy_pages.py -m landing --rewrite`.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from joinproto.__main__ import main
from joinproto.cli.reports.policy import HARMS
from tests.needs import need

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = Path("docs") / "examples" / "policies"
PAGES = ROOT / "docs" / "policies"

POLICIES = {
    "highest-seqno": ("highest-seqno", "--all-answer"),
    "flag-first": ("flag_first.py", "--ask", "may-i-start"),
    "ordinal-0": ("ordinal_0", "--all-answer"),
    "last-in-list": ("last_in_list.py", "--all-answer"),
    "wait-for-all": ("wait_for_all.py", "--ask", "choose-founder"),
    "openstack-helm": ("openstack_helm.py",),
    "fuel-ocf": ("fuel_ocf.py",),
    "pick": ("pick",),
}


@pytest.mark.landing
@pytest.mark.parametrize("name", POLICIES)
def test_each_policy_of_the_examples_has_its_present_page(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rewrite: bool
) -> None:
    shutil.copytree(ROOT / EXAMPLES, tmp_path / EXAMPLES)
    monkeypatch.chdir(tmp_path)
    policy, *words = POLICIES[name]
    if name == "highest-seqno":
        need("jq")
    if name == "ordinal-0":
        need("gcc")
        subprocess.run(["gcc", "-o", EXAMPLES / policy, EXAMPLES / f"{policy}.c"], check=True)
    target = policy if policy == "pick" else str(EXAMPLES / policy)

    code = main(["policy", "check", target, *words, "--report", "page.md"])

    made = Path("page.md").read_text("utf-8")
    assert code == (0 if policy == "pick" else 1)
    if rewrite:
        (PAGES / f"{name}.md").write_text(made, "utf-8")
    assert made == (PAGES / f"{name}.md").read_text("utf-8")


def test_a_page_has_the_rule_its_run_and_advice(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    rule = ROOT / EXAMPLES / "openstack_helm.py"

    main(["policy", "check", str(rule), "--report", str(page)])

    text = page.read_text("utf-8")
    assert rule.read_text("utf-8").strip() in text
    assert "**A run of 3 steps defeats it** on `galera`" in text
    assert "3. the policy, asked for a founder while c does not answer: a" in text
    assert HARMS["one cluster serves"] in text
    assert "Wait while a node is in `unknown`" in text.partition("## What to write instead")[2]
    assert text.endswith(f"Checked by `joinproto policy check {rule}`.\n")
