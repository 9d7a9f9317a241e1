"""Join worlds with more states than one machine is likely to search to the end."""

from __future__ import annotations

from attrs import evolve

from joinproto.check.entry import Entry
from joinproto_worlds.join.entries import JOIN

DEEP = evolve(JOIN, tier="deep")

ENTRIES: tuple[Entry, ...] = (
    DEEP(
        "join-deep",
        "three members, none of which waits for all answers, with a crash and a frame",
        is_patient=False,
    ),
    DEEP(
        "join-deep-crashes",
        "three members that all propose, with two crashes of any of them and a frame",
        crashes=2,
        proposers=3,
        spared=(),
        is_patient=False,
    ),
    DEEP(
        "join-deep-rivals",
        "three members, of which two propose and one crashes twice, with one partition",
        proposers=2,
        is_patient=False,
        crashes=2,
        views=2,
        frames=0,
        reaches=("FOUND", "CHANGE"),
    ),
    DEEP(
        "join-deep-votes",
        "three members that choose by votes, of which two propose, with a crash and a frame",
        register="votes",
        rounds=2,
        proposers=2,
        spared=(),
        is_patient=False,
    ),
    DEEP(
        "join-deep-marks",
        "three members, two crashes, and an operator who marks any store",
        crashes=2,
        spared=("c",),
        automatic=False,
        marks=True,
        closes=False,
    ),
    DEEP(
        "join-deep-wiped",
        "three members, one of which loses its disk and comes back as a stranger",
        wiped="c",
        spared=("b",),
        greets=True,
        closes=False,
    ),
    DEEP(
        "join-five",
        "five members, N = 3, two views, without a fault",
        members=(4, 5, 5),
        wait_for=3,
        crashes=0,
        partitions=0,
        views=2,
        frames=0,
        reaches=("FOUND", "CHANGE"),
    ),
)
