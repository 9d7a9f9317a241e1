"""Join worlds in which a disk was put back from an older copy."""

from __future__ import annotations

from typing import Any

from joinproto.check.entry import Entry
from joinproto_worlds.join.entries import JOIN, NO_FAULT

BACK: dict[str, Any] = {**NO_FAULT, "rounds": 1, "frames": 2, "views": 3, "proposers": 3}
CRASH: dict[str, Any] = {**BACK, "frames": 3, "proposers": 2, "crashes": 1, "spared": ()}

ENTRIES: tuple[Entry, ...] = (
    JOIN(
        "join-put-back",
        "3.6: all were killed, one disk was put back from a backup: no frame is lost for it",
        mutants=("backup-believed", "backup-goes-on", "backup-not-told"),
        **CRASH,
        register="votes",
        scene="put-back",
        recovers=True,
        reaches=("RESTART",),
    ),
    JOIN(
        "join-put-back-marked",
        "3.6, P3: the same, and no member goes on without the operator's mark, on any store",
        mutants=("backup-believed",),
        **CRASH,
        register="votes",
        automatic=False,
        marks=True,
        scene="put-back",
        recovers=True,
        reaches=("RESTART",),
    ),
    JOIN(
        "join-put-back-outside",
        "3.6, 3.7: the same where an outside register chooses",
        mutants=("backup-believed",),
        **(CRASH | {"proposers": 1}),
        scene="put-back",
        recovers=True,
        reaches=("RESTART",),
    ),
    JOIN(
        "join-put-back-empty",
        "3.6: the same where the copy was made before the founding",
        mutants=("backup-believed",),
        **BACK,
        register="votes",
        scene="put-back-empty",
        recovers=True,
        reaches=("RESTART",),
    ),
    JOIN(
        "join-put-back-in-update",
        "3.4, 3.6: the same where the copy was made in an update, besides one that was given up",
        members=4,
        mutants=("backup-believed", "backup-answers"),
        **(BACK | {"proposers": 1}),
        register="votes",
        wait_for=3,
        scene="put-back-in-update",
        recovers=True,
        reaches=("RESTART",),
    ),
    JOIN(
        "join-two-put-back",
        "3.6: two of three disks were put back: all wait, and the last frame is not given up",
        mutants=("backup-believed",),
        **(BACK | {"is_patient": True}),
        hurries=(),
        register="votes",
        scene="two-put-back",
        reaches=(),
    ),
)
