"""`tools/torture`: a short storm passes; with a rule left out it fails and says why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tools.faults.clients import Ledger
from tools.faults.node import main as node
from tools.faults.nodes import ROOT
from tools.faults.register import KINDS as REGISTER_KINDS
from tools.faults.storm import KINDS
from tools.faults.storm_node import compare
from tools.torture import main

OWN = ("clock", "shutdown")
SPACES = pytest.mark.needs("ip", "unshare", "network namespaces")


def torture(*words: str) -> tuple[int, Any]:
    """Return the exit code and the output."""
    done = subprocess.run(
        [str(ROOT / "tools" / "torture"), "--json", "--quiet", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.soak("nodes")
@pytest.mark.parametrize("network", ["proxy", pytest.param("namespaces", marks=SPACES)])
def test_a_short_storm_breaks_no_claim(network: str) -> None:
    """With faults of several kinds and clients all the time, no acknowledged frame is lost."""
    code, found = torture("--minutes", "0.4", "--seed", "4", "--network", network)

    assert (0, "holds", []) == (code, found["result"], found["problems"])
    assert network == found["network"]
    assert {*KINDS, *OWN} == set(found["faults"])
    assert sum(found["faults"].values()) >= 3
    assert found["writes"]["acknowledged"] > 10
    assert "holds" == found["validate"]["result"]
    assert found["validate"]["committed"] >= found["writes"]["acknowledged"]


@pytest.mark.soak("nodes")
@pytest.mark.needs("etcd")
def test_two_members_whose_views_a_register_chooses_lose_no_frame() -> None:
    """Join protocol, 3.7: the register is killed, hung and cut off, too."""
    code, found = torture("--minutes", "0.5", "--seed", "4", "--register", "etcd")

    assert (0, "holds", []) == (code, found["result"], found["problems"])
    assert (2, "etcd") == (found["members"], found["register"])
    assert {*KINDS, *OWN, *REGISTER_KINDS} == set(found["faults"])
    assert sum(found["faults"].values()) >= 3
    assert found["writes"]["acknowledged"] > 10


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--members", "2"), "needs --register"),
        (("--register", "etcd", "--network", "namespaces"), "--network proxy"),
        (("--system", "standby", "--register", "etcd"), "not for standby"),
        (("--system", "clusterer", "--mutant", "minority"), "older-wins"),
    ],
)
def test_options_that_fit_no_storm_are_refused(words: tuple[str, ...], says: str) -> None:
    done = CliRunner().invoke(main, words)

    assert 2 == done.exit_code
    assert says in done.output


@pytest.mark.soak("nodes")
@pytest.mark.parametrize(
    ("mutant", "says"),
    [
        ("acknowledge-by-majority", "acknowledged_is_committed"),
        ("held-not-persisted", "persist.record.held"),
    ],
)
def test_a_storm_with_a_mutant_fails_and_reports_why(
    mutant: str, says: str, tmp_path: Path
) -> None:
    code, found = torture(
        *("--minutes", "0.2", "--seed", "4", "--mutant", mutant),
        *("--network", "proxy", "--out", str(tmp_path / "out")),
    )

    assert (1, "violated") == (code, found["result"])
    assert any(says in problem for problem in found["problems"])
    assert (tmp_path / "out" / "events").is_dir()


def test_a_network_of_namespaces_needs_its_tools(tmp_path: Path) -> None:
    """The error names the missing tools, and `--network proxy`."""
    done = CliRunner().invoke(main, ["--network", "namespaces"], env={"PATH": str(tmp_path)})

    assert 4 == done.exit_code
    assert "not installed: ip, unshare, nsenter" in done.output
    assert "--network proxy" in done.output


def test_a_mutant_that_no_storm_finds_is_refused() -> None:
    done = CliRunner().invoke(main, ["--mutant", "tip-is-data"])

    assert 2 == done.exit_code
    assert "held-not-persisted" in done.output


def test_a_rule_that_does_not_exist_cannot_be_left_out() -> None:
    done = CliRunner().invoke(node, ["--mutant", "none"])

    assert 2 == done.exit_code
    assert "'none' is not one of" in done.output


def test_a_node_without_a_rule_starts_like_any_other_node(tmp_path: Path) -> None:
    """The arguments after the rule go to `joinproto node`, which refuses as usual."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tools.faults.node", "--mutant", "minority"),
            *("--config", str(tmp_path / "none.toml")),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert 2 == done.returncode
    assert "none.toml: cannot be read" in done.stderr


def ledger(**acknowledged: int) -> Ledger:
    return Ledger(acknowledged=dict(acknowledged))


@pytest.mark.parametrize(
    ("kept", "found", "says"),
    [
        (ledger(x=1, y=2), {"a": ["x"], "b": ["x"]}, "'y' was acknowledged as frame 2"),
        (ledger(x=1), {"a": ["z"], "b": ["z"]}, "another write is there"),
        (ledger(), {"a": ["x", "y"], "b": ["x", "z"]}, "a and b differ from frame 2 on"),
        (ledger(), {"a": ["x"], "b": ["x", "y"]}, "a and b differ from frame 2 on"),
        (ledger(), {"a": ["x", "x"]}, "1 writes are in the log twice"),
        (Ledger(refused={"x"}), {"a": ["x"]}, "1 refused writes are in the log"),
        (ledger(), {"a": ["x"], "b": None}, "b does not show its log"),
    ],
)
def test_errors_in_the_logs_are_found(
    kept: Ledger, found: dict[str, list[str] | None], says: str
) -> None:
    assert any(says in problem for problem in compare(kept, found))


def test_logs_that_keep_every_promise_have_no_errors() -> None:
    kept = Ledger(acknowledged={"x": 1, "y": 3}, refused={"n"}, open={"z"})

    assert [] == compare(kept, {"a": ["x", "z", "y"], "b": ["x", "z", "y"]})
