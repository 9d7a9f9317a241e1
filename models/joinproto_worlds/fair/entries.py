"""The classics of liveness: the subject of each, and its expected result."""

from __future__ import annotations

from joinproto.check.entry import Entry, Family

RING = Family("joinproto_worlds.classics.token_ring:build")
BITS = Family("joinproto_worlds.fair.bits_for_ever:build")
LOCK = Family("joinproto_worlds.fair.lock_service:build")
READERS = Family("joinproto_worlds.fair.readers_writers:build")
STABLE = Family("joinproto_worlds.fair.stabilising_ring:build")
REST = Family("joinproto_worlds.fair.termination:build")

ENTRIES: tuple[Entry, ...] = (
    RING(
        "token-ring-live",
        "each process that wants to enter a ring of one token does",
        members=(2, 4, 10),
        live=True,
    ),
    RING(
        "token-ring-live-lossy",
        "the token is lost, and a process that wants to enter waits for ever",
        members=(2, 4, 10),
        steps=2,
        live=True,
        losses=1,
    ),
    BITS("bits-for-ever", "frames arrive over links that are strongly fair", members=2),
    BITS(
        "bits-weakly-fair",
        "every frame is lost: that it arrives is never possible for ever",
        members=2,
        steps=2,
        fair="none",
    ),
    BITS(
        "bits-half-fair",
        "frames arrive, and every answer is lost",
        members=2,
        steps=5,
        fair="receiver",
    ),
    LOCK("lock-service", "each client that asks a server for a lock gets it", members=(1, 3, 4)),
    LOCK(
        "lock-last-first",
        "last come, first served: the first client waits for ever, however fair runs are",
        members=(2, 3, 4),
        steps=14,
        last_first=True,
        strongly=True,
    ),
    READERS(
        "readers-writers", "a writer that waits keeps readers out, and gets in", members=(1, 2, 6)
    ),
    READERS(
        "readers-first",
        "one reader follows the other, and the writer waits, however fair runs are",
        members=(2, 2, 6),
        steps=9,
        writers_first=False,
        strongly=True,
    ),
    READERS(
        "two-writers-weakly-fair",
        "one writer is quicker each time",
        members=(1, 1, 4),
        steps=4,
        writers=2,
    ),
    READERS(
        "two-writers",
        "with strong fairness to entering each writer gets in",
        members=(1, 1, 4),
        writers=2,
        strongly=True,
    ),
    STABLE("stabilising-ring", "a ring comes from any state to one privilege", members=(2, 4, 6)),
    STABLE(
        "stabilising-ring-too-small",
        "with two numbers too few several privileges go round for ever",
        members=(4, 4, 6),
        steps=8,
        numbers=2,
    ),
    REST(
        "termination",
        "a token finds out that all nodes have come to rest",
        members=(2, 3, 5),
        mutants=("stays-white",),
    ),
    REST(
        "termination-unfair",
        "the token need not go on, and no process is told",
        members=(2, 3, 5),
        steps=0,
        fair=False,
    ),
)
