"""The start-up time of commands: they import modules only when they need them.

NumPy, numba and scipy take half a second together, and the machine of an operator may not have
them.
"""

from __future__ import annotations

import pytest

from joinproto.cli.main import COMMANDS
from tests.cli.running import run_apart, run_here

HEAVY = {"numpy", "numba", "llvmlite", "scipy"}


def modules_imported(*words: str) -> set[str]:
    """Return the modules that a command imports, and their top packages."""
    done = run_apart(*words, python=("-X", "importtime"))
    lines = [line for line in done.err.splitlines() if "import time:" in line]
    names = {line.rpartition("|")[2].strip() for line in lines}
    return names | {name.partition(".")[0] for name in names}


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("--version",),
        ("models",),
        ("models", "--json"),
        ("check", "--help"),
        ("check", "nothing"),
        ("check", "two-phase-commit", "--crashes", "1"),
        ("simulate", "--help"),
    ],
)
def test_a_command_without_arrays_imports_no_array_library(words: tuple[str, ...]) -> None:
    found = modules_imported(*words)

    assert "joinproto.cli.main" in found
    assert set() == HEAVY & found


def test_a_search_without_claims_about_whole_runs_imports_no_part_of_scipy() -> None:
    """numba looks for scipy, which costs nothing; only the parts of scipy take time to import."""
    found = modules_imported("check", "two-phase-commit", "--members", "6")

    assert {"numpy", "numba"} <= found
    assert "scipy.sparse" not in found


def test_the_help_of_every_command_shows_a_real_example(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each `--help` has an example, and each row of the table names a command that exists."""
    for name in COMMANDS:
        done = run_here(capsys, name, "--help")

        assert 0 == done.code, name
        assert f"joinproto {name}" in done.out.partition("Example")[2], name
    assert {"check", "models", "simulate", "decide", "draw"} <= COMMANDS.keys()
