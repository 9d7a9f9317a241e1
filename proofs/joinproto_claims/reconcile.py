"""Reconciliation: changes of the members of one queue, for any number of nodes.

Each entry of the group's logs has a membership: the members from that entry on.  A leader first
writes its own entry, and then changes one member at a time.  Any node may be down, for any time.
Source: reconciliation, Q2 to Q4; `joinproto/reconcile/tables.py` has the table; the group's own
rules are in chapter 4 of Ongaro's thesis.
"""

from joinproto.prove.layer import Claim, Conjunct, Guard, Layer, Step, Update, gains, loses
from joinproto.prove.logic import (
    After,
    Formula,
    Function,
    Relation,
    Sort,
    Var,
    all_of,
    equal,
    every,
    is_forest_order,
    same,
    some,
)

NODE, ENTRY, TERM = Sort("node"), Sort("entry"), Sort("term")
MAJORITY, ENOUGH = Sort("majority"), Sort("enough")

n, x, y = Var("n", NODE), Var("x", NODE), Var("y", NODE)
e, f, g, h = (Var(name, ENTRY) for name in "efgh")
q, r = Var("q", MAJORITY), Var("r", MAJORITY)
k = Var("k", ENOUGH)

upto = Relation("upto", (ENTRY, ENTRY), "{0} is {1}, or on the way to it", rigid=True)
behind = Relation("behind", (ENTRY, ENTRY), "{1} stands right behind {0}", rigid=True)
has = Relation("has", (ENTRY, NODE), "{1} is a member as of {0}", rigid=True)
alike = Relation("alike", (ENTRY, ENTRY), "{0} and {1} have the same members", rigid=True)
near = Relation(
    "near", (ENTRY, ENTRY), "the members of {0} and {1} differ by one at most", rigid=True
)
one_more = Relation(
    "one_more", (ENTRY, ENTRY, NODE), "{1} has the members of {0}, and {2}", rigid=True
)
within = Relation("within", (NODE, MAJORITY), "{0} belongs to {1}", rigid=True)
even = Relation("even", (ENTRY,), "as of {0} the number of members is even", rigid=True)
majority_of = Relation("majority_of", (MAJORITY, ENTRY), "{0} is most members of {1}", rigid=True)
of = Relation("of", (NODE, ENOUGH), "{0} is one of {1}, which are as many as wanted", rigid=True)
term = Function("term", ENTRY, TERM, "the term whose leader wrote it")

written = Relation("written", (ENTRY,), "{0} is in a log")
committed = Relation("committed", (ENTRY,), "{0} is committed")
added = Relation("added", (ENTRY, ENTRY), "an evaluation at {0} wrote {1}, one member more")
dropped = Relation("dropped", (ENTRY, ENTRY), "an evaluation at {0} wrote {1}, one member less")
runs = Relation("runs", (NODE,), "{0} is in the cluster and runs")
lost = Relation(
    "lost", (NODE,), "the replica of {0} no longer counts: {0} was away too long, or has left"
)


def _most_run(majority: Var, entry: Var) -> Formula:
    return majority_of(majority, entry) & every(x, within(x, majority) >> runs(x))


def _enough(group: Var, entry: Var) -> Formula:
    """Return that all nodes of a group of the wanted size are members that count."""
    return every(x, of(x, group) >> (has(entry, x) & ~lost(x)))


_SOME_LOST = some(x, has(e, x) & lost(x))

# -- the steps ---------------------------------------------------------------------------------

_WRITTEN = gains(written, f)
_COMMITTED = Guard("the last change is committed", committed(e))
_BEHIND = Guard("f stands right behind e", behind(e, f))
_OWN = Guard("the leader has an entry of its own before", same(term(e), term(f)))
_LAST = Guard(
    "the leader's log ends with e", every(g, (written(g) & same(term(g), term(e))) >> upto(g, e))
)
_TURN = (_COMMITTED, _BEHIND, _OWN, _LAST)
_MOST = Guard("a majority runs", _most_run(q, e))

DECLARE = Step(
    "declare",
    "a queue is declared, with its first members; there may be any number of queues",
    (e,),
    (Guard("no entry leads to it", every(g, upto(g, e) >> same(g, e))),),
    gains(written, e) | gains(committed, e),
)
ELECT = Step(
    "elect",
    "a new leader writes an entry of its own behind its log",
    (e, f),
    (
        Guard("e is in a log", written(e)),
        _BEHIND,
        Guard("it changes no member", alike(e, f)),
    ),
    _WRITTEN,
)
COMMIT = Step(
    "commit",
    "an entry is committed, and all entries before it; Raft says which entry may be",
    (f,),
    (Guard("the entry is in a log", written(f)),),
    {committed: Update((g,), committed(g) | upto(g, f))},
)
BY_HAND = Step(
    "change by hand",
    "an operator adds or removes a member: the group takes one change at a time",
    (e, f),
    (*_TURN, Guard("the members differ by one at most", near(e, f))),
    _WRITTEN,
)
ADD = Step(
    "add",
    "Q4: fewer members count than wanted, or a member that no longer counts is still listed; a"
    " running node gets a replica",
    (e, f, n, q),
    (
        *_TURN,
        _MOST,
        Guard(
            "fewer members count than are wanted, or a member that no longer counts stays",
            every(k, ~_enough(k, e)) | _SOME_LOST,
        ),
        Guard("the node has no replica", ~has(e, n)),
        Guard("the node runs", runs(n)),
        Guard("it is the only change", one_more(e, f, n)),
    ),
    _WRITTEN | gains(added, e, f),
)
DROP = Step(
    "drop",
    "Q4: enough members count, or one less makes an odd number; a replica that does not count is"
    " dropped",
    (e, f, n, q, k),
    (
        *_TURN,
        _MOST,
        Guard(
            "as many members count as are wanted, or their number is even", _enough(k, e) | even(e)
        ),
        Guard("the replica no longer counts", lost(n)),
        Guard("it is the only change", one_more(f, e, n) & ~has(f, n)),
    ),
    _WRITTEN | gains(dropped, e, f),
)
STOP = Step("stop", "a node stops, or leaves", (n,), (), loses(runs, n))
LOSE = Step(
    "lose",
    "Q2: a node is away for the failure interval, or has left the cluster",
    (n,),
    (Guard("the node does not run", ~runs(n)),),
    gains(lost, n),
)
RUN = Step(
    "run",
    "a node starts or comes back, and counts again",
    (n,),
    (),
    gains(runs, n) | loses(lost, n),
)

# -- claims ------------------------------------------------------------------------------------

_ONE_UNDER_WAY = every((e, f), all_of(written(f), upto(e, f), ~committed(e)) >> alike(e, f))
_NO_RIVALS = every(
    (e, f, g),
    all_of(written(f), written(g), behind(e, f), behind(e, g), ~alike(e, f), ~alike(e, g))
    >> same(f, g),
)
_IS_NEWEST = every(g, all_of(committed(g), upto(g, f)) >> upto(g, e))

CONJUNCTS = (
    Conjunct(
        "committed_is_written",
        every(e, committed(e) >> written(e)),
        "a change could stand behind what no log holds",
    ),
    Conjunct(
        "written_from_the_first",
        every((e, f), (written(f) & upto(e, f)) >> written(e)),
        "an entry could be written below one that is there already",
    ),
    Conjunct(
        "committed_from_the_first",
        every((e, f), (committed(f) & upto(e, f)) >> committed(e)),
        "what stands before a committed entry could count as a change under way",
    ),
    Conjunct(
        "under_way_is_one_change",
        _ONE_UNDER_WAY,
        "a second change could stand behind one that is not committed",
    ),
    Conjunct(
        "near_what_is_committed",
        every((e, f), all_of(committed(e), written(f), upto(e, f), _IS_NEWEST) >> near(e, f)),
        "the members that count could be far from those that are committed",
    ),
    Conjunct(
        "change_has_its_leaders_entry_before",
        every((e, f), all_of(written(f), behind(e, f), ~alike(e, f)) >> same(term(e), term(f))),
        "two leaders could each change what the same entry says",
    ),
    Conjunct(
        "one_change_behind_an_entry",
        _NO_RIVALS,
        "it is the claim no_rivals",
    ),
    Conjunct(
        "lost_does_not_run",
        every(n, lost(n) >> ~runs(n)),
        "a replica could be added that does not count",
    ),
)

_NEW_DROP = After(dropped(e, f)) & ~dropped(e, f)
_NEW_ADD = After(added(e, f)) & ~added(e, f)
_STILL = every(x, (has(e, x) & ~lost(x)) >> has(f, x))

LAYER = Layer(
    name="reconcile",
    about="changes of a queue's members: by itself, by hand, under any leader",
    sorts=(NODE, ENTRY, TERM, MAJORITY, ENOUGH),
    relations=(
        upto,
        behind,
        has,
        alike,
        near,
        one_more,
        within,
        majority_of,
        of,
        even,
        written,
        committed,
        added,
        dropped,
        runs,
        lost,
    ),
    functions=(term,),
    axioms={
        "a log is a line": is_forest_order(upto),
        "the entry right behind": every(
            (e, f),
            behind(e, f)
            >> all_of(
                upto(e, f),
                ~same(e, f),
                every(g, upto(g, f) >> (upto(g, e) | same(g, f))),
            ),
        ),
        "one more": every(
            (e, f, n, x), one_more(e, f, n) >> equal(has(f, x), has(e, x) | same(x, n))
        ),
        "one more is near": every((e, f, n), one_more(e, f, n) >> (near(e, f) & near(f, e))),
        "the same members": all_of(
            every(e, alike(e, e)),
            every((e, f), alike(e, f) >> (alike(f, e) & near(e, f))),
            every((e, f, g), (alike(e, f) & alike(f, g)) >> alike(e, g)),
            every((e, f, g), (near(e, f) & alike(f, g)) >> near(e, g)),
        ),
        "a majority is of members": every(
            (q, e, x), (majority_of(q, e) & within(x, q)) >> has(e, x)
        ),
        "majorities of near memberships share a node": every(
            (q, r, e, f),
            all_of(majority_of(q, e), majority_of(r, f), near(e, f))
            >> some(x, within(x, q) & within(x, r)),
        ),
        "a majority and one more node have a majority of both": every(
            (q, e, f, n),
            (majority_of(q, e) & one_more(e, f, n))
            >> some(r, majority_of(r, f) & every(x, within(x, r) >> (within(x, q) | same(x, n)))),
        ),
        "a majority without a node is one of the others": every(
            (q, e, f, n),
            all_of(majority_of(q, e), one_more(f, e, n), ~within(n, q)) >> majority_of(q, f),
        ),
    },
    steps=(DECLARE, ELECT, COMMIT, BY_HAND, ADD, DROP, STOP, LOSE, RUN),
    conjuncts=CONJUNCTS,
    claims=(
        Claim(
            "one_change_at_a_time",
            "Q4: at most one change is uncommitted, under any leader",
            _ONE_UNDER_WAY,
        ),
        Claim(
            "no_rivals",
            "Q4: no two leaders change one entry of the log differently",
            _NO_RIVALS,
        ),
        Claim(
            "memberships_share_a_majority",
            "Q4: each majority of the members that count meets each of those that are committed",
            every(
                (e, f, q, r),
                all_of(
                    committed(e),
                    written(f),
                    upto(e, f),
                    _IS_NEWEST,
                    majority_of(q, e),
                    majority_of(r, f),
                )
                >> some(x, within(x, q) & within(x, r)),
            ),
        ),
        Claim(
            "never_below_by_itself",
            "Q4: a drop leaves all replicas that count, and these are as many as wanted, or the"
            " number was even; an add takes none away",
            every(
                (e, f),
                all_of(
                    _NEW_DROP
                    >> all_of(
                        _STILL, even(e) | some(k, every(x, of(x, k) >> (has(f, x) & ~lost(x))))
                    ),
                    _NEW_ADD >> _STILL,
                ),
            ),
            is_step=True,
        ),
        Claim(
            "it_ends",
            "Q4: an add brings one more that counts, while too few do or a lost one is listed; a"
            " drop takes one that does not count: so free nodes and lost members become fewer",
            every(
                (e, f),
                all_of(
                    _NEW_ADD
                    >> all_of(
                        _STILL,
                        every(k, ~_enough(k, e)) | _SOME_LOST,
                        some(x, has(f, x) & ~has(e, x) & ~lost(x)),
                    ),
                    _NEW_DROP
                    >> all_of(
                        _STILL,
                        every(x, has(f, x) >> has(e, x)),
                        some(x, has(e, x) & ~has(f, x) & lost(x)),
                    ),
                ),
            ),
            is_step=True,
        ),
        Claim(
            "a_majority_still_runs",
            "Q4: after a change of ours a majority of the members runs",
            every((e, f), (_NEW_ADD | _NEW_DROP) >> some(r, _most_run(r, f))),
            is_step=True,
        ),
    ),
    lively=some(
        (e, f, g, n, q),
        all_of(
            added(e, f),
            dropped(f, g),
            committed(g),
            lost(n),
            has(f, n),
            ~has(g, n),
            _most_run(q, g),
        ),
    ),
    assumes=("members that no longer count stay so while one change is decided and written",),
)
