"""The note's worlds by name: one for each rule, and those that must fail.

A world that holds has a mutant for the rule it is about: with the rule's cases left out,
some claim must break.  A world that fails says which hole of the note it shows, and pins
the length of its shortest run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Factory, frozen

SAFE = (
    "no_split_brain",
    "nothing_lost",
    "waits_for_n",
    "options_agree",
    "dirty_before_serving",
    "position_is_data",
    "no_wrong_store",
    "signature_never_changes",
)


@frozen
class Row:
    """A world: name, what it shows, members, shortest failing run, arguments of `build`."""

    name: str
    about: str
    members: int
    steps: int | None = None
    mutants: tuple[str, ...] = ()
    given: Mapping[str, Any] = Factory(dict)

    @property
    def expected(self) -> Literal["holds", "violated"]:
        return "holds" if self.steps is None else "violated"


HOLD = (
    Row(
        "note-wait-for-n",
        "W1, I1: nobody serves before N members are there",
        3,
        mutants=("without-I1",),
        given={
            "claims": ("waits_for_n", "no_split_brain"),
            "goals": ("founded", "all serve in the end"),
        },
    ),
    Row(
        "note-options",
        "I2: members whose options differ do not serve together",
        2,
        mutants=("without-I2",),
        given={"odd_options": True, "claims": ("options_agree",), "goals": ("all abort",)},
    ),
    Row(
        "note-founding",
        "I3, P4: all stores empty or absent, the members are one new cluster",
        3,
        given={
            "stores": ("E", "E", "T"),
            "wait_for": 3,
            "claims": SAFE,
            "goals": ("founded", "all serve in the end"),
        },
    ),
    Row(
        "note-foreign-store",
        "I4: stores of different clusters do not start together",
        2,
        mutants=("without-I4",),
        given={
            "stores": ("xC1", "yD2"),
            "claims": ("no_wrong_store", "no_split_brain"),
            "goals": ("all abort",),
        },
    ),
    Row(
        "note-clean-stores-differ",
        "I5: clean stores that stopped apart do not start together",
        2,
        mutants=("without-I5",),
        given={
            "stores": ("C1", "C2"),
            "claims": ("no_split_brain", "nothing_lost"),
            "goals": ("all abort",),
        },
    ),
    Row(
        "note-manual-recovery",
        "I6: without a clean store nobody starts",
        2,
        mutants=("without-I6",),
        given={"stores": ("D2", "D1"), "claims": ("no_split_brain",), "goals": ("all abort",)},
    ),
    Row(
        "note-restart",
        "I7, I8, W2: clean stores start, a dirty and an empty one are updated",
        3,
        mutants=("without-I7",),
        given={
            "stores": ("C2", "D1", "E"),
            "wait_for": 3,
            "claims": SAFE,
            "goals": ("restarted", "two are updated at once", "all serve in the end"),
        },
    ),
    Row(
        "note-joining",
        "J1, J2: newcomers are updated by active members, two at once",
        3,
        mutants=("without-J2",),
        given={
            "stores": ("C2", "D1", "E"),
            "wait_for": 1,
            "reading": "all-wait",
            "frames": 0,
            "claims": ("nothing_lost", "no_wrong_store", "signature_never_changes"),
            "goals": ("two join at once", "everybody serves"),
        },
    ),
    Row(
        "note-wrong-store",
        "J3: a store of another cluster does not join",
        2,
        mutants=("without-J3",),
        given={
            "stores": ("xC2", "yD1"),
            "wait_for": 1,
            "claims": ("no_wrong_store", "signature_never_changes"),
            "goals": ("somebody serves", "somebody aborts"),
        },
    ),
    Row(
        "note-orderly-shutdown",
        "S1, S2, P2: founded, written to, shut down, started again",
        3,
        given={
            "stores": ("E", "E", "T"),
            "wait_for": 3,
            "frames": 1,
            "shutdowns": True,
            "claims": SAFE,
            "goals": ("all clean again", "serves again after the shutdown"),
        },
    ),
    Row(
        "note-rejoin",
        "P1: a member that crashes rejoins the running cluster",
        2,
        given={
            "frames": 1,
            "crashes": 1,
            "claims": (
                "no_split_brain",
                "nothing_lost",
                "no_stale_source",
                "no_wrong_store",
                "dirty_before_serving",
                "signature_never_changes",
            ),
            "goals": ("rejoined",),
        },
    ),
    Row(
        "note-latest-mark",
        "P3, R3: the operator marks the latest dirty store, all start",
        2,
        given={
            "stores": ("D2", "D1"),
            "marks": "latest",
            "claims": ("no_split_brain", "nothing_lost", "no_stale_source"),
            "goals": ("restarted",),
        },
    ),
    Row(
        "note-options-joining",
        "I2: a newcomer whose options differ stops, the cluster goes on",
        2,
        given={
            "wait_for": 1,
            "odd_options": True,
            "stores": ("C1", "E"),
            "claims": ("no_wrong_store",),
            "goals": ("somebody serves", "somebody aborts"),
        },
    ),
    Row(
        "note-leaving",
        "S2: a member that stops alone leaves a dirty store",
        2,
        given={
            "leaves": True,
            "frames": 1,
            "claims": ("no_split_brain", "nothing_lost", "no_stale_source", "dirty_before_serving"),
            "goals": ("founded",),
        },
    ),
    Row(
        "qpid-founding",
        "Qpid: empty members found a cluster, which is shut down and restarted",
        2,
        given={
            "rules": "qpid",
            "frames": 1,
            "shutdowns": True,
            "leaves": True,
            "wait_for": 2,
            "claims": ("no_wrong_store",),
            "goals": ("founded", "serves again after the shutdown"),
        },
    ),
    Row(
        "qpid-transient",
        "Qpid: members without stores found a cluster and stop",
        2,
        given={
            "rules": "qpid",
            "stores": ("T",),
            "shutdowns": True,
            "claims": ("no_wrong_store",),
            "goals": ("founded",),
        },
    ),
    Row(
        "qpid-mixed",
        "Qpid: members with and without a store do not start together",
        2,
        given={
            "rules": "qpid",
            "stores": ("C1", "T"),
            "claims": ("no_wrong_store",),
            "goals": ("all abort",),
        },
    ),
    Row(
        "qpid-foreign-store",
        "Qpid: stores of different clusters do not start together",
        2,
        given={
            "rules": "qpid",
            "stores": ("xC1", "yC1"),
            "claims": ("no_wrong_store",),
            "goals": ("all abort",),
        },
    ),
    Row(
        "qpid-two-marks",
        "Qpid: two stores marked clean refuse each other",
        2,
        given={
            "rules": "qpid",
            "stores": ("D1",),
            "marks": "any",
            "claims": ("no_wrong_store", "no_split_brain"),
            "goals": ("all abort", "restarted"),
        },
    ),
)

FAIL = (
    Row(
        "note-partition",
        "wait-for 1 and a partition: two clusters are founded",
        2,
        5,
        given={"wait_for": 1, "partitions": 1, "claims": ("no_split_brain",)},
    ),
    Row(
        "note-lone-restart",
        "a clean member restarts alone, takes a write and dies; its sibling starts without it",
        2,
        8,
        given={
            "stores": ("C1",),
            "wait_for": 1,
            "frames": 1,
            "crashes": 1,
            "claims": ("nothing_lost",),
        },
    ),
    Row(
        "note-silent-divergence",
        "two lone restarts, one after the other: equal final signatures, different frames",
        2,
        10,
        given={
            "stores": ("C1",),
            "wait_for": 1,
            "frames": 2,
            "shutdowns": True,
            "reading": "all-wait+only-complete-are-clean",
            "claims": ("position_is_data",),
        },
    ),
    Row(
        "note-half-updated",
        "the orderly shutdown marks a member clean that is being updated",
        2,
        8,
        given={
            "stores": ("C1", "D0"),
            "wait_for": 1,
            "shutdowns": True,
            "claims": ("no_stale_start",),
        },
    ),
    Row(
        "note-unfinished-update",
        "a joiner crashes in its update, and its store reads clean",
        2,
        9,
        given={
            "stores": ("C1",),
            "wait_for": 1,
            "reading": "all-wait+update-in-place",
            "crashes": 2,
            "claims": ("no_stale_source",),
        },
    ),
    Row(
        "note-minority-survivor",
        "a cut-off minority is shut down in order, the others die: its stale store wins",
        2,
        12,
        given={
            "stores": ("C1",),
            "wait_for": 2,
            "frames": 1,
            "partitions": 1,
            "crashes": 1,
            "shutdowns": True,
            "claims": ("no_stale_start",),
        },
    ),
    Row(
        "note-serving-before-i8",
        "read literally, a clean member serves while the others are updated: fewer than N serve",
        2,
        3,
        given={"stores": ("C1", "D1"), "reading": "as-written", "claims": ("waits_for_n",)},
    ),
    Row(
        "note-hasty-abort",
        "without a clean store the members abort, although the clean one is a second away",
        3,
        5,
        given={"stores": ("C1", "D1", "E"), "goals": ("all serve in the end",)},
    ),
    Row(
        "note-never-dirty",
        "a store that is not marked dirty before serving reads clean",
        2,
        4,
        given={
            "stores": ("C1",),
            "reading": "all-wait+never-dirty",
            "frames": 1,
            "crashes": 1,
            "claims": ("dirty_before_serving",),
        },
    ),
    Row(
        "note-wrong-mark",
        "the operator marks the older of two dirty stores clean",
        2,
        3,
        given={
            "stores": ("D2", "D1"),
            "wait_for": 1,
            "marks": "any",
            "claims": ("no_stale_source",),
        },
    ),
    Row(
        "qpid-lowest-id",
        "Qpid: an empty member with the lowest id renames the cluster",
        2,
        3,
        given={"rules": "qpid", "stores": ("E", "C1"), "claims": ("signature_never_changes",)},
    ),
    Row(
        "qpid-minority-survivor",
        "Qpid: the last member of a minority is clean, so its stale store wins",
        3,
        14,
        given={
            "rules": "qpid",
            "stores": ("C1",),
            "wait_for": 3,
            "frames": 1,
            "partitions": 1,
            "crashes": 3,
            "claims": ("no_stale_start",),
        },
    ),
    Row(
        "qpid-half-updated",
        "Qpid: the shutdown marks clean who still waits for its update",
        2,
        4,
        given={
            "rules": "qpid",
            "stores": ("C1", "D0"),
            "wait_for": 1,
            "shutdowns": True,
            "claims": ("position_is_data",),
        },
    ),
    Row(
        "qpid-serves-early",
        "Qpid: clean members serve before N are up to date",
        2,
        3,
        given={"rules": "qpid", "stores": ("C1", "D1"), "claims": ("waits_for_n",)},
    ),
    Row(
        "qpid-lone-restart",
        "Qpid: a lone member that takes writes keeps its clean mark",
        2,
        3,
        given={
            "rules": "qpid",
            "stores": ("C1",),
            "wait_for": 1,
            "frames": 1,
            "claims": ("position_is_data",),
        },
    ),
)
