"""The embedder's guide: its example runs and is short, and its duties are numbered."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "embedded.py"


def test_the_example_founds_closes_and_restarts_a_cluster() -> None:
    """Three processes live twice: all serve, and all stores are clean at the end."""
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE)], check=False, cwd=ROOT, capture_output=True, text=True
    )

    assert (0, "") == (ran.returncode, ran.stderr)
    for name in "abc":
        own = [line for line in ran.stdout.splitlines() if re.search(rf"\b{name}\b", line)]
        said = [line.split(": ")[-1] for line in own]
        life = ["OpenForClients", "closes for clients", "Stop"]
        assert [*life, "2 views", *life, "4 views"] == said
        assert 2 == ran.stdout.count(f"{name} is stopped, its store is clean")


def test_the_example_has_less_than_60_lines() -> None:
    """Blank lines, comments and docstrings do not count."""
    assert len(code_lines(EXAMPLE.read_text("utf-8"))) < 60


def test_the_example_has_no_thread_socket_or_clock() -> None:
    tree = ast.parse(EXAMPLE.read_text("utf-8"))
    modules = {item.module for item in ast.walk(tree) if isinstance(item, ast.ImportFrom)}

    assert not [item for item in ast.walk(tree) if isinstance(item, ast.Import)]
    assert {"dataclasses", "pathlib", "secrets", "tempfile"} == {
        name for name in modules if name is not None and name.split(".")[0] != "joinproto"
    }


def test_the_duties_of_the_guide_are_numbered_in_order() -> None:
    text = (ROOT / "docs" / "embedding.md").read_text("utf-8")
    duties = text.split("## The duties of the host")[1]
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \*\*", duties, re.MULTILINE)]

    assert list(range(1, len(numbers) + 1)) == numbers
    assert len(numbers) > 10


def code_lines(text: str) -> list[str]:
    """Return the lines of code: all but blank ones, comments and docstrings."""
    quoted: set[int] = set()
    for item in ast.walk(ast.parse(text)):
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
            quoted |= set(range(item.lineno, (item.end_lineno or item.lineno) + 1))
    return [
        line
        for number, line in enumerate(text.splitlines(), start=1)
        if number not in quoted and line.strip() and not line.strip().startswith("#")
    ]
