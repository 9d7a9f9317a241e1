"""Other checkers in Python: they count all states, or are left out with the reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from joinproto.errors import EnvironmentProblem
from tools.bench import oracle, pythons
from tools.bench.measure import Command, measure
from tools.bench.run import ROOT, read_peer


@pytest.mark.parametrize("members", [3, 4])
def test_minicheck_counts_all_states(members: int) -> None:
    """There are 2^N + 4^N + 6^N states."""
    done = measure(
        Command([*pythons.minicheck(), "two-phase-commit", "--members", str(members)], ROOT)
    )

    assert oracle.two_phase_commit(members).distinct == read_peer(done.stdout).distinct


@pytest.mark.soak("peers")
@pytest.mark.needs("Python 3.12")
def test_musil_counts_all_states(tmp_path: Path) -> None:
    """musil runs in its own virtual environment."""
    try:
        call = pythons.musil(tmp_path)
    except EnvironmentProblem as error:
        pytest.skip(str(error))  # no package index answers

    done = measure(Command([*call, "two-phase-commit", "--members", "4"], ROOT))

    assert oracle.two_phase_commit(4).distinct == read_peer(done.stdout).distinct


def test_without_a_newer_python_musil_is_left_out_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `python3.12` that does not start counts as missing."""
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 127\n", "utf-8")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "version_info", (3, 11, 0))
    monkeypatch.setattr(shutil, "which", lambda name: str(broken) if name == broken.name else None)

    with pytest.raises(EnvironmentProblem, match=r"musil is left out: it needs Python 3\.12"):
        pythons.musil(tmp_path)


def test_a_checker_that_cannot_be_installed_is_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="no route\nno such package\n")

    monkeypatch.setattr(sys, "version_info", (3, 12, 0))
    monkeypatch.setattr(subprocess, "run", fails)

    with pytest.raises(EnvironmentProblem, match="no such package"):
        pythons.musil(tmp_path)


def test_the_count_of_a_violated_search_is_refused() -> None:
    with pytest.raises(ValueError, match="expected holds"):
        read_peer('{"result": "violated", "distinct": 3}')
