"""The Clusterer's relations and steps.

A config is a version with content; a set is the data on the disk of a node's broker.  Which data a
config means is settled once, by the node that first boots with it or adopts it.  The other nodes
learn these data by identities (`joinproto/clusterer/identities.py`).  A broker boots after its node
has decided to go, so the data that it must have may come later.

Source: Clusterer, U1 and U3 to U6; the claims about them are in `clusterer.py`.
"""

from joinproto.prove.layer import Guard, Step, Update, gains, loses
from joinproto.prove.logic import Function, Relation, Sort, Var, every, same, some

NODE, CONFIG, VERSION, SET = Sort("node"), Sort("config"), Sort("version"), Sort("set")

n, m, x, y = (Var(name, NODE) for name in "nmxy")
c, d, e = (Var(name, CONFIG) for name in "cde")
u, v, w = (Var(name, VERSION) for name in "uvw")
s, t = Var("s", SET), Var("t", SET)

below = Relation("below", (VERSION, VERSION), "{0} is less than {1}", rigid=True)
names = Relation("names", (CONFIG, NODE), "{0} names {1}", rigid=True)
gospel = Relation("gospel", (CONFIG, NODE), "{1} is the gospel of {0}", rigid=True)
version = Function("version", CONFIG, VERSION, "of a config")

held = Relation("held", (NODE, CONFIG), "{0} holds {1}, or heads for it")
kept = Relation("kept", (NODE, CONFIG), "{1} is on the disk of {0}")
waits = Relation("waits", (NODE,), "{0} joins or rejoins")
ready = Relation("ready", (NODE,), "the broker of {0} boots or runs")
first = Relation("first", (NODE,), "{0} went first, and has not ended since")
has = Relation("has", (NODE, SET), "{0} has the data {1}")
lock = Relation("lock", (NODE, NODE), "{1} holds the lock of {0}")
means = Relation("means", (CONFIG, SET), "{0} means the data {1}, which are its gospel's")

said = Relation("said", (NODE, CONFIG), "{0} has said that it is ready with {1}")

# -- the steps ---------------------------------------------------------------------------------

_IS_UP = some(d, held(n, d))
_YOUNGER = Guard(
    "the config is younger than any that it holds",
    every(d, held(n, d) >> below(version(d), version(c))),
)
_NOT_OLDER = Guard(
    "the config on its disk is not younger, and is not another content of that version",
    every(d, kept(n, d) >> (below(version(d), version(c)) | same(d, c))),
)
_HOLDS = Guard("it holds the config", held(n, c))
_NAMED = Guard("the config names it", names(c, n))
_WAITS = Guard("it waits for the config", waits(n) & held(n, c))
_UNSETTLED = Guard("the config does not mean any data yet", every(t, ~means(c, t)))
_FITS = Guard(
    "any data that it has are those that the config means", every(t, has(n, t) >> means(c, t))
)
_BLANK = Guard("it has no data", every(t, ~has(n, t)))
_A_NODE_IS_READY = Guard("a node has said that it is ready with the same config", said(m, c))

_TAKEN = {held: Update((x, d), (held(x, d) & ~same(x, n)) | (same(x, n) & same(d, c)))}
_KEPT = {kept: Update((x, d), (kept(x, d) & ~same(x, n)) | (same(x, n) & same(d, c)))}
_READY = gains(ready, n)
_ENDED = loses(ready, n) | loses(first, n)
_NO_LONGER_WAITS = loses(waits, n)
_GIVES_LOCKS_BACK = {lock: Update((x, y), lock(x, y) & ~same(y, n) & ~same(x, n))}
_WENT_FIRST = gains(first, n)
_WIPED = loses(has, n, None)
_FILLED = gains(has, n, s)
_SETTLED = gains(means, c, s)

START = Step(
    "start",
    "U1: a node starts with the config on its disk, or with a younger one",
    (n, c),
    (Guard("it is off", every(d, ~held(n, d))), _NOT_OLDER),
    _TAKEN | gains(waits, n),
)
TAKE = Step(
    "take",
    "U1: a younger config arrives; the node's broker ends, and the node waits",
    (n, c),
    (Guard("it is up", _IS_UP), _YOUNGER),
    _TAKEN | _ENDED | _GIVES_LOCKS_BACK | gains(waits, n),
)
ADOPT = Step(
    "adopt",
    "U3: a node adopts a younger config that means its data, while its broker runs on",
    (n, c),
    (
        Guard("its broker runs", ready(n)),
        _YOUNGER,
        _NAMED,
        _FITS,
    ),
    _TAKEN | _KEPT,
)
LEAVE = Step(
    "leave",
    "U6: a node stores a younger config that leaves it out, or starts with one; its broker ends",
    (n, c),
    (_YOUNGER, _NOT_OLDER, Guard("the config leaves it out", ~names(c, n))),
    _TAKEN | _KEPT | _ENDED | _NO_LONGER_WAITS | _GIVES_LOCKS_BACK,
)
LOCK = Step(
    "lock",
    "U5: a waiting node gives its lock to a node that wants to go first",
    (n, m),
    (
        Guard("the node that is asked waits", waits(n)),
        Guard("its lock is free", every(x, ~lock(n, x))),
        Guard("the node that asks waits", waits(m)),
    ),
    gains(lock, n, m),
)
UNLOCK = Step(
    "unlock",
    "U5: a lock is given back, or its holder ends",
    (n, m),
    (),
    loses(lock, n, m),
)
_HEADS_ON = some(d, held(x, d) & below(version(c), version(d)))
_BOOTS = _KEPT | _READY | _NO_LONGER_WAITS | _GIVES_LOCKS_BACK
_ALL_WAIT = Guard(
    "each node of the config waits for it",
    every(x, names(c, x) >> (waits(x) & held(x, c))),
)
FOUND = Step(
    "found",
    "U4: all nodes of the config are up and wait for it, and this node goes first",
    (n, c),
    (_NAMED, _ALL_WAIT, _FITS),
    _BOOTS | _WENT_FIRST,
)
EMPTY = Step(
    "found, wiped",
    "U3: the config's gospel is reset, so the node wipes its data and goes first",
    (n, c),
    (
        _NAMED,
        _ALL_WAIT,
        Guard("the config's gospel is reset", every(x, ~gospel(c, x))),
        _UNSETTLED,
    ),
    _BOOTS | _WENT_FIRST | _WIPED,
)
GO = Step(
    "go first",
    "U5: every node of the config waits and has given its lock, or is off, or heads for a younger"
    " config",
    (n, c),
    (
        _HOLDS,
        _NAMED,
        Guard(
            "each node of the config has given its lock, or is off, or heads for a younger config",
            every(x, names(c, x) >> (lock(x, n) | every(d, ~held(x, d)) | _HEADS_ON)),
        ),
        _FITS,
    ),
    _BOOTS | _WENT_FIRST,
)
SAY = Step(
    "say",
    "U4: a node that is ready with the config's data says so; the node may have ended when its"
    " message arrives",
    (n, c, s),
    (
        Guard("it is ready with the config", ready(n) & held(n, c)),
        Guard("it has the data that the config means", has(n, s) & means(c, s)),
    ),
    gains(said, n, c),
)
JOIN = Step(
    "join",
    "U4: a node joins: another node said that it was ready with the config, so this node's data"
    " are wiped",
    (n, m, c),
    (_NAMED, _WAITS, _A_NODE_IS_READY),
    _BOOTS | _WIPED,
)
BACK = Step(
    "come back",
    "U5: a node comes back: another node was ready with the config, and this node's data are the"
    " config's",
    (n, m, c),
    (_NAMED, _WAITS, _A_NODE_IS_READY, _FITS),
    _BOOTS,
)
SETTLE = Step(
    "settle",
    "U3: which data a config means is settled, once, before any node runs with it",
    (c, s),
    (
        _UNSETTLED,
        Guard(
            "the config's gospel has these data, if it heads for the config",
            every(x, (gospel(c, x) & held(x, c)) >> has(x, s)),
        ),
    ),
    _SETTLED,
)
FRESH = Step(
    "boot afresh",
    "U4: the broker boots with new data, which the config means from now on",
    (n, c, s),
    (
        _HOLDS,
        _BLANK,
        _UNSETTLED,
        Guard("no node has the new data yet", every(x, ~has(x, s))),
        Guard(
            "no other node that is the config's gospel heads for the config",
            every(x, (gospel(c, x) & held(x, c)) >> same(x, n)),
        ),
    ),
    _FILLED | _SETTLED,
)
FILL = Step(
    "boot with others",
    "U4: the broker boots and copies the data of a running broker, which are the config's data",
    (n, m, c, s),
    (
        _HOLDS,
        _BLANK,
        Guard("these are the other node's data, and it is ready", has(m, s) & ready(m)),
        Guard("the config means these data", means(c, s)),
    ),
    _FILLED,
)
FAIL = Step(
    "fail",
    "U4: the broker fails to boot, or stops running; the node waits again",
    (n,),
    (Guard("it boots or runs", ready(n)),),
    _ENDED | gains(waits, n),
)
END = Step(
    "end",
    "a node stops or crashes; its disk keeps its content",
    (n,),
    (),
    loses(held, n, None) | _ENDED | _NO_LONGER_WAITS | _GIVES_LOCKS_BACK,
)
RESET = Step(
    "reset",
    "a machine that is off is replaced by a new machine",
    (n,),
    (Guard("it is off", every(d, ~held(n, d))),),
    loses(kept, n, None) | loses(has, n, None),
)

STEPS = (
    START,
    TAKE,
    ADOPT,
    LEAVE,
    LOCK,
    UNLOCK,
    FOUND,
    EMPTY,
    GO,
    SAY,
    JOIN,
    BACK,
    SETTLE,
    FRESH,
    FILL,
    FAIL,
    END,
    RESET,
)
