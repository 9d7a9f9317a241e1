"""Completion in a shell; docs/running.md has the line for the shell's start file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.running import run_apart

RUNNING = Path(__file__).resolve().parents[2] / "docs" / "running.md"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    assert f"{shell}_source" in RUNNING.read_text()

    done = run_apart(env={**os.environ, "_JOINPROTO_COMPLETE": f"{shell}_source"})

    assert (0, True) == (done.code, "_JOINPROTO_COMPLETE" in done.out)


def test_commands_and_options_are_completed() -> None:
    asked = {"_JOINPROTO_COMPLETE": "bash_complete", "COMP_CWORD": "1"}

    commands = run_apart(env={**os.environ, **asked, "COMP_WORDS": "joinproto sh"})
    options = run_apart(
        env={**os.environ, **asked, "COMP_WORDS": "joinproto node --ch", "COMP_CWORD": "2"}
    )

    assert "plain,shutdown" in commands.out.split()
    assert "plain,--check" in options.out.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("check two-ph", "two-phase-commit"),
        ("check two-phase-commit --mutant one", "one-vote-short"),
        ("models stand", "standby"),
        ("prove nothing", "nothing_lost"),
        ("prove --without register/one_pro", "register/one_proposal"),
        ("ask reconcile.tar", "reconcile.target"),
        ("query --ask gro", "growth"),
        ("draw no", "note"),
    ],
)
def test_names_are_completed(words: str, found: str) -> None:
    asked = {"_JOINPROTO_COMPLETE": "bash_complete", "COMP_CWORD": str(len(words.split()))}

    done = run_apart(env={**os.environ, **asked, "COMP_WORDS": f"joinproto {words}"})

    assert f"plain,{found}" in done.out.split()
