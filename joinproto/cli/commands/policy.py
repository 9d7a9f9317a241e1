"""`joinproto policy check`: ask a program which node bootstraps, at every point of short runs.

0  its answers do no harm              2  usage, or it hangs, dies, or changes its answers
1  a run defeats it, or no run founds  3  undetermined: stopped at a limit
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import click
from attrs import frozen
from click.core import ParameterSource

from joinproto.check import ModelProblem, check
from joinproto.check.check import check as check_by_engine
from joinproto.check.folders import has_loops
from joinproto.check.report import Report
from joinproto.cli import loading
from joinproto.cli.options import AS_JSON, FILE, Decorator, Finite, option, together
from joinproto.cli.show.amounts import count, plural
from joinproto.codec.json_form import Merged, printed
from joinproto.errors import UsageProblem
from joinproto.recovery import show
from joinproto.recovery.policy.asked import Answers, Policy, Questioner, totals_of
from joinproto.recovery.policy.program import SECONDS, Program, asks_of, command_of
from joinproto.recovery.policy.question import ASKS
from joinproto.recovery.words import typed
from joinproto_worlds.policy.nodes import Left
from joinproto_worlds.policy.worlds import WORLDS

EXAMPLE = """\b
Example:
  joinproto policy check ./my-policy --world galera
  joinproto policy check "jq -c --unbuffered '.stores | max_by(.seq).host'" --world galera
  joinproto policy check pick --world rabbitmq
"""
BUILT_IN = "pick"
NODE_LIMITS = ("writes", "ends", "starts", "wipes", "by_hand", "unmounted", "acts", "all_answer")
"""Parameters of this command that bound the events of nodes."""


@click.group(epilog=EXAMPLE)
def policy() -> None:
    """Check a program of your own that decides which node founds the cluster, starts, or goes."""


@frozen
class Checked:
    """`joinproto policy check --json`"""

    policy: Annotated[str, "the policy, as it was typed"]
    answers: Annotated[Answers, Merged()]
    report: Annotated[Report, Merged()]


def _limit_option(name: str, least: int, most: int, usual: int, about: str) -> Decorator:
    return option(name, f"{about}: {usual}.", click.IntRange(least, most), default=usual)


left_options = together(
    _limit_option("--writes", 0, 4, 2, "Writes in a run"),
    _limit_option("--ends", 1, 6, 3, "Stops, kills, cuts"),
    _limit_option("--starts", 0, 3, 0, "Nodes that return"),
    _limit_option("--wipes", 0, 2, 1, "Disks that are lost"),
    _limit_option("--by-hand", 0, 2, 1, "Foundings by hand"),
    _limit_option("--unmounted", 0, 2, 0, "Disks that look blank, and are not mounted"),
)
"""The options that limit the events of a run."""


@policy.command("check", epilog=EXAMPLE)
@click.argument("target", metavar="POLICY")
@option("--world", "The system whose nodes run.", click.Choice([*WORLDS]), usual="galera")
@option(
    ("--ask", "asks"),
    "The question to ask; can be given again; default: choose-founder, or all questions that a"
    " Python file has functions for.",
    click.Choice(ASKS),
    multiple=True,
)
@option("--all-answer", "Leave out runs in which a node does not answer.", is_flag=True)
@left_options
@option(("--answered", "acts"), "Answers that are obeyed: 1.", click.IntRange(1, 3), default=1)
@option(
    "--answer-seconds",
    "A later answer does not count; a program that computes gets six times as long.",
    Finite(0.01),
    usual=SECONDS,
)
@option("--trace", "Write the run that defeats the policy.", FILE, metavar="FILE")
@option(
    ("--report", "page"),
    "Write a page for a reviewer, as Markdown: rule, run and advice.",
    FILE,
    metavar="FILE",
)
@loading.limit_options
@AS_JSON
def check_command(
    target: str,
    world: str,
    asks: tuple[str, ...],
    answer_seconds: float,
    trace: Path | None,
    page: Path | None,
    as_json: bool,
    acts: int,
    **left: Any,
) -> int:
    """Ask POLICY at every moment of every short run, and obey its answers.

    POLICY is an executable, a command in quotes, a Python file with choose_founder(facts), or the
    word pick for `joinproto recover pick`.  It gets each question as a line of JSON, and answers
    with one line: the name of a node, or wait or refuse.  Each distinct question is asked once, and
    a program again at the end.
    """
    limits = loading.limits(left)
    if trace is not None:
        from joinproto.cli.show.write import format_of

        format_of(trace)
    _refuse_unused(world)
    with _started(target, answer_seconds) as (policy, again):
        asker = Questioner(policy, asks or asks_of(target, answer_seconds))
        report = _searched(asker, world, {"asks": acts, **left}, limits)
        again()
        stopped = any(item.result == "violated" for item in report.properties)
        answers = totals_of(asker, is_whole=not stopped and report.result != "incomplete")
    if as_json:
        click.echo(printed(Checked(target, answers, report)))
    else:
        lines = _text(target, world, report, answers)
        show.say("\n".join(fill(line, 96, subsequent_indent="  ") for line in lines))
    if page is not None:
        _write_page(page, target, world, report, answers)
    if trace is not None and report.trace is not None:
        _write_run(trace, report)
    return {"holds": 0, "violated": 1, "incomplete": 3}[report.result]


def _searched(
    asker: Questioner, name: str, left: Mapping[str, Any], limits: Mapping[str, Any]
) -> Report:
    world = WORLDS[name].made(asker, Left(**left))
    # A search in plain Python that does not end begins again in the engine, so a large world goes
    # there at once.  Without compiled loops, plain Python may find a run before they are ready.
    by_engine = WORLDS[name].is_large and has_loops()
    try:
        return (check_by_engine if by_engine else check)(world, **limits)
    except ModelProblem:
        if asker.failure is not None:
            raise asker.failure from None
        raise


def _write_run(trace: Path, report: Report) -> None:
    from joinproto.cli.show.write import write_trace

    write_trace(report, trace, options={})
    click.echo(f"wrote {trace}", err=True)


def _write_page(page: Path, target: str, world: str, report: Report, answers: Answers) -> None:
    from joinproto.cli.reports.policy import policy_page
    from joinproto.cli.show.write import write_text

    write_text(page, policy_page(target, _command(target), world, report=report, answers=answers))
    click.echo(f"wrote {page}", err=True)


def _command(target: str) -> str:
    """Return the command line that checks the policy again."""
    context = click.get_current_context()
    words = ["joinproto policy check", typed(target)]
    for param in context.command.params:
        name = param.name or ""
        if name in ("target", "trace", "page", "as_json"):
            continue
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = context.params[name]
            flag = max(param.opts, key=len)
            every = value if isinstance(value, tuple) else (value,)
            words += [flag if each is True else f"{flag} {typed(str(each))}" for each in every]
    return " ".join(words)


def _refuse_unused(world: str) -> None:
    """Raise `UsageProblem` for options that would not change the runs of this world."""
    given = click.get_current_context().get_parameter_source
    for name in () if WORLDS[world].is_bounded else NODE_LIMITS:
        if given(name) is ParameterSource.COMMANDLINE:
            flag = "--answered" if name == "acts" else f"--{name.replace('_', '-')}"
            raise UsageProblem(
                f"{flag} is for galera and rabbitmq", next="leave it out, or name another --world"
            )


@contextmanager
def _started(target: str, seconds: float) -> Iterator[tuple[Policy, Callable[[], None]]]:
    """Yield the policy, and a function that asks it every question a second time."""
    if target == BUILT_IN:
        from joinproto_worlds.policy.built_in import pick

        yield pick, lambda: None
        return
    with Program(command_of(target), seconds=seconds) as program:
        yield lambda asked: program.answer(asked.question), program.ask_again


def _text(target: str, world: str, report: Report, answers: Answers) -> Iterator[str]:
    states = f"{count(report.distinct)} states"
    broken = [item for item in report.properties if item.result == "violated"]
    idle = [item for item in report.properties if item.result == "not-reached"]
    if broken and report.trace is not None:
        steps = report.trace.steps
        yield f"{target}: a run of {plural(len(steps), 'step')} defeats it: {broken[0].name}"
        yield from (f"{number:4}  {step.label}" for number, step in enumerate(steps, start=1))
    elif report.result == "incomplete":
        yield f"{target}: undetermined, because the search did not end ({states})"
        yield "next: raise --max-states, --max-seconds or --max-memory"
    elif idle:
        yield f"{target} does no harm on {world}, and never founds the cluster ({states})"
    else:
        yield f"{target} does no harm in any run of {world} ({states})"
    yield ""
    yield f"it was asked {plural(answers.questions, 'question')}"
    yield from (f"{number:6,}  {answer}" for answer, number in sorted(answers.answers.items()))
    if answers.unknown_as_absent:
        yield (
            f"it reads `timed-out` as `absent` in {plural(answers.unknown_as_absent, 'question')}:"
            " it chose as if the silent node had an empty disk, did harm, and would have chosen"
            " otherwise had the node answered"
        )
    if answers.too_careful:
        yield (
            f"it chose no member in {plural(answers.too_careful, 'question')} in which a node would"
            " have been right for any value of the unknown facts"
        )
