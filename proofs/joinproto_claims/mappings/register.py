"""Maps the states of the `chain-register` worlds to the relations of the register's proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from attrs import frozen

from joinproto.check.freeze import thaw
from joinproto.check.reference import Reference, State
from joinproto.join.choice_messages import Accept, Promise
from joinproto.join.store import Accepted, Ballot
from joinproto.prove.layer import Layer
from joinproto.prove.link.mapping import Picture, RefinementMapping, Universe
from joinproto.prove.logic import Relation, Sort
from joinproto.prove.structure import Element, Env, Rows, Structure
from joinproto_claims import register
from joinproto_claims.register import BALLOT, LAYER, MAJORITY, SEAT, VIEW

s, b, c, v, q = (register.s, register.b, register.c, register.v, register.q)

HISTORY = frozenset(
    {register.answered, register.told, register.told_from, register.proposed, register.vote}
)


@frozen
class RegisterMapping(RefinementMapping):
    """A mapping for one world.

    `electors`, `seats`: store_ids.  `ballots`, `successors`: all ballots and successors that the
    world can have.  `view_id`: the id of V, the view whose successor is chosen.
    """

    electors: tuple[str, ...]
    seats: tuple[str, ...]
    ballots: tuple[Ballot, ...]
    successors: tuple[str, ...]
    view_id: str

    layer: Layer = LAYER
    history: frozenset[Relation] = HISTORY

    @classmethod
    def of(cls, reference: Reference) -> RegisterMapping:
        """Return the mapping for a world; the plans of its members give the possible values."""
        members: list[Any] = list(reference.world.members.values())
        plans = [make.args[0] for make in members]
        (view,) = {plan.record.tip for plan in plans}
        seats = tuple(sorted(plan.record.store_id for plan in plans))
        rounds = range(1, max(plan.rounds for plan in plans) + 1)
        return cls(
            reference,
            electors=tuple(sorted(seat.store_id for seat in view.electors)),
            seats=seats,
            ballots=tuple(Ballot(number, seat) for number in rounds for seat in seats),
            successors=tuple(one.id for plan in plans for one in plan.candidates),
            view_id=view.id,
        )

    def rows(self, state: State) -> Mapping[Relation, Rows]:
        found: dict[Relation, set[Any]] = {one: set() for one in LAYER.changing}
        for name in self.reference.codes.names:
            values = self.values_of(state, name)
            self._add_disk(found, values["kept"])
            choice = values.get("choice")
            if choice is not None and choice.attempt is not None:
                attempt = choice.attempt
                if attempt.proposed is None:
                    found[register.is_open].add((attempt.ballot,))
                else:
                    found[register.proposed].add((attempt.ballot, attempt.proposed.id))
        for vote in self.monitor_of(state)["votes"]:
            found[register.vote].add((vote.seat.store_id, *_of(vote.accepted)))
        for message in (thaw(content) for _, _, content in state.messages):
            match message:
                case Promise(ballot=ballot, voter=voter, accepted=accepted):
                    self._add_answer(found, voter.store_id, ballot, accepted)
                case Accept(ballot=ballot, view=view):
                    found[register.proposed].add((ballot, view.id))
        found[register.proposed] |= {(row[1], row[2]) for row in found[register.vote]}
        return {relation: frozenset(rows) for relation, rows in found.items()}

    def _add_disk(self, found: dict[Relation, set[Any]], kept: Any) -> None:
        seat, promised, accepted = kept.store_id, kept.promised, kept.accepted
        if kept.tip is not None and kept.tip.id != self.view_id:
            found[register.gone].add((seat,))
            return
        if promised is None:
            return
        found[register.promised] |= {(seat, one) for one in self.ballots if one <= promised}
        found[register.beyond] |= {(seat, one) for one in self.ballots if one < promised}
        if accepted is not None:
            found[register.accepted].add((seat, *_of(accepted)))
            found[register.accepted_from] |= {
                (seat, one) for one in self.ballots if one <= accepted.ballot
            }
            found[register.vote].add((seat, *_of(accepted)))
        if promised.store_id == seat and (accepted is None or accepted.ballot < promised):
            self._add_answer(found, seat, promised, accepted)

    def _add_answer(
        self, found: dict[Relation, set[Any]], seat: str, to: Ballot, accepted: Accepted | None
    ) -> None:
        found[register.answered].add((seat, to))
        if accepted is None:
            return
        if accepted.ballot < to:
            found[register.told].add((seat, to, *_of(accepted)))
        found[register.told_from] |= {
            (seat, to, one) for one in self.ballots if one <= accepted.ballot and one < to
        }

    def content(self, pictures: tuple[Picture, ...]) -> Universe:
        electors = self.electors
        majorities = tuple(map(frozenset, combinations(electors, len(electors) // 2 + 1)))
        elements: dict[Sort, tuple[Element, ...]] = {
            SEAT: self.seats,
            BALLOT: self.ballots,
            VIEW: self.successors,
            MAJORITY: majorities,
        }
        rigid: dict[Relation, Rows] = {
            register.before: frozenset(combinations(sorted(self.ballots), 2)),
            register.elector: frozenset((seat,) for seat in electors),
            register.within: frozenset((seat, one) for one in majorities for seat in one),
        }
        return elements, rigid, {register.owner: {one: one.store_id for one in self.ballots}}

    def candidates(self, now: Structure, goal: Structure) -> Iterator[tuple[str, Env]]:
        new = goal.since(now)
        for seat, ballot in sorted(new(register.promised), key=_by_seat_latest_round_first):
            assert isinstance(ballot, Ballot)
            if ballot.store_id == seat:
                yield "begin", {b: ballot}
        for seat, ballot, view in new(register.vote):
            yield "vote", {s: seat, b: ballot, v: view}
        told_more = {row[:2] for row in new(register.told_from)}
        promises = {*new(register.promised), *new(register.answered), *told_more}
        for seat, ballot in sorted(promises, key=_by_seat_latest_round_first):
            yield "promise", {s: seat, b: ballot}
        for ballot, view in new(register.proposed):
            for most in now.elements[MAJORITY]:
                yield "propose its own view", {b: ballot, v: view, q: most}
                for seat, to, earlier, named in now.rows[register.told]:
                    if (to, named) == (ballot, view):
                        env = {b: ballot, v: view, q: most, s: seat, c: earlier}
                        yield "propose what was accepted", env
        for (seat,) in new(register.gone):
            yield "leave", {s: seat}
        for (ballot,) in now.rows[register.is_open] - goal.rows[register.is_open]:
            yield "give up", {b: ballot}
        for seat, ballot in now.rows[register.answered] - goal.rows[register.answered]:
            yield "lose an answer", {s: seat, b: ballot}


def _of(accepted: Accepted) -> tuple[Ballot, Any]:
    return accepted.ballot, accepted.view.id


def _by_seat_latest_round_first(row: tuple[Any, ...]) -> tuple[str, int, str]:
    return str(row[0]), -row[1].round, row[1].store_id
