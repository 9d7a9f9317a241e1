"""One performer for each effect, and hosts that decide nothing.

Source: hot standby; `joinproto/standby/perform.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from joinproto.standby.events import Effect
from joinproto.standby.perform import Ports

TOP = Path(__file__).parents[2]
EFFECTS = {one.__name__ for one in get_args(Effect)}
PORTS = {name for name in vars(Ports) if not name.startswith("_")}


def matches(tree: ast.AST) -> Iterator[str]:
    """Yield the effects that stand in arms of a `match`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
            yield from {node.cls.id} & EFFECTS


def performers(tree: ast.AST) -> Iterator[str]:
    """Yield the classes that have a method for each effect."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bodies = (one for one in node.body if isinstance(one, ast.FunctionDef))
            if {one.name for one in bodies} >= PORTS:
                yield node.name


def trees(*places: str) -> Iterator[tuple[str, ast.AST]]:
    for place in places:
        for path in sorted((TOP / place).rglob("*.py")):
            yield str(path.relative_to(TOP)), ast.parse(path.read_text())


def test_every_effect_has_a_port_and_only_one_function_matches_on_effects() -> None:
    """The process, the worlds and the tests all go through it."""
    places = ("joinproto/standby", "joinproto/apps/standby", "models/joinproto_worlds/standby")
    found = {path: {*matches(tree)} for path, tree in trees(*places, "tests/standby")}

    assert len(EFFECTS) == len(PORTS)
    assert {"joinproto/standby/perform.py": EFFECTS} == {
        path: effects for path, effects in found.items() if effects
    }


def test_one_class_of_the_product_performs_the_effects() -> None:
    found = [(path, name) for path, tree in trees("joinproto/apps") for name in performers(tree)]

    assert [("joinproto/apps/standby/acting.py", "Acting")] == found


def test_a_second_match_and_a_second_performer_would_be_seen() -> None:
    """The checks above look for what they say."""
    methods = "\n".join(f"    def {name}(self): ..." for name in PORTS)
    tree = ast.parse(f"class Other:\n{methods}\nmatch x:\n    case Send(to, what):\n        pass")

    assert ["Send"] == [*matches(tree)]
    assert ["Other"] == [*performers(tree)]
