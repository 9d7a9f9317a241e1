"""The chain: what is in the stores, and where each view starts, for any number of members.

Views are chosen by a register that knows at most one successor of each: that is the claim of
`register.py`, and a guard here.  Source: join protocol, 3.2 to 3.5 and 3.7;
`joinproto/join/answers.py` says in the same words what covers a view.

A view's content (members, where it starts, whether it is a CLOSE) is fixed by its id, so it
is rigid; what is chosen is which ids count.  A position is the data up to it: a frame is a
view and a number.  A crash needs no step: all that a store says is durable, and what is in
memory is in no guard.  A lost disk needs none either: that seat takes no more steps.
"""

from proofs.layer import Claim, Conjunct, Guard, Layer, Step, Update
from proofs.logic import (
    FALSE,
    After,
    Formula,
    Relation,
    Sort,
    Var,
    all_of,
    equal,
    every,
    is_total_order,
    is_tree,
    same,
    some,
)

SEAT, VIEW, NUMBER, COPY = Sort("seat"), Sort("view"), Sort("number"), Sort("copy")

s, t = Var("s", SEAT), Var("t", SEAT)
u, v, w, x, y = (Var(name, VIEW) for name in "uvwxy")
m, n = Var("m", NUMBER), Var("n", NUMBER)
p, p2 = Var("p", COPY), Var("p2", COPY)

upto = Relation("upto", (VIEW, VIEW), "{0} is {1}, or on the way to it", rigid=True)
earlier = Relation("earlier", (NUMBER, NUMBER), "{0} is less than {1}", rigid=True)
member = Relation("member", (VIEW, SEAT), "{1} is a member of {0}", rigid=True)
close = Relation("close", (VIEW,), "{0} is a CLOSE", rigid=True)
start = Relation("start", (VIEW, VIEW, NUMBER), "{0} starts behind frame {2} of {1}", rigid=True)
contains = Relation("contains", (COPY, VIEW, NUMBER), "{0} has frame {2} of {1}", rigid=True)

chosen = Relation("chosen", (VIEW,), "{0} is chosen")
# On the disk of a seat.
knows = Relation("knows", (SEAT, VIEW), "{0} knows {1}")
closed = Relation(
    "closed", (SEAT, VIEW), "{0} has answered about what follows {1}, or knows a later view"
)
reached = Relation("reached", (SEAT, VIEW), "the newest view {0} was ready in is {1} or later")
has = Relation("has", (SEAT, VIEW, NUMBER), "{0} has frame {2} of {1}")
unfinished = Relation("unfinished", (SEAT,), "an update into {0} has not ended")
# Said, and never taken back.
told = Relation(
    "told",
    (SEAT, VIEW, COPY, VIEW),
    "{0}, asked about {1}: my data is {2}, and I was ready in {3} or later",
)
told_not = Relation(
    "told_not", (SEAT, VIEW, VIEW), "{0}, asked about {1}: I was never ready in {2} or later"
)
# Known to nobody: what has happened.
kept = Relation("kept", (SEAT, VIEW, NUMBER), "{0} once kept frame {2} of {1} in that view")


def _below(one: Var, other: Var) -> Formula:
    return upto(one, other) & ~same(one, other)


def _committed(view: Var, number: Var) -> Formula:
    return every(t, member(view, t) >> kept(t, view, number))


def _blocked(view: Var, number: Var) -> Formula:
    """Return that this frame can never be committed any more."""
    return close(view) | some(t, all_of(member(view, t), closed(t, view), ~kept(t, view, number)))


def _is_ready(seat: Var, view: Var) -> Formula:
    """Return that the seat is ready in this view, which is its tip."""
    return reached(seat, view) & ~closed(seat, view)


def _has_data_of(seat: Var, view: Var) -> Formula:
    return every((u, n), equal(has(seat, u, n), start(view, u, n)))


# -- the steps ---------------------------------------------------------------------------------

_CHOSEN = {chosen: Update((x,), chosen(x) | same(x, w))}

FOUND = Step(
    "found",
    "I3: the first view of a cluster is chosen",
    (w,),
    (
        Guard("nothing leads to it", every(u, upto(u, w) >> same(u, w))),
        Guard("it starts with no frame", every((u, n), ~start(w, u, n))),
        Guard("it has a member", some(s, member(w, s))),
    ),
    _CHOSEN,
)


def _was_never_served(view: Var) -> Formula:
    """Return that the answers about `v` say so of this view."""
    return close(view) | some(t, member(view, t) & told_not(t, v, view))


_NEXT = (
    Guard("it stands behind v", _below(v, w) & every(y, _below(y, w) >> upto(y, v))),
    Guard("v is chosen", chosen(v)),
    Guard("v has no successor yet", every(y, (chosen(y) & upto(v, y)) >> same(y, v))),
    Guard("it has a member", some(t, member(w, t))),
)

CHOOSE_HELD = Step(
    "choose, from who held",
    "3.4: the source was ready in u, and no view since was served",
    (w, v, s, p, u),
    (
        *_NEXT,
        Guard("u is v or before it", upto(u, v)),
        Guard(
            "the source told its data, of a finished store, and was ready in u", told(s, v, p, u)
        ),
        Guard(
            "it starts where the source's data ends",
            every((y, n), equal(start(w, y, n), contains(p, y, n))),
        ),
        Guard(
            "no view behind u was served",
            every(x, (_below(u, x) & upto(x, v)) >> _was_never_served(x)),
        ),
    ),
    _CHOSEN,
)

CHOOSE_AT_START = Step(
    "choose, from who is at the start",
    "3.4: the source is where u starts, and no view since, nor u, was served",
    (w, v, u),
    (
        *_NEXT,
        Guard("u is v or before it", upto(u, v)),
        Guard("it starts where u starts", every((y, n), equal(start(w, y, n), start(u, y, n)))),
        Guard(
            "neither u nor a view behind it was served",
            every(x, (upto(u, x) & upto(x, v)) >> _was_never_served(x)),
        ),
    ),
    _CHOSEN,
)

LEARN = Step(
    "learn",
    "3.2: a store writes down where its chain goes on",
    (s, w),
    (
        Guard("it is chosen", chosen(w)),
        Guard("its own chain goes on there", every(y, knows(s, y) >> upto(y, w))),
    ),
    {
        knows: Update((t, x), knows(t, x) | (same(t, s) & upto(x, w))),
        closed: Update((t, x), closed(t, x) | (same(t, s) & _below(x, w))),
    },
)

_FREEZES = {
    closed: Update((t, x), closed(t, x) | (same(t, s) & same(x, v))),
    told_not: Update(
        (t, y, x),
        told_not(t, y, x) | all_of(same(t, s), same(y, v), upto(x, v), ~reached(s, x)),
    ),
}
_it_tells = all_of(same(t, s), same(y, v), same(p2, p))
_IS_TIP = Guard("v is its tip", knows(s, v) & every(y, knows(s, y) >> upto(y, v)))

ANSWER = Step(
    "answer",
    "3.3: a seat is asked what follows its tip; it freezes, and tells its data",
    (s, v, p),
    (
        _IS_TIP,
        Guard("it tells what it has", every((y, n), equal(contains(p, y, n), has(s, y, n)))),
        Guard("no update is unfinished", ~unfinished(s)),
    ),
    {**_FREEZES, told: Update((t, y, p2, x), told(t, y, p2, x) | (_it_tells & reached(s, x)))},
)

ANSWER_UNFINISHED = Step(
    "answer, unfinished",
    "3.4: an unfinished store covers nothing, but it tells in which views it was ready",
    (s, v),
    (_IS_TIP,),
    _FREEZES,
)

_NOT_READY = Guard("it was never ready in v", ~reached(s, v))
_OPEN = Guard("it has not answered about v, and knows no later view", ~closed(s, v))
_KNOWS = Guard("it knows v", knows(s, v))

BEGIN_UPDATE = Step(
    "begin an update",
    "I7, J1: a host that overwrites its data marks its store as unfinished first",
    (s, v),
    (_KNOWS, _NOT_READY),
    {
        unfinished: Update((t,), unfinished(t) | same(t, s)),
        has: Update((t, y, n), has(t, y, n) & ~same(t, s)),
    },
)

END_UPDATE = Step(
    "end an update",
    "I7, J1: its data is now a source's: where v starts, or more of v",
    (s, v, p),
    (
        _KNOWS,
        _NOT_READY,
        Guard("the data of v's start came", every((y, n), start(v, y, n) >> contains(p, y, n))),
        Guard(
            "nothing but frames of v came beside it",
            every((y, n), (contains(p, y, n) & ~same(y, v)) >> start(v, y, n)),
        ),
    ),
    {
        unfinished: Update((t,), unfinished(t) & ~same(t, s)),
        has: Update((t, y, n), (has(t, y, n) & ~same(t, s)) | (same(t, s) & contains(p, y, n))),
    },
)

FOLLOW = Step(
    "follow a source",
    "3.4: frame by frame, without a mark: it cuts what the source has not, and appends",
    (s, v, p, p2),
    (
        _KNOWS,
        _NOT_READY,
        Guard(
            "the source has the data of v's start",
            every((y, n), start(v, y, n) >> contains(p, y, n)),
        ),
        Guard(
            "the source has nothing but frames of v beside it",
            every((y, n), (contains(p, y, n) & ~same(y, v)) >> start(v, y, n)),
        ),
        Guard(
            "what it has now is the source's",
            every((y, n), contains(p2, y, n) >> contains(p, y, n)),
        ),
        Guard(
            "what it had of the source's it still has",
            every((y, n), (has(s, y, n) & contains(p, y, n)) >> contains(p2, y, n)),
        ),
    ),
    {has: Update((t, y, n), (has(t, y, n) & ~same(t, s)) | (same(t, s) & contains(p2, y, n)))},
)

READY = Step(
    "become ready",
    "I8: a member has the data where its tip starts, and writes down that it was ready",
    (s, v),
    (
        _KNOWS,
        Guard("v is no CLOSE", ~close(v)),
        Guard("it is a member of v", member(v, s)),
        Guard("its data is where v starts", _has_data_of(s, v)),
    ),
    {reached: Update((t, x), reached(t, x) | (same(t, s) & upto(x, v)))},
)

KEEP = Step(
    "keep a frame",
    "3.5: a member that is ready makes a frame durable, and acknowledges it",
    (s, v, n),
    (
        Guard("it is ready in v", reached(s, v)),
        _OPEN,
        Guard("the number is the next one", every((y, m), has(s, y, m) >> earlier(m, n))),
    ),
    {
        has: Update((t, y, m), has(t, y, m) | (same(t, s) & same(y, v) & same(m, n))),
        kept: Update((t, y, m), kept(t, y, m) | (same(t, s) & same(y, v) & same(m, n))),
    },
)

# -- what holds --------------------------------------------------------------------------------

_ON_ONE_CHAIN = upto(u, v) | upto(v, u)

CONJUNCTS = (
    Conjunct(
        "chosen_has_members",
        every(v, chosen(v) >> some(s, member(v, s))),
        "a view of nobody would commit whatever it likes",
    ),
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
        "a store could follow a view that was only proposed",
    ),
    Conjunct(
        "known_from_the_founding",
        every((s, u, v), (knows(s, v) & upto(u, v)) >> knows(s, u)),
        "a store could know a view without the way to it",
    ),
    Conjunct(
        "one_chain_each",
        every((s, u, v), (knows(s, u) & knows(s, v)) >> _ON_ONE_CHAIN),
        "a store could change its cluster",
    ),
    Conjunct(
        "older_is_closed",
        every((s, u, v), (knows(s, v) & _below(u, v)) >> closed(s, u)),
        "a member could go on in a view that has a successor it knows",
    ),
    Conjunct(
        "ready_is_known",
        every((s, v), reached(s, v) >> knows(s, v)),
        "a seat could be ready in a view of another cluster",
    ),
    Conjunct(
        "reached_from_the_founding",
        every((s, u, v), (reached(s, v) & upto(u, v)) >> reached(s, u)),
        "`reached` says: this view or a later one",
    ),
    Conjunct(
        "ready_is_member",
        every((s, v), _is_ready(s, v) >> member(v, s)),
        "who keeps frames would be nobody whose frames count",
    ),
    Conjunct(
        "ready_in_no_close",
        every((s, v), ~(_is_ready(s, v) & close(v))),
        "frames could be kept in a CLOSE",
    ),
    Conjunct(
        "ready_has_the_start",
        every((s, v, y, n), (_is_ready(s, v) & start(v, y, n)) >> has(s, y, n)),
        "a member could serve without the data that its view starts with",
    ),
    Conjunct(
        "kept_was_ready",
        every((s, v, n), kept(s, v, n) >> reached(s, v)),
        "a store that was never ready in a view could have frames that count there",
    ),
    Conjunct(
        "nothing_kept_in_a_close",
        every((s, v, n), ~(close(v) & kept(s, v, n))),
        "a CLOSE counts as never served",
    ),
    Conjunct(
        "kept_is_there",
        every((s, v, n), (kept(s, v, n) & ~closed(s, v)) >> has(s, v, n)),
        "a member could forget a frame that it has acknowledged, while it serves",
    ),
    Conjunct(
        "left_out_is_blocked",
        every((v, w, n), all_of(chosen(w), _below(v, w), ~start(w, v, n)) >> _blocked(v, n)),
        "the heart: a view could start without a frame that was, or will be, committed",
    ),
    Conjunct(
        "absent_is_blocked",
        every(
            (s, v, n),
            all_of(reached(s, v), closed(s, v), ~unfinished(s), ~has(s, v, n)) >> _blocked(v, n),
        ),
        "a store that was ready could miss a frame that counts, and become a source",
    ),
    Conjunct(
        "told_absent_is_blocked",
        every(
            (s, v, w, u, n, p),
            all_of(told(s, v, p, u), upto(w, u), ~contains(p, w, n)) >> _blocked(w, n),
        ),
        "an answer could become untrue while it is on its way",
    ),
    Conjunct(
        "told_not_is_closed",
        every((s, v, w), (told_not(s, v, w) & upto(w, v)) >> closed(s, w)),
        "who said that it was never ready in a view could still become so",
    ),
    Conjunct(
        "told_not_kept_nothing",
        every((s, v, w, n), (told_not(s, v, w) & upto(w, v)) >> ~kept(s, w, n)),
        "a view that counts as never served could have frames",
    ),
    Conjunct(
        "start_is_behind",
        every((v, w, n), (chosen(w) & start(w, v, n)) >> _below(v, w)),
        "a view could start with frames of another cluster",
    ),
    Conjunct(
        "data_is_known",
        every((s, v, n), has(s, v, n) >> knows(s, v)),
        "a store could have frames of a view it does not know",
    ),
    Conjunct(
        "told_is_behind",
        every((s, v, w, u, n, p), (told(s, v, p, u) & contains(p, w, n)) >> upto(w, v)),
        "an answer about a view could bring frames from elsewhere",
    ),
    Conjunct(
        "numbers_go_on",
        every((s, v, w, m, n), (kept(s, w, n) & start(w, v, m)) >> earlier(m, n)),
        "two frames could have one number",
    ),
)

_COVERS_AS_IT_LIES = some(
    u,
    reached(s, u)
    & upto(u, v)
    & every(x, (_below(u, x) & upto(x, v)) >> (close(x) | some(t, member(x, t) & ~reached(t, x)))),
) | some(
    u,
    upto(u, v)
    & every((w, n), equal(has(s, w, n), start(u, w, n)))
    & every(x, (upto(u, x) & upto(x, v)) >> (close(x) | some(t, member(x, t) & ~reached(t, x)))),
)

CLAIMS = (
    Claim(
        "nothing_lost",
        "a committed frame is held by every member that is ready in that view or a later one",
        every((s, v, w, n), all_of(upto(v, w), _is_ready(s, w), _committed(v, n)) >> has(s, v, n)),
    ),
    Claim(
        "no_stale_source",
        "a view starts behind every frame that was committed before it: with this data members"
        " become ready, and from it they are updated",
        every((v, w, n), all_of(chosen(w), _below(v, w), _committed(v, n)) >> start(w, v, n)),
    ),
    Claim(
        "no_split_brain, frames",
        "in one cluster, no two views commit a frame with the same number",
        every(
            (x, u, v, n),
            all_of(chosen(u), chosen(v), upto(x, u), upto(x, v), _committed(u, n), _committed(v, n))
            >> same(u, v),
        ),
    ),
    Claim(
        "no_wrong_store",
        "who is ready in a view has data and views of that chain only",
        every(
            (s, u, v, n),
            _is_ready(s, v) >> all_of(has(s, u, n) >> upto(u, v), knows(s, u) >> upto(u, v)),
        ),
    ),
    Claim(
        "signature_never_changes",
        "S1: the first view of a store stays, and never another one comes beside it",
        every(
            (s, u, v),
            all_of(
                knows(s, u) >> After(knows(s, u)),
                (knows(s, u) & After(knows(s, v))) >> _ON_ONE_CHAIN,
            ),
        ),
        is_step=True,
    ),
    Claim(
        "latest_is_latest",
        "R2: a finished store that covers the newest chosen view, as the stores lie on the"
        " disks, has every committed frame",
        every(
            (s, v, y, n),
            all_of(
                chosen(v),
                every(w, (chosen(w) & upto(v, w)) >> same(v, w)),
                ~unfinished(s),
                _COVERS_AS_IT_LIES,
                upto(y, v),
                _committed(y, n),
            )
            >> has(s, y, n),
        ),
    ),
)

LAYER = Layer(
    name="chain",
    about="views, data and updates: where each view starts, and what its members have",
    sorts=(SEAT, VIEW, NUMBER, COPY),
    relations=(
        upto,
        earlier,
        member,
        close,
        start,
        contains,
        chosen,
        knows,
        closed,
        reached,
        has,
        unfinished,
        told,
        told_not,
        kept,
    ),
    axioms={"views form a tree": is_tree(upto), "numbers are ordered": is_total_order(earlier)},
    initial=dict.fromkeys(
        (chosen, knows, closed, reached, has, unfinished, told, told_not, kept), FALSE
    ),
    steps=(
        FOUND,
        CHOOSE_HELD,
        CHOOSE_AT_START,
        LEARN,
        ANSWER,
        ANSWER_UNFINISHED,
        BEGIN_UPDATE,
        END_UPDATE,
        FOLLOW,
        READY,
        KEEP,
    ),
    conjuncts=CONJUNCTS,
    claims=CLAIMS,
    lively=some(
        (u, v, s, n),
        all_of(_below(u, v), chosen(v), _committed(u, n), _is_ready(s, v), ~member(u, s)),
    ),
    assumes=(
        "a view has at most one chosen successor: the claim of the register, or an outside one",
        "equal positions are equal data (searched worlds watch `position_is_data`)",
        "an update brings a source's data whole, or it stays unfinished",
    ),
)
