"""`joinproto cover`: make tests from the runs of a search.

0  the runs take all that is asked  2  usage, a bad model (file:line), no such commit
3  the search did not end           4  a file cannot be written, or git is missing
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from joinproto.check import catalogue
from joinproto.check.cover import Covered, Goal
from joinproto.check.cover import cover as runs_of
from joinproto.check.report import Trace
from joinproto.cli import loading
from joinproto.cli.options import AS_JSON, COUNT, FOLDER, option
from joinproto.cli.output import alone_on_stdout
from joinproto.cli.searching import at_work
from joinproto.cli.show.amounts import count, duration, plural
from joinproto.cli.show.itf import itf
from joinproto.cli.show.write import write_text
from joinproto.codec.json_form import encoded, printed
from joinproto.errors import EnvironmentProblem, UsageProblem

EXAMPLE = """\b
Examples:
  joinproto cover note-rejoin
  joinproto cover two-phase-commit --goal edges --out tests/runs
  joinproto cover join-two --since HEAD~1
"""


@click.command(epilog=EXAMPLE)
@loading.target()
@loading.world_options
@option(
    "--goal",
    "Take each row of the tables, each step, or each pair of steps.",
    click.Choice(["rows", "edges", "pairs"]),
    usual="rows",
)
@option(
    "--since",
    "Take only rows near lines that changed since COMMIT, or steps by them.",
    metavar="COMMIT",
)
@option(("--steps", "steps_max"), "The most steps of a run.", COUNT, usual=100)
@option(
    "--out",
    "Write each run into a new folder: N.json for Replay, N.itf.json for others.",
    FOLDER,
    metavar="DIR",
)
@loading.limit_options
@AS_JSON
def cover(
    target: str,
    goal: Goal,
    since: str | None,
    steps_max: int,
    out: Path | None,
    as_json: bool,
    **arguments: Any,
) -> int:
    """Find few runs that take every row, step or pair of steps that a world can take.

    Each is a run of the world, in words that `joinproto.check.Replay` takes: a test of the members
    as they are now.  A row is a rule that a step follows.  A pair is two successive steps, named
    by their members and actions.  A step that changes no state is in no run.
    """
    limits = loading.limits(arguments)
    options = loading.given(arguments)
    changed = None if since is None else _texts_changed(since)
    with alone_on_stdout(as_json):
        loaded = catalogue.load(target, options)
        if out is not None:
            _make_empty(out)
        with at_work(loaded) as how:
            found = runs_of(
                loaded.world,
                goal,
                is_wanted=None if changed is None else changed.__contains__,
                steps_max=steps_max,
                each=None if out is None else partial(_write, out, loaded.world.name),
                **how,
                **limits,
            )
    found = evolve(found, since=since)
    click.echo(printed(found) if as_json else "\n".join(_lines(found, out)))
    return 3 if found.why else 0


def _lines(found: Covered, out: Path | None) -> Iterator[str]:
    """Yield the report, and the runs themselves if no folder was named."""
    if found.why:
        yield f"{found.world}: UNDETERMINED: {found.why}"
        return
    lengths = [len(run) for run in found.runs]
    steps = f"{count(sum(lengths))} steps, {max(lengths, default=0)} in the longest"
    taken = f"{count(found.goals)} {found.goal}"
    runs = plural(len(found.runs), "run")
    yield f"{found.world}: {taken} in {runs}: {steps}; {duration(found.seconds)}"
    if found.untaken:
        yield f"  in no state of this world: {', '.join(found.untaken)}"
    if out is not None:
        yield f"wrote the runs to {out}"
        return
    for number, run in enumerate(found.runs, start=1):
        yield f"run {number}"
        yield from (f"  {step.member or '-'}: {step.action}" for step in run)


def _make_empty(folder: Path) -> None:
    """Make a folder.

    Raises `UsageProblem` if it has files, and `EnvironmentProblem` if it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_used = any(folder.iterdir())
    except OSError as error:
        raise EnvironmentProblem(
            f"{folder} cannot be written: {error.strerror}", next="name another folder with --out"
        ) from error
    if is_used:
        raise UsageProblem(f"{folder} is not empty", next="name a new folder")


def _write(folder: Path, world: str, number: int, trace: Trace) -> None:
    """Write one run, for `Replay` and in the Informal Trace Format."""
    steps = [{"action": step.label, "member": step.member} for step in trace.steps]
    whole = {"world": world, "steps": steps, "run": encoded(trace)}
    write_text(folder / f"{number:06}.json", json.dumps(whole) + "\n")
    write_text(folder / f"{number:06}.itf.json", json.dumps(itf(trace, source=world)) + "\n")


def _texts_changed(commit: str) -> frozenset[str]:
    """Return the string literals in or near lines of Python that changed since a commit."""
    if commit.startswith("-"):
        raise UsageProblem(
            f"{commit!r} is not a commit", next="give a name that git knows, such as HEAD~1"
        )
    command = ["git", "diff", "-U3", commit, "--", "*.py"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise EnvironmentProblem(f"git does not run: {error}", next="install git") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it gives no reason"])[0]
        raise UsageProblem(
            f"git cannot show the changes since {commit}: {reason}",
            next="give a name that git knows, such as HEAD~1",
        )
    # A text in single quotes may hold double ones.
    return frozenset(
        re.findall(r'"([^"\n]+)"', done.stdout) + re.findall(r"'([^'\n]+)'", done.stdout)
    )
