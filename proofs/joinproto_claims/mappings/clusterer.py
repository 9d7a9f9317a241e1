"""The worlds of the Clusterer in the relations of their layer: statuses, disks, locks.

A set of data is the label that the data got when they were made; it remains the same set after
writes of clients.  The default configs of blank machines are different elements, distinguished by
the node's identity.  A lock counts while its holder is in the round for which it took the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations, islice
from typing import Any

from attrs import define, evolve, frozen

from joinproto.check.catalogue import entry, load_world
from joinproto.check.freeze import thaw
from joinproto.check.reference import State
from joinproto.check.world import World
from joinproto.clusterer.config import Config
from joinproto.clusterer.identities import of_node
from joinproto.clusterer.simulator import Machine
from joinproto.clusterer.state import RoundKind
from joinproto.clusterer.state import State as NodeState
from joinproto.clusterer.status import WAITING, Status
from joinproto.prove.layer import Layer
from joinproto.prove.link.mapping import Picture, RefinementMapping, Universe
from joinproto.prove.logic import Relation, Sort
from joinproto.prove.structure import Element, Env, Rows, Structure
from joinproto_claims import clusterer_steps as clusterer
from joinproto_claims.clusterer import LAYER
from joinproto_claims.clusterer_steps import CONFIG, NODE, SET, VERSION
from joinproto_worlds.clusterer.played import RunningScene

n, m, c, s = (clusterer.n, clusterer.m, clusterer.c, clusterer.s)
STORY = "story"
OF_DATA = (clusterer.held, clusterer.kept, clusterer.means)


@define
class WholeScene(RunningScene):
    """A scene that begins with the first step of its history, before any machine has started.

    The events of the history are taken in one order, actions first; later events in any order.
    """

    def start(self) -> None:
        if self.at < 0:
            self.begin_search(0)

    def choices(self) -> Iterator[str]:
        names = sorted(super().choices(), key=lambda name: not name.startswith("do "))
        is_history = 0 <= self.at <= self.scene.before
        yield from islice(names, 1) if is_history else names


def load_whole(name: str, mutant: str | None) -> World:
    """Return a world of the Clusterer that begins before any machine has started."""
    given = entry(name).given
    member = partial(WholeScene.of, given["scene"], given["variant"], mutant)
    return evolve(load_world(name, mutant=mutant), members={STORY: member})


@frozen
class Content:
    """A config as an element.  `identity`: for a default config its node's identity, else None."""

    config: Config
    identity: str | None = None

    def __str__(self) -> str:
        return str(self.config)


@frozen
class ClustererMapping(RefinementMapping):
    """A node is a machine; the only member of each world shows all machines."""

    layer: Layer = LAYER
    history: frozenset[Relation] = frozenset({clusterer.means, clusterer.said})

    def picture(self, state: State, seen: Picture | None) -> Picture:
        """Return the state's picture; a ready node counts as first if it booted as first."""
        found = super().picture(state, seen)
        if seen is None:
            return found
        first = LAYER.changing.index(clusterer.first)
        run_on = {(one.name,) for one in self._machines(state) if _status(one) is Status.READY}
        rows = found[first] | (seen[first] & run_on)
        return (*found[:first], rows, *found[first + 1 :])

    def rows(self, state: State) -> Mapping[Relation, Rows]:
        machines = self._machines(state)
        found: dict[Relation, set[Any]] = {one: set() for one in LAYER.changing}
        by_name = {one.name: one for one in machines}
        for one in machines:
            _add(found, one)
            lock = None if one.state is None else one.state.lock
            if lock is not None and _is_in_lock_round(by_name[lock.node].state, lock.token):
                found[clusterer.lock].add((one.name, lock.node))
        return {relation: frozenset(rows) for relation, rows in found.items()}

    def content(self, pictures: tuple[Picture, ...]) -> Universe:
        all_rows: Callable[[Relation], frozenset[Any]] = partial(self.shown, pictures)
        configs: set[Content] = {row[1] for one in OF_DATA[:2] for row in all_rows(one)}
        configs |= {row[0] for row in all_rows(clusterer.means)}
        configs |= {row[1] for row in all_rows(clusterer.said)}
        named = {name for one in configs for name in one.config.nodes}
        of_nodes = (clusterer.held, clusterer.kept, clusterer.has, clusterer.said)
        nodes = named | {row[0] for one in of_nodes for row in all_rows(one)}
        versions = {one.config.version for one in configs}
        sets = {row[1] for one in (clusterer.has, clusterer.means) for row in all_rows(one)}
        elements: dict[Sort, tuple[Element, ...]] = {
            NODE: tuple(sorted(nodes)),
            CONFIG: tuple(sorted(configs, key=repr)),
            VERSION: tuple(sorted(versions)),
            SET: tuple(sorted(sets)),
        }
        rigid: dict[Relation, Rows] = {
            clusterer.below: frozenset(combinations(sorted(versions), 2)),
            clusterer.names: frozenset((one, name) for one in configs for name in one.config.nodes),
            clusterer.gospel: frozenset(
                (one, one.config.gospel) for one in configs if one.config.gospel is not None
            ),
        }
        return elements, rigid, {clusterer.version: {one: one.config.version for one in configs}}

    def candidates(self, now: Structure, goal: Structure) -> Iterator[tuple[str, Env]]:
        for config, data in goal.rows[clusterer.means] - now.rows[clusterer.means]:
            yield "settle", {c: config, s: data}
        for node in now.elements[NODE]:
            yield from _steps_of(now, goal, node)
        for node, config in goal.rows[clusterer.said] - now.rows[clusterer.said]:
            for data in _sets(now, node):
                yield "say", {n: node, c: config, s: data}
        for asked, holder in goal.rows[clusterer.lock] - now.rows[clusterer.lock]:
            yield "lock", {n: asked, m: holder}
        for asked, holder in now.rows[clusterer.lock] - goal.rows[clusterer.lock]:
            yield "unlock", {n: asked, m: holder}

    def _machines(self, state: State) -> tuple[Machine, ...]:
        values = self.values_of(state, STORY)
        machines = thaw(values["machines"])
        return tuple(one for _, one in sorted(machines.items())) if values["at"] >= 0 else ()


def _status(one: Machine) -> Status | None:
    return None if one.state is None else one.state.status


def _add(found: dict[Relation, set[Any]], one: Machine) -> None:
    """Add the facts of one machine."""
    name, state, disk = one.name, one.state, one.disk
    data = None if disk.data is None else disk.data.partition("+")[0]
    if disk.stored is not None:
        found[clusterer.kept].add((name, _content(disk.stored.config, disk.identity)))
    if data is not None:
        found[clusterer.has].add((name, data))
    if state is None or state.held is None:
        return
    config = _content(state.held.config, state.identity)
    found[clusterer.held].add((name, config))
    if state.status in WAITING:
        found[clusterer.waits].add((name,))
    if state.status in (Status.BOOTING, Status.READY):
        found[clusterer.ready].add((name,))
        if data is not None:
            found[clusterer.means].add((config, data))
            if state.status is Status.READY:
                found[clusterer.said].add((name, config))
    if state.goes_first:
        found[clusterer.first].add((name,))


def _content(config: Config, identity: str | None) -> Content:
    return Content(config, of_node(identity) if config.version == 0 else None)


def _is_in_lock_round(state: NodeState | None, token: int) -> bool:
    """Return whether a node is in the round in which it took locks with this token."""
    if state is None or state.status not in WAITING or state.round is None:
        return False
    return state.round.what is RoundKind.LOCKS and state.round.token == token


def _steps_of(now: Structure, goal: Structure, node: Element) -> Iterator[tuple[str, Env]]:
    """Yield steps of this node that may lead to `goal`."""
    held, next_held = _held(now, node), _held(goal, node)
    if held != next_held:
        if held is None:
            yield "start", {n: node, c: next_held}
        elif next_held is None:
            yield "end", {n: node}
        else:
            for name in ("adopt", "leave", "take"):
                yield name, {n: node, c: next_held}
    yield from _data(now, goal, node)
    if held is None:
        if _differ(clusterer.kept, now, goal, node) or _differ(clusterer.has, now, goal, node):
            yield "reset", {n: node}
        return
    if (node,) not in now.rows[clusterer.waits]:
        if (node,) in goal.rows[clusterer.waits]:
            yield "fail", {n: node}
        return
    if (node,) in goal.rows[clusterer.ready]:
        yield from _boots(now, node, held)
        # The node takes its own lock in the step in which it goes first.
        yield "lock", {n: node, m: node}


def _boots(now: Structure, node: Element, held: Element) -> Iterator[tuple[str, Env]]:
    for name in ("found", "found, wiped", "go first"):
        yield name, {n: node, c: held}
    for source, config in now.rows[clusterer.said]:
        if config == held:
            yield "come back", {n: node, m: source, c: held}
            yield "join", {n: node, m: source, c: held}


def _data(now: Structure, goal: Structure, node: Element) -> Iterator[tuple[str, Env]]:
    """Yield steps by which this node may get the data that it has in `goal`."""
    config = _held(now, node)
    for data in _sets(goal, node) - _sets(now, node):
        yield "boot afresh", {n: node, c: config, s: data}
        for source, copied in now.rows[clusterer.has]:
            if copied == data:
                yield "boot with others", {n: node, m: source, c: config, s: data}


def _held(state: Structure, node: Element) -> Any:
    return next((config for one, config in state.rows[clusterer.held] if one == node), None)


def _sets(state: Structure, node: Element) -> frozenset[Element]:
    return frozenset(data for one, data in state.rows[clusterer.has] if one == node)


def _differ(relation: Relation, now: Structure, goal: Structure, node: Element) -> bool:
    return any(row[0] == node for row in now.rows[relation] ^ goal.rows[relation])
