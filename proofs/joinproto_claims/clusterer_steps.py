"""The Clusterer's relations and steps.

A config is a version with content; a set is the data on the disk of a node's broker.  Which data a
config means is settled once, by the node that first boots with it or adopts it.  The other nodes
learn it by identities (`joinproto/clusterer/identities.py`).  A broker boots after its node has
decided to go, so the data that it must have may come later.

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
means = Relation("means", (CONFIG, SET), "{0} means the data {1}: its gospel's")

said = Relation("said", (NODE, CONFIG), "{0} has said that it is ready with {1}")

# -- the steps ---------------------------------------------------------------------------------

_UP = some(d, held(n, d))
_YOUNGER = Guard("it is younger", every(d, held(n, d) >> below(version(d), version(c))))
_NOT_OLDER = Guard(
    "what is on its disk is no younger, and no other content of that version",
    every(d, kept(n, d) >> (below(version(d), version(c)) | same(d, c))),
)
_HOLDS = Guard("it holds the config", held(n, c))
_NAMED = Guard("the config names it", names(c, n))
_WAITS = Guard("it waits for the config", waits(n) & held(n, c))
_UNSETTLED = Guard("nothing is meant by it yet", every(t, ~means(c, t)))
_FITS = Guard("its data are those that the config means", every(t, has(n, t) >> means(c, t)))
_BLANK = Guard("it has no data", every(t, ~has(n, t)))
_SOMEBODY = Guard("a node has said that it is ready with the same config", said(m, c))

_TAKEN = {held: Update((x, d), (held(x, d) & ~same(x, n)) | (same(x, n) & same(d, c)))}
_KEPT = {kept: Update((x, d), (kept(x, d) & ~same(x, n)) | (same(x, n) & same(d, c)))}
_RUNS = gains(ready, n)
_ENDED = loses(ready, n) | loses(first, n)
_RESTS = loses(waits, n)
_FREES = {lock: Update((x, y), lock(x, y) & ~same(y, n) & ~same(x, n))}
_LEADS = gains(first, n)
_WIPED = loses(has, n, None)
_FILLED = gains(has, n, s)
_SETTLED = gains(means, c, s)

START = Step(
    "start",
    "U1: a node starts with what is on its disk, or with something younger",
    (n, c),
    (Guard("it is off", every(d, ~held(n, d))), _NOT_OLDER),
    _TAKEN | gains(waits, n),
)
TAKE = Step(
    "take",
    "U1: a younger config comes, and the node waits: its broker ends",
    (n, c),
    (Guard("it is up", _UP), _YOUNGER),
    _TAKEN | _ENDED | _FREES | gains(waits, n),
)
ADOPT = Step(
    "adopt",
    "U3: a younger config that means the data at hand is adopted in silence",
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
    "U6: a younger config without it is stored, or it starts with one; its broker ends",
    (n, c),
    (_YOUNGER, _NOT_OLDER, Guard("it is left out", ~names(c, n))),
    _TAKEN | _KEPT | _ENDED | _RESTS | _FREES,
)
LOCK = Step(
    "lock",
    "U5: a node that waits gives its lock to one that is to go",
    (n, m),
    (
        Guard("the asked one waits", waits(n)),
        Guard("its lock is free", every(x, ~lock(n, x))),
        Guard("who asks waits", waits(m)),
    ),
    gains(lock, n, m),
)
UNLOCK = Step(
    "unlock",
    "U5: a lock is given back, or its holder is gone",
    (n, m),
    (),
    loses(lock, n, m),
)
_HEADS_ON = some(d, held(x, d) & below(version(c), version(d)))
_GONE = _KEPT | _RUNS | _RESTS | _FREES
_ALL_WAIT = Guard(
    "each node of the config waits for it",
    every(x, names(c, x) >> (waits(x) & held(x, c))),
)
FOUND = Step(
    "found",
    "U4: all nodes of the config are there and wait for it, and this one is to lead",
    (n, c),
    (_NAMED, _ALL_WAIT, _FITS),
    _GONE | _LEADS,
)
EMPTY = Step(
    "found, wiped",
    "U3: the gospel is reset: it goes first, without what it had",
    (n, c),
    (
        _NAMED,
        _ALL_WAIT,
        Guard("its gospel is reset", every(x, ~gospel(c, x))),
        _UNSETTLED,
    ),
    _GONE | _LEADS | _WIPED,
)
GO = Step(
    "go first",
    "U5: every node of the config waits and has given its lock, or is off, or heads for a younger"
    " one",
    (n, c),
    (
        _HOLDS,
        _NAMED,
        Guard(
            "each node of the config has given its lock, or is off, or heads for a younger one",
            every(x, names(c, x) >> (lock(x, n) | every(d, ~held(x, d)) | _HEADS_ON)),
        ),
        _FITS,
    ),
    _GONE | _LEADS,
)
SAY = Step(
    "say",
    "U4: a node that is ready with what the config means says so; when that arrives, it may have"
    " ended",
    (n, c, s),
    (
        Guard("it is ready with the config", ready(n) & held(n, c)),
        Guard("it has what the config means", has(n, s) & means(c, s)),
    ),
    gains(said, n, c),
)
JOIN = Step(
    "join",
    "U4: on the word of one that was ready with the config what this one has is wiped",
    (n, m, c),
    (_NAMED, _WAITS, _SOMEBODY),
    _GONE | _WIPED,
)
BACK = Step(
    "come back",
    "U5: on the word of one that was ready with the config; the data at hand are what it means",
    (n, m, c),
    (_NAMED, _WAITS, _SOMEBODY, _FITS),
    _GONE,
)
SETTLE = Step(
    "settle",
    "U3: which data a config means is settled, once, before anybody runs with it",
    (c, s),
    (
        _UNSETTLED,
        Guard(
            "its gospel, if it heads for it, has these",
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
            "its gospel, if another one, does not head for it",
            every(x, (gospel(c, x) & held(x, c)) >> same(x, n)),
        ),
    ),
    _FILLED | _SETTLED,
)
FILL = Step(
    "boot with others",
    "U4: the broker boots, and takes the data of one that runs: those that the config means",
    (n, m, c, s),
    (
        _HOLDS,
        _BLANK,
        Guard("these are his data, and he is ready", has(m, s) & ready(m)),
        Guard("the config means them", means(c, s)),
    ),
    _FILLED,
)
FAIL = Step(
    "fail",
    "U4: the broker does not boot, or not any more: the node waits again",
    (n,),
    (Guard("it boots or runs", ready(n)),),
    _ENDED | gains(waits, n),
)
END = Step(
    "end",
    "a node stops, or crashes; what is on its disk stays",
    (n,),
    (),
    loses(held, n, None) | _ENDED | _RESTS | _FREES,
)
RESET = Step(
    "reset",
    "a machine that is off is thrown away, and comes as a new one",
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
