"""Join worlds with more states than one machine is likely to search to the end."""

from __future__ import annotations

from joinproto.check.entry import Entry
from joinproto_worlds.join.entries import JOIN

ENTRIES: tuple[Entry, ...] = (
    JOIN(
        "join-deep",
        "three members, none of which waits for all answers, with a crash and a frame",
        tier="deep",
        is_patient=False,
    ),
    JOIN(
        "join-deep-crashes",
        "three members, two crashes of any of them, a frame, and all propose",
        tier="deep",
        crashes=2,
        proposers=3,
        spared=(),
        is_patient=False,
    ),
    JOIN(
        "join-deep-rivals",
        "three members, two of them propose, one of these crashes twice, and one partition",
        tier="deep",
        proposers=2,
        is_patient=False,
        crashes=2,
        views=2,
        frames=0,
        reaches=("FOUND", "CHANGE"),
    ),
    JOIN(
        "join-deep-votes",
        "three members choose by votes, two of them propose, with a crash and a frame",
        tier="deep",
        register="votes",
        rounds=2,
        proposers=2,
        spared=(),
        is_patient=False,
    ),
    JOIN(
        "join-deep-marks",
        "three members, two crashes, and an operator who marks any store",
        tier="deep",
        crashes=2,
        spared=("c",),
        automatic=False,
        marks=True,
        closes=False,
    ),
    JOIN(
        "join-deep-wiped",
        "three members, one of which loses its disk and comes back as a stranger",
        tier="deep",
        wiped="c",
        spared=("b",),
        greets=True,
        closes=False,
    ),
    JOIN(
        "join-five",
        "five members, N = 3, two views, without a fault",
        members=(4, 5, 5),
        tier="deep",
        wait_for=3,
        crashes=0,
        partitions=0,
        views=2,
        frames=0,
        reaches=("FOUND", "CHANGE"),
    ),
)
