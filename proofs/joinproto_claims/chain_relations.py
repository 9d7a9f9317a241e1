"""The words of the chain: what is known of views, seats, frames and answers.

A view's content (members, where it starts, whether it is a CLOSE) is fixed by its id, so it
is rigid; what is chosen is which ids count.  A position is the data up to it: a frame is a
view and a number.  A crash needs no step: all that a store says is durable, and what is in
memory is in no guard.  A lost disk needs none either: that seat takes no more steps.
"""

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
# Known to no member: what has happened.
kept = Relation("kept", (SEAT, VIEW, NUMBER), "{0} once kept frame {2} of {1} in that view")


def below(one: Var, other: Var) -> Formula:
    return upto(one, other) & ~same(one, other)


def committed(view: Var, number: Var) -> Formula:
    return every(t, member(view, t) >> kept(t, view, number))


def blocked(view: Var, number: Var) -> Formula:
    """Return that this frame can never be committed any more."""
    return close(view) | some(t, all_of(member(view, t), closed(t, view), ~kept(t, view, number)))


def is_ready(seat: Var, view: Var) -> Formula:
    """Return that the seat is ready in this view, which is its tip."""
    return reached(seat, view) & ~closed(seat, view)


def has_data_of(seat: Var, view: Var) -> Formula:
    return every((u, n), equal(has(seat, u, n), start(view, u, n)))
