"""Decision tables for a promotion: the document's, the shipped broker's and ours.

B is the set of all known brokers; `me` is the broker that was told to become primary.

Source: hot standby, H1 to H3, H8; the real table as read from the code that shipped.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Condition, Members
from joinproto.standby.broker import Mark, Role, Variant


class Verdict(Enum):
    """The answer of a broker to a promotion."""

    ACCEPTED = "accepted"
    REFUSED = "refused"  # the manager's script fails, and the manager tries the next broker
    IGNORED = "ignored"  # the script succeeds, because the broker serves already


@frozen(kw_only=True)
class Row:
    """One broker, as a row of the tables.

    Facts about another broker: `answers`: it answered a question; `better`: it has messages that
    `me` may lack, or follows a primary; `ahead`: it knows of a younger generation.

    Facts about `me`: `mark`: the mark of its store; `dropped`: the primary went on without it;
    `proven`: all stores were seen, and its own is the last primary's.
    """

    name: str
    role: Role
    answers: bool = False
    better: bool = False
    ahead: bool = False
    mark: Mark = Mark.CLEAN
    dropped: bool = False
    proven: bool = False


BROKERS = Members("B", Row)
OTHERS = (BROKERS - BROKERS.me).named("O")
ANSWERING = OTHERS.where(answers=True).named("A")
BETTER = ANSWERING.where(better=True).named("V")
AHEAD = ANSWERING.where(ahead=True).named("G")


def _is(said: str, **fields: object) -> Condition:
    return BROKERS.fact(said, **fields)


_ALREADY = _is("it is primary", role=Role.PRIMARY) | _is("it recovers", role=Role.RECOVERING)
_ALONE = _is("it stands alone", role=Role.STANDALONE)
_STOPPED = _is("it does not run", role=Role.STOPPED)
_CATCHES_UP = _is("it catches up", role=Role.CATCHUP)
_CONNECTS = _is("it follows no primary yet", role=Role.CONNECTING)
_DIRTY = _is("its store is dirty", mark=Mark.DIRTY)
_PROVEN = _is("it is proven to be the last", proven=True)

REAL = Table(
    "standby-real",
    "hot standby, as shipped",
    (
        Case("H1", "it does not run", _STOPPED, Verdict.REFUSED),
        Case("H3", "it is primary already", _ALREADY | _ALONE, Verdict.IGNORED),
        Case("H3", "it catches up", _CATCHES_UP, Verdict.REFUSED),
        Case("H3", "a better one answers", _CONNECTS & ~BETTER.is_empty, Verdict.REFUSED),
        Case("H3", "promoted", ALWAYS, Verdict.ACCEPTED),
    ),
)
"""The shipped broker has neither generations nor marks; only brokers that answer count."""

SEED = Table(
    "standby-seed",
    "hot standby, the document",
    (
        Case("H1", "it does not run", _STOPPED, Verdict.REFUSED),
        Case("H3", "it is primary already", _ALREADY, Verdict.IGNORED),
        Case("H3", "it catches up", _CATCHES_UP, Verdict.REFUSED),
        Case("H10", "its store is dirty", _CONNECTS & _DIRTY, Verdict.REFUSED),
        Case("H3", "promoted", ALWAYS, Verdict.ACCEPTED),
    ),
)
"""The document: a broker that catches up, or that starts from a dirty store, refuses."""

OURS = Table(
    "standby-ours",
    "hot standby, ours",
    (
        Case("H1", "it does not run", _STOPPED, Verdict.REFUSED),
        Case("H3", "it is primary already", _ALREADY, Verdict.IGNORED),
        Case("H2", "a younger generation answers", ~AHEAD.is_empty, Verdict.REFUSED),
        Case("H3", "it catches up", _CATCHES_UP, Verdict.REFUSED),
        Case("H4", "the primary went on without it", _is("dropped", dropped=True), Verdict.REFUSED),
        Case("H10", "its store is dirty", _CONNECTS & _DIRTY & ~_PROVEN, Verdict.REFUSED),
        Case("H3", "a better one answers", _CONNECTS & ~BETTER.is_empty, Verdict.REFUSED),
        Case("H3", "promoted", ALWAYS, Verdict.ACCEPTED),
    ),
)
"""Ours: a broker is never promoted while another that answers knows a younger generation."""

TABLES = {Variant.SEED: SEED, Variant.REAL: REAL, Variant.OURS: OURS}
SETS = (BROKERS, OTHERS, ANSWERING, BETTER, AHEAD)

WHY = {
    "it does not run": "{me} does not run: start it first",
    "it is primary already": "{me} is {role} already: nothing changes",
    "it catches up": "{me} still catches up, and may lack confirmed messages",
    "a younger generation answers": "{ahead} of a younger generation than {generation}",
    "the primary went on without it": "the primary dropped {me}, and may have gone on without it",
    "its store is dirty": "the store of {me} is dirty: mark it clean if it is the best store",
    "a better one answers": "{better} messages that {me} lacks",
    "promoted": "{me} was {role}, and no broker that answers is better",
}
"""The reason of each case, in a sentence."""
