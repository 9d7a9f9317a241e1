"""Awaiting: which peers an idle member waits for.

A member that may propose the next view reports its obstacle itself.  An idle member has nothing to
choose and does not serve: it is in no view, or its view stands and others are not ready.  Only idle
members use this table.

Source: join protocol, 3.3 to 3.5; rules I1, I7, I8, J1, W1.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cache

from attrs import frozen

from joinproto.join.chooser import Attempt
from joinproto.join.config import Config
from joinproto.join.observations import Observations
from joinproto.join.phases import Facts
from joinproto.join.view import Seat, View, names_of
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members
from joinproto.machine.vocabulary import Reason


class Awaited(Enum):
    """The thing that an idle member waits for."""

    FOUNDERS = "the electors that are not here"
    FOUNDING = "the electors, to found the cluster"
    VIEW = "the members of the view, with their stores"
    ENTRY = "the members of the view, to take it in"
    SOURCE = "a member that is ready, to be fed"
    READY = "the members that are not ready"
    MORE = "more members"
    REGISTER = "the outside register"
    MAJORITY = "a majority of the electors"


@frozen(kw_only=True)
class Wait:
    """The row of the table: the facts that an idle member knows of itself.

    `founders_here`: all configured electors are heard.  `view_here`: a member of the tip is heard,
    with its store.  `votes`: electors choose, not an outside register.  The other fields are as in
    `Facts`.
    """

    has_tip: bool = True
    founders_here: bool = True
    is_member: bool = True
    view_here: bool = True
    has_data: bool = True
    all_ready: bool = True
    has_n: bool = True
    votes: bool = True


WAITING = Members("I", Wait)


_i = WAITING.fact


@cache
def awaiting() -> Table[Awaited]:
    """Return the table of a member that has nothing to choose and does not serve."""
    few = Reason.TOO_FEW_MEMBERS
    return Table(
        "chain-awaiting",
        "join protocol 3.3 to 3.5; rules I1, I7, I8, J1, W1",
        (
            Case(
                "I1",
                "founders are not here",
                _i(
                    "it knows no view, and does not hear the founders",
                    has_tip=False,
                    founders_here=False,
                ),
                Awaited.FOUNDERS,
                reason=few,
            ),
            Case("I1", "not founded yet", _i("it knows no view", has_tip=False), Awaited.FOUNDING),
            Case(
                "J1",
                "nobody of the view is here",
                _i(
                    "it is not in the tip, and no member of the tip is here",
                    is_member=False,
                    view_here=False,
                ),
                Awaited.VIEW,
                reason=few,
            ),
            Case(
                "J1", "not taken in yet", _i("it is not in the tip", is_member=False), Awaited.ENTRY
            ),
            Case(
                "I7",
                "nobody feeds it",
                _i("its data is not where the tip starts", has_data=False),
                Awaited.SOURCE,
            ),
            Case(
                "I8",
                "others are not ready",
                _i("others in the tip are not ready", all_ready=False),
                Awaited.READY,
            ),
            Case(
                "W1",
                "fewer than N",
                _i("N still counts, and the tip has fewer members", has_n=False),
                Awaited.MORE,
                reason=few,
            ),
            Case(
                "3.7",
                "the register is not reached",
                _i("an outside register chooses", votes=False),
                Awaited.REGISTER,
            ),
            Case("3.5", "hears no majority", ALWAYS, Awaited.MAJORITY, reason=few),
        ),
    )


def row_of(facts: Facts, heard: Observations, tip: View | None, config: Config, me: Seat) -> Wait:
    """Return the row of the table for a member."""
    return Wait(
        has_tip=facts.has_tip,
        founders_here=config.electors <= heard.in_reach | {me.member},
        is_member=facts.is_member,
        view_here=tip is not None and bool(_here(tip.members, heard)),
        has_data=facts.has_data,
        all_ready=facts.all_ready,
        has_n=facts.has_n,
        votes=not config.outside,
    )


def detail_of(
    awaited: Awaited, heard: Observations, tip: View | None, config: Config, me: Seat
) -> str:
    """Return a text for a person that names the members, or the register, that `me` waits for."""
    if tip is None:
        electors = config.electors - {me.member}
        if awaited is Awaited.FOUNDERS:
            return f"no connection to {_list(electors - heard.in_reach)}"
        return f"the electors are {_list(electors)}"
    here = _here(tip.members, heard)
    match awaited:
        case Awaited.ENTRY:
            asked = f"asks {_seats(here, heard, me)}"
            away = tip.members - here
            return f"{asked}; does not hear {_seats(away, heard, me)}" if away else asked
        case Awaited.SOURCE | Awaited.READY:
            return f"not ready: {_seats(tip.members - heard.ready - {me}, heard, me)}"
        case Awaited.MORE:
            return f"{len(tip.members)} of {tip.wait_for}"
        case Awaited.REGISTER:
            return "no answer from the register"
        case Awaited.MAJORITY:
            gone = heard.beyond | {item.seat for item in heard.answers}
            gone |= {seat for seat in tip.electors if seat.member in heard.doubted}
            away = tip.electors - (_here(tip.electors, heard) - gone) - {me}
            return f"not heard, or on the way to another view: {_seats(away, heard, me)}"
        case _:
            return f"not here: {_seats(tip.members, heard, me)}"


def unanswered(
    attempt: Attempt,
    expected: set[str],
    heard: Observations,
    tip: View | None,
    config: Config,
    me: Seat,
) -> str:
    """Return a text that names the seats without an answer in this member's own ballot."""
    electors = frozenset() if tip is None else tip.electors
    proposed = attempt.proposed
    if proposed is not None:
        if config.outside:
            return "no answer from the register"
        voters = proposed.electors if tip is None else electors
        return f"no vote from {_seats(voters - attempt.voted - {me}, heard, me)}"
    names = expected | (set(config.electors) if tip is None else names_of(electors))
    silent = heard.silent(names - {me.member})
    # A member may have answered with a store that has no vote.
    answered = {item.seat for item in heard.answers}
    others = {one for one in electors - answered - {me} if one.member not in silent}
    texts = [f"no answer from {_list(silent)}"] if silent else []
    texts += [f"no vote from {_seats(others, heard, me)}"] if others else []
    return "; ".join(texts)


def _here(seats: frozenset[Seat], heard: Observations) -> frozenset[Seat]:
    """Return the seats whose members are heard, and are not known to have other stores."""
    names = heard.in_reach - heard.replaced
    return frozenset(seat for seat in seats if seat.member in names)


def _seats(seats: Iterable[Seat], heard: Observations, me: Seat) -> str:
    """Return the members' names, with the store's id if the member is here with another store."""
    return _list(
        f"{seat.member} with store {seat.store_id}"
        if seat.member in heard.replaced | {me.member}
        else seat.member
        for seat in seats
    )


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nobody"
