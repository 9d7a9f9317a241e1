"""In each of five systems one class of the product performs the effects, and hosts do not decide.

The tests read the code itself.
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

import joinproto.clusterer.messages
import joinproto.clusterer.perform
import joinproto.discovery.exchange
import joinproto.discovery.perform
import joinproto.join.messages
import joinproto.join.perform
import joinproto.reconcile.machine
import joinproto.reconcile.perform
import joinproto.standby.events
import joinproto.standby.perform

TOP = Path(__file__).parents[2]


@frozen(kw_only=True)
class System:
    """A system.  `values`: attributes by which the machine decides.

    `performers`: the classes that have a method for each effect, the one of the product first.
    `matchers`: files with a `match` on effects; empty: the system's `perform.py`.  `hosts`: folders
    of the system as a process.  `may_compare`: functions there that compare such values or test
    them; `may_tell`: files that distinguish effects.  Each function and file has its reason.
    """

    name: str
    effect: Any
    ports: type
    performers: tuple[str, ...]
    values: frozenset[str]
    matchers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    may_compare: dict[str, str] = field(factory=dict)
    may_tell: dict[str, str] = field(factory=dict)

    @property
    def places(self) -> tuple[str, ...]:
        """Return the folders of the system as a process."""
        return self.hosts or (f"joinproto/apps/{self.name}",)

    @property
    def effects(self) -> set[str]:
        return {one.__name__ for one in get_args(self.effect)}

    @property
    def methods(self) -> set[str]:
        return {name for name in vars(self.ports) if not name.startswith("_")}

    def classes(self, kind: type = object) -> set[str]:
        """Return the names of the machine's classes that are subclasses of `kind`."""
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
        "models/joinproto_worlds/reconcile/beside.py DaemonWithBroker",
    ),
    values=frozenset(
        {"action", "kind", "decision", "intent", "intents", "ended", "case", "rule", "leader"}
        | {"since", "settle", "members", "running", "replicas", "verdict", "asked", "keeper"}
    ),
    may_compare={
        "commands.py _run": "which of two programs it calls",
        "reporting.py judged": "a message about a queue is not repeated",
        "reporting.py read": "the queues with a message, which is not repeated",
        "reporting.py _lacking": "the same: these messages are counted",
    },
)
CHECKS = "a check of a server: it only reports the comparison"
CONFORM = ("conform", "lists", "noted", "require_answer", "conform_register", "locks")
CONFORM_FILE = ("conform_file", "asked", "_lists", "_same", "_absent")
DISCOVERY = System(
    name="discovery",
    effect=joinproto.discovery.exchange.Effect,
    ports=joinproto.discovery.perform.Ports,
    performers=(
        "joinproto/apps/discovery/perform.py ClientPorts",
        "joinproto/discovery/asked.py RecordedPorts",  # its answers are given by the caller
    ),
    values=frozenset({"nodes", "node", "variant", "status", "rules", "step", "release", "kind"}),
    may_compare={
        **{f"conformance.py {name}": CHECKS for name in CONFORM},
        **{f"conform_file.py {name}": CHECKS for name in CONFORM_FILE},
        "opened.py __call__": "which of several addresses of one service answers",
        "http.py exchange": "whether to write a log line",
        "listing.py list_file": "the answer as JSON",
        "opened.py _backend": "which backend a file names, and what the release lists under a lock",
        "opened.py opened": "the same: which files and keys of this machine are its own",
        "resolver.py _looked": "which kind of look-up it sends",
        "successors.py _view": "a missing answer is reported once",
    },
)
STANDBY = System(
    name="standby",
    effect=joinproto.standby.events.Effect,
    ports=joinproto.standby.perform.Ports,
    performers=(
        "joinproto/apps/standby/acting.py BrokerPorts",
        "models/joinproto_worlds/standby/ports.py Ports",
    ),
    values=frozenset(
        {"role", "standing", "mark", "view", "age", "generation", "number", "members", "chain"}
        | {"verdict", "entrance", "level", "order", "cluster", "store", "said", "around", "state"}
    ),
    may_compare={
        "acting.py keep_mark": "the disk has a flag for the machine's mark",
        "agent.py _pid": "not a domain value: the state of a lock",
        "bodies.py make": "only a queue has stored messages",
        "bodies.py remove": "the same",
        "core.py do": "whether it tells the other brokers: they hear only changes",
        "core.py _reached": "whether it logs a change of the role",
        "core.py __attrs_post_init__": "not a domain value: whether settings have a chain",
        "core.py promoted": "the one answer among the effects, for the caller",
        "disk.py _require_both": "a store that lacks a part of itself is refused",
        "disk.py _require_goes_on": "a store refuses older contents from every caller",
        "form.py is_member": "the machine's words for the values in the bytes",
        "form.py is_primary": "the same",
        "form.py mark": "the same",
        "form.py unpacked": "it refuses bytes that no version wrote",
        "links.py _received": "the name that a session gives, and the kind of its link",
        "links.py link_of": "which of two links carries an answer",
        "managing.py _do": "one arm for each action that the machine requests",
        "managing.py _submit": "not a domain value: the member of the chain that runs here, if any",
        "process.py run": "not a domain value: whether settings have a chain",
        "settings.py _chain": "two tables of a file name the same brokers",
        "form.py _went_back": "it refuses a store whose older half is younger",
        "reporting.py status_of": "the flag of the disk, shown to a person",
    },
    may_tell={
        "joinproto/standby/machine.py": "later parts of a step, before it returns the effects",
        "joinproto/standby/managing.py": "a broker's possible answer: no effect is performed",
        "joinproto/apps/standby/core.py": "the same answer, for the manager that asked",
        "models/joinproto_worlds/standby/played.py": "the same",
        "joinproto/swarm/network.py": "a message of the join protocol that has the same name",
    },
)
BOOTS = "how it carries out the boot that the machine chose"
CLUSTERER = System(
    name="clusterer",
    effect=joinproto.clusterer.messages.Effect,
    ports=joinproto.clusterer.perform.Ports,
    performers=(
        "joinproto/apps/clusterer/host.py Host",
        "joinproto/clusterer/simulator_ports.py MachinePorts",
    ),
    values=frozenset(
        {"status", "says", "how", "config", "version", "identity", "ids", "since", "gospel"}
        | {"members", "ran", "given_up", "stopped", "achieved", "held", "record", "lock", "round"}
    ),
    may_compare={
        "commands.py boot": BOOTS,
        "host.py _log": "whether to write a log line",
        "joinproto_node.py boot": BOOTS,
        "process.py _status": "the shown status: a missing value is null",
        "rabbitmq.py _boot": BOOTS,
        "stored.py keep": "the disk's own guard: an older config replaces no younger one",
    },
    may_tell={
        "joinproto/clusterer/simulator.py": "how the simulated broker boots, as the effect says"
    },
)
SHOWN = "what is logged, shown or raised to a caller: the cluster does not see it"
REGISTER = "which of two questions goes to the register, and which answer comes back"
JOIN = System(
    name="join",
    effect=joinproto.join.messages.Action,
    ports=joinproto.join.perform.Ports,
    performers=(
        "joinproto/host/engine.py Engine",
        "joinproto/swarm/host.py Process",
        "models/joinproto_worlds/join/host.py Host",
    ),
    matchers=("joinproto/host/engine.py", "joinproto/swarm/host.py"),
    hosts=("joinproto/host", "joinproto/apps/node"),
    values=frozenset(
        {"phase", "view", "record", "lineage", "tip", "position", "seat", "verdict", "ballot"}
        | {"promised", "accepted", "closes", "is_frozen", "status", "choice"}
    ),
    may_compare={
        "cluster.py _raise_if_ended": SHOWN,
        "cluster.py _run": SHOWN,
        "desk.py _ask": REGISTER,
        "desk.py take": REGISTER,
        "discovering.py _decided": "how long it goes on after a refusal: time decides",
        "discovering.py _recorded": SHOWN,
        "discovering.py look": "a member that knows its view stops looking for peers",
        "engine.py act": "one arm for each action: it is the performer",
        "engine.py runs": "a member that has ended gets no more events",
        "engine.py see": "which events it passes to the service",
        "engine.py _write_input": SHOWN,
        "lines.py value_as_json": SHOWN,
        "outcome.py outcome_of": SHOWN,
        "process.py _until_ended": SHOWN,
        "stopped.py permit_restart": "an operator's command to stop all: R3 says when it counts",
    },
    may_tell={
        "joinproto/join/step_context.py": "an effect that the step takes back before it ends",
        "joinproto/join/outbox.py": "the same",
        "joinproto/host/cluster.py": SHOWN,
        "joinproto/host/desk.py": REGISTER,
        "joinproto/apps/node/process.py": SHOWN,
        "joinproto/swarm/oracle.py": "a judge of the run: it performs no effect",
        "models/joinproto_worlds/join/host.py": "it is the world's performer",
    },
)
SYSTEMS = [JOIN, STANDBY, CLUSTERER, RECONCILE, DISCOVERY]
each = pytest.mark.parametrize("system", SYSTEMS, ids=lambda one: one.name)


def trees(*places: str) -> Iterator[tuple[str, ast.Module]]:
    for place in places:
        for path in sorted((TOP / place).rglob("*.py")):
            yield str(path.relative_to(TOP)), ast.parse(path.read_text())


def name_of(node: ast.AST) -> str:
    """Return the last part of a name: `Keep` of `events.Keep`."""
    return getattr(node, "id", "") or getattr(node, "attr", "")


def matched(tree: ast.AST, effects: set[str]) -> set[str]:
    """Return the effects in the arms of a `match`."""
    found = [one.cls for one in ast.walk(tree) if isinstance(one, ast.MatchClass)]
    return {*map(name_of, found)} & effects


def told_apart(tree: ast.AST, effects: set[str]) -> set[str]:
    """Return the effects that the code distinguishes.

    Code does so by `match`, by `isinstance`, by comparing a type, or by the keys of a table.
    """
    found: list[ast.AST] = []
    for one in ast.walk(tree):
        if isinstance(one, ast.Call) and name_of(one.func) == "isinstance":
            found += ast.walk(one.args[1])
        elif isinstance(one, ast.Compare):
            calls = [each for each in ast.walk(one) if isinstance(each, ast.Call)]
            found += ast.walk(one) if any(name_of(each.func) == "type" for each in calls) else ()
        elif isinstance(one, ast.Dict):
            found += [key for key in one.keys if key is not None]
    return {*map(name_of, found)} & effects | matched(tree, effects)


def expressions_tested(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions whose truth a node tests."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            parts = [test]
        case ast.comprehension(ifs=parts) | ast.BoolOp(values=parts):
            pass
        case ast.match_case(guard=test) if test is not None:
            parts = [test]
        case ast.UnaryOp(op=ast.Not(), operand=test):
            parts = [test]
        case _:
            return
    for part in parts:
        is_made_of_others = isinstance(part, ast.BoolOp | ast.UnaryOp)
        yield from expressions_tested(part) if is_made_of_others else (part,)


def performers(tree: ast.AST, methods: set[str]) -> Iterator[str]:
    """Yield the classes that have a method for each effect; `a = b = _ignore` counts as two."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        targets = [to for one in node.body if isinstance(one, ast.Assign) for to in one.targets]
        names = {getattr(one, "name", "") for one in node.body}
        if names | {getattr(one, "id", "") for one in targets} >= methods:
            yield node.name


def comparing(tree: ast.AST, system: System) -> set[str]:
    """Return the functions that compare or test values of the machine, or test their classes."""
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
        if any(map(is_one, expressions_tested(node))):
            return True
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
    """`perform` has an arm for each effect, which mypy proves (`assert_never`).

    `perform` of the join protocol orders the parts of a batch; the files of `matchers` have the
    arms for its actions.
    """
    parts = (f"{part}/{system.name}" for part in ("joinproto", "tests"))
    everywhere = trees(*parts, *system.places, "joinproto/swarm", "tools/swarms")
    found = {
        path: effects
        for path, tree in everywhere
        if (effects := matched(tree, system.effects)) and not path.startswith("tests/join")
    }
    places = system.matchers or (f"joinproto/{system.name}/perform.py",)

    assert dict.fromkeys(places, system.effects) == found
    assert system.matchers or len(system.effects) == len(system.methods)


@each
def test_only_the_listed_files_distinguish_effects(system: System) -> None:
    """No other file has an `isinstance` chain or a table for them; tests may."""
    models = f"models/joinproto_worlds/{system.name}"
    everywhere = (f"joinproto/{system.name}", *system.places, "joinproto/swarm", "tools/swarms")
    found = {path for path, tree in trees(*everywhere, models) if told_apart(tree, system.effects)}
    places = system.matchers or (f"joinproto/{system.name}/perform.py",)

    assert {*places, *system.may_tell} == found


@each
def test_only_the_listed_classes_perform_effects(system: System) -> None:
    """These are one class of the product, and classes of worlds and simulations."""
    parts = (f"joinproto/{system.name}", "joinproto/apps", "joinproto/host", "joinproto/swarm")
    everywhere = trees(*parts, f"models/joinproto_worlds/{system.name}")
    found = {
        f"{path} {name}"
        for path, tree in everywhere
        for name in performers(tree, system.methods)
        if path != f"joinproto/{system.name}/perform.py"
    }

    assert {*system.performers} == found


@each
def test_only_the_listed_functions_of_a_host_compare_values_of_the_machine(system: System) -> None:
    """The machine decides by these values, so that searches cover the decision."""
    found = {
        f"{Path(path).name} {name}"
        for path, tree in trees(*system.places)
        for name in comparing(tree, system)
    }

    assert system.may_compare.keys() == found


def test_another_performer_and_a_decision_in_a_host_are_found() -> None:
    methods = "\n".join(f"    def {name}(self): ..." for name in RECONCILE.methods)
    tree = ast.parse(f"class Other:\n{methods}\nmatch x:\n    case Keep(intents):\n        pass")

    assert {"Keep"} == matched(tree, RECONCILE.effects)
    assert ["Other"] == [*performers(tree, RECONCILE.methods)]
    for said in (
        "one.since > two.since",
        "how is ChangeOutcome.DONE",
        "isinstance(one, Intent)",
        "1 if one.intent else 2",
        "not (two and one.intent)",
        "[each for each in two if each.intent]",
    ):
        tree = ast.parse(f"def follows(one, two):\n    return {said}")

        assert {"follows"} == comparing(tree, RECONCILE), said
    for said in (
        "if isinstance(one, Keep): pass",
        "if isinstance(one, machine.Ask | machine.Keep): pass",
        "if type(one) is Keep: pass",
        "does = {Keep: one.keep}",
        "match one:\n    case machine.Keep(): pass",
    ):
        assert "Keep" in told_apart(ast.parse(said), RECONCILE.effects), said
    assert set() == comparing(ast.parse("def sums(one):\n    return one.bytes > 2"), RECONCILE)
