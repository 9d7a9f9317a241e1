"""`joinproto recover rehearse` for stores of hot standby: the next primary, and what is lost.

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
    Confirmed,
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
from joinproto.recovery.judgement import Judgement, told
from joinproto.standby.broker import Mark

# The output of `joinproto recover rehearse` that is common to members and brokers.

UNPROVEN = 5
STORES_MAX = 5
REFUSED = (Verdict.DIFFERENT_CLUSTERS, Verdict.IN_USE, Verdict.DIVERGED)
HEAD = "before the start"


def require_judged(judgement: Judgement, *, is_twice: bool) -> None:
    """Raise an error if these stores cannot restart together.  `is_twice`: one store is a copy."""
    if judgement.verdict in REFUSED or is_twice:
        raise JoinprotoError(judgement.sentence, next=judgement.next, code=judgement.code or 5)


def choices_text(choices: Sequence[tuple[str, bool, Sequence[str]]]) -> str:
    """Return a table: each choice's name, whether it can lose a message, and its outcomes."""
    width = max(len(HEAD), *(len(name) for name, _, _ in choices))
    rows = [f"  {HEAD.ljust(width)}  what can follow"]
    for name, loses, lines in choices:
        names = [name, *[""] * len(lines)]
        rows += [
            f"{'!' if loses else ' '} {left.ljust(width)}  {line}"
            for left, line in zip(names, lines, strict=False)
        ]
    return "\n".join(rows)


def sentence(outcomes: Sequence[Any], *, thing: str, kept: str, separator: str, of: str) -> str:
    """Return the sentence that says whether a `thing` that may have been `kept` can be lost.

    `of`: the events whose orders were searched.
    """
    losing = [one.choice.name for one in outcomes if one.loses]
    if losing:
        return f"A {thing} that may have been {kept} can be lost: {separator.join(losing)}."
    states = sum(one.states for one in outcomes)
    if not all(one.is_whole for one in outcomes):
        return f"Not all was searched; in {states:,} states no {kept} {thing} is lost."
    return (
        f"Whatever is chosen, no {thing} that may have been {kept} is lost, in any order of {of}"
        f" ({states:,} states)."
    )


def searched(choices: Iterable[Any], search: Callable[[Any], Any], *, as_object: bool) -> list[Any]:
    """Return the outcome of each choice; unless `as_object`, say which choice is searched."""
    outcomes = []
    for choice in choices:
        if not as_object:
            click.echo(f"searching: {choice.name}", err=True)
        outcomes.append(search(choice))
    return outcomes


def page(judgement: Judgement, choices: str, summary: str, notes: Iterable[str]) -> str:
    """Return the whole text; `notes`: the parts that the search left out."""
    left = ["not searched", *(show.wrapped(note, "  - ", "    ") for note in notes)]
    parts = [
        show.table(judgement.stores, judgement.pick.latest),
        choices,
        show.wrapped(summary),
        "\n".join(left),
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
    outcomes = searched(choices(scene), search, as_object=as_object)
    if as_object:
        rehearsal = tuple(_as_schema(one, _broken(judgement)) for one in outcomes)
        click.echo(printed(evolve(told(judgement), rehearsal=rehearsal)))
    else:
        click.echo(_text(judgement, scene, outcomes))
    # An absent broker may have been the last primary, with messages that no store here has.
    is_sure = not judgement.missing and all(one.is_whole and not one.loses for one in outcomes)
    return 0 if is_sure else UNPROVEN


def _usable(judgement: Judgement) -> list[BrokerRecord]:
    """Return the stores that can be started; raises an error if there is nothing to rehearse."""
    found = [kept for one in judgement.stores if (kept := kept_of(one)) is not None]
    is_twice = len({kept.broker for kept in found}) < len(found)
    require_judged(judgement, is_twice=is_twice)
    if all(kept.mark is Mark.EMPTY for kept in found):
        raise UsageProblem(
            "no store here is of a broker that followed a primary, so there is no restart to"
            " rehearse",
            next=judgement.next,
        )
    refuse_many(found, "brokers", "starts")
    return found


def _broken(judgement: Judgement) -> list[str]:
    """Return the brokers that will refuse to run, because their stores cannot be read."""
    return [one.member or one.name for one in judgement.stores if kept_of(one) is None]


# -- as text -------------------------------------------------------------------------------------


def _text(judgement: Judgement, scene: StandbyScenario, outcomes: Sequence[Outcome]) -> str:
    rows = choices_text([(one.choice.name, one.loses, [*_lines(one)]) for one in outcomes])
    known = "As far as these stores know: " if judgement.missing else ""
    summary = sentence(outcomes, thing="message", kept="confirmed", separator="; ", of="starts")
    return page(judgement, rows, known + summary, _not_searched(scene))


def _lines(outcome: Outcome) -> Iterator[str]:
    """Yield the ways in which the restart can go, one line each."""
    for start in outcome.starts:
        yield _promotion(start)
        for one in start.lost:
            yield f"  loses {_what(one)}"
    if outcome.run:
        yield f"  so: {outcome.run}"
    if not outcome.starts:
        waits = "".join(f", waits for {one}" for one in outcome.waits)
        yield f"no broker serves{waits}"
    serving = {start.primary for start in outcome.starts}
    for refused in outcome.refused:
        # Whether this broker serves depends on which other brokers are up.
        word = "or " if refused.name in serving else ""
        yield f"{word}{refused.name} refuses ({refused.rule}): {refused.why}"
    if not outcome.is_whole:
        yield f"more: the search was stopped after {outcome.states:,} states"


def _promotion(start: Start) -> str:
    backups = ", ".join(name for name in start.members if name != start.primary)
    waits = f", once {backups} came or its patience ends (H8)" if backups else ""
    return f"{start.primary} serves{waits}" if start.is_served else f"{start.primary} never serves"


def _what(one: Confirmed) -> str:
    return f"what {one.primary} confirmed in generation {one.generation}"


def _not_searched(scene: StandbyScenario) -> Iterator[str]:
    absent = sorted(scene.brokers - {*scene.names})
    if absent:
        yield (
            f"what only {', '.join(absent)} may have: without a store that can be read here, no"
            " broker starts"
        )
    yield "messages that are not durable: they are gone"
    yield "that a broker dies, or another is promoted, meanwhile: joinproto check standby-total"
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
        lost=tuple(_what(one) for start in outcome.starts for one in start.lost),
    )
