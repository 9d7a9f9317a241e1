"""The classics of liveness: what each shows, and how it must end."""

from __future__ import annotations

from models.entry import Entry

RING = "models.worlds.token_ring:build"
BITS = "models.worlds.fair.bits_for_ever:build"
LOCK = "models.worlds.fair.lock_service:build"
READERS = "models.worlds.fair.readers_writers:build"
STABLE = "models.worlds.fair.stabilising_ring:build"
REST = "models.worlds.fair.termination:build"


def _holds(
    name: str, build: str, about: str, sizes: tuple[int, int, int], **given: object
) -> Entry:
    least, usual, most = sizes
    mutants = ("stays-white",) if name == "termination" else ()
    return Entry(name, build, about, (least, most), usual, given=given, mutants=mutants)


def _fails(
    name: str, build: str, about: str, sizes: tuple[int, int, int], steps: int, **given: object
) -> Entry:
    least, usual, most = sizes
    return Entry(
        name, build, about, (least, most), usual, expected="violated", steps=steps, given=given
    )


ENTRIES: tuple[Entry, ...] = (
    _holds(
        "token-ring-live",
        RING,
        "whoever wants to enter a ring of one token does",
        (2, 4, 10),
        live=True,
    ),
    _fails(
        "token-ring-live-lossy",
        RING,
        "the token is lost, and who wants to enter waits for ever",
        (2, 4, 10),
        2,
        live=True,
        losses=1,
    ),
    _holds("bits-for-ever", BITS, "frames arrive over links that are strongly fair", (2, 2, 2)),
    _fails(
        "bits-weakly-fair",
        BITS,
        "every frame is lost: that it arrives is never possible for ever",
        (2, 2, 2),
        2,
        fair="none",
    ),
    _fails(
        "bits-half-fair",
        BITS,
        "frames arrive, and every answer is lost",
        (2, 2, 2),
        5,
        fair="receiver",
    ),
    _holds("lock-service", LOCK, "whoever asks a server for a lock gets it", (1, 3, 4)),
    _fails(
        "lock-last-first",
        LOCK,
        "last come, first served: who asked first waits for ever, however fair runs are",
        (2, 3, 4),
        14,
        last_first=True,
        strongly=True,
    ),
    _holds(
        "readers-writers", READERS, "a writer that waits keeps readers out, and gets in", (1, 2, 6)
    ),
    _fails(
        "readers-first",
        READERS,
        "one reader follows the other, and the writer waits, however fair runs are",
        (2, 2, 6),
        9,
        writers_first=False,
        strongly=True,
    ),
    _fails(
        "two-writers-weakly-fair",
        READERS,
        "one writer is quicker each time",
        (1, 1, 4),
        4,
        writers=2,
    ),
    _holds(
        "two-writers",
        READERS,
        "with strong fairness to entering each writer gets in",
        (1, 1, 4),
        writers=2,
        strongly=True,
    ),
    _holds("stabilising-ring", STABLE, "a ring comes from any state to one privilege", (2, 4, 6)),
    _fails(
        "stabilising-ring-too-small",
        STABLE,
        "with two numbers too few several privileges go round for ever",
        (4, 4, 6),
        8,
        numbers=2,
    ),
    _holds("termination", REST, "a token finds out that all nodes have come to rest", (2, 3, 5)),
    _fails(
        "termination-unfair",
        REST,
        "the token need not go on, and nobody is told",
        (2, 3, 5),
        0,  # it is due at the outset, and the run ends there
        fair=False,
    ),
)
