"""Every system has the parts that CONTRIBUTING.md lists: a reader who knows one knows all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from joinproto.cli.main import COMMANDS
from joinproto_worlds.entries import ENTRIES

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = ("standby", "clusterer", "reconcile", "discovery")
UNPROVED = ("discovery",)
OWED: dict[str, set[str]] = {}
"""Parts that a system under construction still lacks.  Remove a line by adding the part."""
PARTS = (
    "joinproto/{}/__init__.py",
    "joinproto/apps/{}/__init__.py",
    "docs/{}.md",
    "models/joinproto_worlds/{}/__init__.py",
    "proofs/joinproto_claims/{}.py",
    "joinproto/cli/commands/{}.py",
    "tests/{}",
)


def recipe() -> str:
    """Return the part of CONTRIBUTING.md about systems."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return text.partition("## How to add a system\n")[2].partition("\n## ")[0]


def lacks(root: Path, system: str) -> Iterator[str]:
    """Yield the missing parts of a system; a system that has not begun lacks none."""
    if not (root / "joinproto" / system).is_dir():
        return
    for part in PARTS:
        is_due = not part.startswith("proofs") or system not in UNPROVED
        if is_due and not (root / part.format(system)).exists():
            yield part.format(system)
    if system not in COMMANDS:
        yield f"a row in joinproto/cli/main.py: {system}"
    if not any(item.name.startswith(f"{system}-") for item in ENTRIES):
        yield f"worlds in joinproto_worlds/entries.py: {system}-..."


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_has_every_part_of_the_plan(system: str) -> None:
    assert {*lacks(ROOT, system)} <= OWED.get(system, set())


def test_missing_parts_are_found(tmp_path: Path) -> None:
    """The test above can fail."""
    (tmp_path / "joinproto" / "standby").mkdir(parents=True)

    found = list(lacks(tmp_path, "standby"))

    assert [part.format("standby") for part in PARTS] == found[: len(PARTS)]


def test_the_recipe_names_every_part_and_only_files_that_exist() -> None:
    """The recipe's names for `standby` are the required parts; its other files exist."""
    named = set(re.findall(r"`([\w./-]+/[\w./-]*)`", recipe()))
    own = {name for name in named if "standby" in name}

    assert own == {part.format("standby").removesuffix("__init__.py") for part in PARTS} - {
        "tests/standby"
    } | {"tests/standby/", "joinproto/standby/questions.py"}
    assert [] == sorted(name for name in named - own if not (ROOT / name).exists())
