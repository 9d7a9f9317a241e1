"""The chain's relations, its steps, and their guards.

A view's content (members, where it starts, whether it is a CLOSE) is fixed by its id, so it is
rigid; only the set of chosen ids changes.  A frame is a view and a number, and a position stands
for all data up to it.  A crash needs no step, because all facts of a store are durable, and no
guard reads memory.  A lost disk needs no step, because its seat takes no more steps.
"""

from joinproto.prove.layer import Guard, Step, Update, gains, loses
from joinproto.prove.logic import Formula, Relation, Sort, Var, all_of, equal, every, same, some

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
# Facts on the disk of a seat.
knows = Relation("knows", (SEAT, VIEW), "{0} knows {1}")
closed = Relation(
    "closed", (SEAT, VIEW), "{0} has answered about the successor of {1}, or knows a later view"
)
reached = Relation("reached", (SEAT, VIEW), "the newest view {0} was ready in is {1} or later")
has = Relation("has", (SEAT, VIEW, NUMBER), "{0} has frame {2} of {1}")
unfinished = Relation("unfinished", (SEAT,), "an update into {0} has not ended")
# Answers that were sent; they are never taken back.
told = Relation(
    "told",
    (SEAT, VIEW, COPY, VIEW),
    "{0}, asked about {1}: my data is {2}, and I was ready in {3} or later",
)
told_not = Relation(
    "told_not", (SEAT, VIEW, VIEW), "{0}, asked about {1}: I was never ready in {2} or later"
)
# History that no member knows.
kept = Relation("kept", (SEAT, VIEW, NUMBER), "{0} once kept frame {2} of {1} in that view")


def below(one: Var, other: Var) -> Formula:
    return upto(one, other) & ~same(one, other)


def committed(view: Var, number: Var) -> Formula:
    return every(t, member(view, t) >> kept(t, view, number))


def blocked(view: Var, number: Var) -> Formula:
    """Return that this frame can never be committed from now on."""
    return close(view) | some(t, all_of(member(view, t), closed(t, view), ~kept(t, view, number)))


def is_ready(seat: Var, view: Var) -> Formula:
    """Return that the seat is ready in this view, which is its tip."""
    return reached(seat, view) & ~closed(seat, view)


def has_data_of(seat: Var, view: Var) -> Formula:
    return every((u, n), equal(has(seat, u, n), start(view, u, n)))


_CHOSEN = gains(chosen, w)

FOUND = Step(
    "found",
    "I3: the first view of a cluster is chosen",
    (w,),
    (
        Guard("no view leads to it", every(u, upto(u, w) >> same(u, w))),
        Guard("it starts with no frame", every((u, n), ~start(w, u, n))),
        Guard("it has a member", some(s, member(w, s))),
    ),
    _CHOSEN,
)


def _was_never_served(view: Var) -> Formula:
    """Return that, by the answers about `v`, this view was never served."""
    return close(view) | some(t, member(view, t) & told_not(t, v, view))


_NEXT = (
    Guard("it stands behind v", below(v, w) & every(y, below(y, w) >> upto(y, v))),
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
            "the source told the data of its finished store, and was ready in u", told(s, v, p, u)
        ),
        Guard(
            "it starts where the source's data ends",
            every((y, n), equal(start(w, y, n), contains(p, y, n))),
        ),
        Guard(
            "no view behind u was served",
            every(x, (below(u, x) & upto(x, v)) >> _was_never_served(x)),
        ),
    ),
    _CHOSEN,
)

CHOOSE_AT_START = Step(
    "choose, from who is at the start",
    "3.4: the source has the data where u starts, and neither u nor a view since was served",
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
        closed: Update((t, x), closed(t, x) | (same(t, s) & below(x, w))),
    },
)

_FREEZES = {
    **gains(closed, s, v),
    told_not: Update(
        (t, y, x),
        told_not(t, y, x) | all_of(same(t, s), same(y, v), upto(x, v), ~reached(s, x)),
    ),
}
_is_this_answer = all_of(same(t, s), same(y, v), same(p2, p))
_IS_TIP = Guard("v is its tip", knows(s, v) & every(y, knows(s, y) >> upto(y, v)))

ANSWER = Step(
    "answer",
    "3.3: a seat is asked about the successor of its tip; it freezes, and tells its data",
    (s, v, p),
    (
        _IS_TIP,
        Guard(
            "it tells the data that it has", every((y, n), equal(contains(p, y, n), has(s, y, n)))
        ),
        Guard("no update is unfinished", ~unfinished(s)),
    ),
    {
        **_FREEZES,
        told: Update((t, y, p2, x), told(t, y, p2, x) | (_is_this_answer & reached(s, x))),
    },
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
    gains(unfinished, s) | loses(has, s, None, None),
)

END_UPDATE = Step(
    "end an update",
    "I7, J1: the store now has a source's data: those where v starts, or more of v",
    (s, v, p),
    (
        _KNOWS,
        _NOT_READY,
        Guard("the data of v's start came", every((y, n), start(v, y, n) >> contains(p, y, n))),
        Guard(
            "besides it, only frames of v came",
            every((y, n), (contains(p, y, n) & ~same(y, v)) >> start(v, y, n)),
        ),
    ),
    {
        **loses(unfinished, s),
        has: Update((t, y, n), (has(t, y, n) & ~same(t, s)) | (same(t, s) & contains(p, y, n))),
    },
)

FOLLOW = Step(
    "follow a source",
    "3.4: frame by frame, without a mark: the host cuts frames that the source lacks, and appends",
    (s, v, p, p2),
    (
        _KNOWS,
        _NOT_READY,
        Guard(
            "the source has the data of v's start",
            every((y, n), start(v, y, n) >> contains(p, y, n)),
        ),
        Guard(
            "besides it, the source has only frames of v",
            every((y, n), (contains(p, y, n) & ~same(y, v)) >> start(v, y, n)),
        ),
        Guard(
            "all data that it has now are the source's",
            every((y, n), contains(p2, y, n) >> contains(p, y, n)),
        ),
        Guard(
            "it still has the source's frames that it had",
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
        Guard("v is not a CLOSE", ~close(v)),
        Guard("it is a member of v", member(v, s)),
        Guard("its data is where v starts", has_data_of(s, v)),
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
    gains(has, s, v, n) | gains(kept, s, v, n),
)

STEPS = (
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
)
