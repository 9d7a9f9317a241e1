"""One performer for each effect, and hosts that decide nothing.

Source: hot standby; `joinproto/standby/perform.py`.
"""

from __future__ import annotations

import ast
import importlib
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


VALUES = {
    *("role", "standing", "mark", "view", "age", "generation", "number", "members", "chain"),
    *("verdict", "entrance", "level", "order", "cluster", "store", "said", "around", "state"),
}
"""Attributes that hold what the machine decides about."""
CHOICES = {"Role", "Mark", "Level", "Order", "Verdict", "Entrance", "Due"}

MAY_COMPARE = {
    "acting.py:keep_mark": "the disk has a flag where the machine has a word",
    "telling.py:status_of": "the same flag, shown to a person",
    "core.py:do": "whether the others are to be told of it: equality chooses nothing",
    "core.py:_reached": "whether the log is to say that the role changed",
    "managing.py:_do": "one arm for each of what the machine says is due",
    "managing.py:_submit": "not a domain value: the member of the chain that runs here, if any",
    "agent.py:_pid": "not a domain value: the state of a lock",
    "links.py:link_of": "on which of two links an answer goes",
    "links.py:_received": "what a session says of its own name, and of which link it is",
    "core.py:promoted": "the one answer among the effects, for whoever asked",
    "disk.py:_require_goes_on": "a store refuses what is older than it, whoever asks",
    "disk.py:_require_both": "a store that lacks a part of itself is refused",
    "form.py:mark": "the words of the machine for what the bytes say",
    "form.py:is_primary": "the same",
    "form.py:is_member": "the same",
    "form.py:unpacked": "bytes that no version wrote are refused",
    "slots.py:_went_back": "a store whose older half is younger is refused",
    "settings.py:_chain": "two tables of a file name the same brokers",
}
"""Functions of the host that compare such values, each with its reason."""


def _domain() -> set[str]:
    """Return the names of all classes of the machine."""
    names = set()
    for path in (TOP / "joinproto/standby").glob("*.py"):
        module = importlib.import_module(f"joinproto.standby.{path.stem}")
        names |= {name for name, one in vars(module).items() if isinstance(one, type)}
    return names - {"Any", "Enum"}


def comparisons(tree: ast.AST, domain: set[str]) -> Iterator[str]:
    """Yield the functions that compare values of the machine, or ask for their classes."""

    def is_one(node: ast.AST) -> bool:
        if not isinstance(node, ast.Attribute):
            return False
        return node.attr in VALUES or (
            isinstance(node.value, ast.Name) and node.value.id in CHOICES
        )

    def compares(node: ast.AST) -> bool:
        if isinstance(node, ast.Compare | ast.MatchValue):
            return any(map(is_one, ast.walk(node)))
        asks = isinstance(node, ast.Call) and "isinstance" == ast.unparse(node.func)
        return asks and bool(
            domain & {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        )

    def walk(node: ast.AST, function: str) -> Iterator[str]:
        for one in ast.iter_child_nodes(node):
            is_function = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            inside = one.name if is_function else function  # type: ignore[attr-defined]
            if compares(one):
                yield inside
            yield from walk(one, inside)

    yield from walk(tree, "")


def test_the_host_compares_no_values_of_the_machine() -> None:
    """What two values mean beside each other is decided where it is searched."""
    domain = _domain()
    found = {
        f"{Path(path).name}:{function}"
        for path, tree in trees("joinproto/apps/standby")
        for function in comparisons(tree, domain)
    }

    assert MAY_COMPARE.keys() == found


def test_a_comparison_in_a_host_would_be_seen() -> None:
    """By an attribute, by a word of an enumeration, by a class."""
    said = ["one.view.age > two.view.age", "one is Role.BACKUP", "isinstance(one, Leading)"]
    for each in said:
        tree = ast.parse(f"def follows(one, two):\n    return {each}")

        assert ["follows"] == [*comparisons(tree, {"Leading"})], each
    assert [] == [*comparisons(ast.parse("def sums(one, two):\n    return one.bytes > 2"), set())]
