"""Every world that ships: what it shows, for whom it is meant, how it must end.

A row names the function that builds the world; it is imported when it is asked for.  The
options of `joinproto check` (members, wait_for, crashes, ...) are the function's parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

from attrs import Factory, evolve, frozen

from models.files import is_file, load_file
from models.problems import ModelProblem
from models.world import World
from models.worlds.note_worlds import FAIL, HOLD


@frozen
class Entry:
    """One world.  `members`: the least and the most; `usual`: the default.

    `given`: arguments of the builder that belong to this world.  `steps`: length of the
    shortest run that must break it, with the defaults.  `tier`: "quick" worlds end within
    seconds and are what `make check` runs; "long" ones take minutes; "deep" ones have more
    states than one machine is likely to search to the end: they are meant for Spark.
    """

    name: str
    build: str
    about: str
    members: tuple[int, int]
    usual: int
    expected: Literal["holds", "violated"] = "holds"
    steps: int | None = None
    tier: Literal["quick", "long", "deep"] = "quick"
    mutants: tuple[str, ...] = ()
    given: Mapping[str, Any] = Factory(dict)


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "two-phase-commit",
        "models.worlds.two_phase_commit:build",
        "resource managers commit together or not at all",
        members=(1, 12),
        usual=3,
        mutants=("one-vote-short",),
    ),
    Entry(
        "paxos-founding",
        "models.worlds.paxos_founding:build",
        "members agree on one founder by single-decree Paxos",
        members=(2, 3),
        usual=3,
        tier="long",
        mutants=("forgets-accepted", "promise-not-kept"),
    ),
    Entry(
        "dining-philosophers",
        "models.worlds.dining_philosophers:build",
        "each takes the left fork first: all hold one, none can eat",
        members=(2, 10),
        usual=5,
        expected="violated",
        steps=5,
    ),
    Entry(
        "dining-left-handed",
        "models.worlds.dining_philosophers:build",
        "one philosopher takes the right fork first: somebody can always go on",
        members=(2, 10),
        usual=5,
        given={"left_handed": 1},
    ),
    Entry(
        "token-ring",
        "models.worlds.token_ring:build",
        "a token goes round; whoever has it may enter",
        members=(2, 10),
        usual=4,
    ),
    Entry(
        "token-ring-lossy",
        "models.worlds.token_ring:build",
        "the token is lost, and in the end nobody can go on",
        members=(2, 10),
        usual=4,
        expected="violated",
        steps=5,
        given={"losses": 1},
    ),
    Entry(
        "token-ring-doubled",
        "models.worlds.token_ring:build",
        "the token is doubled, and two are inside",
        members=(2, 6),
        usual=4,
        expected="violated",
        steps=6,
        given={"duplicates": 1},
    ),
    Entry(
        "ring-election",
        "models.worlds.ring_election:build",
        "the largest number on a one-way ring becomes the leader",
        members=(2, 6),
        usual=4,
        mutants=("passes-all-on",),
    ),
    Entry(
        "alternating-bit",
        "models.worlds.alternating_bit:build",
        "every item arrives once over a link that loses",
        members=(2, 2),
        usual=2,
    ),
    Entry(
        "alternating-bit-overtaken",
        "models.worlds.alternating_bit:build",
        "frames overtake one another: an old one counts as new",
        members=(2, 2),
        usual=2,
        expected="violated",
        steps=7,
        given={"overtaking": True},
    ),
    Entry(
        "durable-vote",
        "models.worlds.durable_vote:build",
        "a vote survives a crash, so nobody votes twice",
        members=(2, 4),
        usual=3,
        mutants=("no-persist", "answer-first"),
    ),
    Entry(
        "durable-vote-split",
        "models.worlds.durable_vote:build",
        "a partition lets only one side elect",
        members=(2, 4),
        usual=3,
        given={"partitions": 1},
    ),
    Entry(
        "durable-vote-wiped",
        "models.worlds.durable_vote:build",
        "a lost disk forgets a vote, and two lead",
        members=(3, 4),
        usual=3,
        expected="violated",
        steps=9,
        given={"wipes": 1},
    ),
)


ENTRIES += tuple(
    Entry(
        row.name,
        "models.worlds.note:build",
        row.about,
        members=(2, 5),
        usual=row.members,
        expected=row.expected,
        steps=row.steps,
        mutants=row.mutants,
        given=row.given,
    )
    for row in (*HOLD, *FAIL)
)


REGISTER = "models.worlds.chain_register:build"

ENTRIES += (
    Entry(
        "chain-register",
        REGISTER,
        "the electors of a view choose one successor",
        members=(2, 3),
        usual=3,
        tier="long",
        mutants=("promise-not-persisted", "accepted-not-honoured", "minority"),
    ),
    Entry(
        "chain-register-observer",
        REGISTER,
        "a member that is no elector proposes, crashes, and proposes another view",
        members=(3, 3),
        usual=3,
        tier="long",
        mutants=("ballots-not-persisted",),
        given={"observer": True},
    ),
    Entry(
        "chain-register-wiped",
        REGISTER,
        "an elector's disk is lost, and with it what it promised",
        members=(3, 3),
        usual=3,
        tier="long",
        mutants=("stranger-votes",),
        given={"wiped": True},
    ),
    Entry(
        "chain-register-founding",
        REGISTER,
        "the configured electors choose the first view",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("accepted-not-honoured",),
        given={"founding": True},
    ),
)


JOIN = "models.worlds.join:build"
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

ENTRIES += (
    Entry(
        "join",
        JOIN,
        "the view chain: founded, written to, closed, restarted, through a crash and a partition",
        members=(2, 3),
        usual=3,
        tier="long",
        # A mark does not choose where there is none: that takes two crashes.
        mutants=tuple(name for name in JOIN_MUTANTS if name != "mark-chooses"),
        given={
            "reaches": (
                "FOUND",
                "CHANGE",
                "RESTART",
                "closed and restarted",
                "a member that was given up is active again",
            )
        },
    ),
    Entry(
        "join-two",
        JOIN,
        "two members, both propose, either crashes",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=(*JOIN_MUTANTS, *DUTIES),
    ),
    Entry(
        "join-votes",
        JOIN,
        "two members choose their views by votes, in up to two rounds",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("electors-differ",),
        given={"register": "votes", "rounds": 2, "crashes": 0, "partitions": 0},
    ),
    Entry(
        "join-votes-crash",
        JOIN,
        "two members choose their views by votes, and either crashes",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("disk-restored",),
        given={"register": "votes"},
    ),
    Entry(
        "join-rivals",
        JOIN,
        "three members, two of them propose at the same time",
        members=(3, 3),
        usual=3,
        tier="long",
        given={
            "proposers": 2,
            "is_patient": False,
            "crashes": 0,
            "partitions": 0,
            "views": 2,
            "frames": 0,
            "reaches": ("FOUND", "CHANGE"),
        },
    ),
    Entry(
        "join-failed",
        JOIN,
        "I6, R3: two crashes; after total failure nobody goes on without the operator's mark",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("mark-chooses", "stale-source", "change-after-total-failure"),
        given={
            "crashes": 2,
            "partitions": 0,
            "automatic": False,
            "marks": True,
            "proposers": 1,
            "closes": False,
        },
    ),
    Entry(
        "join-transient",
        JOIN,
        "a member without a store: another one each time it is started",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("transient-keeps-its-id",),
        given={
            "crashes": 2,
            "partitions": 0,
            "transient": ("b",),
            "proposers": 1,
            "views": 2,
            "closes": False,
            "reaches": ("FOUND", "RESTART"),
        },
    ),
    Entry(
        "join-lone",
        JOIN,
        "N = 1 with an outside register: one member goes on alone, also in an update",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("unfinished-counts",),
        given={"wait_for": 1, "partitions": 0, "closes": False},
    ),
    Entry(
        "join-options",
        JOIN,
        "I2: members whose options differ are never active together",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("options-not-compared",),
        given={
            "crashes": 0,
            "partitions": 0,
            "other_options": ("b",),
            "frames": 0,
            "reaches": (),
        },
    ),
    Entry(
        "join-wiped",
        JOIN,
        "I3: a founder loses its disk and looks like a new one; no second cluster is founded",
        members=(3, 3),
        usual=3,
        tier="long",
        mutants=("found-by-majority", "later-view-not-told"),
        given={
            "register": "votes",
            "partitions": 0,
            "wiped": "b",
            "is_patient": False,
            "views": 1,
            "frames": 0,
            "closes": False,
            "suspects": False,
            "proposers": 2,
            "spared": (),
            "reaches": ("FOUND",),
        },
    ),
)

_CALM = {"crashes": 0, "partitions": 0, "closes": False}
_LIVE = {**_CALM, "suspects": False, "frames": 0, "greets": True, "live": True}
_NO_FAULT = {**_CALM, "suspects": False, "frames": 0, "is_patient": False, "greets": True}

ENTRIES += (
    Entry(
        "join-newcomers",
        JOIN,
        "J1: two newcomers join one running member, one after the other or both at once",
        members=(3, 3),
        usual=3,
        tier="long",
        given={
            **_NO_FAULT,
            "frames": 1,
            "electors": "a",
            "wait_for": 1,
            "reaches": ("FOUND", "CHANGE", "a newcomer is active", "two newcomers at once"),
        },
    ),
    Entry(
        "join-founders",
        JOIN,
        "I1: more members are waited for than there are electors",
        members=(3, 3),
        usual=3,
        given={**_NO_FAULT, "electors": "ab", "wait_for": 3, "views": 2, "reaches": ("FOUND",)},
    ),
    Entry(
        "join-leave",
        JOIN,
        "a member leaves, and the others go on; it stays until they know",
        members=(2, 3),
        usual=3,
        tier="long",
        given={
            **_CALM,
            "leaves": "a",
            "reaches": ("FOUND", "CHANGE", "a member has left"),
        },
    ),
    Entry(
        "join-last-store",
        JOIN,
        "the only member with a store may not leave one that has none; nobody stays frozen",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("leave-waits",),
        given={
            **_LIVE,
            "beats": False,
            "leaves": "a",
            "transient": ("b",),
            "views": 2,
            "reaches": ("FOUND",),
        },
    ),
    Entry(
        "join-mixed",
        JOIN,
        "I7: restarted from one clean store, with a dirty and an empty one to update; a crash",
        members=(3, 3),
        usual=3,
        tier="long",
        given={
            **_NO_FAULT,
            "greets": False,
            "crashes": 1,
            "scene": "mixed",
            "views": 4,
            "reaches": ("RESTART", "a dirty and an empty store are updated"),
        },
    ),
    Entry(
        "join-lost-disk",
        JOIN,
        "after total failure one member has lost its disk: a stranger, until a view takes it in",
        members=(3, 3),
        usual=3,
        tier="long",
        given={
            **_NO_FAULT,
            "suspects": True,
            "scene": "wiped",
            "reaches": ("RESTART", "CHANGE"),
        },
    ),
    Entry(
        "join-apart",
        JOIN,
        "3.5: a member hears of the others at times only, and the others may go on without it",
        members=(3, 3),
        usual=3,
        tier="long",
        mutants=("serves-unheard",),
        given={
            **_CALM,
            "register": "votes",
            "scene": "founded",
            "hears": "b",
            "views": 2,
            "frames": 0,
            "is_patient": False,
            "reaches": ("FOUND", "CHANGE", "a member is suspended"),
        },
    ),
    Entry(
        "join-foreign",
        JOIN,
        "J3: a store of another cluster, ready in its own view, says hello",
        members=(3, 3),
        usual=3,
        tier="long",
        given={
            **_NO_FAULT,
            "scene": "foreign",
            "electors": "ab",
            "foreign": "c",
            "reaches": ("RESTART", "a member stops for good"),
        },
    ),
    Entry(
        "join-branch",
        JOIN,
        "J3: a store of a branch of this cluster, and further on, says hello",
        members=(3, 3),
        usual=3,
        tier="long",
        given={
            **_NO_FAULT,
            "scene": "branch",
            "electors": "ab",
            "foreign": "c",
            "reaches": ("RESTART", "a member stops for good"),
        },
    ),
    Entry(
        "join-long-ago",
        JOIN,
        "J3: a store whose tip the others have forgotten says hello",
        members=(3, 3),
        usual=3,
        tier="long",
        given={
            **_NO_FAULT,
            "scene": "long-ago",
            "electors": "ab",
            "foreign": "c",
            "views": 5,
            "reaches": ("RESTART", "a member stops for good"),
        },
    ),
    Entry(
        "join-not-clean",
        JOIN,
        "I6: closed in order, and no disk is whole",
        members=(2, 2),
        usual=2,
        given={**_NO_FAULT, "scene": "half-updated", "reaches": ()},
    ),
    Entry(
        "join-other-options",
        JOIN,
        "I2: restarted after total failure with options that differ",
        members=(2, 2),
        usual=2,
        given={**_NO_FAULT, "scene": "stopped", "other_options": ("b",), "reaches": ()},
    ),
    Entry(
        "join-reopened-options",
        JOIN,
        "I2: restarted after an orderly shutdown with options that differ",
        members=(2, 2),
        usual=2,
        given={**_NO_FAULT, "scene": "closed", "other_options": ("b",), "reaches": ()},
    ),
    Entry(
        "join-changed-options",
        JOIN,
        "I2: a member is started again with other options before the view that it agreed to",
        members=(3, 3),
        usual=3,
        tier="long",
        mutants=("ready-with-other-options",),
        given={
            **_NO_FAULT,
            "scene": "founded",
            "other_options": ("b",),
            "proposers": 2,
            "views": 2,
            "reaches": ("CHANGE", "a member stops for good"),
        },
    ),
    Entry(
        "join-newcomer-options",
        JOIN,
        "I2: a newcomer with other options stops, and disturbs nobody",
        members=(3, 3),
        usual=3,
        tier="long",
        given={
            **_NO_FAULT,
            "scene": "closed",
            "electors": "ab",
            "other_options": ("c",),
            "reaches": ("RESTART", "a member stops for good"),
        },
    ),
)

ENTRIES += (
    Entry(
        "join-pick",
        "models.worlds.join_pick:build",
        "R2, R3: whatever the recovery tool calls the latest has every committed frame",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("picks-the-highest", "picks-without-members"),
        given={
            "register": "votes",
            "crashes": 2,
            "partitions": 0,
            "proposers": 1,
            "automatic": False,
            "marks": True,
            "leaves": "b",
        },
    ),
    Entry(
        "join-pick-some",
        "models.worlds.join_pick:build",
        "R2: the same where only some of three stores are found",
        members=(3, 3),
        usual=3,
        tier="long",
        mutants=("picks-without-members", "picks-without-electors"),
        given={
            "register": "votes",
            "crashes": 0,
            "proposers": 1,
            "views": 2,
            "leaves": "b",
            "closes": False,
            "reaches": ("FOUND", "CHANGE"),
        },
    ),
)

ENTRIES += (
    Entry(
        "join-live",
        JOIN,
        "P1, P4: started at any moment, and through a crash, all can become active again",
        members=(2, 3),
        usual=3,
        tier="long",
        given={**_LIVE, "crashes": 1, "hurries": (), "reaches": ("FOUND",)},
    ),
    Entry(
        "join-live-votes",
        JOIN,
        "P1, P4: the same with the members' own votes",
        members=(2, 2),
        usual=2,
        tier="long",
        given={
            **_LIVE,
            "crashes": 1,
            "register": "votes",
            "rounds": 2,
            "reaches": ("FOUND", "CHANGE"),
        },
    ),
    Entry(
        "join-live-closed",
        JOIN,
        "P2: restarted after an orderly shutdown, and through a crash, all can become active",
        members=(2, 2),
        usual=2,
        tier="long",
        given={
            **_LIVE,
            "crashes": 1,
            "scene": "closed",
            "views": 5,
            "reaches": ("RESTART", "CHANGE", "closed and restarted"),
        },
    ),
    Entry(
        "join-live-leave",
        JOIN,
        "the one that orders the frames leaves while it writes, and the other goes on",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("starts-where-nobody-stays",),
        given={
            **_LIVE,
            "frames": 1,
            "leaves": "a",
            "reaches": ("FOUND", "a member has left"),
        },
    ),
    Entry(
        "join-copied",
        JOIN,
        "3.6: a member whose disk is a copy of another one's says hello, and disturbs nobody",
        members=(3, 3),
        usual=3,
        tier="long",
        mutants=("copy-taken-in",),
        given={
            **_LIVE,
            "beats": False,
            "is_patient": False,
            "scene": "copied",
            "electors": "ab",
            "foreign": "c",
            "views": 4,
            "reaches": ("RESTART", "a member stops for good"),
        },
    ),
    Entry(
        "join-replaced",
        JOIN,
        "in a view that nobody was ready in yet, a member is back with another store",
        members=(3, 3),
        usual=3,
        tier="long",
        mutants=("replaced-not-noticed",),
        given={
            **_LIVE,
            "hurries": (),
            "scene": "replaced",
            "views": 4,
            "reaches": ("CHANGE",),
        },
    ),
    Entry(
        "join-live-mixed",
        JOIN,
        "P2: from one clean, one dirty and one empty store, started at any moment",
        members=(3, 3),
        usual=3,
        tier="long",
        given={
            **_LIVE,
            "scene": "mixed",
            "hurries": (),
            "views": 4,
            "reaches": ("RESTART", "a dirty and an empty store are updated"),
        },
    ),
)

ENTRIES += (
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


def entry(name: str) -> Entry:
    """Return the row of that name; an unknown one is answered with the nearest."""
    for item in ENTRIES:
        if item.name == name:
            return item
    from difflib import get_close_matches

    near = get_close_matches(name, [item.name for item in ENTRIES], n=1)
    hint = f"did you mean {near[0]}?  " if near else ""
    raise ModelProblem(
        f"there is no world called {name!r}",
        next=f"{hint}joinproto models lists them; a file of your own ends in .py or has a /",
    )


def parameters(item: Entry) -> dict[str, inspect.Parameter]:
    """Return what the world can be told: its builder's parameters that are not keyword-only."""
    found = inspect.signature(_builder(item)).parameters
    return {name: value for name, value in found.items() if value.kind is not value.KEYWORD_ONLY}


def _builder(item: Entry) -> Any:
    module, _, attribute = item.build.partition(":")
    return getattr(import_module(module), attribute)


def load_world(name: str, **options: Any) -> World:
    """Return the world of that name, built with `options`; raises `ModelProblem`.

    `name` may also be a file of one's own: it ends in `.py`, or holds a `/`.
    """
    if is_file(name):
        return load_file(name, options).world
    item = entry(name)
    options = {key: value for key, value in options.items() if value is not None}
    allowed = parameters(item)
    for key in options:
        if key not in allowed:
            takes = ", ".join(f"--{word.replace('_', '-')}" for word in allowed)
            raise ModelProblem(
                f"world {name} takes no --{key.replace('_', '-')}", next=f"it takes {takes}"
            )
    options.setdefault("members", item.usual)
    least, most = item.members
    if not least <= options["members"] <= most:
        raise ModelProblem(
            f"world {name} cannot have {options['members']} members",
            next=f"give it {least} to {most}",
        )
    mutant = options.get("mutant")
    if mutant is not None and mutant not in item.mutants:
        raise ModelProblem(
            f"world {name} has no mutant {mutant!r}",
            next="it has " + (", ".join(item.mutants) or "none"),
        )
    world: World = _builder(item)(**{**item.given, **options})
    expected: Any = "violated" if mutant else item.expected
    return evolve(world, name=item.name, expected=expected, source={**item.given, **options})
