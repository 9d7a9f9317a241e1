"""`joinproto check`: search a world, or a user's own model, and judge its claims.

    0  all hold, or as --expect says          3  undetermined: stopped at a limit or by the
    1  violated, a `sometimes` not reached       first Ctrl-C, or states were left out
    2  usage, a bad model (file:line)         4  the machine lacks something

With `--tier`, 0 and 1 say whether every world ends as the catalogue expects.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from attrs import evolve, frozen

from joinproto.check import catalogue
from joinproto.check.loaded import Loaded
from joinproto.check.memory import collected_seldom
from joinproto.check.options import words_of
from joinproto.check.parameters import takes_text
from joinproto.check.problems import ModelProblem
from joinproto.check.report import PropertyResult, Report
from joinproto.cli import completing, loading
from joinproto.cli.options import AS_JSON, FILE, PlaceType, option
from joinproto.cli.output import Terminal, alone_on_stdout, is_terminal
from joinproto.cli.reports.verdicts import Outcome, Verdict, verdict_of
from joinproto.cli.reports.write import refuse_folder, refuse_unknown, reporting
from joinproto.cli.searching import Settings, identity, refuse_low_limit, searched, watched
from joinproto.cli.show import findings
from joinproto.cli.show.summary import summary
from joinproto.cli.world_help import WorldCommand
from joinproto.codec.json_form import Merged, Seconds, encoded, printed
from joinproto.errors import JoinprotoError, UsageProblem, did_you_mean

if TYPE_CHECKING:
    from joinproto.cli.commands.tier import Row

EXAMPLE = """\b
Examples:
  joinproto check two-phase-commit --members 7
  joinproto check two-phase-commit --mutant one-vote-short --trace run.html
  joinproto check path/to/my_model.py::ring --max-seconds 60
  joinproto check --tier quick
"""


@frozen
class Checked:
    """`joinproto check WORLD --json`"""

    report: Annotated[Report, Merged()]
    verdict: Annotated[Verdict, "`result`, of which `incomplete` is called undetermined"]
    compile_seconds: Annotated[Seconds, "spent in the compiler, the first time"]
    options: Annotated[Mapping[str, Any], "the world's options that were given"]
    not_exercised: Annotated[
        tuple[str, ...], "`coverage.never`, premises never met, claims not reached"
    ]


@click.command(cls=WorldCommand, epilog=EXAMPLE)
@loading.target(required=False)
@loading.world_options
@option(
    "--engine",
    "Where to search; auto: here, and on Spark if the search grows too large.",
    click.Choice(["auto", "local", "spark"]),
    default="auto",
)
@option("--master", "Spark's master.", metavar="URL")
@option("--resume", "Go on with the search in --out; needs --engine spark.", is_flag=True)
@option("--out", "Keep all results: DIR, or s3://BUCKET/PATH.", PlaceType(), metavar="DIR")
@option("--states/--no-states", "With --out: write every state, as a table.", default=True)
@option("--edges", "With --out: write every step, too.", is_flag=True)
@option(
    "--checkpoint",
    "Keep states in files in DIR, and go on from there if the search was ended.",
    click.Path(path_type=Path),
    metavar="DIR",
)
@loading.limit_options
@option(
    "--symmetry/--no-symmetry",
    "Take states that differ only in members' names as one.",
    default=False,
)
@option("--strict", "Exit 1 if a claim or a kind of step was never exercised.", is_flag=True)
@option(
    "--expect",
    "The expected result: exit 0 if the search has it.",
    click.Choice(["holds", "violated"]),
)
@option(
    "--trace",
    "Write the run found: .html, .json, .itf.json, .txt, or .py, a test."
    "  Without a run: .html, .json and .txt hold the report.",
    FILE,
    metavar="FILE",
)
@option(
    "--witness",
    "Show the shortest run that reaches this `sometimes`.",
    metavar="CLAIM",
    shell_complete=completing.sometimes,
)
@option(
    "--workers",
    "Search with this many threads; default: one for each processor, at most 16.",
    click.IntRange(1, 64),
    metavar="N",
)
@option(
    "--cache/--no-cache",
    "Take members' answers from the last run of the same code, and keep them; a tier never does.",
    default=True,
)
@option(
    "--verify/--no-verify",
    "Ask a model of your own again in a fresh process, at the same time.",
    default=True,
)
@option(
    "--tier", "Check all worlds that take seconds, or minutes.", click.Choice(["quick", "long"])
)
@option("--estimate/--no-estimate", "Estimate first how long it may take.", default=None)
@loading.report_options
@AS_JSON
def check(
    target: str | None,
    tier: Literal["quick", "long"] | None,
    as_json: bool,
    **arguments: Any,
) -> int:
    """Search a world breadth first, and judge its claims in every state.

    WORLD is a name that `joinproto models` lists, FILE.py a model of your own.  The shortest run
    that breaks a claim is shown.  Exit code 0: all hold; 1: violated, or a `sometimes` not
    reached; 2: a mistake in the command or the model; 3: undetermined, because a limit or Ctrl-C
    ended the search, or states were left out; 4: the machine lacks something.
    """
    options = loading.given(arguments)
    limits = loading.limits(arguments)
    settings = Settings(as_json=as_json, limits=limits, **arguments)
    refuse_unknown(settings.reports)
    if tier is not None:
        _refuse_engine_options(settings)
        _refuse_with_tier(target, options, settings)
        return _check_tier(tier, settings)
    if target is None:
        raise click.UsageError("name a world or a file, or check all with --tier quick")
    outcomes: list[Outcome] = []
    with reporting(target, outcomes, settings.reports, github=settings.github):
        _refuse_engine_options(settings)
        if options:
            from joinproto.cli.commands import sweep

            if (each := sweep.options_of_each(options, partial(takes_text, target))) is not None:
                return _check_each(target, each, settings, outcomes)
        return _check_one(target, options, settings, outcomes)


def _check_each(
    target: str, each: list[dict[str, Any]], settings: Settings, outcomes: list[Outcome]
) -> int:
    if any(one is not None for one in (settings.trace, settings.out, settings.checkpoint)):
        raise UsageProblem(
            "--trace, --out and --checkpoint keep one search, and this is a sweep",
            next="leave them out",
        )
    from joinproto.cli.commands import sweep

    rows: list[sweep.SweepSearch] = []
    codes = set()
    with alone_on_stdout(settings.as_json):
        worlds = [catalogue.load(target, options) for options in each]
        for at, loaded in enumerate(worlds, start=1):
            words = sweep.typed_options(loaded.options)
            if is_terminal():
                click.echo(f"{words}  ({at} of {len(worlds)})", err=True)
            try:
                with _printing_failed_run(settings):
                    report, _ = searched(loaded, settings)
            except JoinprotoError as problem:
                problem.message += f", with {words}"
                if rows and not settings.as_json:
                    click.echo(sweep.table_of(sweep.Sweep(loaded.world.name, tuple(rows))))
                raise
            rows.append(sweep.row_of(loaded.options, report))
            outcomes.append(_outcome(loaded, report, settings))
            codes.add(_code(report, settings, words))
            if report.stopped_by == "interrupted":
                break
    left = tuple(loaded.options for loaded in worlds[len(rows) :])
    found = sweep.Sweep(worlds[0].world.name, tuple(rows), left)
    click.echo(printed(found) if settings.as_json else sweep.table_of(found))
    return next(code for code in (1, 3, 0) if code in codes)


def _refuse_engine_options(settings: Settings) -> None:
    """Raise `UsageProblem` for options that do not fit the engine, or each other."""
    if settings.engine == "spark" and settings.resume and settings.out is None:
        raise UsageProblem("--resume without --out", next="name the folder with --out DIR")
    if settings.master and not re.match(
        r"local(\[[\d*, ]+\])?$|local-cluster\[\d+, *\d+, *\d+\]$|spark://|yarn$|k8s://|sc://",
        settings.master,
    ):
        raise UsageProblem(
            f"--master {settings.master} is not the address of a Spark master",
            next="use local[2], local-cluster[2,1,1024], spark://HOST:PORT, yarn or k8s://...",
        )
    if settings.master and settings.master.startswith("sc://"):
        from spark_explore.session import refuse_connect

        refuse_connect(settings.master)
    if settings.checkpoint is not None and (settings.out is not None or settings.master):
        raise UsageProblem(
            "--checkpoint keeps the states of a search in this process;"
            f" {'--out' if settings.out is not None else '--master'} is for another search",
            next="leave out one of them",
        )
    if settings.checkpoint is not None and settings.engine == "spark":
        raise UsageProblem(
            "--checkpoint belongs to the local engine",
            next="--out DIR keeps a search on Spark, and --resume goes on with it",
        )
    if settings.edges and (settings.out is None or settings.symmetry or not settings.states):
        raise UsageProblem(
            "--edges belong to the states that a search writes",
            next="add --out DIR, without --symmetry and --no-states",
        )
    for flag, is_useless in (
        ("--resume", settings.resume and settings.engine != "spark"),
        ("--master", settings.master and settings.engine == "local"),
    ):
        if is_useless:
            raise UsageProblem(
                f"{flag} belongs to the Spark engine; the local one has no use for it",
                next=f"leave {flag} out, or add --engine spark",
            )


def _refuse_with_tier(target: str | None, options: Mapping[str, Any], settings: Settings) -> None:
    one_world = {
        "a world": target,
        "--trace": settings.trace,
        "--out": settings.out,
        "--checkpoint": settings.checkpoint,
        "--engine spark": settings.engine == "spark",
        "--symmetry": settings.symmetry,
        "--estimate": settings.estimate,
        "--witness": settings.witness,
        "--expect": settings.expect,
        "--report": settings.reports,
        "--github": settings.github,
        **{word: True for word in words_of(options) if word.startswith("--")},
    }
    for flag, is_given in one_world.items():
        if is_given:
            raise UsageProblem(
                f"--tier checks many worlds, each as it is; {flag} is for one world",
                next=f"leave out --tier, or {flag}",
            )


# -- one world -------------------------------------------------------------------------


def _check_one(
    target: str, options: Mapping[str, Any], settings: Settings, outcomes: list[Outcome]
) -> int:
    if settings.trace is not None:
        from joinproto.cli.show.write import format_of

        format_of(settings.trace)
        refuse_folder(settings.trace, "--trace")
    with alone_on_stdout(settings.as_json), collected_seldom():
        loaded = catalogue.load(target, options)
        if settings.out is not None and not settings.resume:
            from joinproto.cli import results

            results.prepare(settings.out, identity(loaded, settings))
        _refuse_witness(loaded, settings)
        with _printing_failed_run(settings):
            report, compiled = searched(loaded, settings)
    for item in report.properties:
        if item.name == settings.witness:
            report, settings = _with_witness(report, item, settings)
    found = Checked(
        report,
        verdict_of(report),
        compiled,
        loaded.options,
        tuple(findings.not_exercised(report)),
    )
    if settings.as_json:
        click.echo(printed(found))
    else:
        click.echo(_text(loaded, report, settings))
    _write(loaded, found, settings)
    outcomes.append(_outcome(loaded, report, settings))
    return _code(report, settings)


def _with_witness(
    report: Report, wanted: PropertyResult, settings: Settings
) -> tuple[Report, Settings]:
    """Return the report with the run to `wanted`; without a run, say so and drop `--witness`."""
    if wanted.trace is not None:
        return evolve(report, trace=wanted.trace), settings
    broken = [f"“{item.name}”" for item in report.properties if item.result == "violated"]
    why = f"; first correct the violated claims: {', '.join(broken)}" if broken else ""
    click.echo(f"joinproto: --witness: no run to “{wanted.name}” was found{why}", err=True)
    return report, evolve(settings, witness=None)


def _refuse_witness(loaded: Loaded, settings: Settings) -> None:
    """Raise `UsageProblem` if `--witness` names no `sometimes` of the world, or is for Spark."""
    if settings.witness is None:
        return
    reachable = [item.name for item in loaded.world.properties if item.kind == "sometimes"]
    if settings.witness not in reachable:
        near = did_you_mean(settings.witness, reachable)
        raise UsageProblem(
            f"{loaded.world.name} has no `sometimes` called {settings.witness!r}",
            next=f"{near}it has {', '.join(reachable) or 'none'}",
        )
    if settings.engine == "spark":
        raise UsageProblem(
            "--witness is for a search in this process", next="leave out --engine spark"
        )


@contextmanager
def _printing_failed_run(settings: Settings) -> Iterator[None]:
    """Print the run that leads to an error in a member's code, if the search knows the run."""
    try:
        yield
    except ModelProblem as problem:
        run = problem.led_to
        if run is not None and not settings.as_json:
            from joinproto.cli.show.words import headline

            click.echo(Terminal.now().chart(run) if run.steps else headline(run), err=True)
        raise


def _code(report: Report, settings: Settings, words: str = "") -> int:
    if report.result == "incomplete":
        return 3
    if settings.expect not in (None, report.result):
        found = f"joinproto: --expect {settings.expect}, but the result is {report.result}"
        click.echo(found, err=True)
    if report.result != (settings.expect or "holds"):
        return 1
    is_strict = settings.strict and report.result == "holds"
    idle = list(findings.not_exercised(report)) if is_strict else []
    if idle:
        where = f" with {words}" if words else ""
        click.echo(f"joinproto: --strict: not exercised{where}: {'; '.join(idle)}", err=True)
    return 1 if idle else 0


def _outcome(loaded: Loaded, report: Report, settings: Settings) -> Outcome:
    return Outcome(report, loaded, settings.expect or "holds", strict=settings.strict)


def _text(loaded: Loaded, report: Report, settings: Settings) -> str:
    terminal = Terminal.now()
    command = f"joinproto check {loaded.words}"
    if settings.symmetry:
        command += " --symmetry"
    if settings.checkpoint is not None:
        command += f" --checkpoint {shlex.quote(str(settings.checkpoint))}"
    if settings.witness is not None:
        command += f" --witness {shlex.quote(settings.witness)}"
    has_sizes = loaded.sized is not None
    run = "" if report.trace is None else terminal.chart(report.trace)
    return summary(report, command=command, has_sizes=has_sizes, run=run, **terminal.layout())


def _write(loaded: Loaded, found: Checked, settings: Settings) -> None:
    report = found.report
    # A test that is written for a user's own model finds the model by its path.
    named = report if loaded.file is None else evolve(report, world=loaded.target)
    if settings.trace is not None:
        from joinproto.cli.show.write import format_of, write_trace

        if report.trace is None and format_of(settings.trace).needs_trace:
            _say_not_written(settings.trace)
        else:
            write_trace(named, settings.trace, options=loaded.options)
            only = "" if report.trace is not None else ": the report, for there is no run to show"
            click.echo(f"wrote {settings.trace}{only}", err=True)
    if settings.out is not None:
        from joinproto.cli import results

        written = results.keep(settings.out, named, encoded(found), loaded.options)
        names = ", ".join(written)
        click.echo(f"wrote to {settings.out}: {names}", err=True)


def _say_not_written(path: Path) -> None:
    older = "; the file there is of an earlier check" if path.exists() else ""
    click.echo(
        f"joinproto: there is no run to show, so {path} is not written{older}\n  next: name a file"
        " that ends in .html, .json or .txt: these hold the report, too",
        err=True,
    )


# -- a tier ----------------------------------------------------------------------------


def _check_tier(tier: Literal["quick", "long"], settings: Settings) -> int:
    from joinproto.check.memory import resident_bytes
    from joinproto.cli.commands.tier import run_tier, search_one, side_by_side
    from joinproto.cli.warming import warm_up

    refuse_low_limit(settings.memory_bytes, resident_bytes())
    workers, limits = settings.worker_count(), settings.limits
    # Small worlds are searched side by side; all workers together search a large world.
    worlds_at_once = workers if tier == "quick" else 1
    with watched() as (progress, _):
        warm_up(workers=workers // worlds_at_once)

        def search(rows: Sequence[Row]) -> Iterator[Report]:
            if worlds_at_once > 1:
                yield from side_by_side(rows, worlds_at_once, limits)
                return
            for row in rows:
                yield search_one(row, progress=progress, workers=workers, **limits)
                progress.close()

        Terminal.now()
        found = run_tier(tier, search, as_json=settings.as_json)
    if settings.as_json:
        click.echo(printed(found))
    return found.code
