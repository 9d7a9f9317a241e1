"""One round of the boot of a blank node, as decision tables: 3.7 to 3.12, since 3.13, and ours.

P is the set of the booting node, `me`, and the nodes that the backend named.

Source: discovery, D3; the two shipped tables as read from the code that shipped.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.discovery.releases import Release
from joinproto.discovery.rules import does
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members


class Rules(Enum):
    """The variant of the rules.

    SEED: 3.7 to 3.12, as the guide describes them; REAL: 3.13 and later, as shipped.
    """

    SEED = "seed"
    REAL = "real"
    OURS = "ours"


def rules_of(release: Release) -> Rules:
    """Return the rules of a release."""
    return Rules.SEED if does(release, "FIRST_ANSWER") else Rules.REAL


class Step(Enum):
    """The result of a round."""

    ALONE = "standalone"  # it creates a database, and others may join it
    JOIN = "join"
    RETRY = "retry"  # the next round, after the interval
    CRASH = "crash"
    WAIT = "wait"  # the next round, without end
    REFUSE = "refuse"  # the node ends, and names the fault
    FOUND = "found"  # the node proposes a cluster; a majority of the expected must vote for it


@frozen(kw_only=True)
class Peer:
    """One node, as a row of the tables.

    `listed`: the backend named it.  `seen`: it answers.  `first`: of the nodes that answer, the
    rules prefer it.  `ready`: it is not known to be still booting.  `in_cluster`: it has a
    database.

    The tables read these fields of the booting node only: `failed`: the backend failed; `selects`:
    the backend named one node, not a list; `only_me`: only this node is listed; `wants_two`: a
    cluster of two or more nodes is wanted; `last`: no try is left; `expected`: how many members the
    cluster must have; `majority`: how many of them must vote; `too_many`: more nodes are known than
    expected; `locked`: the lock is held, or not needed.
    """

    name: str
    listed: bool = False
    seen: bool = False
    first: bool = False
    ready: bool = True
    in_cluster: bool = False
    failed: bool = False
    selects: bool = False
    only_me: bool = False
    wants_two: bool = False
    last: bool = False
    expected: int = 0
    majority: int = 0
    too_many: bool = False
    locked: bool = True


PEERS = Members("P", Peer)
LISTED = PEERS.where(listed=True).named("L")
SEEN = LISTED.where(seen=True).named("S")
OTHERS = (SEEN - PEERS.me).named("O")
FIRST = SEEN.where(first=True).named("F")
ANSWERING = (SEEN | PEERS.me).named("A")
LIVING = OTHERS.where(in_cluster=True).named("C")

_here = PEERS.fact
_FAILED = _here("the backend failed", failed=True)
_LISTS = _here("the backend lists nodes", selects=False)
_ONLY_ME = _here("only this node is listed", only_me=True)
_TOO_FEW = LISTED.fewer_than(PEERS.mine("expected"))
_NO_LOCK = _here("the lock was not had", locked=False)
_LAST = _here("no try is left", last=True)

SEED = Table(
    "discovery-seed",
    "discovery, 3.7 to 3.12",
    (
        Case("D3", "no lock", _NO_LOCK, Step.CRASH),
        Case("D1", "it failed to the end", _FAILED & _LAST, Step.CRASH),
        Case("D1", "the backend failed", _FAILED, Step.RETRY),
        Case("D3", "no other node is listed", (LISTED - PEERS.me).is_empty, Step.ALONE),
        Case("D3", "the first that answers", ~OTHERS.is_empty, Step.JOIN),
        Case("D3", "no node answers", ALWAYS, Step.RETRY),
    ),
)
"""Until 3.12: join the first listed node that answers; an error in the last try ends the node."""

REAL = Table(
    "discovery-real",
    "discovery, as shipped",
    (
        Case("D1", "the backend failed", _FAILED, Step.RETRY),
        Case("D3", "only this node is listed", _ONLY_ME, Step.ALONE),
        Case("D3", "it does not see itself", _LISTS & ~SEEN.has(PEERS.me), Step.RETRY),
        Case(
            "D3",
            "fewer than two answer",
            _LISTS & _here("more than one node is meant", wants_two=True) & SEEN.fewer_than(2),
            Step.RETRY,
        ),
        Case("D3", "no node answers", SEEN.is_empty, Step.RETRY),
        Case("D3", "this node is first", FIRST.has(PEERS.me), Step.ALONE),
        Case("D3", "the first one is not ready", FIRST.some(ready=False), Step.RETRY),
        Case("D3", "no lock", _NO_LOCK, Step.RETRY),
        Case("D3", "the first one", ALWAYS, Step.JOIN),
    ),
)
"""Since 3.13: all nodes sort in the same order.  Of the nodes that answer, the first stands alone,
and the others join it."""

OURS = Table(
    "discovery-ours",
    "discovery, ours",
    (
        Case("D1", "the backend failed", _FAILED, Step.WAIT),
        Case("D3", "a member answers", ~LIVING.is_empty, Step.JOIN),
        Case("D3", "more are listed than expected", _here("too many", too_many=True), Step.REFUSE),
        Case("D3", "fewer are listed than expected", _TOO_FEW, Step.WAIT),
        Case("D3", "no majority answers", ANSWERING.fewer_than(PEERS.mine("majority")), Step.WAIT),
        Case("D3", "a majority answers", ALWAYS, Step.FOUND),
    ),
)
"""Ours: no node stands alone; a majority of the expected members found the cluster by votes."""

TABLES = {Rules.SEED: SEED, Rules.REAL: REAL, Rules.OURS: OURS}
SETS = (PEERS, LISTED, SEEN, OTHERS, FIRST, ANSWERING, LIVING)

WHY = {
    "no lock": "the node did not get the lock in time",
    "the backend failed": "the backend failed: {failed}",
    "it failed to the end": "the backend failed, and no try is left: {failed}",
    "the first that answers": "{chosen} is the first in the list that answers",
    "no node answers": "none of the nodes that were named answers",
    "no other node is listed": "the backend lists no other node",
    "only this node is listed": "the backend lists this node alone",
    "it does not see itself": "{me} is not among the nodes that are listed and answer",
    "fewer than two answer": "{seen} of {hint} nodes answer, but two are needed",
    "this node is first": "of the nodes that answer, {me} is first",
    "the first one is not ready": "{chosen} is first, but still boots",
    "the first one": "of the nodes that answer, {chosen} is first",
    "a member answers": "{chosen} is a member of a cluster",
    "more are listed than expected": "{known} nodes are listed, with {me}; {expected} are expected",
    "fewer are listed than expected": "{listed} nodes are listed, but {expected} are expected",
    "no majority answers": "{seen} nodes answer; of {expected}, {majority} are needed",
    "a majority answers": "{seen} of {expected} nodes answer, and none is a member of a cluster",
}
"""The reason of each case, in a sentence."""
