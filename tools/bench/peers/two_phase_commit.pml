/* Two-phase commit with a message set that only grows, as SPIN explores it fastest.

   Source: Gray and Lamport, "Consensus on Transaction Commit", section 3.  N resource
   managers (-DN=..., 2 to 10): 2^N + 4^N + 6^N distinct states, and 2 + 4^N + N*4^N + N*2^N
   + 8N*6^(N-1) transitions when the initial state counts as one.

   How it is kept small:
   - One process, no channel: the state is four bits per resource manager (8 bytes for up
     to 10 of them, SPIN's own three included) and the place of the process.
   - The place is the transaction manager's decision.  Its message "commit" or "abort" is in
     the set exactly from then on, so neither needs its own bit.
   - Each action is one d_step: one transition, no state between guard and effect.  Reading
     a message again leads back to the same state and is kept, as in the original.
   - The invariant is one more option, evaluated once per distinct state, and never enabled
     while it holds: it adds neither a state nor a transition.

   -DONE_VOTE_SHORT makes the model wrong: N - 1 votes are enough to commit. */

#if N < 2 || N > 10
#error "give 2 to 10 resource managers: -DN=3"
#endif

/* One mask for each bit of a manager: manager i is bit i, but managers 8 and 9 are bits 0
   and 1 of the mask that ends in _b.  SPIN's C bit fields pack 8 + 8 + 8 + 8 + 2 + 2 + 2 + 2
   without a gap; with four masks of 9 bits a state would take 8 bytes more.

   done yes    00 working   01 prepared   11 committed   10 aborted */
unsigned yes : 8;
unsigned done : 8;
unsigned sent : 8;      /* "prepared" of i is in the message set */
unsigned heard : 8;     /* the transaction manager has read "prepared" of i */
unsigned yes_b : 2;
unsigned done_b : 2;
unsigned sent_b : 2;
unsigned heard_b : 2;

#if N > 8
#define ALL 255
#define ALL_B ((1 << (N - 8)) - 1)
#else
#define ALL ((1 << N) - 1)
#define ALL_B 0
#endif

#define BIT(i) (1 << i)
#define IS_WORKING(b, i) (((done##b | yes##b) & BIT(i)) == 0)

#define LOCAL(b, i) \
    :: d_step { IS_WORKING(b, i) -> yes##b = yes##b | BIT(i); sent##b = sent##b | BIT(i) } \
    :: d_step { IS_WORKING(b, i) -> done##b = done##b | BIT(i) }
#define HEAR(b, i) \
    :: d_step { (sent##b & BIT(i)) -> heard##b = heard##b | BIT(i) }
#define OBEY_COMMIT(b, i) \
    :: d_step { true -> done##b = done##b | BIT(i); yes##b = yes##b | BIT(i) }
#define OBEY_ABORT(b, i) \
    :: d_step { true -> done##b = done##b | BIT(i); yes##b = yes##b & ~BIT(i) }

#ifdef ONE_VOTE_SHORT
/* At most one bit is missing: x & (x - 1) takes away the lowest bit. */
#define MISSING (ALL & ~heard)
#define MISSING_B (ALL_B & ~heard_b)
#define CAN_COMMIT ((MISSING == 0 && (MISSING_B & (MISSING_B - 1)) == 0) \
    || (MISSING_B == 0 && (MISSING & (MISSING - 1)) == 0))
#else
#define CAN_COMMIT (heard == ALL && heard_b == ALL_B)
#endif

#define SOME_COMMITTED ((done & yes) | (done_b & yes_b))
#define SOME_ABORTED ((done & ~yes) | (done_b & ~yes_b))
#define CONSISTENT \
    :: d_step { SOME_COMMITTED && SOME_ABORTED -> assert(false) }

/* Promela has no loop over options, so the preprocessor writes them out. */
#if N > 2
#define IF2(M) M(, 2)
#else
#define IF2(M)
#endif
#if N > 3
#define IF3(M) M(, 3)
#else
#define IF3(M)
#endif
#if N > 4
#define IF4(M) M(, 4)
#else
#define IF4(M)
#endif
#if N > 5
#define IF5(M) M(, 5)
#else
#define IF5(M)
#endif
#if N > 6
#define IF6(M) M(, 6)
#else
#define IF6(M)
#endif
#if N > 7
#define IF7(M) M(, 7)
#else
#define IF7(M)
#endif
#if N > 8
#define IF8(M) M(_b, 0)
#else
#define IF8(M)
#endif
#if N > 9
#define IF9(M) M(_b, 1)
#else
#define IF9(M)
#endif
#define EACH(M) \
    M(, 0) M(, 1) IF2(M) IF3(M) IF4(M) IF5(M) IF6(M) IF7(M) IF8(M) IF9(M)

active proctype everybody() {
undecided:
    do
    EACH(LOCAL)
    EACH(HEAR)
    :: d_step { CAN_COMMIT -> skip } goto committed
    :: d_step { true -> skip } goto aborted
    CONSISTENT
    od;
committed:
    do
    EACH(LOCAL)
    EACH(OBEY_COMMIT)
    CONSISTENT
    od;
aborted:
    do
    EACH(LOCAL)
    EACH(OBEY_ABORT)
    CONSISTENT
    od
}
