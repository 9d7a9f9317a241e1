"""docs/running.md and the examples agree with the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from joinproto.apps.node.settings import (
    FaultSettings,
    LogRetention,
    NodeFile,
    Security,
    Timing,
    read_settings,
)
from joinproto.host.process import exits, http
from joinproto.join.phases import Phase

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
TEXT = (ROOT / "docs" / "running.md").read_text("utf-8")


BLOCK = next(one for one in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL) if "[timing]" in one)


def test_the_page_names_every_setting() -> None:
    named = set(re.findall(r"^(?:# )?([a-z_]+) = ", BLOCK, re.MULTILINE)) | set(
        re.findall(r"^\[([a-z]+)\]", BLOCK, re.MULTILINE)
    )
    for kind in (NodeFile, Timing, LogRetention, Security, FaultSettings):
        for field in attrs.fields(kind):
            assert field.name in named or re.search(rf"\b{field.name}\b", BLOCK), field.name


def test_the_file_of_the_reference_page_is_valid(tmp_path: Path) -> None:
    """An optional setting that is left out has its default."""
    (tmp_path / "short.toml").write_text(BLOCK)
    whole = re.sub(
        r"^# (?!secret_file|insecure|clock_offset|events |keep_frames|found_with)",
        "",
        BLOCK,
        flags=re.MULTILINE,
    )
    (tmp_path / "whole.toml").write_text(whole)

    short = read_settings(tmp_path / "short.toml")

    assert Timing() == short.timing
    assert attrs.evolve(read_settings(tmp_path / "whole.toml"), http=None) == short


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_the_example_files_are_valid(name: str) -> None:
    settings = read_settings(EXAMPLES / f"node-{name}.toml")

    assert name == settings.config.member
    assert settings.http is not None


def test_the_unit_restarts_a_node_only_if_a_restart_helps() -> None:
    unit = (EXAMPLES / "joinproto.service").read_text()
    (row,) = (line for line in unit.splitlines() if line.startswith("RestartPreventExitStatus="))

    kept = {int(code) for code in row.partition("=")[2].split()}

    assert {2, exits.MUST_NOT_RUN, exits.RECOVER_FIRST, exits.AT_ONCE} == kept
    assert not kept & {exits.TOO_LATE, exits.MACHINE, 10}


def test_the_page_names_every_metric() -> None:
    for name in http._GAUGES:
        assert f" joinproto_{name} " in TEXT.replace("\n", " ")
    for name in http._COUNTERS:
        assert f" joinproto_{name}_total " in TEXT.replace("\n", " ")
    assert f'joinproto_phase{{phase="{Phase.ACTIVE.value}"}}' in TEXT


@pytest.mark.landing
def test_the_program_around_a_log_prints_what_the_page_shows() -> None:
    """docs/embedding.md: a frame, written at one member, is read at another, also after a restart.

    A member that starts later than the other two may join them, which is correct, too.
    """
    program = EXAMPLES / "replicated.py"
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False, cwd=ROOT
    )

    # Python 3.11 may complain of a call that comes in while its listener is being closed.
    assert 0 == done.returncode, done.stderr
    lines = [
        re.sub(r"^(\w) is active: joined$", r"\1 is active: restored", line)
        for line in done.stdout.splitlines()
    ]
    shown = "".join(f"    {line}\n" for line in lines)
    page = (ROOT / "docs" / "embedding.md").read_text("utf-8")
    assert f"    $ python docs/examples/replicated.py\n{shown}\n" in page


@pytest.mark.landing
def test_the_program_around_a_driver_runs() -> None:
    """Three members in one program found a cluster, and shut it down."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "driven.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    # Python 3.11 may complain of a call that comes in while its listener is being closed.
    assert 0 == done.returncode, done.stderr
    for name in "abc":
        assert f"{name} is active: founded" in done.stdout
        assert f"{name} serves no more" in done.stdout
        assert f"{name} has ended: Stop(is_clean=True)" in done.stdout
