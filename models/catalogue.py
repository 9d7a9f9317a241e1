"""Every world that ships: what it shows, for whom it is meant, how it must end.

A row names the function that builds the world; it is imported when it is asked for.  The
options of `joinproto check` (members, wait_for, crashes, ...) are the function's parameters.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from attrs import evolve

from models.entry import Entry, Family
from models.files import is_file, load_file
from models.loaded import Loaded
from models.options import converted, listed, words_of
from models.problems import ModelProblem
from models.world import World
from models.worlds import (
    join_entries,
    join_entries_deep,
    join_entries_live,
    join_entries_special,
)
from models.worlds.clusterer.entries import ENTRIES as CLUSTERER
from models.worlds.discovery.entries import ENTRIES as DISCOVERY
from models.worlds.fair.entries import ENTRIES as FAIR
from models.worlds.note_worlds import FAIL, HOLD
from models.worlds.reconcile.entries import ENTRIES as RECONCILE
from models.worlds.standby.entries import ENTRIES as STANDBY
from models.worlds.view_register_entries import ENTRIES as REGISTERS
from models.worlds.zen.entries import ENTRIES as ZEN

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


ENTRIES += (*HOLD, *FAIL)


REGISTER = Family("models.worlds.chain_register:build", members=3, tier="long")

ENTRIES += (
    REGISTER(
        "chain-register",
        "the electors of a view choose one successor",
        members=(2, 3, 3),
        mutants=("promise-not-persisted", "accepted-not-honoured", "minority"),
    ),
    REGISTER(
        "chain-register-observer",
        "a member that is not an elector proposes, crashes, and proposes another view",
        mutants=("ballots-not-persisted",),
        observer=True,
    ),
    REGISTER(
        "chain-register-wiped",
        "an elector's disk is lost, and with it what it promised",
        mutants=("stranger-votes",),
        wiped=True,
    ),
    REGISTER(
        "chain-register-founding",
        "the configured electors choose the first view",
        members=2,
        mutants=("accepted-not-honoured",),
        founding=True,
    ),
    REGISTER(
        "chain-register-found-with",
        "not all of the configured electors found the cluster, and others try as well",
        members=(4, 4, 5),
        mutants=("found-with-too-few",),
        founding=True,
        few=True,
        crashes=0,
    ),
)

ENTRIES += join_entries.ENTRIES + join_entries_special.ENTRIES
ENTRIES += join_entries_live.ENTRIES + join_entries_deep.ENTRIES
ENTRIES += CLUSTERER + DISCOVERY + FAIR + RECONCILE + REGISTERS + STANDBY + ZEN


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
    found = inspect.signature(builder(item)).parameters
    return {name: value for name, value in found.items() if value.kind is not value.KEYWORD_ONLY}


def builder(item: Entry) -> Any:
    """Return the function that builds the world."""
    module, _, attribute = item.build.partition(":")
    return getattr(import_module(module), attribute)


def load_world(name: str, **options: Any) -> World:
    """Return the world of that name, built with `options`; raises `ModelProblem`.

    `name` may also be a file of one's own: it ends in `.py`, or holds a `/`.
    """
    return load(name, options).world


def load(target: str, options: Mapping[str, Any]) -> Loaded:
    """Return the same with the way to it, for commands; options may be `Words`, or None."""
    options = {key: value for key, value in options.items() if value is not None}
    if is_file(target):
        return load_file(target, options)
    item = entry(target)
    options = converted(options, builder(item))
    has_sizes = "members" in parameters(item)
    return Loaded(
        _built(item, options),
        target,
        options,
        members=options.get("members", item.usual) if has_sizes else None,
        sized=(lambda size: _built(item, {**options, "members": size})) if has_sizes else None,
        least=item.members[0],
    )


def _built(item: Entry, options: Mapping[str, Any]) -> World:
    allowed = parameters(item)
    for key in options:
        if key not in allowed:
            raise ModelProblem(
                f"world {item.name} takes no {listed([key])}", next=f"it takes {listed(allowed)}"
            )
    least, most = item.members
    members = options.get("members", item.usual)
    if not least <= members <= most:
        raise ModelProblem(
            f"world {item.name} cannot have {members} members", next=f"give it {least} to {most}"
        )
    mutant = options.get("mutant")
    if mutant is not None and mutant not in item.mutants:
        raise ModelProblem(
            f"world {item.name} has no mutant {mutant!r}",
            next="it has " + (", ".join(item.mutants) or "none"),
        )
    source = {**item.given, "members": members, **options}
    try:
        world: World = builder(item)(**source)
    except (ValueError, TypeError) as error:
        raise ModelProblem(
            f"world {item.name} cannot be built with {shlex.join(words_of(options))}: {error}",
            next=f"joinproto models   lists what {item.name} takes",
        ) from error
    expected: Any = "violated" if mutant else item.expected
    return evolve(world, name=item.name, expected=expected, source=source)
