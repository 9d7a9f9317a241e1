"""The usual join worlds, and the common parts of all join worlds' rows."""

from __future__ import annotations

from joinproto.check.entry import Entry, Family

JOIN = Family("joinproto_worlds.join.world:build", members=3, tier="long")
JOIN_MUTANTS = (
    "status-does-not-freeze",
    "held-derived",
    "tip-is-data",
    "mark-chooses",
    "stale-source",
    "close-before-all-are-quiet",
    "n-forgotten",
    "change-after-total-failure",
    "active-before-all-are-ready",
    "n-is-not-counted",
    "goes-on-after-a-restart",
    "frozen-goes-on",
    "dirty-not-written",
    "held-not-persisted",
    "update-in-place",
    "joiner-marked-clean",
    "older-frame-accepted",
)
"""Rules whose absence the usual worlds of the join protocol find."""

DUTIES = (
    "sends-before-persisting",
    "told-before-durable",
    "acknowledged-early",
    "update-not-durable",
    "feeds-more-than-it-says",
    "register-forgets",
)
"""Duties of the host whose neglect `join-two` finds."""

QUIET = JOIN.sharing(crashes=0, partitions=0)
CALM = QUIET.sharing(closes=False)
_STILL = CALM.sharing(suspects=False, frames=0, greets=True)
LIVE = _STILL.sharing(live=True)
NO_FAULT = _STILL.sharing(is_patient=False)

ENTRIES: tuple[Entry, ...] = (
    JOIN(
        "join",
        "the view chain: founded, written to, closed, restarted, through a crash and a partition",
        members=(2, 3, 3),
        mutants=tuple(name for name in JOIN_MUTANTS if name != "mark-chooses"),
        reaches=(
            "FOUND",
            "CHANGE",
            "RESTART",
            "closed and restarted",
            "a member that was given up is active again",
        ),
    ),
    JOIN(
        "join-two",
        "two members, both propose, either crashes",
        members=2,
        mutants=(*JOIN_MUTANTS, *DUTIES),
    ),
    JOIN(
        "join-two-frames",
        "the same with two frames",
        members=2,
        frames=2,
    ),
    JOIN(
        "join-two-closing",
        "the same, and a wish to close the cluster outlives a view without its member",
        members=2,
        lasts=True,
    ),
    QUIET(
        "join-votes",
        "two members choose their views by votes, in up to two rounds",
        members=2,
        mutants=("electors-differ",),
        register="votes",
        rounds=2,
    ),
    JOIN(
        "join-votes-crash",
        "two members choose their views by votes, and either crashes",
        members=2,
        mutants=("disk-restored",),
        register="votes",
    ),
    QUIET(
        "join-rivals",
        "three members, of which two propose at the same time",
        proposers=2,
        is_patient=False,
        views=2,
        frames=0,
        reaches=("FOUND", "CHANGE"),
    ),
    CALM(
        "join-failed",
        "I6, R3: two crashes; after total failure no member goes on without the operator's mark",
        members=2,
        mutants=("mark-chooses", "stale-source", "change-after-total-failure"),
        crashes=2,
        automatic=False,
        marks=True,
        proposers=1,
    ),
    CALM(
        "join-transient",
        "a member without a store: another one each time it is started",
        members=2,
        mutants=("transient-keeps-its-id",),
        crashes=2,
        transient=("b",),
        proposers=1,
        views=2,
        reaches=("FOUND", "RESTART"),
    ),
    CALM(
        "join-storeless",
        "3.4: the one that orders the frames keeps nothing; no member serves where no store is",
        members=(2, 2, 3),
        mutants=("nobody-keeps-it",),
        wait_for=1,
        transient=("a",),
        views=2,
        frames=0,
        is_patient=False,
        reaches=("FOUND", "CHANGE"),
    ),
    JOIN(
        "join-lone",
        "N = 1 with an outside register: one member goes on alone, also in an update",
        members=2,
        mutants=("unfinished-counts",),
        wait_for=1,
        partitions=0,
        closes=False,
    ),
    QUIET(
        "join-options",
        "I2: members whose options differ are never active together",
        members=2,
        mutants=("options-not-compared",),
        other_options=("b",),
        frames=0,
        reaches=(),
    ),
    JOIN(
        "join-wiped",
        "I3: a founder loses its disk and looks like a new one; no second cluster is founded",
        mutants=("found-by-majority", "later-view-not-told"),
        register="votes",
        partitions=0,
        wiped="b",
        is_patient=False,
        views=1,
        frames=0,
        closes=False,
        suspects=False,
        proposers=2,
        spared=(),
        reaches=("FOUND",),
    ),
)
