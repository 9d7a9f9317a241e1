"""Decision tables for one evaluation of one queue: the design's, the shipped broker's and ours.

N is the set of all nodes that matter: nodes of the cluster, and nodes that have a replica but have
left the cluster.  `me` is the evaluating node.

Source: reconciliation, Q1 to Q4; the real table as read from the code that shipped.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members
from joinproto.reconcile.queue import Variant


class Action(Enum):
    """The result of an evaluation."""

    NOTHING = "noop"
    WAIT = "wait"  # something is under way: look again soon
    ADD = "add"
    REMOVE = "remove"


@frozen(kw_only=True)
class NodeRow:
    """One node, and the replica on it if it has one.

    `in_cluster`: the node is in the cluster now.  `lost`: its replica no longer counts.  `takes`:
    it may get a replica.  `behind`: its replica has not caught up.  `stays`: its replica could not
    be removed.

    The tables read these fields of the evaluating node only: `knows_nodes`, `knows_members`,
    `leads`, `has_leader`, `drained`, `removes`, `changing`, `has_majority`, `target`; `fails`: the
    shipped code crashes at this target; `survives_less`: the queue survives fewer failures than the
    target promises; `is_odd`: the number of replicas is odd.
    """

    name: str
    has_replica: bool = False
    in_cluster: bool = True
    running: bool = True
    drained: bool = False
    lost: bool = False
    takes: bool = False
    behind: bool = False
    stays: bool = False
    knows_nodes: bool = True
    knows_members: bool = True
    leads: bool = True
    has_leader: bool = True
    fails: bool = False
    removes: bool = False
    changing: bool = False
    has_majority: bool = True
    survives_less: bool = False
    is_odd: bool = True
    target: int = 0


NODES = Members("N", NodeRow)
M = NODES.where(has_replica=True).named("M")
GONE = M.where(in_cluster=False, stays=False).named("G")
LOST = M.where(lost=True).named("L")
DROPPED = LOST.where(stays=False).named("D")
KEPT = (M - LOST).named("K")
CANDIDATES = NODES.where(takes=True).named("C")
CATCHING_UP = KEPT.where(behind=True, running=True).named("B")
AWAY = KEPT.where(running=False).named("A")
PRESENT = (KEPT - AWAY).named("P")

_here = NODES.fact
_ENOUGH_MEMBERS = ~M.fewer_than(NODES.mine("target"))
_TOO_FEW = KEPT.fewer_than(NODES.mine("target"))
_TOO_FEW_NOW = PRESENT.fewer_than(NODES.mine("target"))
_REMOVES = _here("replicas that count no more are dropped", removes=True)
_SURVIVES_LESS = _here("fewer failures are survived than the target promises", survives_less=True)
_IS_ODD = _here("the number of replicas is odd", is_odd=True)
_HELPS = ~(_IS_ODD & DROPPED.fewer_than(2))
"""To drop one dead member lowers the majority of an even number; an odd number needs two drops."""
_WOULD_BE_EVEN = _IS_ODD & CANDIDATES.fewer_than(2)
_CANNOT_DROP = ~LOST.is_empty & (~_REMOVES | DROPPED.is_empty)

# -- cases of several tables -----------------------------------------------------------------------

_KNOWS_ENOUGH = (
    Case(
        "Q2",
        "the nodes are not known",
        _here("the cluster's nodes are not known", knows_nodes=False),
        Action.NOTHING,
    ),
    Case(
        "Q2",
        "the members are not known",
        _here("the queue's members are not known", knows_members=False),
        Action.WAIT,
    ),
    Case("Q2", "no leader", _here("no node leads", has_leader=False), Action.WAIT),
    Case("Q2", "another node leads", _here("another node leads", leads=False), Action.NOTHING),
)
_LEADER_DOWN = Case(
    "Q2", "the leader is down", _here("the leader does not run", running=False), Action.WAIT
)
_NO_TARGET = Case("Q1", "no target", _here("no target is set", target=0), Action.NOTHING)
_ONE_MORE = Case("Q4", "one more", _TOO_FEW & ~CANDIDATES.is_empty, Action.ADD)
_NO_FREE_NODE = Case("Q3", "no free node", _TOO_FEW, Action.NOTHING)
_AWAY_NOT_FOR_LONG = Case("Q2", "away, not for long", _TOO_FEW_NOW, Action.WAIT)
_ENOUGH = Case("Q4", "enough", ALWAYS, Action.NOTHING)


def _table(variant: Variant, *cases: Case[Action]) -> Table[Action]:
    return Table(f"reconcile-{variant.value}", f"reconciliation, {variant.value}", cases)


REAL = _table(
    Variant.REAL,
    *_KNOWS_ENOUGH,
    _LEADER_DOWN,
    Case("Q2", "in maintenance", _here("this node is drained", drained=True), Action.NOTHING),
    Case("Q4", "drop a node that left", _REMOVES & ~GONE.is_empty, Action.REMOVE),
    Case("Q1", "it fails", _here("the configured size is 0", fails=True), Action.NOTHING),
    Case("Q4", "enough", _ENOUGH_MEMBERS, Action.NOTHING),
    Case("Q3", "no free node", CANDIDATES.is_empty, Action.NOTHING),
    Case("Q4", "it would be even", _WOULD_BE_EVEN, Action.NOTHING),
    Case("Q4", "a member is down", ~M.every(running=True), Action.NOTHING),
    Case("Q3", "one more", ALWAYS, Action.ADD),
)
"""The shipped broker: a replica is lost only when its node leaves the cluster; sizes stay odd."""

SEED = _table(
    Variant.SEED,
    *_KNOWS_ENOUGH,
    _LEADER_DOWN,
    _NO_TARGET,
    _ONE_MORE,
    _NO_FREE_NODE,
    Case("Q4", "drop a node that left", _REMOVES & ~GONE.is_empty, Action.REMOVE),
    _AWAY_NOT_FOR_LONG,
    _ENOUGH,
)
"""The design: a replica that is away for the failure interval is replaced.

Surplus replicas stay, except on nodes that have left the cluster.
"""

OURS = _table(
    Variant.OURS,
    *_KNOWS_ENOUGH,
    _NO_TARGET,
    Case(
        "Q4",
        "a change is under way",
        _here("a change is not committed", changing=True),
        Action.WAIT,
    ),
    Case("Q4", "no majority", _here("no majority runs", has_majority=False), Action.WAIT),
    _LEADER_DOWN,
    Case("Q4", "one catches up", ~CATCHING_UP.is_empty, Action.WAIT),
    Case(
        "Q4",
        "it would be even",
        _TOO_FEW & _CANNOT_DROP & _WOULD_BE_EVEN & ~CANDIDATES.is_empty,
        Action.NOTHING,
    ),
    _ONE_MORE,
    Case("Q4", "drop a node that left", ~_TOO_FEW & _REMOVES & ~GONE.is_empty, Action.REMOVE),
    Case(
        "Q4",
        "drop a lost member",
        _SURVIVES_LESS & _REMOVES & ~DROPPED.is_empty & _HELPS & ~(_TOO_FEW & _IS_ODD),
        Action.REMOVE,
    ),
    _NO_FREE_NODE,
    Case(
        "Q4",
        "one more for one that stays",
        _SURVIVES_LESS & ~LOST.is_empty & AWAY.is_empty & ~CANDIDATES.is_empty & ~_WOULD_BE_EVEN,
        Action.ADD,
    ),
    _AWAY_NOT_FOR_LONG,
    _ENOUGH,
)
"""The design, with one change at a time: a change begins when the last one has ended and its new
replica has caught up.

A dead member that is still listed counts towards the majority.  Of a, b and c, c dies and d is
added: three of four run, and one more failure leaves two of four.  Therefore a lost member is
dropped if the queue then survives more failures.  If it cannot be dropped, another replica is added
to make the number odd.
"""

TABLES = {Variant.SEED: SEED, Variant.REAL: REAL, Variant.OURS: OURS}
SETS = (NODES, M, GONE, LOST, DROPPED, KEPT, CANDIDATES, CATCHING_UP, AWAY, PRESENT)
