"""Search one world as a command line asks: without the engine, with it, or on Spark."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from attrs import evolve, frozen

from joinproto.check.direct import check_direct, is_direct
from joinproto.check.direct_large import check_own
from joinproto.check.folders import answers_file
from joinproto.check.fresh import Fresh
from joinproto.check.loaded import Loaded
from joinproto.check.plain import SHIPPED, Ends, check_small, own_bounds
from joinproto.check.report import Report
from joinproto.cli.interrupting import Interrupt, interruptible
from joinproto.cli.output import error_stream, is_terminal
from joinproto.cli.show.amounts import size
from joinproto.errors import LimitReached

if TYPE_CHECKING:
    from joinproto.check.engine.checkpoint import Checkpoint
    from joinproto.check.engine.tables.answers import Answers
    from joinproto.cli.show.progress import Progress
    from spark_explore.places import Place

WORKERS_MAX = 16
"""The most workers that search by default."""
SECONDS_REPORTED_MIN = 2.0
"""A shorter estimate or wait is not reported: it is over before a person has read about it."""


@frozen(kw_only=True)
class Settings:
    """The settings of a search, for any world.  `limits`: as `loading.limits` returns them."""

    as_json: bool
    symmetry: bool
    strict: bool
    expect: Literal["holds", "violated"] | None
    limits: Mapping[str, Any]
    trace: Path | None
    out: Place | None
    estimate: bool | None
    engine: str
    master: str | None
    resume: bool
    states: bool
    edges: bool
    cache: bool
    verify: bool
    workers: int | None
    checkpoint: Path | None = None
    witness: str | None = None
    reports: tuple[Path, ...] = ()
    github: bool = False

    @property
    def memory_bytes(self) -> int | None:
        """Return the memory limit of the whole process; None if there is no limit."""
        limit: int | None = self.limits["memory_max_bytes"]
        return limit

    @property
    def wants_engine(self) -> bool:
        """Return whether a setting needs a search by the engine."""
        keeps_results = self.out is not None or self.checkpoint is not None
        return self.engine == "spark" or self.symmetry or keeps_results

    def worker_count(self) -> int:
        """Return the number of workers: the given number, or one for each core, at most 16."""
        from joinproto.check.engine.rows.threads import cores

        return self.workers or min(cores(), WORKERS_MAX)


def searched(loaded: Loaded, settings: Settings) -> tuple[Report, float]:
    """Return the report of a search of the world, and the seconds spent compiling."""
    if loaded.file is None:
        return _searched(loaded, settings)
    if settings.engine == "spark" or not settings.verify:
        why = "--no-verify" if not settings.verify else "not on Spark"
        report, seconds = _searched(loaded, settings)
    else:
        with Fresh(loaded.target, loaded.options, loaded.world) as fresh:
            report, seconds = _searched(loaded, settings)
            began = time.perf_counter()
            with loaded.at_work():
                why = fresh.compare()
            waited = time.perf_counter() - began
            if waited > SECONDS_REPORTED_MIN and is_terminal():
                cause = "for the fresh process that asks members again (--no-verify leaves it out)"
                click.echo(f"waited {waited:.1f} s {cause}", err=True)
    note = f"members were not asked again in a fresh process: {why}"
    return (evolve(report, notes=(*report.notes, note)) if why else report), seconds


def _searched(loaded: Loaded, settings: Settings) -> tuple[Report, float]:
    began, cpu_began = time.perf_counter(), time.process_time()
    direct = _search_directly(loaded, settings)
    if direct is not None:
        return direct, 0.0
    small = _search_as_small(loaded, settings)
    if small is not None:
        return small, 0.0
    plain_seconds = time.perf_counter() - began
    plain_cpu_seconds = time.process_time() - cpu_began
    search = _on_spark if settings.engine == "spark" else _in_process
    report, compiled = search(loaded, settings)
    # Include the time of an unsuccessful attempt in plain Python.
    seconds = report.seconds + plain_seconds
    cpu_seconds = report.cpu_seconds + plain_cpu_seconds
    return evolve(report, seconds=seconds, cpu_seconds=cpu_seconds), compiled


def identity(loaded: Loaded, settings: Settings) -> dict[str, Any]:
    """Return the identity of a search.  Searches with the same identity have the same findings."""
    where = loaded.target if loaded.file is None else str(loaded.file)
    _, colons, name = loaded.target.partition("::")
    # The engine and the machine are left out, because they do not change the findings.
    return {
        "world": where + colons + name if loaded.file else where,
        "options": dict(loaded.options),
        "symmetry": settings.symmetry,
    }


def _search_directly(loaded: Loaded, settings: Settings) -> Report | None:
    """Return the report of a user's world of one member, searched state by state.

    None for any other world, or if a setting needs the engine.  A world that ships is left to the
    engine, because the engine keeps its members' answers for the next search.
    """
    needs_engine = settings.wants_engine or settings.master is not None
    if loaded.file is None or needs_engine or not is_direct(loaded.world):
        return None
    with loaded.at_work(), interruptible() as interrupt:
        return check_direct(
            loaded.world,
            ends=_ends(settings, interrupt),
            memory_max_bytes=settings.memory_bytes,
            witnesses=settings.witness is not None,
        )


def _ends(settings: Settings, interrupt: Interrupt) -> Ends:
    """Return the limits that end a search in plain Python early."""
    return Ends(
        states_max=settings.limits["states_max"],
        seconds_max=settings.limits["seconds_max"],
        interrupted=interrupt.was_asked,
    )


def _search_as_small(loaded: Loaded, settings: Settings) -> Report | None:
    """Return the report of a search without the engine; None if the engine has to search."""
    is_own = loaded.file is not None
    # For a user's own world the engine's loops may have to be compiled first.  A limit of states
    # or seconds may end the search before that, so such a limit is no reason to use the engine.
    limits = [settings.memory_bytes] if is_own else [*settings.limits.values()]
    has_limit = any(limit is not None for limit in limits)
    if settings.wants_engine or settings.estimate or has_limit or _was_large(loaded):
        return None
    with loaded.at_work(), interruptible() as interrupt:
        ends = _ends(settings, interrupt)
        witnesses = settings.witness is not None
        # The direct search of a large member uses neither a cluster nor several workers.
        if is_own and settings.master is None and (settings.workers or 1) == 1:
            return check_own(loaded.world, ends=ends, bounds=own_bounds(), witnesses=witnesses)
        bounds = own_bounds() if is_own else SHIPPED
        return check_small(loaded.world, ends=ends, bounds=bounds, witnesses=witnesses)


def _was_large(loaded: Loaded) -> bool:
    """Return whether an earlier search cached answers, so the world is too large for Python."""
    file = answers_file(loaded.target, loaded.world.source)
    with suppress(OSError):
        return file is not None and file.is_file()
    return False


def _in_process(loaded: Loaded, settings: Settings) -> tuple[Report, float]:
    """Return the report of the local engine, and the seconds spent compiling it."""
    # Imported here, because loading them takes as long as the search of a small world.
    from joinproto.check.memory import resident_bytes, uncollected

    with uncollected():
        import joinproto.check.engine.search  # noqa: F401  with all that it imports
        from joinproto.check.check import check as search_world
        from joinproto.cli.warming import warm_up

    with watched() as (progress, compiled), loaded.at_work(), interruptible() as interrupt:
        answers = _answers(loaded, settings, partial(_say, progress))
        refuse_low_limit(settings.memory_bytes, resident_bytes())
        workers = settings.worker_count()
        warm_up(symmetry=settings.symmetry, workers=workers)
        _say_estimate(loaded, settings)
        # A memory limit that the user sets ends the search, unless --master is given.
        may_use_spark = settings.memory_bytes is None or settings.master is not None
        # A search that keeps its states on disk needs no other processes.
        may_use_spark &= settings.checkpoint is None
        may_use_spark &= settings.engine == "auto" and find_spec("pyspark") is not None
        if may_use_spark or settings.out is not None:
            from spark_explore import explore

            plan = _plan(loaded, settings, progress, interrupt)
            plan = evolve(plan, answers=answers, workers=workers)
            report = (explore.auto if may_use_spark else explore.here)(loaded.world, plan)
        else:
            report = search_world(
                loaded.world,
                symmetry=settings.symmetry,
                progress=progress,
                interrupted=interrupt.was_asked,
                answers=answers,
                workers=workers,
                witnesses=settings.witness is not None,
                checkpoint=_checkpoint(loaded, settings, partial(_say, progress)),
                **settings.limits,
            )
    return report, compiled()


def _checkpoint(
    loaded: Loaded, settings: Settings, tell: Callable[[str], None]
) -> Checkpoint | None:
    if settings.checkpoint is None:
        return None
    from joinproto.check.engine.checkpoint import Checkpoint

    return Checkpoint(settings.checkpoint, identity(loaded, settings), tell)


def _answers(loaded: Loaded, settings: Settings, tell: Callable[[str], None]) -> Answers | None:
    """Return the cache of members' answers; None with --no-cache or for a user's own world."""
    if not settings.cache or loaded.file is not None:
        return None
    from joinproto.check.engine.tables.answers import Answers

    world = loaded.target, loaded.world.source
    return Answers.of(*world, tell, settings.memory_bytes)


@contextmanager
def watched() -> Iterator[tuple[Progress, Callable[[], float]]]:
    """Yield a progress line, and a function that returns the seconds spent compiling.

    A message announces the compilation when it begins.
    """
    from joinproto.check.engine import telling_of_compilation
    from joinproto.cli.show.progress import Progress

    with (
        Progress(error_stream()) as progress,
        telling_of_compilation(partial(_say, progress)) as compiling,
    ):
        yield progress, lambda: compiling.seconds


@contextmanager
def at_work(loaded: Loaded) -> Iterator[dict[str, Any]]:
    """Yield the arguments of a search that shows its progress and ends at the first Ctrl-C."""
    from joinproto.cli.warming import warm_up

    with watched() as (progress, _), loaded.at_work(), interruptible() as interrupt:
        warm_up()
        yield {"progress": progress, "interrupted": interrupt.was_asked}


def _say(progress: Progress, text: str) -> None:
    progress.close()
    click.echo(text, err=True)


def refuse_low_limit(limit_bytes: int | None, needed_bytes: int) -> None:
    """Raise `LimitReached` if the memory limit is less than the process already needs."""
    if limit_bytes is not None and limit_bytes < needed_bytes:
        raise LimitReached(
            f"the memory limit of {size(limit_bytes)} is less than the {size(needed_bytes)}"
            " this process needs before its first state",
            next=f"use --max-memory {math.ceil(2 * needed_bytes / 2**20)}M or more, or leave the"
            " option out",
        )


def _say_estimate(loaded: Loaded, settings: Settings) -> None:
    from joinproto.check.memory import default_limit_bytes, resident_bytes

    asked = settings.estimate is True
    wanted = asked or (settings.estimate is None and is_terminal() and not settings.as_json)
    if not wanted:
        return
    guess = None
    if loaded.sized is not None and loaded.members is not None:
        from joinproto.cli.estimate import estimate, smaller_reports

        report_of = smaller_reports(loaded.sized, symmetry=settings.symmetry)
        guess = estimate(loaded.members, loaded.least, report_of)
    if guess is not None and (asked or guess.seconds > SECONDS_REPORTED_MIN):
        limit = settings.memory_bytes or default_limit_bytes()
        click.echo(guess.text(limit - resident_bytes()), err=True)
    elif guess is None and asked:
        click.echo(
            "no estimate: this world cannot be searched with fewer members, or such searches do"
            " not predict its size",
            err=True,
        )


def _on_spark(loaded: Loaded, settings: Settings) -> tuple[Report, float]:
    from spark_explore import explore

    with watched() as (progress, compiled), loaded.at_work():
        report = explore.run(loaded.world, _plan(loaded, settings, progress, Interrupt()))
    return report, compiled()


def _plan(loaded: Loaded, settings: Settings, progress: Progress, interrupt: Interrupt) -> Any:
    from joinproto.check.engine.stopping import Limits
    from spark_explore.explore import Plan

    return Plan(
        limits=Limits(
            states=settings.limits["states_max"],
            memory_bytes=settings.memory_bytes,
            seconds=settings.limits["seconds_max"],
            interrupted=interrupt.was_asked,
        ),
        master=settings.master,
        out=settings.out,
        resume=settings.resume,
        keeps_states=settings.states,
        keeps_edges=settings.edges,
        symmetry=settings.symmetry,
        witnesses=settings.witness is not None,
        identity=identity(loaded, settings),
        progress=progress,
        tell=partial(_say, progress),
    )
