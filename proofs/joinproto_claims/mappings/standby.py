"""The worlds of hot standby in the relations of their layer: views, brokers' messages,
confirmations.

A generation is its number, 0 before the first one.  A message is the identity of a client's message
or declaration.  Worlds in which clients also take or delete have no mapping.

A state shows the present contents of brokers, disks and the chain.  Reports, promotions, messages
and confirmations remain in later pictures, and so do the last view of a generation that is over and
the brokers that counted in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from attrs import frozen

from joinproto.check.freeze import thaw
from joinproto.check.reference import State
from joinproto.prove.layer import Layer
from joinproto.prove.link.mapping import Picture, RefinementMapping, Universe
from joinproto.prove.logic import Relation, Sort
from joinproto.prove.structure import Element, Env, Rows, Structure
from joinproto.standby.backup import Following
from joinproto.standby.primary_state import PrimaryState
from joinproto.standby.replica_state import ReplicaState
from joinproto_claims import standby
from joinproto_claims.standby import BROKER, GENERATION, LAYER, MESSAGE

b, p, x = standby.b, standby.p, standby.x
g, h, m = standby.g, standby.h, standby.m
Pairs = frozenset[tuple[Any, ...]]


@frozen
class StandbyMapping(RefinementMapping):
    """A primary has `told` all its messages, a backup only messages that its primary has, too."""

    layer: Layer = LAYER
    history: frozenset[Relation] = frozenset(
        {standby.leads, standby.told, standby.put, standby.confirmed}
    )

    def rows(self, state: State) -> Mapping[Relation, Rows]:
        """Return the facts of the state alone; `picture` adds facts that depend on the past."""
        it = self._story(state)
        leading = _leading(it)
        return {
            standby.leads: frozenset(
                {(one.view.generation, name) for name, one in leading.items()}
                | (
                    {(it["chain"].generation, it["chain"].primary)}
                    if it["chain"].members
                    else set()
                )
            ),
            standby.listed: frozenset((it["chain"].generation, one) for one in it["chain"].members),
            standby.counts: frozenset(
                (one.view.generation, name) for one in leading.values() for name in _counting(one)
            ),
            standby.past: frozenset(
                (name, older)
                for name, view in _of_each(it, "view")
                for older in range(view.generation)
            ),
            standby.has: frozenset(
                (name, one)
                for name, replica in _of_each(it, "replica")
                for one in _messages(replica)
            ),
            standby.told: frozenset(),
            standby.put: frozenset(),
            standby.confirmed: frozenset(),
        }

    def picture(self, state: State, seen: Picture | None) -> Picture:
        it, shown = self._story(state), dict(self.rows(state))
        if seen is None:
            return _first(it, shown)
        old = dict(zip(LAYER.changing, seen, strict=True))
        now = {
            standby.listed: {it["chain"].generation},
            standby.counts: {one.view.generation for one in _leading(it).values()},
        }
        for relation, generations in now.items():
            shown[relation] |= {row for row in old[relation] if row[0] not in generations}
        shown[standby.leads] |= old[standby.leads]
        shown[standby.told] = _told(it, old[standby.told])
        known = {row[-1] for row in old[standby.has] | old[standby.told]}
        shown[standby.put] = old[standby.put] | {
            (one.view.generation, message)
            for one in _leading(it).values()
            for message in _messages(one.replica) - known
        }
        confirmed = _confirmed(it)
        shown[standby.confirmed] = old[standby.confirmed] | {
            row for row in shown[standby.put] if row[1] in confirmed
        }
        return tuple(shown[relation] for relation in LAYER.changing)

    def content(self, pictures: tuple[Picture, ...]) -> Universe:
        at = {relation: LAYER.changing.index(relation) for relation in LAYER.changing}
        rows: dict[Relation, list[Any]] = {
            one: [row for picture in pictures for row in picture[at[one]]] for one in at
        }
        youngest: int = max((row[0] for row in rows[standby.leads]), default=0)
        generations = range(youngest + 1)
        messages = {row[1] for row in rows[standby.has]} | {row[2] for row in rows[standby.told]}
        story: Any = self.reference.world.members["story"]()
        elements: dict[Sort, tuple[Element, ...]] = {
            BROKER: tuple(story.plot.names),
            GENERATION: tuple(generations),
            MESSAGE: tuple(sorted(messages, key=str)) or ("nothing",),
        }
        return elements, {standby.before: frozenset(combinations(generations, 2))}, {}

    def candidates(self, now: Structure, goal: Structure) -> Iterator[tuple[str, Env]]:
        def new(relation: Relation) -> list[Any]:
            return sorted(goal.rows[relation] - now.rows[relation])

        def gone(relation: Relation) -> list[Any]:
            return sorted(now.rows[relation] - goal.rows[relation])

        leads: Any = goal.rows[standby.leads]
        primary = dict(leads)
        for generation, broker in new(standby.leads):
            yield "found", {b: broker, g: generation}
            for before, old in now.rows[standby.leads]:
                for left_out in (old, broker):
                    yield "promote", {b: broker, g: before, h: generation, p: left_out}
        for broker, generation in reversed(new(standby.past)):
            follows = generation + 1
            if follows in primary:
                yield "follow", {x: broker, g: follows, p: primary[follows]}
        for generation, message in new(standby.put):
            yield "put", {g: generation, p: primary[generation], m: message}
        for generation, broker, message in new(standby.told):
            yield "tell", {g: generation, p: primary[generation], x: broker, m: message}
        for broker, message in gone(standby.has):
            for generation, leader in primary.items():
                yield "give up", {g: generation, p: leader, x: broker, m: message}
        for generation, broker in new(standby.counts):
            yield "count", {g: generation, p: primary[generation], x: broker}
        for generation, broker in new(standby.listed):
            yield "list", {g: generation, x: broker}
        for generation, broker in gone(standby.listed):
            yield "strike", {g: generation, x: broker}
        for generation, broker in gone(standby.counts):
            yield "forget", {g: generation, x: broker}
        for generation, message in new(standby.confirmed):
            yield "confirm", {g: generation, p: primary[generation], m: message}

    def _story(self, state: State) -> dict[str, Any]:
        names = ("plot", "brokers", "disk", "chain", "confirmed")
        values = self.values_of(state, "story")
        return {name: thaw(values[name]) for name in names}


def _first(it: dict[str, Any], shown: dict[Relation, Rows]) -> Picture:
    """Return the first picture: earlier messages are confirmed, and have arrived everywhere.

    If the primary of a generation that is over still serves, its view is the last written one.
    """
    leading = sorted(_leading(it).values(), key=lambda one: one.view.generation)
    shown[standby.listed] |= {
        (one.view.generation, name) for one in leading for name in one.view.members
    }
    shown[standby.put] = frozenset(
        (one.view.generation, message) for one in leading[:1] for message in _messages(one.replica)
    )
    shown[standby.confirmed] = shown[standby.put]
    shown[standby.told] = _told(it, frozenset()) | {
        (generation, name, message)
        for generation, message in shown[standby.put]
        for at, name in shown[standby.counts]
        if at == generation
    }
    return tuple(shown[relation] for relation in LAYER.changing)


def _leading(it: dict[str, Any]) -> dict[str, PrimaryState]:
    found = {name: broker.side for name, broker in it["brokers"].items()}
    return {name: side for name, side in found.items() if isinstance(side, PrimaryState)}


def _counting(one: PrimaryState) -> set[str]:
    """Return the brokers of the view that is known to be written, and of the view under way."""
    coming = () if one.proposal is None else one.proposal.view.members
    return {*one.view.members, *coming}


def _of_each(it: dict[str, Any], attribute: str) -> Iterator[tuple[str, Any]]:
    """Yield the view or the replica of each broker; for a stopped broker, that on its disk."""
    for name, broker in it["brokers"].items():
        yield name, getattr(it["disk"][name] if broker.side is None else broker, attribute)


def _messages(replica: ReplicaState) -> frozenset[str]:
    found = {thing.id for thing in replica.things.values()}
    return frozenset(found.union(*(queue.messages.ids for queue in replica.queues.values())))


def _told(it: dict[str, Any], old: Pairs) -> Pairs:
    """Return all reports that were ever made.

    A backup names its messages when it asks for a queue, and later the number of each message of
    its link that it has handled.  So a backup whose link has brought a first message has reported
    all its messages.
    """
    leading = _leading(it)
    found = old | {
        (one.view.generation, name, message)
        for name, one in leading.items()
        for message in _messages(one.replica)
    }
    for name, broker in it["brokers"].items():
        side = broker.side
        if isinstance(side, Following) and side.wired is not None and side.primary in leading:
            # The generation is the primary's; by a guard of the relation the backup follows no
            # newer generation.
            generation = leading[side.primary].view.generation
            has = _messages(side.replica)
            found |= {
                (generation, name, row[2])
                for row in found
                if row[:2] == (generation, side.primary) and row[2] in has
            }
    return found


def _confirmed(it: dict[str, Any]) -> frozenset[str]:
    """Return the messages that were confirmed to clients."""
    ops = it["plot"].ops
    assert not any(op.takes or op.deletes or op.passes for op in ops), (
        "the mapping knows only puts and declarations"
    )
    done = [ops[at] for at in it["confirmed"] if at >= 0]
    puts = {message for op in done for _, message in op.puts}
    return frozenset(puts | {op.declares.id for op in done if op.declares is not None})
