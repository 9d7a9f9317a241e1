"""Join worlds with more states than one machine is likely to search to the end."""

from __future__ import annotations

from models.entry import Entry
from models.worlds.join_entries import JOIN

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "join-deep",
        JOIN,
        "three members, none of which waits for all answers, with a crash and a frame",
        members=(3, 3),
        usual=3,
        tier="deep",
        given={"is_patient": False},
    ),
    Entry(
        "join-deep-crashes",
        JOIN,
        "three members, two crashes of any of them, a frame, and all propose",
        members=(3, 3),
        usual=3,
        tier="deep",
        given={"crashes": 2, "proposers": 3, "spared": (), "is_patient": False},
    ),
    Entry(
        "join-deep-rivals",
        JOIN,
        "three members, two of them propose, one of these crashes twice, and one partition",
        members=(3, 3),
        usual=3,
        tier="deep",
        given={
            "proposers": 2,
            "is_patient": False,
            "crashes": 2,
            "views": 2,
            "frames": 0,
            "reaches": ("FOUND", "CHANGE"),
        },
    ),
    Entry(
        "join-deep-votes",
        JOIN,
        "three members choose by votes, two of them propose, with a crash and a frame",
        members=(3, 3),
        usual=3,
        tier="deep",
        given={
            "register": "votes",
            "rounds": 2,
            "proposers": 2,
            "spared": (),
            "is_patient": False,
        },
    ),
    Entry(
        "join-deep-marks",
        JOIN,
        "three members, two crashes, and an operator who marks any store",
        members=(3, 3),
        usual=3,
        tier="deep",
        given={
            "crashes": 2,
            "spared": ("c",),
            "automatic": False,
            "marks": True,
            "closes": False,
        },
    ),
    Entry(
        "join-deep-wiped",
        JOIN,
        "three members, one of which loses its disk and comes back as a stranger",
        members=(3, 3),
        usual=3,
        tier="deep",
        given={"wiped": "c", "spared": ("b",), "greets": True, "closes": False},
    ),
    Entry(
        "join-five",
        JOIN,
        "five members, N = 3, two views, without a fault",
        members=(4, 5),
        usual=5,
        tier="deep",
        given={
            "wait_for": 3,
            "crashes": 0,
            "partitions": 0,
            "views": 2,
            "frames": 0,
            "reaches": ("FOUND", "CHANGE"),
        },
    ),
)
