"""Join worlds in which a disk was put back from an older copy."""

from __future__ import annotations

from joinproto.check.entry import Entry
from joinproto_worlds.join.entries import NO_FAULT

BACK = NO_FAULT.sharing(register="votes", rounds=1, frames=2, views=3, proposers=3)
CRASH = BACK.sharing(
    frames=3, proposers=2, crashes=1, spared=(), recovers=True, reaches=("RESTART",)
)

ENTRIES: tuple[Entry, ...] = (
    CRASH(
        "join-put-back",
        "3.6: all were killed, one disk was put back from a backup: no frame is lost for it",
        mutants=("backup-believed", "backup-goes-on", "backup-not-told"),
        scene="put-back",
    ),
    CRASH(
        "join-put-back-marked",
        "3.6, P3: the same, and no member goes on without the operator's mark, on any store",
        mutants=("backup-believed",),
        automatic=False,
        marks=True,
        scene="put-back",
    ),
    CRASH(
        "join-put-back-outside",
        "3.6, 3.7: the same where an outside register chooses",
        mutants=("backup-believed",),
        register="atomic",
        proposers=1,
        scene="put-back",
    ),
    BACK(
        "join-put-back-empty",
        "3.6: the same where the copy was made before the founding",
        mutants=("backup-believed",),
        scene="put-back-empty",
        recovers=True,
        reaches=("RESTART",),
    ),
    BACK(
        "join-put-back-in-update",
        "3.4, 3.6: the same where the copy was made in an update, besides one that was given up",
        members=4,
        mutants=("backup-believed", "backup-answers"),
        proposers=1,
        wait_for=3,
        scene="put-back-in-update",
        recovers=True,
        reaches=("RESTART",),
    ),
    BACK(
        "join-two-put-back",
        "3.6: two of three disks were put back: all wait, and the last frame is not given up",
        mutants=("backup-believed",),
        is_patient=True,
        hurries=(),
        scene="two-put-back",
        reaches=(),
    ),
)
