"""Clusterer: which config a node has, whose data, and who goes first, for any number of nodes.

A config is a version with content; a set is what a node's broker has on its disk.  Whether data go
with a config is decided by identities (`joinproto/clusterer/identities.py`): here it is given.

Source: Clusterer, U1, U3, U4 and U5.
"""

from proofs.layer import Claim, Conjunct, Guard, Layer, Step, Update
from proofs.logic import (
    FALSE,
    After,
    Function,
    Relation,
    Sort,
    Var,
    all_of,
    every,
    same,
    some,
)

NODE, CONFIG, VERSION, SET = Sort("node"), Sort("config"), Sort("version"), Sort("set")

n, m, x, y = (Var(name, NODE) for name in "nmxy")
c, d, e = (Var(name, CONFIG) for name in "cde")
u, v, w = (Var(name, VERSION) for name in "uvw")
s, t = Var("s", SET), Var("t", SET)

below = Relation("below", (VERSION, VERSION), "{0} is less than {1}", rigid=True)
names = Relation("names", (CONFIG, NODE), "{0} names {1}", rigid=True)
means = Relation("means", (CONFIG, SET), "{0} means the data {1}: its gospel's", rigid=True)
version = Function("version", CONFIG, VERSION, "of a config")

held = Relation("held", (NODE, CONFIG), "{0} holds {1}, or heads for it")
kept = Relation("kept", (NODE, CONFIG), "{1} is on the disk of {0}")
waits = Relation("waits", (NODE,), "{0} joins or rejoins")
ready = Relation("ready", (NODE,), "the broker of {0} runs")
first = Relation("first", (NODE,), "{0} went first, and has not ended since")
has = Relation("has", (NODE, SET), "{0} has the data {1}")
lock = Relation("lock", (NODE, NODE), "{1} holds the lock of {0}")

# -- the steps ---------------------------------------------------------------------------------

_UP = some(d, held(n, d))
_YOUNGER = Guard("it is younger", every(d, held(n, d) >> below(version(d), version(c))))
_NOT_OLDER = Guard(
    "what is on its disk is no younger, and no other content of that version",
    every(d, kept(n, d) >> (below(version(d), version(c)) | same(d, c))),
)
_HOLDS = Guard("it holds the config", held(n, c))
_NAMED = Guard("the config names it", names(c, n))
_WAITS = Guard("it waits", waits(n))

_TAKEN = {held: Update((x, d), (held(x, d) & ~same(x, n)) | (same(x, n) & same(d, c)))}
_KEPT = {kept: Update((x, d), (kept(x, d) & ~same(x, n)) | (same(x, n) & same(d, c)))}
_RUNS = {ready: Update((x,), ready(x) | same(x, n))}
_ENDED = {
    ready: Update((x,), ready(x) & ~same(x, n)),
    first: Update((x,), first(x) & ~same(x, n)),
}
_RESTS = {waits: Update((x,), waits(x) & ~same(x, n))}
_FREES = {lock: Update((x, y), lock(x, y) & ~same(y, n) & ~same(x, n))}
_LEADS = {first: Update((x,), first(x) | same(x, n))}
_GIVEN = {has: Update((x, t), (has(x, t) & ~same(x, n)) | (same(x, n) & same(t, s)))}

START = Step(
    "start",
    "U1: a node starts with what is on its disk, or with something younger",
    (n, c),
    (Guard("it is off", every(d, ~held(n, d))), _NOT_OLDER),
    {**_TAKEN, waits: Update((x,), waits(x) | same(x, n))},
)
TAKE = Step(
    "take",
    "U1: a younger config comes, and the node waits: its broker ends",
    (n, c),
    (Guard("it is up", _UP), _YOUNGER),
    {**_TAKEN, **_ENDED, **_FREES, waits: Update((x,), waits(x) | same(x, n))},
)
ADOPT = Step(
    "adopt",
    "U3: a younger config that means the data at hand is adopted in silence",
    (n, c),
    (
        Guard("its broker runs", ready(n)),
        _YOUNGER,
        _NOT_OLDER,
        _NAMED,
        Guard("its data are those that the config means", every(t, has(n, t) >> means(c, t))),
    ),
    {**_TAKEN, **_KEPT},
)
LEAVE = Step(
    "leave",
    "U6: a younger config without it is stored; its broker ends",
    (n, c),
    (Guard("it is up", _UP), _YOUNGER, _NOT_OLDER, Guard("it is left out", ~names(c, n))),
    {**_TAKEN, **_KEPT, **_ENDED, **_RESTS, **_FREES},
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
    {lock: Update((x, y), lock(x, y) | (same(x, n) & same(y, m)))},
)
UNLOCK = Step(
    "unlock",
    "U5: a lock is given back, or its holder is gone",
    (n, m),
    (),
    {lock: Update((x, y), lock(x, y) & ~(same(x, n) & same(y, m)))},
)
FOUND = Step(
    "found",
    "U4: all nodes of the config are there and wait for it, and this one is to lead",
    (n, c, s),
    (
        _HOLDS,
        _NAMED,
        _WAITS,
        _NOT_OLDER,
        Guard(
            "each node of the config waits for it",
            every(x, names(c, x) >> (waits(x) & held(x, c))),
        ),
        Guard("its data are those that the config means", means(c, s)),
        Guard("they are its own, or it has none", every(t, has(n, t) >> same(t, s))),
    ),
    {**_KEPT, **_RUNS, **_LEADS, **_RESTS, **_FREES, **_GIVEN},
)
GO = Step(
    "go first",
    "U5: every node of the config waits and has given its lock, or is off",
    (n, c, s),
    (
        _HOLDS,
        _NAMED,
        _WAITS,
        _NOT_OLDER,
        Guard(
            "each node of the config has given its lock, or is off",
            every(x, names(c, x) >> (lock(x, n) | every(d, ~held(x, d)))),
        ),
        Guard("its data are those that the config means", means(c, s)),
        Guard("they are its own, or it has none", every(t, has(n, t) >> same(t, s))),
    ),
    FOUND.updates,
)
EMPTY = Step(
    "found, wiped",
    "U3: the gospel is reset: it goes first, without what it had",
    (n, c, s),
    (
        *FOUND.guards[:-1],
        Guard("nobody has the new data yet", every(x, ~has(x, s))),
    ),
    FOUND.updates,
)
JOIN = Step(
    "join",
    "U4: somebody is ready with the config: what this one has is wiped, and it takes his data",
    (n, m, c, s),
    (
        _HOLDS,
        _NAMED,
        _WAITS,
        _NOT_OLDER,
        Guard("somebody is ready with the same config", ready(m) & held(m, c)),
        Guard("these are his data", has(m, s)),
    ),
    {**_KEPT, **_RUNS, **_RESTS, **_FREES, **_GIVEN},
)
BACK = Step(
    "come back",
    "U5: somebody is ready with the config, and the data at hand are those that it means",
    (n, m, c),
    (
        _HOLDS,
        _NAMED,
        _WAITS,
        _NOT_OLDER,
        Guard("somebody is ready with the same config", ready(m) & held(m, c)),
        Guard("its data are those that the config means", every(t, has(n, t) >> means(c, t))),
    ),
    {**_KEPT, **_RUNS, **_RESTS, **_FREES},
)
END = Step(
    "end",
    "a node stops, or crashes; what is on its disk stays",
    (n,),
    (),
    {
        held: Update((x, d), held(x, d) & ~same(x, n)),
        **_ENDED,
        **_RESTS,
        **_FREES,
    },
)
RESET = Step(
    "reset",
    "a machine that is off is thrown away, and comes as a new one",
    (n,),
    (Guard("it is off", every(d, ~held(n, d))),),
    {
        kept: Update((x, d), kept(x, d) & ~same(x, n)),
        has: Update((x, t), has(x, t) & ~same(x, n)),
    },
)

# -- what holds --------------------------------------------------------------------------------

CONJUNCTS = (
    Conjunct(
        "one_config_held",
        every((n, c, d), (held(n, c) & held(n, d)) >> same(c, d)),
        "a node could be ready with one config and take another one's data",
    ),
    Conjunct(
        "one_config_kept",
        every((n, c, d), (kept(n, c) & kept(n, d)) >> same(c, d)),
        "two configs could lie on one disk",
    ),
    Conjunct(
        "one_set_on_a_disk",
        every((n, s, t), (has(n, s) & has(n, t)) >> same(s, t)),
        "a node could have two sets of data",
    ),
    Conjunct(
        "ready_is_up_and_named",
        every(n, ready(n) >> some(c, held(n, c) & names(c, n) & kept(n, c))),
        "a node could serve that no config names",
    ),
    Conjunct(
        "ready_does_not_wait", every(n, ready(n) >> ~waits(n)), "who is ready could give its lock"
    ),
    Conjunct(
        "who_waits_is_up",
        every(n, waits(n) >> some(c, held(n, c))),
        "who is off could give its lock",
    ),
    Conjunct(
        "locks_of_who_waits",
        every((n, m), lock(n, m) >> (waits(n) & waits(m))),
        "a lock could be held of one that is ready",
    ),
    Conjunct("first_is_ready", every(n, first(n) >> ready(n)), "who ended could still count"),
    Conjunct(
        "ready_has_what_is_meant",
        every((n, c, s), all_of(ready(n), held(n, c), has(n, s)) >> means(c, s)),
        "it is the claim one_set_of_data",
    ),
)

_RUN_ALIKE = all_of(ready(n), ready(m), held(n, c), held(m, c))

LAYER = Layer(
    name="clusterer",
    about="configs, data and who goes first, of any number of nodes",
    sorts=(NODE, CONFIG, VERSION, SET),
    relations=(below, names, means, held, kept, waits, ready, first, has, lock),
    functions=(version,),
    axioms={
        "versions are in a line": all_of(
            every(u, ~below(u, u)),
            every((u, v, w), (below(u, v) & below(v, w)) >> below(u, w)),
            every((u, v), below(u, v) | below(v, u) | same(u, v)),
        ),
        "a config means one set of data": every(
            (c, s, t), (means(c, s) & means(c, t)) >> same(s, t)
        ),
    },
    initial=dict.fromkeys((held, kept, waits, ready, first, has, lock), FALSE),
    steps=(START, TAKE, ADOPT, LEAVE, LOCK, UNLOCK, FOUND, EMPTY, GO, JOIN, BACK, END, RESET),
    conjuncts=CONJUNCTS,
    claims=(
        Claim(
            "versions_never_decrease",
            "U1: neither what a node holds nor what is on its disk gets older; content of one"
            " version is never changed for another",
            every(
                (n, c, d),
                all_of(
                    (held(n, c) & After(held(n, d)))
                    >> (below(version(c), version(d)) | same(c, d)),
                    (kept(n, c) & After(kept(n, d)))
                    >> (below(version(c), version(d)) | same(c, d)),
                ),
            ),
            is_step=True,
        ),
        Claim(
            "the_gospels_data_survive",
            "U3: what is on a node's disk is thrown away only where another one that is ready has"
            " what the config means; or by the one that founds with a gospel that is reset",
            every(
                (n, c, s, t),
                all_of(has(n, s), held(n, c), After(has(n, t)), ~same(s, t))
                >> (
                    means(c, t)
                    & (some(m, ready(m) & held(m, c) & has(m, t)) | every(x, ~has(x, t)))
                ),
            ),
            is_step=True,
        ),
        Claim(
            "one_set_of_data",
            "U3, U4: nodes that are ready with one config have one set of data",
            every((n, m, c, s, t), (_RUN_ALIKE & has(n, s) & has(m, t)) >> same(s, t)),
        ),
        Claim(
            "other_content_is_never_merged",
            "U1: who joins or comes back does so beside one with the very same config, not only"
            " the same version",
            every(
                (n, c),
                all_of(held(n, c), waits(n), After(ready(n)), After(held(n, c)))
                >> (After(first(n)) | some(m, ready(m) & held(m, c))),
            ),
            is_step=True,
        ),
        Claim(
            "one_goes_first",
            "U4, U5: nobody goes first while another node of the config runs",
            every(
                (n, m, c),
                all_of(waits(n), held(n, c), After(first(n)), names(c, m)) >> ~ready(m),
            ),
            is_step=True,
        ),
        Claim(
            "no_two_first",
            "U4, U5: of one config no two go first while the other runs, in whatever order",
            every(
                (n, m, c),
                all_of(
                    first(n),
                    held(n, c),
                    After(first(m)),
                    After(held(m, c)),
                    names(c, n),
                    ~same(n, m),
                )
                >> first(m),
            ),
            is_step=True,
        ),
    ),
    lively=some(
        (n, m, c, s),
        all_of(first(n), ready(m), ~same(n, m), held(n, c), held(m, c), has(n, s), has(m, s)),
    ),
    assumes=(
        "a node that cannot be reached while another one takes the locks is off",
        "identities tell which data a config means",
    ),
)
