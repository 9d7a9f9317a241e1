"""Succession: the kind of the next view.

`successor.py` finds the view's members, and `proposing.py` proposes the view.

There are three tables, one for each sort of tip: no tip, a CLOSE, an open view.  A row is a seat
that the proposer knows of, whether it has answered or not; `me` is the proposer.

Source: join protocol, 3.4; rules I1 to I6, S2, R3, P3.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from attrs import frozen

from joinproto.join.view import Kind
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Condition, Members
from joinproto.machine.vocabulary import Reason


class Next(Enum):
    """The action of the proposer."""

    WAIT = "wait"
    ABORT = "abort"
    FOUND = "found"
    CHANGE = "change"
    CLOSE = "close"
    RESTART = "restart"

    @property
    def kind(self) -> Kind | None:
        """Return the kind of the view to propose; None: propose no view."""
        return _KINDS.get(self)


_KINDS = {
    Next.FOUND: Kind.FOUND,
    Next.CHANGE: Kind.CHANGE,
    Next.CLOSE: Kind.CLOSE,
    Next.RESTART: Kind.RESTART,
}


@frozen(kw_only=True)
class Row:
    """A seat as the proposer sees it.

    `answered`: it has answered this ballot.  `is_member`, `is_elector`: it is one of the tip.
    `is_sure`, `covers`, `is_clean`: see `Evidence`.  `fits`: a CHANGE may have it as a member;
    `is_sure` needs that as well.  `is_marked`: its operator permits a restart from the tip.
    `leaves`: it asks to be left out.  `is_founder`: its member is a configured elector.

    The other fields are the same for all seats: `wait_for` (N), `majority` (the number of electors
    that is more than half), `founders` (how many must answer before a FOUND), `closes` (the whole
    cluster must stop), `is_automatic` (the setting `total_failure`).
    """

    id: str
    answered: bool = False
    is_member: bool = False
    is_elector: bool = False
    is_founder: bool = False
    has_store: bool = True
    is_sure: bool = False
    covers: bool = False
    is_clean: bool = False
    fits: bool = False
    is_marked: bool = False
    leaves: bool = False
    options: str = ""
    wait_for: int = 1
    majority: int = 1
    founders: int = 1
    closes: bool = False
    is_automatic: bool = False


SEATS = Members("I", Row)
N = SEATS.mine("wait_for")
MAJORITY = SEATS.mine("majority")
FOUNDERS = SEATS.mine("founders")

A = SEATS.where(answered=True).named("A")  # seats that have answered
V = SEATS.where(is_member=True).named("V")  # members of the tip
S = A.where(is_sure=True).named("S")  # sure of the tip
K = A.where(covers=True, has_store=True).named("K")  # stores that cover the tip
C = A.where(is_clean=True).named("C")  # clean stores
STORES = A.where(fits=True, has_store=True)
# A transient member is an elector only if no member had a store when the cluster was
# founded.
KEEPS_NOTHING = ~A.where(is_elector=True, has_store=False).is_empty
NO_STORE = A.where(has_store=True).is_empty

ME_CLOSES = SEATS.fact("this member closes the cluster", closes=True)
MANUAL = SEATS.fact("total failure is manual here", is_automatic=False)
NOBODY_PERMITS = A.where(is_marked=True).is_empty & MANUAL

STAYING = A.where(leaves=False).named("those of A who stay")
# Members that leave count here.  If fewer than N would stay, they do not leave; otherwise all would
# wait for ever.
TOO_FEW = A.fewer_than(N) | A.where(is_elector=True).fewer_than(MAJORITY)


def _waits(
    label: str, name: str, when: Condition, reason: Reason = Reason.NO_CLEAN_STORE
) -> Case[Next]:
    return Case(label, name, when, Next.WAIT, reason=reason)


TOO_FEW_MEMBERS = _waits("I1", "too few members", TOO_FEW, Reason.TOO_FEW_MEMBERS)
OPTIONS_DIFFER = Case(
    "I2",
    "options differ",
    A.disagrees_on("options"),
    Next.ABORT,
    reason=Reason.OPTIONS_DIFFER,
)


@cache
def founding() -> Table[Next]:
    """Return the table for a store without a tip."""
    return Table(
        "chain-founding",
        "join protocol 3.4, FOUND; rules I1, I2, I3",
        (
            _waits(
                "I1",
                "founders are missing",
                A.where(is_founder=True).fewer_than(FOUNDERS) | STAYING.fewer_than(N),
                Reason.TOO_FEW_MEMBERS,
            ),
            OPTIONS_DIFFER,
            Case("I3", "all are empty: a new cluster", ALWAYS, Next.FOUND),
        ),
    )


@cache
def reopening() -> Table[Next]:
    """Return the table for a store whose tip is a CLOSE."""
    return Table(
        "chain-reopening",
        "join protocol 3.4, RESTART on CLOSE; rules I1, I2, I6, I7, P2",
        (
            TOO_FEW_MEMBERS,
            OPTIONS_DIFFER,
            # The member reports this and goes on waiting: a clean store may come a second later.
            _waits("I6", "no clean store", C.is_empty & (K.is_empty | NOBODY_PERMITS)),
            Case("I7", "a clean store is there", ~C.is_empty, Next.RESTART),
            Case("R3", "a store that is not clean is permitted", ALWAYS, Next.RESTART),
        ),
    )


@cache
def going_on() -> Table[Next]:
    """Return the table for a store whose tip is open: it runs, or all have failed."""
    stays = S.where(leaves=False)
    return Table(
        "chain-going-on",
        "join protocol 3.4, CHANGE, CLOSE, RESTART on an open view; rules S2, I1, I2, I6, R3",
        (
            Case(
                "S2",
                "closing, and all have answered",
                # If no member has a store, only the register keeps the CLOSE.
                (~S.where(has_store=True).is_empty | (~S.is_empty & NO_STORE))
                & ME_CLOSES
                & V.every(answered=True),
                Next.CLOSE,
            ),
            Case(
                "P1",
                "somebody is sure, and a store stays",
                ~stays.is_empty & (~STORES.where(leaves=False).is_empty | KEEPS_NOTHING),
                Next.CHANGE,
            ),
            # A member that answered is frozen, so the ballot must end in a view: no member leaves
            # now.
            Case(
                "3.3",
                "somebody is sure, but no store would stay",
                ~S.is_empty & ~STORES.is_empty,
                Next.CHANGE,
            ),
            # A frame that was acknowledged in a view without a store would end with its processes.
            _waits(
                "3.4",
                "somebody is sure, but no store has answered",
                ~S.is_empty,
                Reason.TOO_FEW_MEMBERS,
            ),
            TOO_FEW_MEMBERS,
            OPTIONS_DIFFER,
            _waits("I6", "no store has all of the tip", K.is_empty),
            _waits("I6", "total failure, and nobody permits a restart", NOBODY_PERMITS),
            Case("R3", "a restart is permitted", ALWAYS, Next.RESTART),
        ),
    )
