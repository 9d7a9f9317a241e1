"""The worlds of discovery, each with its subject and expected result.

"(case N)" in a subject is the number in the table of operators' cases (docs/discovery.md).
"""

from __future__ import annotations

from joinproto.check.entry import Entry, Family

RACE = Family("joinproto_worlds.discovery.race:build", (2, 3, 5), prefix="discovery-")
SEED, OURS = RACE.sharing(rules="seed", tries=0), RACE.sharing(rules="ours")
LATE = SEED.sharing(backend="selects", registers_late=True)
KEEPING = Family("joinproto_worlds.discovery.keeping:build", prefix="discovery-")


ENTRIES: tuple[Entry, ...] = (
    RACE(
        "patient",
        "4.x: whole lists, no cut, and no node ever gives up: one cluster",
        members=(2, 4, 5),
    ),
    RACE(
        "first-day",
        "4.x: cut in two and two at the first start: two that see each other are enough (case 1)",
        members=(2, 4, 5),
        steps=8,
        cut=2,
    ),
    RACE(
        "sorted-anew",
        "4.x: one node is cut off while the others choose: the first one changes (case 3)",
        steps=8,
        cut=1,
    ),
    RACE("partial", "4.x: the list lacks a node", steps=7, partial_lists=True),
    RACE(
        "gives-up",
        "4.x: the backend fails until no try is left: each stands alone (case 5)",
        members=(2, 2, 5),
        steps=6,
        fails=True,
        tries=0,
    ),
    RACE(
        "stale",
        "4.x: the record of a dead node is selected until no try is left (case 8)",
        steps=6,
        backend="selects",
        stale=True,
        tries=0,
    ),
    RACE(
        "late-record",
        "3.13: nodes look before they register, so no node ever finds another (case 7)",
        breaks=True,
        backend="selects",
        registers_late=True,
    ),
    RACE(
        "lapse",
        "4.x: the oldest record lapses, and a blank node is the oldest itself",
        steps=7,
        backend="selects",
        lapses=1,
    ),
    RACE("seed-node", "4.x: all know the seed by its name", backend="seed"),
    RACE(
        "seed-wiped",
        "4.x: the seed loses its disk and is its own seed again (case 14)",
        steps=10,
        backend="seed",
        wipes=True,
    ),
    SEED(
        "delay",
        "3.8: two nodes whose delays are nearly equal find no other node (cases 2 and 4)",
        members=(2, 2, 5),
        steps=6,
    ),
    LATE(
        "read-then-register",
        "3.8 without a lock: both read before one has registered (case 6)",
        steps=6,
    ),
    LATE("locked", "3.8: the service's lock is held from the look to the record", locks=True),
    LATE(
        "lock-expires",
        "3.8: the lock expires between the look and the record",
        steps=7,
        locks=True,
        expires=True,
    ),
    OURS(
        "ours",
        "ours: cut off, partial lists, errors: never two clusters, and one in the end",
        mutants=("founds-alone", "founds-again"),
        cut=1,
        partial_lists=True,
        fails=True,
    ),
    OURS(
        "ours-wiped",
        "ours: the first node loses its disk, lists are partial",
        mutants=("any-list",),
        cut=1,
        partial_lists=True,
        wipes=True,
    ),
    OURS(
        "ours-too-many",
        "ours: more nodes start than are expected: refused, with the number",
        members=(2, 4, 5),
        mutants=("any-size",),
        cut=2,
        expected=3,
    ),
    RACE(
        "ours-five",
        "ours: five nodes, two of which are cut off, lists are partial, or errors",
        members=(2, 5, 5),
        tier="long",
        rules="ours",
        cut=2,
        partial_lists=True,
        fails=True,
    ),
    KEEPING(
        "forgotten",
        "4.3: Consul forgets a record, and the check that would write it crashes (case 9)",
        members=(1, 2, 5),
        steps=2,
    ),
    KEEPING(
        "ours-forgotten",
        "ours: a lost record is written again, even if others are there",
        members=(1, 3, 5),
        rules="ours",
        forgets=3,
    ),
)
