/* Founding by single-decree Paxos, as SPIN explores it fastest.  The world of joinproto is in
   models/joinproto_worlds/classics/paxos_founding.py.

   Source: Lamport, "Paxos Made Simple", section 2.  N members (-DN=2 or 3), member i owns ballot
   i; messages are a set that only grows.  N = 3: 6,826,456 distinct states and 30,258,141
   transitions when the initial state counts as one.

   How it is kept small:
   - One process, no channel, three bytes for each member and its messages; with SPIN's own
     bytes a state takes 20.
   - A ballot proposes one founder, so votes and messages have the number of the ballot, and
     no founder.
   - Messages stay in the set: "prepare" is in it exactly when its ballot is open, "accept"
     when its founder is proposed.
   - Each action is one d_step, and the invariant is an option that is never enabled while it
     holds, as in two_phase_commit.pml.

   -DPROMISE_NOT_KEPT makes the model wrong: members accept ballots below their promises. */

#if N < 2 || N > 3
#error "give 2 or 3 members: -DN=3"
#endif

/* promised, accepted, binding   a ballot, or 0
   answers                       the members that promised; after its proposal, that accepted
   founder                       the member that it has joined, or 0: none
   open, proposes                its own ballot: "prepare" sent; the founder of its "accept", or 0
   told_q                        q's promise to it: 0 not sent, else 1 + the ballot q accepted at
   said                          the members whose "accepted" is in the set
   tells                         "founded" is in the set

   In this order C's bit fields fill three bytes without a gap. */
#define MEMBER(i) \
    unsigned promised##i : 2; unsigned accepted##i : 2; unsigned binding##i : 2; \
    unsigned founder##i : 2; unsigned proposes##i : 2; \
    unsigned told1##i : 2; unsigned told2##i : 2; unsigned told3##i : 2; \
    unsigned open##i : 1; unsigned tells##i : 1; unsigned answers##i : 3; unsigned said##i : 3;
MEMBER(1)
MEMBER(2)
MEMBER(3)

#define BIT(q) (1 << (q - 1))
#define IS_MAJORITY(set) ((set & (set - 1)) != 0)       /* two of two, or two of three */
#define FREE(i) (founder##i == 0)
#define BOUND_TO(i) (binding##i == 1 -> proposes1 : proposes2)

#define JOIN(i, name) \
    promised##i = 0; accepted##i = 0; binding##i = 0; answers##i = 0; founder##i = name

#define OPEN(i) \
    :: d_step { FREE(i) && !open##i && promised##i < i -> open##i = 1 }
#define PROPOSE(i, name) \
    :: d_step { FREE(i) && open##i && proposes##i == 0 && IS_MAJORITY(answers##i) \
        && (binding##i == 0 -> (answers##i & BIT(name)) != 0 : BOUND_TO(i) == name) \
        -> proposes##i = name; answers##i = 0 }
#define PROMISE(i, q) \
    :: d_step { open##i && FREE(q) && promised##q < i \
        -> promised##q = i; told##q##i = 1 + accepted##q }
#define HEAR_PROMISE(i, q) \
    :: d_step { FREE(i) && told##q##i != 0 && proposes##i == 0 && (answers##i & BIT(q)) == 0 \
        -> answers##i = answers##i | BIT(q); \
           binding##i = (told##q##i - 1 > binding##i -> told##q##i - 1 : binding##i) }
#ifdef PROMISE_NOT_KEPT
#define MAY_ACCEPT(i, q) true
#else
#define MAY_ACCEPT(i, q) (promised##q <= i)
#endif
#define ACCEPT(i, q) \
    :: d_step { FREE(q) && proposes##i != 0 && MAY_ACCEPT(i, q) && accepted##q != i \
        -> promised##q = (promised##q > i -> promised##q : i); accepted##q = i; \
           said##i = said##i | BIT(q) }
#define HEAR_ACCEPTED(i, q) \
    :: d_step { FREE(i) && (said##i & BIT(q)) != 0 && (answers##i & BIT(q)) == 0 \
        -> answers##i = answers##i | BIT(q); \
           if \
           :: IS_MAJORITY(answers##i) -> JOIN(i, proposes##i); tells##i = 1 \
           :: else \
           fi }
#define HEAR_FOUNDED(i, q) \
    :: d_step { tells##i && FREE(q) -> JOIN(q, proposes##i) }
#define DIFFER(i, q) \
    :: d_step { founder##i != 0 && founder##q != 0 && founder##i != founder##q -> assert(false) }

#define OF_PAIR(i, q) \
    PROPOSE(i, q) PROMISE(i, q) HEAR_PROMISE(i, q) ACCEPT(i, q) HEAR_ACCEPTED(i, q)

active proctype everybody() {
end: /* when all have joined, no step is possible */
    do
    OPEN(1) OF_PAIR(1, 1) OF_PAIR(1, 2) HEAR_FOUNDED(1, 2)
    OPEN(2) OF_PAIR(2, 1) OF_PAIR(2, 2) HEAR_FOUNDED(2, 1)
    DIFFER(1, 2)
#if N > 2
    OF_PAIR(1, 3) OF_PAIR(2, 3) HEAR_FOUNDED(1, 3) HEAR_FOUNDED(2, 3)
    OPEN(3) OF_PAIR(3, 1) OF_PAIR(3, 2) OF_PAIR(3, 3) HEAR_FOUNDED(3, 1) HEAR_FOUNDED(3, 2)
    DIFFER(1, 3) DIFFER(2, 3)
#endif
    od
}
