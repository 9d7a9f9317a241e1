"""The join worlds in the relations of serving: disk, memory, phases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import Any

from attrs import frozen

from joinproto.check.freeze import thaw
from joinproto.check.reference import State
from joinproto.join.ids import Name
from joinproto.join.phases import Phase
from joinproto.join.view import Kind
from joinproto.prove.layer import Layer
from joinproto.prove.link.mapping import Picture, RefinementMapping, Universe
from joinproto.prove.logic import Function, Relation, Sort
from joinproto.prove.structure import Element, Env, Rows, Structure
from joinproto_claims import serving
from joinproto_claims.mappings import views
from joinproto_claims.serving import LAYER, MAJORITY, OPTIONS, SEAT, VIEW
from joinproto_worlds.join.words import REGISTER

s, v, w, q, o = (serving.s, serving.v, serving.w, serving.q, serving.o)


@frozen
class ServingMapping(RefinementMapping):
    """A seat is a store_id; a majority is a view with a set of its electors."""

    layer: Layer = LAYER
    history: frozenset[Relation] = frozenset({serving.answered, serving.said, serving.opened})

    def rows(self, state: State) -> Mapping[Relation, Rows]:
        found: dict[Relation, set[Any]] = {one: set() for one in LAYER.changing}
        found[serving.chosen] = {(views.name(one),) for one in self.monitor_of(state)["chosen"]}
        for at, name in enumerate(self.reference.codes.names):
            if name != REGISTER:
                kept = self.values_of(state, name)["kept"]
                local = state.locals[at]
                code = self.reference.codes.members[at]
                shown = thaw(code.shows(local)) if local.up else None
                _add_member(found, kept, shown)
        return {relation: frozenset(rows) for relation, rows in found.items()}

    def content(self, pictures: tuple[Picture, ...]) -> Universe:
        all_rows = partial(self.shown, pictures)
        all_views = views.with_ancestors(all_rows(serving.chosen), all_rows(serving.knows))
        of_seats = (serving.knows, serving.runs)
        seats = {row[0] for one in of_seats for row in all_rows(one)} | {
            seat.store_id for view in all_views for seat in view.members
        }
        by_votes = [view for view in all_views if self._votes]
        majorities: list[Any] = [most for view in by_votes for most in _majorities(view)] or [
            "none"
        ]
        known_options = {row[1] for row in all_rows(serving.runs)}
        elements: dict[Sort, tuple[Element, ...]] = {
            SEAT: tuple(sorted(seats, key=str)) or ("nobody",),
            VIEW: tuple(all_views) or ("no view",),
            MAJORITY: tuple(majorities),
            OPTIONS: tuple(sorted({*map(str, known_options), *map(_options, all_views), "-"})),
        }
        rigid: dict[Relation, Rows] = {
            serving.upto: views.upto(all_views) or frozenset({("no view", "no view")}),
            serving.member: views.members(all_views),
            serving.close: views.closes(all_views),
            serving.fresh: _rows_of(all_views, lambda one: one.kind in (Kind.FOUND, Kind.RESTART)),
            serving.enough: _rows_of(all_views, lambda one: len(one.members) >= one.others[1]),
            serving.activated: _rows_of(all_views, lambda one: one.others[0]),
            serving.by_votes: frozenset((view,) for view in by_votes),
            serving.within: frozenset(
                (seat, most) for most in majorities if most != "none" for seat in most[1]
            ),
            serving.majority_of: frozenset(
                (most, most[0]) for most in majorities if most != "none"
            ),
        }
        values: dict[Function, dict[Element, Element]] = {
            serving.options: {view: _options(view) for view in elements[VIEW]},
        }
        return elements, rigid, values

    def candidates(self, now: Structure, goal: Structure) -> Iterator[tuple[str, Env]]:
        new = goal.since(now)
        for (view,) in new(serving.chosen):
            assert isinstance(view, Name)
            if view.parent is None:
                yield "found", {w: view}
                continue
            for most in now.elements[MAJORITY]:
                for step in ("restart", "change", "close"):
                    yield step, {w: view, v: view.parent, q: most}
        for seat, view in sorted(new(serving.knows) | new(serving.written), key=_latest_first):
            yield "learn", {s: seat, w: view}
        for seat in sorted({row[0] for row in new(serving.written)}, key=str):
            yield "write", {s: seat}
        for seat, view in new(serving.answered):
            yield "answer", {s: seat, v: view}
        for seat, view in new(serving.said):
            yield "become ready", {s: seat, v: view}
        for seat, given in new(serving.runs):
            yield "start", {s: seat, o: given}
        for seat, view in new(serving.serves):
            yield "serve", {s: seat, v: view}
        gone = {
            row[0]
            for relation in (serving.serves, serving.knows, serving.runs)
            for row in now.rows[relation] - goal.rows[relation]
        }
        for seat in sorted(gone, key=str):
            yield "stop", {s: seat}

    @property
    def _votes(self) -> bool:
        return REGISTER not in self.reference.codes.names


def _add_member(found: dict[Relation, set[Any]], kept: Any, shown: Any) -> None:
    seat, tip = kept.store_id, kept.tip
    written = [] if tip is None else list(views.ancestry(views.name(tip.id)))
    known = written if shown is None else list(views.ancestry(shown.tip))
    found[serving.written] |= {(seat, view) for view in written}
    found[serving.knows] |= {(seat, view) for view in known}
    if written and kept.promised is not None:
        found[serving.answered].add((seat, written[0]))
    if kept.held is not None:
        found[serving.said].add((seat, views.name(kept.held)))
    if shown is not None:
        found[serving.runs].add((seat, shown.options))
    if shown is not None and shown.phase is Phase.ACTIVE:
        found[serving.serves].add((seat, shown.tip))
        found[serving.opened].add((shown.tip,))


def _majorities(view: Name) -> Iterator[tuple[Name, frozenset[str]]]:
    """Yield the smallest majorities of a view's electors."""
    electors = sorted(seat.store_id for seat in view.electors)
    for most in combinations(electors, len(electors) // 2 + 1):
        yield view, frozenset(most)


def _rows_of(all_views: Iterable[Name], holds: Any) -> Rows:
    return frozenset((view,) for view in all_views if holds(view))


def _options(view: Any) -> str:
    return str(view.others[2]) if isinstance(view, Name) else "-"


def _latest_first(row: tuple[Any, ...]) -> tuple[str, int]:
    return str(row[0]), -row[1].number
