"""Serving: which member may serve in which view, and when, for any number of members.

Views are chosen by a register that has at most one successor of each view, as in `chain.py`.  Here
the disk and the memory of a member are distinguished, because a claim is about the disk.  Source:
join protocol, 3.3 to 3.5; rules W1, I1, I2, I8, S2; `joinproto/join/phases.py` and `succession.py`
have the tables.
"""

from joinproto.prove.layer import Claim, Conjunct, Guard, Layer, Step, Update, gains, loses
from joinproto.prove.logic import (
    Formula,
    Function,
    Relation,
    Sort,
    Var,
    all_of,
    every,
    is_forest_order,
    same,
    some,
)

SEAT, VIEW, MAJORITY, OPTIONS = Sort("seat"), Sort("view"), Sort("majority"), Sort("options")

e, s, t = Var("e", SEAT), Var("s", SEAT), Var("t", SEAT)
u, v, w, x, y = (Var(name, VIEW) for name in "uvwxy")
q, r = Var("q", MAJORITY), Var("r", MAJORITY)
o, p = Var("o", OPTIONS), Var("p", OPTIONS)

upto = Relation("upto", (VIEW, VIEW), "{0} is {1}, or on the way to it", rigid=True)
member = Relation("member", (VIEW, SEAT), "{1} is a member of {0}", rigid=True)
close = Relation("close", (VIEW,), "{0} is a CLOSE", rigid=True)
fresh = Relation("fresh", (VIEW,), "{0} is a FOUND or a RESTART: N counts anew", rigid=True)
enough = Relation("enough", (VIEW,), "{0} has at least N members", rigid=True)
activated = Relation("activated", (VIEW,), "{0} says that N was reached before", rigid=True)
by_votes = Relation(
    "by_votes", (VIEW,), "votes choose the successor of {0}, not a register", rigid=True
)
within = Relation("within", (SEAT, MAJORITY), "{0} belongs to {1}", rigid=True)
majority_of = Relation("majority_of", (MAJORITY, VIEW), "{0} is most of {1}'s electors", rigid=True)
options = Function("options", VIEW, OPTIONS, "the options of a view, as a digest")

chosen = Relation("chosen", (VIEW,), "{0} is chosen")
knows = Relation("knows", (SEAT, VIEW), "{0} knows {1}")
serves = Relation("serves", (SEAT, VIEW), "{0} serves clients in {1}")
written = Relation("written", (SEAT, VIEW), "{1} is on the disk of {0}")
answered = Relation("answered", (SEAT, VIEW), "{0} has answered about the successor of {1}")
said = Relation("said", (SEAT, VIEW), "{0} has said that it is ready in {1}")
opened = Relation("opened", (VIEW,), "clients were served in {0}")
runs = Relation("runs", (SEAT, OPTIONS), "{0} runs, with the options {1}")


def _below(one: Var, other: Var) -> Formula:
    return upto(one, other) & ~same(one, other)


def _full(view: Var) -> Formula:
    """Return that this view has N members, and all its members were ready in it."""
    return enough(view) & every(t, member(view, t) >> said(t, view))


def _answered_by(majority: Var, view: Var) -> Formula:
    return all_of(majority_of(majority, view), every(t, within(t, majority) >> answered(t, view)))


def _reached_n(view: Var) -> Formula:
    """Return that N was reached on the way to this view, since the last FOUND or RESTART."""
    none_fresh = every(x, (_below(u, x) & upto(x, view)) >> ~fresh(x))
    return some(u, all_of(upto(u, view), _full(u), none_fresh))


# -- the steps ---------------------------------------------------------------------------------

_CHOSEN = gains(chosen, w)
_NEW = Guard("it does not say that N was reached", ~activated(w))

_STANDS_BEHIND = _below(v, w) & every(y, _below(y, w) >> upto(y, v))
_BEHIND = (
    Guard("it stands behind v", _STANDS_BEHIND),
    Guard("v is chosen", chosen(v)),
    Guard("v has no successor yet", every(y, (chosen(y) & upto(v, y)) >> same(y, v))),
    Guard("a majority has answered, or a register decides", ~by_votes(v) | _answered_by(q, v)),
)
_GOES_ON = (
    *_BEHIND,
    Guard("N goes on counting", ~fresh(w)),
    Guard("that N was reached is known from v", activated(w) >> (activated(v) | opened(v))),
)

FOUND = Step(
    "found",
    "I3: the first view of a cluster is chosen",
    (w,),
    (Guard("no view leads to it", every(u, upto(u, w) >> same(u, w))), _NEW),
    _CHOSEN,
)
RESTART = Step(
    "restart",
    "I7, R3: a cluster that stopped begins again",
    (w, v, q),
    (*_BEHIND, _NEW, Guard("it is not a CLOSE", ~close(w))),
    _CHOSEN,
)
CHANGE = Step(
    "change",
    "3.4: members join or leave, and the cluster goes on",
    (w, v, q),
    (*_GOES_ON, Guard("it is not a CLOSE", ~close(w))),
    _CHOSEN,
)
CLOSE = Step(
    "close",
    "S2: the whole cluster is stopped in order",
    (w, v, q),
    (*_GOES_ON, Guard("all members of v have answered", every(t, member(v, t) >> answered(t, v)))),
    _CHOSEN,
)

START = Step(
    "start",
    "2: a process begins, with any options that its operator gave it",
    (s, o),
    (Guard("it does not run", every(p, ~runs(s, p))),),
    gains(runs, s, o),
)

_STOPS = loses(serves, s, None)

LEARN = Step(
    "learn",
    "3.3: a member hears where its chain goes on, and no longer serves in older views",
    (s, w),
    (Guard("it is chosen", chosen(w)),),
    {knows: Update((t, x), knows(t, x) | (same(t, s) & upto(x, w))), **_STOPS},
)

WRITE = Step(
    "write",
    "a member writes all views that it knows to its disk",
    (s,),
    (),
    {written: Update((t, x), written(t, x) | (same(t, s) & knows(s, x)))},
)

ANSWER = Step(
    "answer",
    "3.3: a member that answers freezes, durably, and serves no more",
    (s, v),
    (),
    gains(answered, s, v) | _STOPS,
)

_TIP = Guard("v is its tip", knows(s, v) & every(y, knows(s, y) >> upto(y, v)))
_MEMBER = Guard("it is a member of v", member(v, s))
_NOT_ANSWERED = Guard("it has not answered about v", ~answered(s, v))

READY = Step(
    "become ready",
    "I8: a member says that it has the data of its view; the chain's layer says when it may",
    (s, v),
    (),
    gains(said, s, v),
)

SERVE = Step(
    "serve",
    "I8, W1: all members are ready, and they are at least N, or N was reached before",
    (s, v),
    (
        _TIP,
        Guard("v is on the disk", written(s, v)),
        _MEMBER,
        _NOT_ANSWERED,
        Guard("v is not a CLOSE", ~close(v)),
        Guard("all members of v are ready", every(t, member(v, t) >> said(t, v))),
        Guard("v has N members, or N was reached before", enough(v) | activated(v)),
        Guard("it runs with v's options", runs(s, options(v))),
    ),
    gains(serves, s, v) | gains(opened, v),
)

STOP = Step(
    "stop",
    "a member suspends itself, ends or crashes, and loses the content of its memory",
    (s,),
    (),
    {
        **_STOPS,
        **loses(runs, s, None),
        knows: Update((t, x), knows(t, x) & (~same(t, s) | written(t, x))),
    },
)

# -- claims ------------------------------------------------------------------------------------

_ON_ONE_CHAIN = upto(u, v) | upto(v, u)

CONJUNCTS = (
    Conjunct(
        "chosen_from_the_founding",
        every((u, v), (chosen(v) & upto(u, v)) >> chosen(u)),
        "a view could stand behind one that was never chosen",
    ),
    Conjunct(
        "one_chain",
        every((x, u, v), all_of(chosen(u), chosen(v), upto(x, u), upto(x, v)) >> _ON_ONE_CHAIN),
        "a cluster could go on in two ways",
    ),
    Conjunct(
        "known_is_chosen",
        every((s, v), knows(s, v) >> chosen(v)),
        "a member could follow a view that was only proposed",
    ),
    Conjunct(
        "served_is_newest",
        every((s, v, w), (serves(s, v) & knows(s, w)) >> upto(w, v)),
        "a member could serve in a view that has a successor it knows",
    ),
    Conjunct(
        "written_is_known",
        every((s, v), written(s, v) >> knows(s, v)),
        "the disk could hold a later view than the member goes by",
    ),
    Conjunct(
        "served_is_written",
        every((s, v), serves(s, v) >> written(s, v)),
        "the disk could still read clean while clients write",
    ),
    Conjunct(
        "served_is_open",
        every((s, v), ~(serves(s, v) & close(v))),
        "a clean store could be served from",
    ),
    Conjunct(
        "served_by_members",
        every((s, v), serves(s, v) >> member(v, s)),
        "the options of a seat that is no member were not compared with the others'",
    ),
    Conjunct(
        "answered_serves_no_more",
        every((s, v), ~(serves(s, v) & answered(s, v))),
        "a view could be served together with its successor",
    ),
    Conjunct(
        "succeeded_by_a_majority",
        every((v, w), all_of(chosen(w), _below(v, w), by_votes(v)) >> some(q, _answered_by(q, v))),
        "a view could have a successor that most of its electors know nothing of",
    ),
    Conjunct(
        "closed_when_all_answered",
        every(
            (v, w, s),
            all_of(chosen(w), close(w), _STANDS_BEHIND, member(v, s)) >> answered(s, v),
        ),
        "a member could serve on in a view that was closed",
    ),
    Conjunct(
        "served_with_its_options",
        every((s, v), serves(s, v) >> runs(s, options(v))),
        "one could serve with other options than the view has",
    ),
    Conjunct(
        "runs_with_one",
        every((s, o, p), (runs(s, o) & runs(s, p)) >> same(o, p)),
        "a process could have two sets of options, the view's and others",
    ),
    Conjunct(
        "activated_after_n",
        every(v, (chosen(v) & activated(v)) >> _reached_n(v)),
        "N could be taken for reached when it was not",
    ),
    Conjunct(
        "opened_after_n",
        every(v, opened(v) >> _reached_n(v)),
        "a member that serves tells the next view that N was reached",
    ),
    Conjunct(
        "served_is_opened",
        every((s, v), serves(s, v) >> opened(v)),
        "clients could be served without anybody noticing",
    ),
)


def _is_behind(majority: Var, view: Var) -> Formula:
    """Return that these electors have not answered about the view, and know no later one."""
    silent = every(w, knows(e, w) >> ~_below(view, w))
    return majority_of(majority, view) & every(
        e, within(e, majority) >> (~answered(e, view) & silent)
    )


CLAIMS = (
    Claim(
        "no_split_brain",
        "two members of one cluster that serve, each with a majority behind it, serve in one view",
        every(
            (s, t, x, u, v, q, r),
            all_of(
                serves(s, u),
                serves(t, v),
                upto(x, u),
                upto(x, v),
                by_votes(u),
                by_votes(v),
                _is_behind(q, u),
                _is_behind(r, v),
            )
            >> same(u, v),
        ),
    ),
    Claim(
        "closed_is_quiet",
        "S2: once the CLOSE is chosen, no member serves in the view that it closes",
        every(
            (s, v, w),
            ~all_of(serves(s, v), chosen(w), close(w), _STANDS_BEHIND),
        ),
    ),
    Claim(
        "waits_for_n",
        "W1: no member serves before N members of one view, since the last FOUND or RESTART, were"
        " ready",
        every((s, v), serves(s, v) >> _reached_n(v)),
    ),
    Claim(
        "options_agree",
        "I2: the members that serve in one view run with the same options",
        every(
            (s, t, v, o, p),
            all_of(serves(s, v), serves(t, v), runs(s, o), runs(t, p)) >> same(o, p),
        ),
    ),
    Claim(
        "dirty_before_serving",
        "S2: the newest view on the disk of a member that serves is the open one it serves in",
        every(
            (s, v, w), serves(s, v) >> all_of(written(s, v), ~close(v), written(s, w) >> upto(w, v))
        ),
    ),
)

LAYER = Layer(
    name="serving",
    about="phases: which member serves in which view, N, options, and what the disk says meanwhile",
    sorts=(SEAT, VIEW, MAJORITY, OPTIONS),
    relations=(
        upto,
        member,
        close,
        fresh,
        enough,
        activated,
        by_votes,
        within,
        majority_of,
        chosen,
        knows,
        serves,
        written,
        answered,
        said,
        opened,
        runs,
    ),
    functions=(options,),
    axioms={
        "views form a tree": is_forest_order(upto),
        "two majorities of one view share an elector": every(
            (q, r, v),
            (majority_of(q, v) & majority_of(r, v)) >> some(t, within(t, q) & within(t, r)),
        ),
    },
    steps=(FOUND, RESTART, CHANGE, CLOSE, START, LEARN, WRITE, ANSWER, READY, SERVE, STOP),
    conjuncts=CONJUNCTS,
    claims=CLAIMS,
    lively=some(
        (u, v, w, s, t),
        all_of(
            _below(u, v),
            close(v),
            _below(v, w),
            serves(s, w),
            fresh(w),
            member(u, t),
            ~member(w, t),
            by_votes(u),
            by_votes(v),
        ),
    ),
    assumes=(
        "a view has at most one chosen successor: the claim of the register, or an outside one",
        "clients are closed out before an answer or a later view is acted upon (host's duty)",
    ),
)
