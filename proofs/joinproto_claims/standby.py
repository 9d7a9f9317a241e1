"""Hot standby: no confirmed message is lost, for any number of brokers, queues and messages.

A generation has one primary and, in the chain of the built-in manager, a view that was written
last.  `counts` are the brokers without which the primary confirms no message: members of the view
that it knows to be written, and of the view that it has under way.  A message stands for a
transfer, an acknowledgement or a declaration.  No relation is about queues, because a backup counts
only when it has caught up with all queues.  Source: hot standby, H2 to H5, H8, H9.
"""

from joinproto.prove.layer import Claim, Conjunct, Guard, Layer, Step, Update, gains, loses
from joinproto.prove.logic import (
    Formula,
    Relation,
    Sort,
    Var,
    all_of,
    every,
    is_total_order,
    same,
    some,
)

BROKER, GENERATION, MESSAGE = Sort("broker"), Sort("generation"), Sort("message")

b, p, q, x = (Var(name, BROKER) for name in "bpqx")
f, g, h, k = (Var(name, GENERATION) for name in "fghk")
m, n = Var("m", MESSAGE), Var("n", MESSAGE)

before = Relation("before", (GENERATION, GENERATION), "{0} is older than {1}", rigid=True)
leads = Relation("leads", (GENERATION, BROKER), "{1} was promoted in {0}")
listed = Relation("listed", (GENERATION, BROKER), "{1} is in the last view written of {0}")
counts = Relation("counts", (GENERATION, BROKER), "the primary of {0} does not confirm without {1}")
past = Relation("past", (BROKER, GENERATION), "{0} knows of a younger generation than {1}")
has = Relation("has", (BROKER, MESSAGE), "{0} has {1}")
told = Relation("told", (GENERATION, BROKER, MESSAGE), "in {0}, {1} has said that it has {2}")
put = Relation("put", (GENERATION, MESSAGE), "a client sent {1} to the primary of {0}")
confirmed = Relation("confirmed", (GENERATION, MESSAGE), "{1} was confirmed in {0}")


def _at(broker: Var, generation: Var) -> Formula:
    """Return that this is the newest generation that the broker knows."""
    return ~past(broker, generation) & every(k, before(k, generation) >> past(broker, k))


def _is_last(generation: Var) -> Formula:
    return every((k, x), leads(k, x) >> ~before(generation, k))


# -- the steps ---------------------------------------------------------------------------------

_LEADS = Guard("the broker was promoted in this generation", leads(g, p))
_STILL = Guard("it knows of no younger generation", ~past(p, g))
_LAST = Guard("no younger generation is in the chain", _is_last(g))
_NOT_ITSELF = Guard("it is not the primary", ~leads(g, x))
_FOLLOWS = Guard("it follows this generation", _at(x, g))

FOUND = Step(
    "found",
    "the first broker is promoted",
    (b, g),
    (Guard("no broker was promoted before", every((k, x), ~leads(k, x))),),
    {
        **gains(leads, g, b),
        **gains(listed, g, b),
        **gains(counts, g, b),
        past: Update((x, k), past(x, k) | (same(x, b) & before(k, g))),
        told: Update((k, x, n), told(k, x, n) | all_of(same(k, g), same(x, b), has(b, n))),
    },
)
PROMOTE = Step(
    "promote",
    "H2, H3: a member of the last view is promoted anew, whether the old primary lives or not",
    (b, g, h, p),
    (
        _LAST,
        Guard("the generation is new", before(g, h)),
        Guard("it is in the last view", listed(g, b)),
    ),
    {
        **gains(leads, h, b),
        listed: Update(
            (k, x),
            listed(k, x) | (same(k, h) & (same(x, b) | (listed(g, x) & ~same(x, p)))),
        ),
        counts: Update(
            (k, x),
            counts(k, x) | (same(k, h) & (same(x, b) | (listed(g, x) & ~same(x, p)))),
        ),
        past: Update((x, k), past(x, k) | (same(x, b) & before(k, h))),
        told: Update((k, x, n), told(k, x, n) | all_of(same(k, h), same(x, b), has(b, n))),
    },
)
FOLLOW = Step(
    "follow",
    "H2: a broker hears of a generation, and no longer follows an older one",
    (x, g, p),
    (_LEADS,),
    {past: Update((q, k), past(q, k) | (same(q, x) & before(k, g)))},
)
SEND = Step(
    "put",
    "a client sends a message to a primary, which may not know that its generation is over",
    (g, p, m),
    (
        _LEADS,
        _STILL,
        Guard("the message is new", every(x, ~has(x, m)) & every((k, x), ~told(k, x, m))),
    ),
    gains(has, p, m) | gains(told, g, p, m) | gains(put, g, m),
)
TELL = Step(
    "tell",
    "H4, H5: a backup gets a message that its primary has, and says so",
    (g, p, x, m),
    (_FOLLOWS, Guard("the primary has the message", told(g, p, m))),
    gains(has, x, m) | gains(told, g, x, m),
)
GIVE_UP = Step(
    "give up",
    "H9: a backup gives up a message that its primary does not have",
    (g, p, x, m),
    (_LEADS, _FOLLOWS, Guard("the primary does not have the message", ~told(g, p, m))),
    loses(has, x, m),
)
COUNT = Step(
    "count",
    "H4, H5: a backup counts: it has all the primary's messages but those that wait for it",
    (g, p, x),
    (
        _LEADS,
        _FOLLOWS,
        Guard(
            "it has said that it has all messages but those that wait for a confirmation",
            every(n, (told(g, p, n) & (confirmed(g, n) | ~put(g, n))) >> told(g, x, n)),
        ),
    ),
    gains(counts, g, x),
)
LIST = Step(
    "list",
    "H4: a backup that counts is written into the view",
    (g, x),
    (Guard("it counts", counts(g, x)),),
    gains(listed, g, x),
)
STRIKE = Step(
    "strike",
    "H4: a backup is written out of the view",
    (g, x),
    (_NOT_ITSELF, _LAST),
    loses(listed, g, x),
)
FORGET = Step(
    "forget",
    "H4: only after that the primary goes on without the backup",
    (g, x),
    (Guard("it is not in the view", ~listed(g, x)),),
    loses(counts, g, x),
)
CONFIRM = Step(
    "confirm",
    "H4: a message that all counting brokers have is confirmed",
    (g, p, m),
    (
        Guard("the message is there", told(g, p, m)),
        Guard(
            "all brokers that count have said that they have it",
            every(x, counts(g, x) >> told(g, x, m)),
        ),
    ),
    gains(confirmed, g, m),
)

# -- claims ------------------------------------------------------------------------------------


def _all_that_went_on(generation: Var, message: Var) -> Formula:
    """Return that all listed brokers that know a newer generation had said they have the message.

    Only such a message can still be confirmed in `generation`, because these brokers send no more
    reports in it.
    """
    return every(b, (listed(generation, b) & past(b, generation)) >> told(generation, b, message))


_ONE_PRIMARY = every((g, p, q), (leads(g, p) & leads(g, q)) >> same(p, q))

CONJUNCTS = (
    Conjunct(
        "one_primary",
        _ONE_PRIMARY,
        "it is the claim one_primary_for_each_generation",
    ),
    Conjunct(
        "listed_counts",
        every((g, x), listed(g, x) >> counts(g, x)),
        "a member of the view could lack what was confirmed",
    ),
    Conjunct(
        "counts_in_a_generation",
        every((g, x), counts(g, x) >> some(p, leads(g, p))),
        "a generation could begin with those of no view",
    ),
    Conjunct(
        "told_in_a_generation",
        every((g, x, m), told(g, x, m) >> some(p, leads(g, p))),
        "a new primary could be believed to have what it has not",
    ),
    Conjunct(
        "confirmed_in_a_generation",
        every((g, m), confirmed(g, m) >> some(p, leads(g, p))),
        "a message could be confirmed in a generation that has not begun",
    ),
    Conjunct(
        "past_goes_down",
        every((x, f, g), (past(x, g) & before(f, g)) >> past(x, f)),
        "a broker could come back to an older generation",
    ),
    Conjunct(
        "who_told_has_been_there",
        every((f, g, x, m), (told(g, x, m) & before(f, g)) >> past(x, f)),
        "a broker could follow an older generation after it had told a younger one",
    ),
    Conjunct(
        "confirmed_is_told",
        every((g, x, m), (confirmed(g, m) & counts(g, x)) >> told(g, x, m)),
        "a message could be confirmed that one that counts lacks",
    ),
    Conjunct(
        "members_were_members",
        every(
            (f, g, x, p),
            all_of(counts(g, x), before(f, g), leads(f, p)) >> (listed(f, x) | past(x, f)),
        ),
        "a broker that counts could have been left out of an older view, and still follow it",
    ),
    Conjunct(
        "primary_has_been_there",
        every((f, g, p), (leads(g, p) & before(f, g)) >> past(p, f)),
        "a primary could still say in an older generation what it has",
    ),
    Conjunct(
        "primary_is_listed",
        every((g, p), leads(g, p) >> listed(g, p)),
        "a view could be of others alone",
    ),
    Conjunct(
        "past_of_a_generation",
        every((x, g), past(x, g) >> some((h, p), before(g, h) & leads(h, p))),
        "a broker could refuse a generation for one that is not there",
    ),
    Conjunct(
        "somebody_went_on",
        every(
            (f, g, p, q),
            all_of(leads(f, p), leads(g, q), before(f, g)) >> some(x, listed(f, x) & past(x, f)),
        ),
        "the next generation could begin with no broker that knows the last one",
    ),
    Conjunct(
        "put_in_a_generation",
        every((g, m), put(g, m) >> some(p, leads(g, p))),
        "a new generation could already have messages that are new",
    ),
    Conjunct(
        "put_is_told",
        every((g, p, m), (put(g, m) & leads(g, p)) >> told(g, p, m)),
        "a message could come from clients twice",
    ),
    Conjunct(
        "put_once",
        every((f, g, x, m), (put(g, m) & told(f, x, m)) >> ~before(f, g)),
        "what was confirmed could be taken for what is still waiting",
    ),
    Conjunct(
        "told_by_the_primary",
        every((g, x, p, m), (told(g, x, m) & leads(g, p)) >> told(g, p, m)),
        "a backup could say of something else that it has it",
    ),
    Conjunct(
        "told_is_kept",
        every((g, x, m), told(g, x, m) >> (has(x, m) | past(x, g))),
        "a backup could give up what it said it had",
    ),
    Conjunct(
        "those_that_went_on_have_it",
        every(
            (f, g, x, p, m),
            all_of(leads(f, p), before(f, g), _all_that_went_on(f, m), counts(g, x))
            >> (has(x, m) | past(x, g) | (listed(f, x) & ~past(x, f))),
        ),
        "the old primary could confirm, after a promotion, what the new members lack",
    ),
    Conjunct(
        "next_primary_has_it",
        every(
            (f, g, p, q, m),
            all_of(leads(f, q), before(f, g), _all_that_went_on(f, m), leads(g, p))
            >> told(g, p, m),
        ),
        "the old primary could confirm what the new one lacks",
    ),
)

LAYER = Layer(
    name="standby",
    about="one primary, its backups, and a chain of views that says which brokers are up to date",
    sorts=(BROKER, GENERATION, MESSAGE),
    relations=(before, leads, listed, counts, past, has, told, put, confirmed),
    axioms={"generations are ordered": is_total_order(before)},
    steps=(
        FOUND,
        PROMOTE,
        FOLLOW,
        SEND,
        TELL,
        GIVE_UP,
        COUNT,
        LIST,
        STRIKE,
        FORGET,
        CONFIRM,
    ),
    conjuncts=CONJUNCTS,
    claims=(
        Claim(
            "one_primary_for_each_generation",
            "H2: no generation has two primaries",
            _ONE_PRIMARY,
        ),
        Claim(
            "confirmed_is_in_every_backup_that_is_up_to_date",
            "H4: each member of the view has said that it has what was confirmed in the generation",
            every((g, x, m), (confirmed(g, m) & listed(g, x)) >> told(g, x, m)),
        ),
        Claim(
            "promoting_loses_nothing",
            "H3, H4: each broker that may be promoted has all that any primary ever confirmed",
            every(
                (f, g, x, p, m),
                all_of(confirmed(f, m), leads(g, p), _is_last(g), listed(g, x), ~past(x, g))
                >> has(x, m),
            ),
        ),
    ),
    lively=some(
        (f, g, p, q, x, m),
        all_of(
            before(f, g),
            leads(f, p),
            leads(g, q),
            ~same(p, q),
            confirmed(f, m),
            listed(g, x),
            ~same(x, q),
            has(x, m),
            ~past(p, f),
        ),
    ),
    assumes=(
        "a restarted broker has all its messages, or is not promoted: a dirty store refuses",
        "the manager is the one built in: each view is written into one chain, behind the last",
        "messages have identities that are never used again",
    ),
)
