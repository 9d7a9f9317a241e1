"""The register: single-decree Paxos among the electors of one view, with voters that forget.

The layer is about one view V and the votes on its successor; for a FOUND, the electors are the
seats that it names.  Source: join protocol, 3.3 and 3.6; the code is `joinproto/join/choice.py`.

A seat is a member with one store.  A member that lost its disk has another `store_id`, and so is
another seat; the old seat sends no more messages.  Promises, acceptances and ballots are on the
disk and are lost with it; answers and votes that were sent remain.  Lost and repeated messages need
no step, because a step may come late, again, or never.
"""

from joinproto.prove.layer import Claim, Conjunct, Guard, Layer, Step, Update, gains, loses
from joinproto.prove.logic import (
    Formula,
    Function,
    Relation,
    Sort,
    Term,
    Var,
    all_of,
    every,
    is_total_order,
    same,
    some,
)

SEAT, BALLOT, VIEW, MAJORITY = Sort("seat"), Sort("ballot"), Sort("view"), Sort("majority")

s, x = Var("s", SEAT), Var("x", SEAT)
b, c, d = Var("b", BALLOT), Var("c", BALLOT), Var("d", BALLOT)
v, w = Var("v", VIEW), Var("w", VIEW)
q, r = Var("q", MAJORITY), Var("r", MAJORITY)

owner = Function("owner", BALLOT, SEAT, "the seat whose store_id the ballot carries")
before = Relation("before", (BALLOT, BALLOT), "{0} is earlier than {1}", rigid=True)
elector = Relation("elector", (SEAT,), "{0} is an elector of V", rigid=True)
within = Relation("within", (SEAT, MAJORITY), "{0} belongs to {1}", rigid=True)

# Facts on the disk of a seat.
promised = Relation("promised", (SEAT, BALLOT), "{0} has promised {1} or a later ballot")
beyond = Relation("beyond", (SEAT, BALLOT), "{0} has promised a ballot later than {1}")
accepted = Relation("accepted", (SEAT, BALLOT, VIEW), "{0} has on disk that it accepted {2} in {1}")
accepted_from = Relation(
    "accepted_from", (SEAT, BALLOT), "{0} has on disk an acceptance in {1} or later"
)
gone = Relation(
    "gone", (SEAT,), "{0} no longer answers: its disk is lost, or it knows the successor of V"
)
# A fact in the memory of the proposer.
is_open = Relation("is_open", (BALLOT,), "the attempt {0} lasts, and has proposed no view yet")
# Messages that were sent.
answered = Relation("answered", (SEAT, BALLOT), "{0} has answered {1}")
told = Relation("told", (SEAT, BALLOT, BALLOT, VIEW), "{0} told {1} that it accepted {3} in {2}")
told_from = Relation(
    "told_from", (SEAT, BALLOT, BALLOT), "{0} told {1} of an acceptance in {2} or later"
)
proposed = Relation("proposed", (BALLOT, VIEW), "{1} is proposed in {0}")
vote = Relation("vote", (SEAT, BALLOT, VIEW), "{0} has voted for {1} with view {2}")


def _upto(one: Var, other: Var) -> Formula:
    return before(one, other) | same(one, other)


def _promise(seat: Term) -> dict[Relation, Update]:
    """Return the updates for a promise of `b` by this seat."""
    others = ~same(x, seat)
    return {
        promised: Update((x, c), (promised(x, c) & others) | (same(x, seat) & _upto(c, b))),
        beyond: Update((x, c), (beyond(x, c) & others) | (same(x, seat) & before(c, b))),
    }


def _answer(seat: Term) -> dict[Relation, Update]:
    """Return the updates for an answer to `b`, with the seat's acceptances of earlier ballots."""
    is_it = same(x, seat) & same(d, b) & before(c, b)
    return {
        **gains(answered, seat, b),
        told: Update((x, d, c, v), told(x, d, c, v) | (is_it & accepted(x, c, v))),
        told_from: Update((x, d, c), told_from(x, d, c) | (is_it & accepted_from(x, c))),
    }


def _passed(seat: Var, ballot: Var) -> Formula:
    """Return that the seat will never again vote in this ballot."""
    return gone(seat) | beyond(seat, ballot)


NOT_GONE = "its disk is not lost, and it knows no successor of V"
NOT_BEYOND = "it has promised no later ballot"
ASKED = "a majority has answered"

BEGIN = Step(
    "begin",
    "the owner of a ballot promises it, durably, and asks for answers",
    (b,),
    (
        Guard("the ballot is new to its owner's disk", ~promised(owner(b), b)),
        Guard(NOT_GONE, ~gone(owner(b))),
    ),
    _promise(owner(b)) | _answer(owner(b)) | gains(is_open, b),
)

PROMISE = Step(
    "promise",
    "a seat promises a ballot, durably, and names the view that it has accepted",
    (s, b),
    (Guard(NOT_BEYOND, ~beyond(s, b)), Guard(NOT_GONE, ~gone(s))),
    _promise(s) | _answer(s),
)

_PROPOSED = gains(proposed, b, v) | loses(is_open, b)
_OPEN = Guard("the attempt is in memory, with no proposal yet", is_open(b))
_ASKED = Guard(ASKED, every(x, within(x, q) >> answered(x, b)))

PROPOSE_FREE = Step(
    "propose its own view",
    "no member of a majority has accepted a view: the proposer's own view is proposed",
    (b, v, q),
    (
        _OPEN,
        _ASKED,
        Guard("they have accepted no view", every((x, d), within(x, q) >> ~told_from(x, b, d))),
    ),
    _PROPOSED,
)

PROPOSE_BOUND = Step(
    "propose what was accepted",
    "the latest view that the answers name is proposed again",
    (b, v, q, s, c),
    (
        _OPEN,
        _ASKED,
        Guard("an answer says that the view was accepted", told(s, b, c, v)),
        Guard(
            "no answer of the majority names a later ballot",
            every((x, d), (within(x, q) & told_from(x, b, d)) >> ~before(c, d)),
        ),
    ),
    _PROPOSED,
)

GIVE_UP = Step(
    "give up",
    "an attempt is lost: a crash, or another ballot is later",
    (b,),
    (),
    loses(is_open, b),
)

VOTE = Step(
    "vote",
    "an elector accepts the proposed view, durably",
    (s, b, v),
    (
        Guard("the view is proposed", proposed(b, v)),
        Guard("the seat is an elector", elector(s)),
        Guard(NOT_BEYOND, ~beyond(s, b)),
        Guard(NOT_GONE, ~gone(s)),
    ),
    {
        **_promise(s),
        accepted: Update(
            (x, c, w), (accepted(x, c, w) & ~same(x, s)) | (same(x, s) & same(c, b) & same(w, v))
        ),
        accepted_from: Update(
            (x, c), (accepted_from(x, c) & ~same(x, s)) | (same(x, s) & _upto(c, b))
        ),
        **gains(vote, s, b, v),
    },
)

LEAVE = Step(
    "leave",
    "a disk is lost, and its member returns as another seat; or a seat learns V's successor",
    (s,),
    (),
    gains(gone, s)
    | loses(promised, s, None)
    | loses(beyond, s, None)
    | loses(accepted, s, None, None)
    | loses(accepted_from, s, None),
)

LOSE_ANSWER = Step(
    "lose an answer",
    "an answer never arrives; other messages that are lost need no step",
    (s, b),
    (),
    loses(answered, s, b) | loses(told, s, b, None, None) | loses(told_from, s, b, None),
)

# -- claims ------------------------------------------------------------------------------------


def _all_vote(majority: Var, ballot: Var, view: Var) -> Formula:
    return every(s, within(s, majority) >> vote(s, ballot, view))


_ELECTORS_VOTE = every((s, b, v), vote(s, b, v) >> elector(s))

CONJUNCTS = (
    Conjunct(
        "promise_is_beyond_earlier",
        every((s, b, c), (promised(s, c) & before(b, c)) >> beyond(s, b)),
        "a disk could hold a promise, and the voter act as if it was an earlier one",
    ),
    Conjunct(
        "beyond_is_promised",
        every((s, b), beyond(s, b) >> promised(s, b)),
        "a voter could take a later promise back",
    ),
    Conjunct(
        "accepted_is_promised",
        every((s, b), accepted_from(s, b) >> promised(s, b)),
        "a vote could be replaced by an earlier one",
    ),
    Conjunct(
        "voted_is_proposed",
        every((s, b, v), vote(s, b, v) >> proposed(b, v)),
        "a vote for what was not proposed could be for anything",
    ),
    Conjunct(
        "one_proposal",
        every((b, v, w), (proposed(b, v) & proposed(b, w)) >> same(v, w)),
        "two views in one ballot could each have a majority's votes counted",
    ),
    Conjunct(
        "open_is_unproposed",
        every((b, v), ~(is_open(b) & proposed(b, v))),
        "an attempt that has proposed could propose again",
    ),
    Conjunct(
        "used_is_promised",
        every((b, v), (is_open(b) | proposed(b, v)) >> (promised(owner(b), b) | gone(owner(b)))),
        "the owner could take a ballot for new that it has used before a crash",
    ),
    Conjunct(
        "answered_is_passed",
        every((s, b, c), (answered(s, b) & before(c, b)) >> _passed(s, c)),
        "a seat that has answered could still vote in an earlier ballot",
    ),
    Conjunct(
        "told_was_voted",
        every((s, b, c, v), told(s, b, c, v) >> vote(s, c, v)),
        "an answer could name a view without votes",
    ),
    Conjunct(
        "accepted_was_voted",
        every((s, c, v), accepted(s, c, v) >> vote(s, c, v)),
        "what a disk keeps, and so what is told, could be anything",
    ),
    Conjunct(
        "vote_is_kept",
        every((s, b, v), vote(s, b, v) >> (accepted_from(s, b) | gone(s))),
        "a voter could answer as if it had not voted",
    ),
    Conjunct(
        "vote_is_told",
        every((s, b, c, v), (answered(s, b) & vote(s, c, v) & before(c, b)) >> told_from(s, b, c)),
        "an answer could conceal a vote",
    ),
    Conjunct(
        "earlier_is_settled",
        every(
            (b, c, v, w, q),
            (proposed(b, v) & before(c, b) & ~same(v, w))
            >> some(s, within(s, q) & _passed(s, c) & ~vote(s, c, w)),
        ),
        "a majority could still choose another view in an earlier ballot",
    ),
    Conjunct("stranger_never_votes", _ELECTORS_VOTE, "it is the claim"),
)

LAYER = Layer(
    name="register",
    about="votes on the successor of one view: ballots, promises, majorities, lost disks",
    sorts=(SEAT, BALLOT, VIEW, MAJORITY),
    relations=(
        before,
        elector,
        within,
        promised,
        beyond,
        accepted,
        accepted_from,
        gone,
        is_open,
        answered,
        told,
        told_from,
        proposed,
        vote,
    ),
    functions=(owner,),
    axioms={
        "ballots are ordered": is_total_order(before),
        "two majorities share an elector": every(
            (q, r), some(s, within(s, q) & within(s, r) & elector(s))
        ),
    },
    steps=(BEGIN, PROMISE, PROPOSE_FREE, PROPOSE_BOUND, GIVE_UP, VOTE, LEAVE, LOSE_ANSWER),
    conjuncts=CONJUNCTS,
    claims=(
        Claim(
            "one_successor",
            "no view has two chosen successors",
            every((b, c, v, w, q, r), (_all_vote(q, b, v) & _all_vote(r, c, w)) >> same(v, w)),
        ),
        Claim(
            "stranger_never_votes",
            "3.6: a member that has lost its disk, or is not an elector, has no vote",
            _ELECTORS_VOTE,
        ),
    ),
    lively=some(
        (b, c, v, s, q),
        all_of(before(b, c), _all_vote(q, c, v), gone(s), vote(s, b, v), ~within(s, q)),
    ),
    assumes=(
        "a store_id is never drawn twice, and a disk is not copied",
        "durable data survive a crash; a voter makes its answer durable before it sends it",
        "for a FOUND: all its electors have answered, which is more than a majority",
    ),
)
