"""One performer for each effect, and hosts that decide nothing: read from the code itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import joinproto
from joinproto.clusterer.messages import Effect, Event
from joinproto.clusterer.perform import Ports

CODE = Path(joinproto.__file__).parent
EFFECTS = {kind.__name__ for kind in get_args(Effect)}
ENUMS = {"Status", "Boot", "Age", "Fits", "Takes", "Next", "Does", "Reply", "Release", "Asking"}
VALUES = {
    *("status", "says", "how", "config", "version", "identity", "ids", "since", "gospel"),
    *("members", "ran", "given_up", "stopped", "achieved", "held", "record", "lock", "round"),
}
"""What a node decides by: enums, and fields of its state, configs and records."""
MAY_COMPARE = {
    "host.py _log": "what has changed is logged, and nothing else follows from it",
    "stored.py keep": "the disk's own guard: an older config replaces no younger one",
    "commands.py boot": "how it does what it is told",
    "joinproto_node.py boot": "how it does what it is told",
    "rabbitmq.py _boot": "how it does what it is told",
}
"""Functions of the running part that compare such values, each with the reason."""


def trees(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders:
        for path in sorted((CODE / folder).rglob("*.py")):
            yield path, ast.parse(path.read_text())


def test_effects_are_matched_in_one_place() -> None:
    """`perform`: it has a row for each, which mypy proves (`assert_never`)."""
    found = {
        (path.name, node.cls.id)
        for path, tree in trees("clusterer", "apps/clusterer")
        for node in ast.walk(tree)
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name)
        if node.cls.id in EFFECTS
    }

    assert {("perform.py", name) for name in EFFECTS} == found


def test_the_product_has_one_implementation_of_the_ports() -> None:
    """And the other one is the simulator's: stories, plans, worlds."""
    found = {
        f"{path.relative_to(CODE)} {node.name}"
        for path, tree in trees("clusterer", "apps")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if "Ports[" in ast.unparse(base) and "clusterer" in str(path)
    }

    assert {"apps/clusterer/host.py Host", "clusterer/sim_ports.py MachinePorts"} == found


def test_each_effect_has_a_port() -> None:
    ports = {name for name in vars(Ports) if not name.startswith("_")}

    assert len(EFFECTS) == len(ports)
    assert not EFFECTS & {kind.__name__ for kind in get_args(Event)}


def compares(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what compares what a node decides by, and cases that do."""
    for node in ast.walk(tree):
        operands: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            if any(isinstance(one, ast.Constant) and one.value is None for one in operands):
                continue
        elif isinstance(node, ast.MatchValue):
            operands = [node.value]
        for operand in operands:
            for part in ast.walk(operand):
                if isinstance(part, ast.Attribute) and (
                    part.attr in VALUES
                    or (isinstance(part.value, ast.Name) and part.value.id in ENUMS)
                ):
                    yield node


def comparing(tree: ast.Module) -> set[str]:
    """Return the functions that do."""
    functions = [
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {one.name for one in functions if any(True for _ in compares(one))}


def test_the_host_compares_nothing_by_which_a_node_decides() -> None:
    """What is compared there no search sees; the faults of real runs were exactly there."""
    found = {
        f"{path.name} {name}" for path, tree in trees("apps/clusterer") for name in comparing(tree)
    }

    assert MAY_COMPARE.keys() == found


def test_a_decision_in_a_host_would_be_found() -> None:
    source = "def keep(self, one):\n    if one.status is Status.READY:\n        self.go()\n"

    assert {"keep"} == comparing(ast.parse(source))
    assert set() == comparing(ast.parse("def keep(self, one):\n    return one.status"))
