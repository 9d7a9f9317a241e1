"""All decisions of a node, as decision tables.

Source: Clusterer, U1 to U7; the coordinator and transitioner of the real Clusterer.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.clusterer.config import Age
from joinproto.clusterer.status import Status
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Condition, Members


class Fits(Enum):
    """Whether a config goes with the present data."""

    COMPATIBLE = "compatible"
    INCOMPATIBLE = "incompatible"


@frozen(kw_only=True)
class Pair:
    """A new config compared with the last achieved one, before their identities are merged.

    `identical`: both are the same, identities too.  `has_old`: there is an old config.  `resets`:
    the new gospel is reset.  `self_in_old`, `gospel_in_old`: the old config names this node, and
    the new gospel.  `never_came`: the gospel's data are not known.  `contradicts`: the gospel is
    another node, or has other data.  `was_out`, `is_apart`: this node, and the gospel, was left out
    in between.
    """

    identical: bool = False
    has_old: bool = True
    resets: bool = False
    self_in_old: bool = True
    gospel_in_old: bool = True
    never_came: bool = False
    contradicts: bool = False
    was_out: bool = False
    is_apart: bool = False


_PAIR = Members("pair", Pair)
_NOT_THESE = (
    ("nothing achieved yet", _PAIR.fact("there is no old one", has_old=False)),
    ("gospel is reset", _PAIR.fact("the new gospel is reset", resets=True)),
    (
        "this node is not in the old one",
        _PAIR.fact("the old one lacks this node", self_in_old=False),
    ),
    (
        "the gospel is not in the old one",
        _PAIR.fact("the old one lacks the gospel", gospel_in_old=False),
    ),
    (
        "the gospel never came",
        _PAIR.fact("no node has said which data the gospel has", never_came=True),
    ),
    (
        "another gospel of that name",
        _PAIR.fact("the gospel is another node, or has other data", contradicts=True),
    ),
    (
        "this node was out in between",
        _PAIR.fact("the new one took this node in after the old one", was_out=True),
    ),
    (
        "the gospel was out in between",
        _PAIR.fact("the gospel was left out, and has not joined again", is_apart=True),
    ),
)
COMPATIBLE = Table(
    "clusterer-compatible",
    "Clusterer, U3: whose data survive",
    (
        Case(
            "U3",
            "the same, identities too",
            _PAIR.fact("both are the same, identities too", identical=True),
            Fits.COMPATIBLE,
        ),
        *(Case("U3", name, condition, Fits.INCOMPATIBLE) for name, condition in _NOT_THESE),
        Case("U3", "the gospel's data are these", ALWAYS, Fits.COMPATIBLE),
    ),
)


class Takes(Enum):
    """The config that a starting node takes."""

    DEFAULT = "default"
    GIVEN = "given"
    STORED = "stored"


@frozen(kw_only=True)
class Choice:
    """Which configs exist at a start.  `age`: of the given config, compared with the stored one."""

    given: bool = False
    stored: bool = False
    age: Age | None = None


_CHOICE = Members("start", Choice)
_GIVEN = _CHOICE.fact("a config is given", given=True)
_BLANK = _CHOICE.fact("none is stored", stored=False)
BOOT = Table(
    "clusterer-boot",
    "Clusterer, U1: which config a starting node takes",
    (
        Case("U1", "blank, given", _BLANK & _GIVEN, Takes.GIVEN),
        Case("U1", "blank", _BLANK, Takes.DEFAULT),
        Case(
            "U1",
            "younger than the stored one",
            _CHOICE.fact("the given one is younger", age=Age.YOUNGER),
            Takes.GIVEN,
        ),
        Case("U1", "not younger", _GIVEN, Takes.STORED),
        Case("U1", "nothing is given", ALWAYS, Takes.STORED),
    ),
)


class Does(Enum):
    """A node's action for an incoming config."""

    BEGIN = "begin"
    FORWARD = "forward and begin"
    SEND_OURS = "send ours"
    NOTE = "note the sender's identity"
    REMEMBER = "remember the sender"
    IGNORE = "ignore"
    REFUSE_OLDER = "refuse: older"
    REFUSE_SAME = "refuse: already applied"
    REFUSE_OTHER = "refuse: same version, other content"
    REFUSE_INVALID = "refuse: not valid"
    REFUSE_NOW = "refuse: not now"
    REFUSE_BROKER = "refuse: the broker does not run"
    PASS_ON = "accept, in transition"


@frozen(kw_only=True)
class News:
    """An incoming config.  `age`: compared with the node's own config; None if it is not valid."""

    status: Status
    age: Age | None
    paused: bool = False


_NEWS = Members("news", News)


def _in(first_: Status, *more: Status) -> Condition:
    first, *others = (_NEWS.fact(f"status is {one.value}", status=one) for one in (first_, *more))
    for other in others:
        first = first | other
    return first


_YOUNGER = _NEWS.fact("it is younger", age=Age.YOUNGER)
_OLDER = _NEWS.fact("it is older", age=Age.OLDER)
_COEVAL = _NEWS.fact("it is coeval", age=Age.COEVAL)
_PAUSED = _NEWS.fact("the broker is paused", paused=True)
_BUSY = _in(Status.JOINING, Status.REJOINING)

FROM_PEER = Table(
    "clusterer-new-config",
    "Clusterer, U1 and U7: a config from a peer",
    (
        Case("U7", "before the start", _in(Status.PREBOOT), Does.REMEMBER),
        Case("U7", "booting, coeval", _in(Status.BOOTING) & _COEVAL, Does.NOTE),
        Case("U7", "booting", _in(Status.BOOTING), Does.REMEMBER),
        Case("U7", "the broker is paused", _PAUSED & ~_COEVAL, Does.REMEMBER),
        Case("U7", "younger, in transition", _BUSY & _YOUNGER, Does.FORWARD),
        Case("U1", "younger", _YOUNGER, Does.BEGIN),
        Case("U7", "older", _OLDER, Does.SEND_OURS),
        Case("U7", "coeval", _COEVAL, Does.NOTE),
        Case("U1", "same version, other content", ALWAYS, Does.IGNORE),
    ),
)
FROM_OPERATOR = Table(
    "clusterer-apply",
    "Clusterer, U1 and U7: a config from an operator",
    (
        Case("U7", "not now", _in(Status.PREBOOT, Status.BOOTING, Status.SHUTDOWN),
             Does.REFUSE_NOW),
        Case("U2", "not valid", _NEWS.fact("it is not valid", age=None), Does.REFUSE_INVALID),
        Case("U7", "in transition", _BUSY & (_YOUNGER | _COEVAL), Does.PASS_ON),
        Case("U7", "the broker is paused", _PAUSED, Does.REFUSE_BROKER),
        Case("U1", "younger", _YOUNGER, Does.BEGIN),
        Case("U1", "older", _OLDER, Does.REFUSE_OLDER),
        Case("U1", "already applied", _COEVAL, Does.REFUSE_SAME),
        Case("U1", "same version, other content", ALWAYS, Does.REFUSE_OTHER),
    ),
)  # fmt: skip


class Round(Enum):
    """The action after a round over the configs of all others."""

    STOP = "stop"
    ADOPT = "adopt"
    TELL = "tell"
    DECIDE = "decide"


@frozen(kw_only=True)
class OtherConfigs:
    """The comparison of the others' configs with the node's own and with each other.

    `conflict`: two configs of the same version differ.  `younger`, `older`: some node has a younger
    or an older config.
    """

    conflict: bool = False
    younger: bool = False
    older: bool = False


_HEARD = Members("heard", OtherConfigs)
ROUND = Table(
    "clusterer-round",
    "Clusterer, U1 and U7: a waiting node has asked all others",
    (
        Case("U1", "two contents of one version", _HEARD.fact("two configs of one version differ",
             conflict=True), Round.STOP),
        Case("U7", "a younger config", _HEARD.fact("a younger one is there", younger=True),
             Round.ADOPT),
        Case("U7", "an older config", _HEARD.fact("an older one is there", older=True),
             Round.TELL),
        Case("U7", "all the same", ALWAYS, Round.DECIDE),
    ),
)  # fmt: skip


class Next(Enum):
    """The action of a waiting node."""

    JOIN = "wipe and join"
    FOUND = "found with own data"
    FOUND_EMPTY = "found, wiped"
    BOOT = "boot with own data"
    LOCK = "take the locks"
    ASK = "ask the others"
    WAIT = "wait"


@frozen(kw_only=True)
class WaitingPeer:
    """A node of the config as a waiting node sees it, the waiting node included.

    `ran`: a disc node that ran when the waiting node stopped last.  `strange`: a ready node whose
    data are not those of the waiting node.  Of the waiting node only: `ram`: it is a ram node;
    `leads`: it goes first; `resets`: the gospel is reset.
    """

    name: str
    status: Status
    other: bool = True
    ran: bool = False
    strange: bool = False
    ram: bool = False
    leads: bool = False
    resets: bool = False


NODES = Members("N", WaitingPeer)
OTHERS = NODES.where(other=True).named("O")
JOINERS = NODES.where(status=Status.JOINING).named("J")
RAN = OTHERS.where(ran=True).named("D")
_A_NODE_IS_READY = OTHERS.some(status=Status.READY)
_LEADS = NODES.fact("this node is to lead", leads=True)

JOIN = Table(
    "clusterer-join",
    "Clusterer, U4: how a node without valid data gets into a cluster",
    (
        Case("U4", "a node is ready", _A_NODE_IS_READY, Next.JOIN),
        Case("U4", "a node is unreachable", OTHERS.some(status=Status.UNREACHABLE), Next.WAIT),
        Case("U4", "a node is not joining", ~(NODES - JOINERS).is_empty, Next.WAIT),
        Case("U4", "first, wiped", _LEADS & NODES.fact("the gospel is reset", resets=True),
             Next.FOUND_EMPTY),
        Case("U4", "first", _LEADS, Next.FOUND),
        Case("U4", "another is first", ALWAYS, Next.WAIT),
    ),
)  # fmt: skip
REJOIN = Table(
    "clusterer-rejoin",
    "Clusterer, U5: how a node with valid data comes back",
    (
        Case(
            "U5",
            "ready nodes have other data",
            OTHERS.some(status=Status.READY, strange=True),
            Next.JOIN,
        ),
        Case("U5", "a node is ready", _A_NODE_IS_READY, Next.BOOT),
        Case("U5", "a ram node", NODES.fact("this is a ram node", ram=True), Next.WAIT),
        Case("U5", "a later one is away", RAN.some(status=Status.UNREACHABLE), Next.WAIT),
        Case("U5", "no node ran longer", (RAN - JOINERS).is_empty, Next.LOCK),
        Case("U5", "no other comes back", ~OTHERS.some(status=Status.REJOINING), Next.WAIT),
        Case("U5", "others wait too", ALWAYS, Next.ASK),
    ),
)


@frozen(kw_only=True)
class Component:
    """Facts about this node's strongly connected component of the wait-for graph.

    `complete`: all nodes have said which nodes they await.  `edge_out`: an edge leads out of the
    component.  `stopped_earlier`: another node of the component saw this node stop.
    """

    complete: bool
    edge_out: bool = False
    stopped_earlier: bool = False


_CIRCLE = Members("circle", Component)
WAITS = Table(
    "clusterer-waits",
    "Clusterer, U5: which node may go in a wait-for graph",
    (
        Case("U5", "an answer is missing", _CIRCLE.fact("not all have said", complete=False),
             Next.WAIT),
        Case("U5", "its circle awaits a node outside", _CIRCLE.fact("an edge leads out",
             edge_out=True), Next.WAIT),
        Case("U5", "another of its circle stopped later", _CIRCLE.fact("another saw it stop",
             stopped_earlier=True), Next.WAIT),
        Case("U5", "its circle awaits itself alone", ALWAYS, Next.LOCK),
    ),
)  # fmt: skip


class Lock(Enum):
    """A node's answer to another node that asks for its lock."""

    GRANT = "grant"
    REJECT = "reject"


@frozen(kw_only=True)
class AskedLock:
    """The state of a node that is asked for its lock.

    `waiting`: it joins or rejoins.  `taken`: another node than the asking one has its lock.
    """

    waiting: bool
    taken: bool = False


_ASKED = Members("lock", AskedLock)
LOCKS = Table(
    "clusterer-locks",
    "Clusterer, U5: one lock a node, taken in the order of names",
    (
        Case("U5", "not in transition", _ASKED.fact("it does not wait", waiting=False),
             Lock.REJECT),
        Case("U5", "held by another", _ASKED.fact("it is taken", taken=True), Lock.REJECT),
        Case("U5", "free", ALWAYS, Lock.GRANT),
    ),
)  # fmt: skip

TABLES = (COMPATIBLE, BOOT, FROM_OPERATOR, FROM_PEER, ROUND, JOIN, REJOIN, WAITS, LOCKS)
SETS = (NODES, OTHERS, JOINERS, RAN)
