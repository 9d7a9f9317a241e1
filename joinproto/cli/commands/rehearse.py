"""The body of `joinproto recover rehearse`; the recovery tool itself imports no search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import click
from attrs import evolve

from joinproto.cli.commands.rehearse_standby import (
    EXIT_UNPROVEN,
    choices_text,
    loss_text,
    output_text,
    refuse_many,
    rehearse_brokers,
    require_judged,
    search_each,
)
from joinproto.cli.rehearse.disks import DiskScenario, scene_of
from joinproto.cli.rehearse.search import (
    AUTOMATIC,
    KINDS,
    Outcome,
    Start,
    choices,
    proposers,
    rehearse,
)
from joinproto.codec.json_form import filled, printed
from joinproto.errors import UsageProblem
from joinproto.recovery import schema
from joinproto.recovery.found import Format, Found
from joinproto.recovery.judgement import Judgement, result_of

SETS_SHOWN = 4


def rehearse_restart(
    judgement: Judgement, *, outside: bool, states_max: int, as_object: bool
) -> int:
    """Search the outcomes of each choice, print them, and return the exit code.

    The code is 0 if every outcome was searched whole and loses no data, otherwise `EXIT_UNPROVEN`.
    `outside`: an outside register chooses the views.  `states_max`: the limit of one search.

    Raises `UsageProblem` if these stores cannot be rehearsed.
    """
    if any(one.format is Format.STANDBY for one in judgement.stores):
        return rehearse_brokers(judgement, states_max=states_max, as_object=as_object)
    stores = _usable(judgement)
    scene = scene_of({one.member: one.record for one in stores if one.record is not None})
    search = partial(rehearse, scene, outside=outside, states_max=states_max)
    outcomes = search_each(choices(tuple(sorted(scene.disks))), search, as_object=as_object)
    is_sure = all(one.is_whole and not one.loses for one in outcomes)
    if as_object:
        click.echo(
            printed(evolve(result_of(judgement), rehearsal=tuple(map(_as_schema, outcomes))))
        )
    else:
        click.echo(_text(judgement, stores, scene, outcomes))
    return 0 if is_sure else EXIT_UNPROVEN


def _usable(judgement: Judgement) -> list[Found]:
    """Return the stores that can be started.

    Raises `JoinprotoError` if these stores cannot restart together, and `UsageProblem` if none
    belongs to a cluster, or if there are too many.
    """
    rows = judgement.pick.findings.rows
    require_judged(judgement, has_copy=any(row.is_copy or row.contradicts for row in rows))
    stores = [one for one in judgement.stores if one.record is not None and one.state.is_readable]
    if not any(one.record is not None and one.record.tip is not None for one in stores):
        raise UsageProblem(
            "no joinproto store here belongs to a cluster, so there is no restart to rehearse",
            next=judgement.next,
        )
    refuse_many(stores, "members", "events")
    return stores


# -- the output --------------------------------------------------------------------------------


def _text(
    judgement: Judgement, stores: Sequence[Found], scene: DiskScenario, outcomes: Sequence[Outcome]
) -> str:
    lines = choices_text([(one.choice.name, one.loses, _lines(one)) for one in outcomes])
    automatic = f"  ({AUTOMATIC}: no mark, and total_failure = automatic in each configuration)"
    summary = loss_text(
        outcomes, thing="frame", kept="acknowledged", separator=", ", events="events"
    )
    absent = sorted(_absent(scene, stores))
    meanwhile = "a process that crashes, or a client that writes, meanwhile"
    notes = [f"{meanwhile}; `joinproto check join-failed` searches these"]
    if absent:
        notes.insert(0, f"{', '.join(absent)}: their stores are not here, so they do not start")
    proposing = proposers(scene)
    if len(proposing) < len(scene.disks):
        notes.append(f"a next view that is proposed by a member other than {', '.join(proposing)}")
    return output_text(judgement, f"{lines}\n{automatic}", summary, notes)


def _absent(scene: DiskScenario, stores: Sequence[Found]) -> set[str]:
    tip = scene.chain.tip
    stores_of_tip = set() if tip is None else tip.electors | tip.members
    return {store.member for store in stores_of_tip} - {one.member for one in stores}


def _lines(outcome: Outcome) -> list[str]:
    """Return the possible outcomes of the restart, one line each."""
    lines = list(_starts(outcome))
    # Every restart waits first for members that have not answered.  Print the wait only if no
    # restart gets past it.
    if outcome.waits and not outcome.starts:
        lines += [f"waits ({case})" for case in outcome.waits]
    if not lines:
        lines.append("no member can begin")
    lines += [f"{name} can stop for good: the others refuse it" for name in outcome.aborts]
    if not outcome.is_whole:
        lines.append(
            f"other outcomes are possible: the search was stopped after {outcome.states:,} states"
        )
    return lines


def _starts(outcome: Outcome) -> Iterator[str]:
    """Yield one line for each place where the next view can begin, with its possible members."""
    places: dict[tuple[str, int | None, bool], list[Start]] = {}
    for start in outcome.starts:
        # After a stopped search, the view may be served in the part that was not searched.
        served = start.is_served or not outcome.is_whole
        places.setdefault((start.kind, start.frame, served), []).append(start)
    for (kind, frame, served), starts in places.items():
        place = "the common beginning" if frame is None else f"frame {frame}"
        sets = [" ".join(start.members) for start in starts]
        shown = " / ".join(sets[:SETS_SHOWN])
        more = f" / {len(sets) - SETS_SHOWN} more" if len(sets) > SETS_SHOWN else ""
        yield f"{KINDS[kind]} from {place}: {shown}{more}{'' if served else ', never served'}"


def _as_schema(outcome: Outcome) -> schema.Rehearsed:
    starts = tuple(
        filled(schema.Start, one, kind=one.kind.lower(), seq=one.frame) for one in outcome.starts
    )
    choice = outcome.choice
    return filled(
        schema.Rehearsed, outcome, choice=choice.name, marks=tuple(choice.marks), starts=starts
    )
