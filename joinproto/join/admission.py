"""Admission: a member's answer to a hello.

Source: join protocol, section 2, 3.3 and 3.4; rules J1 to J3, I2, I4.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from attrs import frozen

from joinproto.join.config import Config
from joinproto.join.ids import short
from joinproto.join.lineage import Lineage
from joinproto.join.messages import Hello
from joinproto.join.view import names_of
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Condition, Members
from joinproto.machine.vocabulary import Reason


class Admit(Enum):
    """The answer to a newcomer."""

    REFUSE = "refuse"
    TELL = "tell it the views it does not know"
    ASK = "ask it for the views we do not know"
    UPDATE = "let it be updated beside the running view"
    TAKE_IN = "take it in by the next view"
    KNOWN = "say whether we are ready"
    WAIT = "wait for it, or with it"


@frozen(kw_only=True)
class Newcomer:
    """A process that says hello, as this member sees it.

    `is_foreign`: its store is of another cluster.  `has_diverged`: at its tip's number, our chain
    has another view.  `is_behind`, `is_ahead`: its chain has fewer, more views than ours.
    `is_forgotten`: the view that has its tip's number is forgotten here.  `is_copy`: another member
    has a store with the same id.  `is_open`: our tip is an open view.  `is_member`: it is in our
    tip.  `leaves`: it asks to be left out.  `is_near`: its data ends where our tip starts, or in
    our tip.  `is_active`: our tip was active, as far as we know.  `is_apart`: it does not hear a
    member that we hear.  `has_options`: its options are our tip's.
    """

    is_foreign: bool = False
    has_diverged: bool = False
    is_behind: bool = False
    is_ahead: bool = False
    is_forgotten: bool = False
    is_copy: bool = False
    is_open: bool = False
    is_member: bool = False
    leaves: bool = False
    is_near: bool = False
    is_active: bool = False
    is_apart: bool = False
    has_options: bool = True


PEERS = Members("I", Newcomer)


_it = PEERS.fact

FOREIGN = "of another cluster"
BRANCH = "of a branch of this cluster"
FORGOTTEN = "too old to be compared"
COPY = "a copy of another member's store"
OPTIONS = "options differ"


def _refuses(
    label: str, name: str, when: Condition, reason: Reason = Reason.WRONG_STORE
) -> Case[Admit]:
    return Case(label, name, when, Admit.REFUSE, reason=reason)


@cache
def admission() -> Table[Admit]:
    """Return the table that a member asks about the sender of a hello; `me` is that sender."""
    return Table(
        "chain-admission",
        "join protocol, section 2 and 3.4; rules J1, J2, J3, I2, I4",
        (
            _refuses("J3", FOREIGN, _it("its store is of another cluster", is_foreign=True)),
            _refuses(
                "J3", BRANCH, _it("its store has another successor of one view", has_diverged=True)
            ),
            _refuses(
                "J3",
                FORGOTTEN,
                _it("the view that it ends with is forgotten here", is_forgotten=True),
            ),
            _refuses("3.6", COPY, _it("another member has a store with its id", is_copy=True)),
            Case("3.3", "behind", _it("its chain ends before ours", is_behind=True), Admit.TELL),
            Case(
                "3.3", "ahead", _it("its chain goes on where ours ends", is_ahead=True), Admit.ASK
            ),
            Case(
                "I1", "no open view", _it("our tip is not an open view", is_open=False), Admit.WAIT
            ),
            Case("I8", "a member", _it("it is in our tip", is_member=True), Admit.KNOWN),
            # It does not come back: it waits until the members know that it has left.
            Case("3.4", "has left", _it("it asks to be left out", leaves=True), Admit.KNOWN),
            _refuses(
                "I2",
                OPTIONS,
                _it("its options are not our tip's", has_options=False),
                Reason.OPTIONS_DIFFER,
            ),
            # In one view, it and that member would give each other up, again and again.
            Case(
                "3.4",
                "does not hear a member that we hear",
                _it("it does not hear a member that we hear", is_apart=True),
                Admit.WAIT,
            ),
            Case(
                "J2",
                "has the data of the view",
                _it("its data is of our tip", is_near=True),
                Admit.TAKE_IN,
            ),
            Case(
                "J1",
                "the view is not active yet",
                _it("our tip was not active yet, as far as we know", is_active=False),
                Admit.TAKE_IN,
            ),
            Case("J1", "an update is needed", ALWAYS, Admit.UPDATE),
        ),
    )


def newcomer(
    hello: Hello,
    own: Lineage,
    config: Config,
    *,
    is_active: bool,
    is_copy: bool = False,
    in_reach: frozenset[str] = frozenset(),
) -> Newcomer:
    """Return the row for the sender of `hello`, seen by a store with the lineage `own`.

    `in_reach`: the names of the peers that this store's member hears.

    The facts do not depend on each other; the table says which one counts first.  A tip that is
    unknown here and has a higher number may be ahead: then the sender is asked for its views, which
    show whether they continue our chain.
    """
    tip, status, at = own.tip, hello.status, hello.status.position
    is_within = 0 < hello.number <= own.length
    known = own.id_at(hello.number)
    others = set() if tip is None else names_of(tip.members) & in_reach
    return Newcomer(
        is_foreign=hello.cluster_name != config.cluster_name or _is_founded_apart(hello, own),
        has_diverged=known is not None and known != hello.tip,
        is_forgotten=is_within and known is None,
        is_copy=is_copy,
        # An empty store can follow any chain, and the initial signature decides about number 1.
        is_behind=hello.number < own.length,
        is_ahead=hello.number > own.length,
        is_open=tip is not None and tip.is_open,
        is_member=tip is not None and status.seat in tip.members,
        leaves=status.leaves,
        has_options=tip is not None and status.options == tip.options_digest,
        is_apart=not others - {status.seat.member} <= hello.hears,
        is_near=tip is not None
        and not status.update_unfinished
        and (at == tip.position or (at is not None and at.view == tip.id)),
        is_active=is_active or (tip is not None and tip.activated),
    )


def _is_founded_apart(hello: Hello, own: Lineage) -> bool:
    return None not in (hello.initial, own.initial) and hello.initial != own.initial


def mismatch(case: str, hello: Hello, own: Lineage, config: Config) -> tuple[str, str]:
    """Return the found and the expected value for the case that refuses the sender of `hello`."""
    status, tip = hello.status, own.tip
    if case == COPY:
        return (
            f"store {status.seat.store_id}, which another member has as well",
            "a store of its own",
        )
    if case == OPTIONS:
        expected = "none" if tip is None else tip.options_digest
        return f"options {status.options}", f"options {expected}"
    if hello.cluster_name != config.cluster_name:
        return f"cluster {hello.cluster_name}", f"cluster {config.cluster_name}"
    if case == FOREIGN:
        found, here = short(hello.initial), short(own.initial)
        return f"initial signature {found}", f"initial signature {here}"
    here = f"a view after number {own.forgotten}"
    if case == BRANCH:
        here = short(own.id_at(hello.number))
    return f"view {hello.number} is {short(hello.tip)}", here
