"""The join worlds in the relations of the chain: stores, data, answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import Any

from attrs import field, frozen

from joinproto.check.reference import State
from joinproto.join.ids import Name
from joinproto.prove.layer import Layer
from joinproto.prove.link.mapping import Picture, RefinementMapping, Universe
from joinproto.prove.logic import Relation, Sort
from joinproto.prove.structure import Element, Env, Rows, Structure
from joinproto_claims import chain_steps as chain
from joinproto_claims.chain import LAYER
from joinproto_claims.chain_steps import COPY, NUMBER, SEAT, VIEW
from joinproto_claims.mappings import views
from joinproto_worlds.join.words import REGISTER

s, u, v, w, n, p = (chain.s, chain.u, chain.v, chain.w, chain.n, chain.p)


@frozen
class ChainMapping(RefinementMapping):
    """A seat is a store_id, a number is the `seq` of a frame, and a copy is a set of frames."""

    layer: Layer = LAYER
    history: frozenset[Relation] = frozenset({chain.told, chain.told_not, chain.kept})
    _stores: dict[Any, Mapping[Relation, Rows]] = field(factory=dict, init=False, repr=False)

    def rows(self, state: State) -> Mapping[Relation, Rows]:
        chosen = frozenset((views.name(one),) for one in self.monitor_of(state)["chosen"])
        found: dict[Relation, Rows] = {one: frozenset() for one in LAYER.changing}
        found[chain.chosen] = chosen
        for name in self.reference.codes.names:
            if name == REGISTER:
                continue
            values = self.values_of(state, name)
            key = (values["kept"], values["frames"])
            if key not in self._stores:
                self._stores[key] = _facts_of_store(*key)
            for relation, rows in self._stores[key].items():
                found[relation] |= rows
        return found

    def content(self, pictures: tuple[Picture, ...]) -> Universe:
        at = LAYER.changing.index(chain.has)
        all_rows = partial(self.shown, pictures)
        all_views = views.with_ancestors(all_rows(chain.chosen), all_rows(chain.knows))
        starts = {(view, *frame) for view in all_views for frame in views.frames_before(view)}
        held = {row[1:] for row in all_rows(chain.has) | all_rows(chain.kept)}
        numbers = {row[-1] for row in held} | {row[2] for row in starts} | {1}
        copies = {row[2] for row in all_rows(chain.told)}
        data = [
            frozenset(row[1:] for row in picture[at] if row[0] == seat)
            for picture in pictures
            for seat in _seats(all_views, all_rows(chain.has))
        ]
        copies |= set(data)
        elements: dict[Sort, tuple[Element, ...]] = {
            SEAT: tuple(_seats(all_views, all_rows(chain.knows))) or ("nobody",),
            VIEW: tuple(all_views) or ("no view",),
            NUMBER: tuple(sorted(numbers, key=str)),
            COPY: tuple(sorted(copies, key=repr)),
        }
        rigid: dict[Relation, Rows] = {
            chain.upto: views.upto(all_views) or frozenset({("no view", "no view")}),
            chain.earlier: frozenset(combinations(sorted(numbers), 2)),  # type: ignore[type-var]  # ints
            chain.member: views.members(all_views),
            chain.close: views.closes(all_views),
            chain.start: frozenset(starts),
            chain.contains: frozenset((copy, *frame) for copy in copies for frame in copy),  # type: ignore[attr-defined]  # copies are sets of frames
        }
        return elements, rigid, {}

    def candidates(self, now: Structure, goal: Structure) -> Iterator[tuple[str, Env]]:
        new = goal.since(now)
        yield from _choices(now, new(chain.chosen))
        for seat, view in new(chain.knows):
            yield "learn", {s: seat, w: view}
        for seat, view, frame in new(chain.kept):
            yield "keep a frame", {s: seat, v: view, n: frame}
        for seat, view in new(chain.reached):
            yield "become ready", {s: seat, v: view}
        yield from _answers(now, goal, new)
        yield from _updates(now, goal)


def _facts_of_store(kept: Any, stored: Any) -> Mapping[Relation, Rows]:
    """Return the facts of a store's record and its frames."""
    seat, tip = kept.store_id, kept.tip
    if tip is None:
        return {}
    ancestry = list(views.ancestry(views.name(tip.id)))
    tip_name: Name = ancestry[0]
    is_frozen = kept.promised is not None
    held = 0 if kept.held is None else views.name(kept.held).number
    frames = frozenset() if kept.update_unfinished else views.frames(stored)
    reached = [view for view in ancestry if view.number <= held]
    rows: dict[Relation, Rows] = {
        chain.knows: frozenset((seat, view) for view in ancestry),
        chain.closed: frozenset((seat, view) for view in ancestry if view != tip_name or is_frozen),
        chain.reached: frozenset((seat, view) for view in reached),
        chain.has: frozenset((seat, *frame) for frame in frames),
        chain.unfinished: frozenset({(seat,)} if kept.update_unfinished else ()),
        chain.kept: frozenset(
            (seat, *frame) for frame in frames if frame[0] == tip_name and tip_name in reached
        ),
    }
    if is_frozen:
        rows[chain.told_not] = frozenset(
            (seat, tip_name, view) for view in ancestry if view not in reached
        )
        if not kept.update_unfinished:
            rows[chain.told] = frozenset((seat, tip_name, frames, view) for view in reached)
    return rows


def _choices(now: Structure, chosen: Rows) -> Iterator[tuple[str, Env]]:
    for (view,) in chosen:
        assert isinstance(view, Name)
        if view.parent is None:
            yield "found", {w: view}
            continue
        for before in views.ancestry(view.parent):
            yield "choose, from who is at the start", {w: view, v: view.parent, u: before}
        for seat, about, copy, until in now.rows[chain.told]:
            if about == view.parent:
                env = {w: view, v: about, s: seat, p: copy, u: until}
                yield "choose, from who held", env


def _answers(now: Structure, goal: Structure, new: Any) -> Iterator[tuple[str, Env]]:
    asked = {(row[0], row[1]) for row in (*new(chain.told), *new(chain.told_not))}
    for seat, view in sorted({*asked, *new(chain.closed)}, key=str):
        for copy in sorted({row[2] for row in goal.rows[chain.told] if row[0] == seat}, key=repr):
            yield "answer", {s: seat, v: view, p: copy}
        data = frozenset(row[1:] for row in now.rows[chain.has] if row[0] == seat)
        if data in now.elements[COPY]:
            yield "answer", {s: seat, v: view, p: data}
        yield "answer, unfinished", {s: seat, v: view}


def _updates(now: Structure, goal: Structure) -> Iterator[tuple[str, Env]]:
    for seat in now.elements[SEAT]:
        tips = [view for one, view in now.rows[chain.knows] if one == seat]
        if not tips:
            continue
        tip = max(tips, key=_number)
        before = frozenset(row[1:] for row in now.rows[chain.has] if row[0] == seat)
        after = frozenset(row[1:] for row in goal.rows[chain.has] if row[0] == seat)
        was, will_be = (seat,) in now.rows[chain.unfinished], (seat,) in goal.rows[chain.unfinished]
        if will_be and not was:
            yield "begin an update", {s: seat, v: tip}
        if (was and not will_be) or before != after:
            yield "end an update", {s: seat, v: tip, p: after}
        if before != after:
            for copy in now.elements[COPY]:
                yield "follow a source", {s: seat, v: tip, p: copy, chain.p2: after}


def _seats(all_views: list[Any], rows: Rows) -> list[Element]:
    found = {seat.store_id for view in all_views for seat in view.members}
    return sorted({*found, *(row[0] for row in rows)}, key=str)


def _number(view: Any) -> int:
    return int(view.number)
