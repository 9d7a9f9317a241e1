"""Admission: what a member answers to another one that says hello.

Source: join protocol, section 2, 3.3 and 3.4; rules J1 to J3, I2, I4.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.core.chain.config import Config
from joinproto.core.chain.ids import short
from joinproto.core.chain.lineage import Lineage
from joinproto.core.chain.messages import Hello
from joinproto.core.tables import Case, Table
from joinproto.core.terms import ALWAYS, Condition, Members
from joinproto.core.vocabulary import Reason


class Admit(Enum):
    """What the answer is."""

    REFUSE = "refuse"
    TELL = "tell it the views it does not know"
    ASK = "ask it for the views we do not know"
    UPDATE = "let it be updated beside the running view"
    TAKE_IN = "take it in by the next view"
    KNOWN = "say whether we are ready"
    WAIT = "wait for it, or with it"


@frozen(kw_only=True)
class Newcomer:
    """Who says hello, seen from here.

    `is_foreign`: of another cluster.  `has_diverged`: its tip is not on our chain, nor ours
    on its.  `is_behind`, `is_ahead`: one chain goes on where the other ends.  `is_forgotten`:
    what would tell is forgotten.  `is_copy`: another member has a store with its id.
    `is_member`: of our tip.  `leaves`: it asks to be left out.  `is_near`: its data is of our
    tip.  `is_active`: our tip was active, as far as we know.  `is_apart`: it does not hear a
    member that we hear.
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
    found: str = ""
    expected: str = ""


PEERS = Members("I", Newcomer)


def _it(name: str, **facts: bool) -> Condition:
    return PEERS.where(**facts).named(name).has(PEERS.me)


def admission() -> Table[Admit]:
    """Return the table of a member to which another one says hello; `me` is that one."""
    return Table(
        "chain-admission",
        "join protocol, section 2 and 3.4; rules J1, J2, J3, I2, I4",
        (
            Case(
                "J3",
                "of another cluster",
                _it("stores of another cluster", is_foreign=True),
                Admit.REFUSE,
                reason=Reason.WRONG_STORE,
            ),
            Case(
                "J3",
                "of a branch of this cluster",
                _it("stores with another successor of one view", has_diverged=True),
                Admit.REFUSE,
                reason=Reason.WRONG_STORE,
            ),
            Case(
                "J3",
                "too old to be compared",
                _it("stores whose tip is forgotten", is_forgotten=True),
                Admit.REFUSE,
                reason=Reason.WRONG_STORE,
            ),
            Case(
                "3.6",
                "a copy of another member's store",
                _it("copies of stores", is_copy=True),
                Admit.REFUSE,
                reason=Reason.WRONG_STORE,
            ),
            Case("3.3", "behind", _it("stores behind", is_behind=True), Admit.TELL),
            Case("3.3", "ahead", _it("stores ahead", is_ahead=True), Admit.ASK),
            Case("I1", "no open view", _it("those before an open view", is_open=False), Admit.WAIT),
            Case("I8", "a member", _it("members of the view", is_member=True), Admit.KNOWN),
            # It is not there to come back: it waits until the members know that it has left.
            Case("3.4", "has left", _it("those who leave", leaves=True), Admit.KNOWN),
            Case(
                "I2",
                "options differ",
                _it("those with other options", has_options=False),
                Admit.REFUSE,
                reason=Reason.OPTIONS_DIFFER,
            ),
            # In a view with both, each would give the other up, for ever in turn.
            Case(
                "3.4",
                "does not hear a member that we hear",
                _it("those apart from a member", is_apart=True),
                Admit.WAIT,
            ),
            Case(
                "J2",
                "has the data of the view",
                _it("those with data of the view", is_near=True),
                Admit.TAKE_IN,
            ),
            Case(
                "J1",
                "the view is not active yet",
                _it("those before the first activation", is_active=False),
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
    in_reach: frozenset[str] = frozenset(),
) -> Newcomer:
    """Return the row for whoever said `hello`, seen by a store with the lineage `own`.

    `in_reach`: whom that store's member hears.

    Nothing is guessed: an unknown tip with a higher number may be ahead, and is asked for
    its views; the answer shows whether they go on where ours end.
    """
    if hello.cluster_name != config.cluster_name:
        return Newcomer(
            is_foreign=True,
            found=f"cluster {hello.cluster_name}",
            expected=f"cluster {config.cluster_name}",
        )
    if None not in (hello.initial, own.initial) and hello.initial != own.initial:
        return Newcomer(
            is_foreign=True,
            found=f"initial signature {short(hello.initial)}",
            expected=f"initial signature {short(own.initial)}",
        )
    if hello.number > own.length:
        return Newcomer(is_ahead=True)
    if hello.number and own.id_at(hello.number) != hello.tip:
        is_forgotten = own.id_at(hello.number) is None
        return Newcomer(
            is_forgotten=is_forgotten,
            has_diverged=not is_forgotten,
            found=f"view {hello.number} is {short(hello.tip)}",
            expected=f"{short(own.id_at(hello.number))}"
            if not is_forgotten
            else f"a view after number {own.forgotten}",
        )
    if hello.number < own.length:
        # An empty store can go on anywhere, and the initial signature shows where a FOUND is.
        return Newcomer(is_behind=True)
    tip = own.tip
    if tip is None or not tip.is_open:
        return Newcomer()
    status = hello.status
    at = status.position
    is_near = not status.update_unfinished and (
        at == tip.position or (at is not None and at.view == tip.id)
    )
    has_options = status.options == tip.options_digest
    others = {seat.member for seat in tip.members} & in_reach
    return Newcomer(
        is_open=True,
        is_member=status.seat in tip.members,
        leaves=status.leaves,
        is_near=is_near,
        is_active=is_active or tip.activated,
        is_apart=not others - {status.seat.member} <= hello.hears,
        has_options=has_options,
        found=f"options {status.options}",
        expected=f"options {tip.options_digest}",
    )
