"""The worlds of discovery, each with what it shows and how it must end.

`case`: the number in the table of operators' cases (docs/discovery.md).
"""

from __future__ import annotations

from typing import Any

from joinproto.check.entry import Entry, Family

RACE = Family("joinproto_worlds.discovery.race:build", prefix="discovery-")
KEEPING = Family("joinproto_worlds.discovery.keeping:build", prefix="discovery-")


def _splits(name: str, about: str, usual: int, steps: int | None, **given: Any) -> Entry:
    sizes = (2, usual, 5)
    return RACE(name, about, members=sizes, breaks=True, steps=steps, **given)


def _holds(name: str, about: str, usual: int, mutants: tuple[str, ...] = (), **given: Any) -> Entry:
    return RACE(name, about, members=(2, usual, 5), mutants=mutants, **given)


ENTRIES: tuple[Entry, ...] = (
    _holds("patient", "4.x: whole lists, no cut, and no node ever gives up: one cluster", 4),
    _splits(
        "first-day",
        "4.x: cut in two and two at the first start: two that see each other are enough (case 1)",
        4,
        8,
        cut=2,
    ),
    _splits(
        "sorted-anew",
        "4.x: one node is cut off while the others choose: the first one changes (case 3)",
        3,
        8,
        cut=1,
    ),
    _splits("partial", "4.x: the list lacks a node", 3, 7, partial_lists=True),
    _splits(
        "gives-up",
        "4.x: the backend fails until no try is left: each stands alone (case 5)",
        2,
        6,
        fails=True,
        tries=0,
    ),
    _splits(
        "stale",
        "4.x: the record of a dead node is selected until no try is left (case 8)",
        3,
        6,
        backend="selects",
        stale=True,
        tries=0,
    ),
    _splits(
        "late-record",
        "3.13: nodes look before they register, so no node ever finds another (case 7)",
        3,
        None,
        backend="selects",
        registers_late=True,
    ),
    _splits(
        "lapse",
        "4.x: the oldest record lapses, and a blank node is the oldest itself",
        3,
        7,
        backend="selects",
        lapses=1,
    ),
    _holds("seed-node", "4.x: all know the seed by its name", 3, backend="seed"),
    _splits(
        "seed-wiped",
        "4.x: the seed loses its disk and is its own seed again (case 14)",
        3,
        10,
        backend="seed",
        wipes=True,
    ),
    _splits(
        "delay",
        "3.8: two nodes whose delays are nearly equal find no other node (cases 2 and 4)",
        2,
        6,
        rules="seed",
        tries=0,
    ),
    _splits(
        "read-then-register",
        "3.8 without a lock: both read before one has registered (case 6)",
        3,
        6,
        rules="seed",
        backend="selects",
        registers_late=True,
        tries=0,
    ),
    _holds(
        "locked",
        "3.8: the service's lock is held from the look to the record",
        3,
        rules="seed",
        backend="selects",
        registers_late=True,
        tries=0,
        locks=True,
    ),
    _splits(
        "lock-expires",
        "3.8: the lock expires between the look and the record",
        3,
        7,
        rules="seed",
        backend="selects",
        registers_late=True,
        tries=0,
        locks=True,
        expires=True,
    ),
    _holds(
        "ours",
        "ours: cut off, partial lists, errors: never two clusters, and one in the end",
        3,
        ("founds-alone", "founds-again"),
        rules="ours",
        cut=1,
        partial_lists=True,
        fails=True,
    ),
    _holds(
        "ours-wiped",
        "ours: the first node loses its disk, lists are partial",
        3,
        ("any-list",),
        rules="ours",
        cut=1,
        partial_lists=True,
        wipes=True,
    ),
    _holds(
        "ours-too-many",
        "ours: more nodes start than are expected: refused, with the number",
        4,
        ("any-size",),
        rules="ours",
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
