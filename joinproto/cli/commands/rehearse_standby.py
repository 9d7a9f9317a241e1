"""`joinproto recover rehearse` for stores of hot standby: the next primary, and lost messages.

The first half also makes the output for stores of members (`rehearse.py`).

Source: hot standby, H3, H4, H10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import click
from attrs import evolve

from joinproto.apps.standby.keeping.form import BrokerRecord
from joinproto.cli.rehearse.standby import (
    ConfirmedMessage,
    Outcome,
    StandbyScenario,
    Start,
    choices,
    rehearse,
    scene_of,
)
from joinproto.codec.json_form import filled, printed
from joinproto.errors import JoinprotoError, UsageProblem
from joinproto.pick.table import Verdict
from joinproto.recovery import schema, show
from joinproto.recovery.brokers import chain_of, kept_of
from joinproto.recovery.judgement import Judgement, result_of
from joinproto.recovery.words import and_
from joinproto.standby.broker import Mark

# The output of `joinproto recover rehearse` that is common to members and brokers.

EXIT_UNPROVEN = 5
"""The exit code if the search does not show that all data are kept."""
STORES_MAX = 5
REFUSED = (Verdict.DIFFERENT_CLUSTERS, Verdict.IN_USE, Verdict.DIVERGED)
HEAD = "before the start"


def require_judged(judgement: Judgement, *, has_copy: bool) -> None:
    """Raise an error if these stores cannot restart together.  `has_copy`: one is a copy."""
    if judgement.verdict in REFUSED or has_copy:
        raise JoinprotoError(
            judgement.sentence, next=judgement.next, code=judgement.code or EXIT_UNPROVEN
        )


def choices_text(choices: Sequence[tuple[str, bool, Sequence[str]]]) -> str:
    """Return a table: each choice's name, whether it can lose a message, and its outcomes."""
    width = max(len(HEAD), *(len(name) for name, _, _ in choices))
    rows = [f"  {HEAD.ljust(width)}  possible outcomes"]
    for choice, loses, lines in choices:
        names = [choice, *[""] * len(lines)]
        rows += [
            f"{'!' if loses else ' '} {name.ljust(width)}  {line}"
            for name, line in zip(names, lines, strict=False)
        ]
    return "\n".join(rows)


def loss_text(
    outcomes: Sequence[Any], *, thing: str, kept: str, separator: str, events: str
) -> str:
    """Return the sentence that says whether a `thing` that may have been `kept` can be lost.

    `events`: the events whose orders were searched.
    """
    losing = [one.choice.name for one in outcomes if one.loses]
    if losing:
        return f"A {thing} that may have been {kept} can be lost: {separator.join(losing)}."
    states = sum(one.states for one in outcomes)
    if not all(one.is_whole for one in outcomes):
        return (
            f"Not all states were searched. In the {states:,} states that were, no {kept} {thing}"
            " is lost; raise --max-states to search the rest."
        )
    return (
        f"With each of these choices, no {thing} that may have been {kept} is lost, in any order of"
        f" {events} ({states:,} states)."
    )


def search_each(
    choices: Iterable[Any], search: Callable[[Any], Any], *, as_object: bool
) -> list[Any]:
    """Return the outcome of each choice; unless `as_object`, say which choice is searched."""
    outcomes = []
    for choice in choices:
        if not as_object:
            click.echo(f"searching: {choice.name}", err=True)
        outcomes.append(search(choice))
    return outcomes


def output_text(judgement: Judgement, choices: str, summary: str, notes: Iterable[str]) -> str:
    """Return the whole output; `notes`: the events and messages that the search left out."""
    left_out = ["not searched", *(show.wrapped(note, "  - ", "    ") for note in notes)]
    parts = [
        show.table(judgement.stores, judgement.pick.latest),
        choices,
        show.wrapped(summary),
        "\n".join(left_out),
        show.next_text(judgement.next),
    ]
    return show.clean("\n\n".join(parts))


def refuse_many(stores: Sequence[Any], members: str, events: str) -> None:
    """Raise `UsageProblem` if there are too many stores for a search."""
    if len(stores) > STORES_MAX:
        raise UsageProblem(
            f"{len(stores)} stores: more than {STORES_MAX} {members} have too many orders of"
            f" {events}",
            next=f"give the stores of the {members} that you would start first",
        )


def rehearse_brokers(judgement: Judgement, *, states_max: int, as_object: bool) -> int:
    """Search the outcomes of each choice, print them, and return the exit code."""
    scene = scene_of(_usable(judgement), chain_of(judgement.stores))
    search = partial(rehearse, scene, states_max=states_max)
    outcomes = search_each(choices(scene), search, as_object=as_object)
    if as_object:
        rehearsal = tuple(_as_schema(one, _unreadable(judgement)) for one in outcomes)
        click.echo(printed(evolve(result_of(judgement), rehearsal=rehearsal)))
    else:
        click.echo(_text(judgement, scene, outcomes))
    # An absent broker may have been the last primary, with messages that no store here has.
    is_sure = not judgement.missing and all(one.is_whole and not one.loses for one in outcomes)
    return 0 if is_sure else EXIT_UNPROVEN


def _usable(judgement: Judgement) -> list[BrokerRecord]:
    """Return the stores that can be started.

    Raises `JoinprotoError` if these stores cannot restart together, and `UsageProblem` if none is
    of a broker that followed a primary, or if there are more than `STORES_MAX`.
    """
    found = [kept for one in judgement.stores if (kept := kept_of(one)) is not None]
    has_copy = len({kept.broker for kept in found}) < len(found)
    require_judged(judgement, has_copy=has_copy)
    if all(kept.mark is Mark.EMPTY for kept in found):
        raise UsageProblem(
            "no store here is of a broker that followed a primary, so there is no restart to"
            " rehearse",
            next=judgement.next,
        )
    refuse_many(found, "brokers", "starts")
    return found


def _unreadable(judgement: Judgement) -> list[str]:
    """Return the brokers whose stores cannot be read, so that they refuse to run."""
    return [one.member or one.name for one in judgement.stores if kept_of(one) is None]


# -- as text -------------------------------------------------------------------------------------


def _text(judgement: Judgement, scene: StandbyScenario, outcomes: Sequence[Outcome]) -> str:
    rows = choices_text([(one.choice.name, one.loses, [*_lines(one)]) for one in outcomes])
    known = "As far as these stores know: " if judgement.missing else ""
    summary = loss_text(
        outcomes, thing="message", kept="confirmed", separator="; ", events="starts"
    )
    return output_text(judgement, rows, known + summary, _not_searched(scene))


def _lines(outcome: Outcome) -> Iterator[str]:
    """Yield the possible outcomes of the restart, one line each."""
    for start in outcome.starts:
        yield _promotion(start)
        for one in start.lost:
            yield f"  loses {_confirmed(one)}"
    if outcome.run:
        yield f"  shortest run that loses a message: {outcome.run}"
    if not outcome.starts:
        waits = "".join(f", waits for {one}" for one in outcome.waits)
        yield f"no broker serves{waits}"
    serving = {start.primary for start in outcome.starts}
    for refused in outcome.refused:
        # Whether this broker serves depends on which other brokers are up.
        word = "or " if refused.name in serving else ""
        yield f"{word}{refused.name} refuses ({refused.rule}): {refused.why}"
    if not outcome.is_whole:
        yield f"other outcomes are possible: the search was stopped after {outcome.states:,} states"


def _promotion(start: Start) -> str:
    primary = start.primary
    if not start.is_served:
        return f"{primary} never serves"
    backups = [name for name in start.members if name != primary]
    if not backups:
        return f"{primary} serves"
    have = "has" if len(backups) == 1 else "have"
    return (
        f"{primary} serves when {and_(backups)} {have} caught up, or after {primary}'s time limit"
        " (H8)"
    )


def _confirmed(one: ConfirmedMessage) -> str:
    return f"the messages that {one.primary} confirmed in generation {one.generation}"


def _not_searched(scene: StandbyScenario) -> Iterator[str]:
    absent = sorted(scene.brokers - {*scene.names})
    if absent:
        yield (
            f"messages that only {and_(absent)} may have: a broker without a store that can be read"
            " here does not start in this search"
        )
    yield "messages that are not durable: they are gone"
    yield (
        "a broker that dies, or a second promotion, meanwhile; `joinproto check standby-total`"
        " searches these"
    )
    if scene.is_built_in:
        yield "how the members of the chain of views form a view"


# -- as JSON -------------------------------------------------------------------------------------


def _as_schema(outcome: Outcome, broken: Sequence[str]) -> schema.Rehearsed:
    return filled(
        schema.Rehearsed,
        outcome,
        choice=outcome.choice.name,
        marks=outcome.choice.marks,
        starts=tuple(
            filled(schema.Start, one, kind="promotion", seq=None, loses=bool(one.lost))
            for one in outcome.starts
        ),
        aborts=tuple(broken),
        refuses=tuple(filled(schema.Refusal, one, member=one.name) for one in outcome.refused),
        lost=tuple(_confirmed(one) for start in outcome.starts for one in start.lost),
    )
