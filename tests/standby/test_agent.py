"""The OCF agent answers a manager by exit codes.

Source: hot standby, H3; Open Cluster Framework, resource agent API 1.1.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

import pytest

from joinproto.apps.standby import agent as agents
from joinproto.apps.standby.agent import ACTIONS, Exit, call
from tests.cli.running import ROOT, run_here
from tests.needs import need
from tools.failover.manager import TIMEOUT_MS, Manager, running


def call_as_manager(action: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Call the agent as Pacemaker does: as a process with the parameters in its environment."""
    return subprocess.run(
        [sys.executable, "-m", "joinproto", "standby", "agent", action],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_agents_metadata_have_all_parts_that_the_api_requires(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The metadata are well formed; every parameter and action has its required parts."""
    done = run_here(capsys, "standby", "agent", "meta-data")
    tree = ET.fromstring(done.out)

    assert 0 == done.code
    assert "resource-agent" == tree.tag
    assert {"name", "version"} <= tree.attrib.keys()
    assert "1.0" == tree.findtext("version")
    for each in (tree, *tree.iter("parameter")):
        assert each.findtext("longdesc")
        assert each.findtext("shortdesc")
    (parameter,) = tree.iter("parameter")
    assert ("config", "1", "1") == tuple(
        parameter.get(key) for key in ("name", "required", "unique")
    )
    assert "string" == parameter.find("content").get("type")  # type: ignore[union-attr]
    actions = [action.attrib for action in tree.iter("action")]
    assert {*ACTIONS, "meta-data", "validate-all"} == {one["name"] for one in actions}
    assert all("timeout" in one for one in actions)
    monitors = [one for one in actions if one["name"] == "monitor"]
    assert {"Master", "Slave"} == {one["role"] for one in monitors}
    assert 2 == len({one["interval"] for one in monitors})


def test_each_error_before_the_agent_acts_has_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes: 2 is for arguments, 3 no such action, 5 not installed, 6 settings, 7 not running."""
    fine = Manager.of(tmp_path, "a").files["a"]
    bad = tmp_path / "bad.toml"
    bad.write_text('broker = "a"\n')
    nameless = tmp_path / "nameless.toml"
    nameless.write_text(fine.read_text().replace('cluster = "', 'cluster = ""  # '))
    given = {"OCF_RESKEY_config": str(fine)}
    monkeypatch.setattr(agents, "find_spec", lambda _: "found")

    assert Exit.SUCCESS == call("validate-all", given).code
    assert Exit.CONFIGURED == call("validate-all", {}).code
    assert Exit.CONFIGURED == call("start", {"OCF_RESKEY_config": str(bad)}).code
    assert Exit.CONFIGURED == call("start", {"OCF_RESKEY_config": str(nameless)}).code
    assert Exit.UNIMPLEMENTED == call("migrate_to", given).code
    assert Exit.ARGS == call("monitor", given | {"OCF_RESKEY_CRM_meta_timeout": "x"}).code
    assert Exit.NOT_RUNNING == call("monitor", given).code
    assert Exit.NOT_RUNNING == call("promote", given).code
    assert Exit.NOT_RUNNING == call("demote", given).code
    assert Exit.SUCCESS == call("stop", given).code
    assert 6 == run_here(capsys, "standby", "agent", "monitor").code
    monkeypatch.setattr(agents, "find_spec", lambda _: None)
    assert Exit.INSTALLED == call("monitor", given).code


@pytest.mark.soak("brokers")
@pytest.mark.usefixtures("proton")
def test_a_manager_starts_promotes_demotes_and_stops(tmp_path: Path) -> None:
    """The life of a resource: each action is a process, and repeating it changes nothing."""
    scores = tmp_path / "scores"
    tool = tmp_path / "bin" / "crm_attribute"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" >> {scores}\n')
    tool.chmod(0o755)
    with running(Manager.of(tmp_path, "a")) as manager:
        given = {
            "OCF_RESKEY_config": str(manager.files["a"]),
            "OCF_RESKEY_CRM_meta_timeout": TIMEOUT_MS,
            "PATH": f"{tool.parent}:{os.environ['PATH']}",
        }

        codes = [
            (action, call_as_manager(action, **given).returncode)
            for action in (
                *("monitor", "start", "start", "monitor"),
                *("promote", "promote", "monitor", "demote", "demote", "monitor"),
                *("stop", "stop", "monitor"),
            )
        ]

    assert [
        *(("monitor", 7), ("start", 0), ("start", 0), ("monitor", 0)),
        *(("promote", 0), ("promote", 0), ("monitor", 8)),
        *(("demote", 0), ("demote", 0), ("monitor", 0)),
        *(("stop", 0), ("stop", 0), ("monitor", 7)),
    ] == codes
    said = scores.read_text().splitlines()
    assert "--promotion -l reboot --update 10" == said[0]  # it looks for a primary
    assert "--promotion -l reboot --update 1000" in said


@pytest.mark.soak("brokers")
@pytest.mark.usefixtures("proton")
@pytest.mark.needs("ocf-tester", "xmllint")
def test_the_agent_passes_ocf_tester(tmp_path: Path) -> None:
    """Debian has ocf-tester in `resource-agents`; it checks the metadata with xmllint."""
    call = f"cd {ROOT} && exec {sys.executable} -m joinproto standby agent"
    if os.getuid() == 0:
        need("nobody's shell may run joinproto")  # ocf-tester calls the agent as the user nobody
    with TemporaryDirectory() as name, running(Manager.of(tmp_path, "a")) as manager:
        # ocf-tester may call the agent as another user, who cannot read the tests' directory.
        agent = Path(name) / "standby"
        agent.parent.chmod(0o755)
        patient = f"export OCF_RESKEY_CRM_meta_timeout={TIMEOUT_MS}"
        agent.write_text(f'#!/bin/sh\n{patient}\n{call} "$1"\n')
        agent.chmod(0o755)
        words = ["-n", "standby", "-o", f"config={manager.files['a']}", str(agent)]
        done = subprocess.run(["ocf-tester", *words], capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "passed all tests" in done.stdout


@pytest.mark.soak("brokers")
@pytest.mark.usefixtures("proton")
def test_a_refused_promotion_makes_the_manager_try_the_next_broker(tmp_path: Path) -> None:
    """H3: a broker with a dirty store refuses until it is marked clean; the next broker accepts."""
    with running(Manager.of(tmp_path, "ab")) as manager:
        manager.start()
        assert "a" == manager.promote("a")
        assert manager.wait_role("b", "backup")
        manager.kill("a")
        assert Exit.NOT_RUNNING == manager.call("a", "monitor").code
        manager.start("a")

        chosen = manager.promote("a", "b")

        assert "b" == chosen
        assert ["a"] == [name for name, _ in manager.refusals]
        assert "refused (H10)" in manager.refusals[0][1]
        assert Exit.RUNNING_PRIMARY == manager.call("b", "monitor").code
