"""The textbooks' protocols, and how each must end."""

from __future__ import annotations

from joinproto.check.entry import Entry, Family

HERE = "joinproto_worlds.classics"
COMMIT = Family(f"{HERE}.two_phase_commit:build", (1, 3, 12))
FOUNDING = Family(f"{HERE}.paxos_founding:build", (2, 3, 3), "long")
DINING = Family(f"{HERE}.dining_philosophers:build", (2, 5, 10), prefix="dining-")
RING = Family(f"{HERE}.token_ring:build", (2, 4, 10), prefix="token-ring")
ELECTION = Family(f"{HERE}.ring_election:build", (2, 4, 6))
BIT = Family(f"{HERE}.alternating_bit:build", 2, prefix="alternating-bit")
VOTE = Family(f"{HERE}.durable_vote:build", (2, 3, 4), prefix="durable-vote")

ENTRIES: tuple[Entry, ...] = (
    COMMIT(
        "two-phase-commit",
        "resource managers commit together or not at all",
        mutants=("one-vote-short",),
    ),
    FOUNDING(
        "paxos-founding",
        "members agree on one founder by single-decree Paxos",
        mutants=("forgets-accepted", "promise-not-kept"),
    ),
    DINING("philosophers", "each takes the left fork first: all hold one, none can eat", steps=5),
    DINING(
        "left-handed",
        "one philosopher takes the right fork first: one can always go on",
        left_handed=1,
    ),
    RING("", "a token goes round; its holder may enter"),
    RING("-lossy", "the token is lost, and in the end no process can go on", steps=5, losses=1),
    RING(
        "-doubled",
        "the token is doubled, and two are inside",
        members=(2, 4, 6),
        steps=6,
        duplicates=1,
    ),
    ELECTION(
        "ring-election",
        "the largest number on a one-way ring becomes the leader",
        mutants=("passes-all-on",),
    ),
    BIT("", "every item arrives once over a link that loses"),
    BIT(
        "-overtaken",
        "frames overtake one another: an old one counts as new",
        steps=7,
        overtaking=True,
    ),
    VOTE(
        "",
        "a vote survives a crash, so no member votes twice",
        mutants=("no-persist", "answer-first"),
    ),
    VOTE("-split", "a partition lets only one side elect", partitions=1),
    VOTE(
        "-wiped",
        "a lost disk forgets a vote, and two lead",
        members=(3, 3, 4),
        steps=9,
        wipes=1,
    ),
)
