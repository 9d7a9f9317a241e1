"""One performer for each effect, and hosts that decide nothing, read from the code itself.

The same of hot standby and the Clusterer: `tests/standby/test_performing.py` and
`tests/clusterer/test_performing.py`.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import pytest
from attrs import field, frozen

import joinproto.discovery.perform
import joinproto.reconcile.machine
import joinproto.reconcile.perform

TOP = Path(__file__).parents[2]


@frozen(kw_only=True)
class System:
    """`values`: attributes by which the machine decides.

    `may_compare`: functions of the host that compare such values, each with the reason.
    """

    name: str
    effect: Any
    ports: type
    performers: tuple[str, ...]
    values: frozenset[str]
    may_compare: dict[str, str] = field(factory=dict)

    @property
    def effects(self) -> set[str]:
        return {one.__name__ for one in get_args(self.effect)}

    @property
    def methods(self) -> set[str]:
        return {name for name in vars(self.ports) if not name.startswith("_")}

    def classes(self, kind: type = object) -> set[str]:
        """Return the names of the machine's classes that are of this kind."""
        paths = (TOP / "joinproto" / self.name).glob("[a-z]*.py")
        modules = [importlib.import_module(f"joinproto.{self.name}.{one.stem}") for one in paths]
        return {
            name
            for module in modules
            for name, one in vars(module).items()
            if isinstance(one, type) and issubclass(one, kind) and one.__module__ == module.__name__
        }


RECONCILE = System(
    name="reconcile",
    effect=joinproto.reconcile.machine.Effect,
    ports=joinproto.reconcile.perform.Ports,
    performers=(
        "joinproto/apps/reconcile/loop.py Loop",
        "models/joinproto_worlds/reconcile/beside.py _Round",
    ),
    values=frozenset(
        {"action", "kind", "decision", "intent", "intents", "ended", "case", "rule", "leader"}
        | {"since", "settle", "members", "running", "replicas", "verdict", "asked", "keeper"}
    ),
    may_compare={
        "commands.py _run": "which of two programs is called",
        "telling.py judged": "what was said of the queue before is not repeated",
        "telling.py read": "of which queues something was said: what is said again is not repeated",
        "telling.py _lacking": "the same, counted",
    },
)
CHECKS = "a check of a server: what it compares it tells, and nothing follows from it"
CONFORM = ("conform", "require_answer", "conform_register", "locks", "_names", "noted", "_count")
CONFORM_FILE = ("conform_file", "asked", "_lists", "_same", "_absent")
DISCOVERY = System(
    name="discovery",
    effect=joinproto.discovery.perform.Effect,
    ports=joinproto.discovery.perform.Ports,
    performers=("joinproto/apps/discovery/perform.py Acting",),
    values=frozenset({"nodes", "node", "variant", "status", "rules", "step", "release", "kind"}),
    may_compare={
        **{f"conformance.py {name}": CHECKS for name in CONFORM},
        **{f"conform_file.py {name}": CHECKS for name in CONFORM_FILE},
        "failover.py __call__": "which of several addresses of one service answers",
        "http.py exchange": "what is logged",
        "listing.py list_file": "the answer as JSON",
        "opened.py _backend": "which backend a file names, and what the release lists under a lock",
        "opened.py opened": "the same: which files and keys of this machine are its own",
        "resolver.py _looked": "how a look-up is asked",
        "successors.py _view": "an answer that did not come is told once",
    },
)
SYSTEMS = [RECONCILE, DISCOVERY]
each = pytest.mark.parametrize("system", SYSTEMS, ids=lambda one: one.name)


def trees(*places: str) -> Iterator[tuple[str, ast.Module]]:
    for place in places:
        for path in sorted((TOP / place).rglob("*.py")):
            yield str(path.relative_to(TOP)), ast.parse(path.read_text())


def matched(tree: ast.AST, effects: set[str]) -> set[str]:
    """Return the effects that stand in arms of a `match`."""
    found = [one.cls for one in ast.walk(tree) if isinstance(one, ast.MatchClass)]
    return {one.id for one in found if isinstance(one, ast.Name)} & effects


def performers(tree: ast.AST, methods: set[str]) -> Iterator[str]:
    """Yield the classes that have a method for each effect."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        if {getattr(one, "name", "") for one in node.body} >= methods:
            yield node.name


def comparing(tree: ast.AST, system: System) -> set[str]:
    """Return the functions that compare values of the machine, or ask for their classes."""
    classes, enums = system.classes(), system.classes(Enum)

    def is_one(node: ast.AST) -> bool:
        if not isinstance(node, ast.Attribute):
            return False
        return node.attr in system.values or (
            isinstance(node.value, ast.Name) and node.value.id in enums
        )

    def compares(node: ast.AST) -> bool:
        if isinstance(node, ast.Compare | ast.MatchValue):
            return any(map(is_one, ast.walk(node)))
        asks = isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
        return asks and any(
            isinstance(one, ast.Name) and one.id in classes for one in ast.walk(node)
        )

    functions = [
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {one.name for one in functions if any(map(compares, ast.walk(one)))}


@each
def test_effects_are_matched_in_one_place(system: System) -> None:
    """`perform`: it has an arm for each, which mypy proves (`assert_never`)."""
    places = (f"{part}/{system.name}" for part in ("joinproto", "joinproto/apps", "tests"))
    everywhere = trees(*places, f"models/joinproto_worlds/{system.name}", "tools/swarms")
    found = {
        path: effects for path, tree in everywhere if (effects := matched(tree, system.effects))
    }

    assert {f"joinproto/{system.name}/perform.py": system.effects} == found
    assert len(system.effects) == len(system.methods)


@each
def test_one_class_of_the_product_performs_them(system: System) -> None:
    """And one of the worlds, which runs the machine that ships."""
    everywhere = trees("joinproto/apps", f"models/joinproto_worlds/{system.name}")
    found = [
        f"{path} {name}" for path, tree in everywhere for name in performers(tree, system.methods)
    ]

    assert [*system.performers] == found


@each
def test_the_host_compares_no_values_of_the_machine(system: System) -> None:
    """What two values mean beside each other is decided where it is searched."""
    found = {
        f"{Path(path).name} {name}"
        for path, tree in trees(f"joinproto/apps/{system.name}")
        for name in comparing(tree, system)
    }

    assert system.may_compare.keys() == found


def test_a_second_one_and_a_decision_in_a_host_would_be_seen() -> None:
    methods = "\n".join(f"    def {name}(self): ..." for name in RECONCILE.methods)
    tree = ast.parse(f"class Other:\n{methods}\nmatch x:\n    case Keep(intents):\n        pass")

    assert {"Keep"} == matched(tree, RECONCILE.effects)
    assert ["Other"] == [*performers(tree, RECONCILE.methods)]
    for said in ("one.since > two.since", "how is Ended.DONE", "isinstance(one, Intent)"):
        tree = ast.parse(f"def follows(one, two):\n    return {said}")

        assert {"follows"} == comparing(tree, RECONCILE), said
    assert set() == comparing(ast.parse("def sums(one):\n    return one.bytes > 2"), RECONCILE)
