"""`make bench`: measure, print, and write docs/benchmarks.{md,json,svg}.

Exit codes: 0 measured, 1 a tool failed or counted wrong, 2 usage, 4 a package is missing.  If SPIN
is missing, the command says so and measures the other tools.
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path

import click
from attrs import evolve

from joinproto.errors import JoinprotoError, UsageProblem, not_installed
from tools.bench import plot, report, results
from tools.bench.run import ROOT, Plan, benchmark, cost_of_member, cost_of_node, cost_of_restart
from tools.bench.spin import MEMBERS_MAX

USUAL = Plan()


def sizes_of(text: str) -> tuple[int, ...]:
    """Return the sizes in `text`, such as "7,8,9"."""
    try:
        sizes = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError as error:
        raise click.BadParameter(f"--sizes takes numbers such as 7,8,9, not {text!r}") from error
    if not all(4 <= size <= MEMBERS_MAX for size in sizes):
        # Size 3 measures only the start, and is always measured.
        raise click.BadParameter(f"--sizes takes numbers from 4 to {MEMBERS_MAX}, not {text!r}")
    return sizes


def command_of(*, sizes: str | None, runs: int | None, quick: bool) -> str:
    """Return the command that repeats the measurement, without the folder of the files."""
    words = ["--quick"] if quick else []
    words += ["--sizes", sizes] if sizes is not None else []
    words += ["--runs", str(runs)] if runs is not None else []
    return " ".join(["python -m tools.bench", *words]) if words else "make bench"


@click.command(epilog="Example: python -m tools.bench --sizes 7,8 --runs 5 --out /tmp/bench")
@click.option("--sizes", help="Numbers of resource managers.  [default: 7,8,9]")
@click.option("--runs", type=click.IntRange(min=1), help="Runs of each command.  [default: 3]")
@click.option("--quick", is_flag=True, help="Measure sizes 5 and 6 once, into a temporary folder.")
@click.option(
    "--only-member",
    is_flag=True,
    help="Measure only a member, and put its cost into the results in --out.",
)
@click.option(
    "--only-node",
    is_flag=True,
    help="Measure only three nodes, and put their cost into the results in --out.",
)
@click.option(
    "--only-restart",
    is_flag=True,
    help="Measure only a restart, and put its cost into the results in --out.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for benchmarks.md, .json and .svg.  [default: docs]",
)
@click.pass_context
def main(
    context: click.Context,
    sizes: str | None,
    runs: int | None,
    quick: bool,
    only_member: bool,
    only_node: bool,
    only_restart: bool,
    out: Path | None,
) -> None:
    """Measure joinproto and other checkers on two-phase commit and other worlds."""
    plan = Plan(
        sizes=sizes_of(sizes) if sizes is not None else (5, 6) if quick else USUAL.sizes,
        runs=runs or (1 if quick else USUAL.runs),
        # The other worlds take four minutes.
        others=() if quick else USUAL.others,
        peers=not quick,
        node=not quick,
        restart=not quick,
        command=command_of(sizes=sizes, runs=runs, quick=quick),
    )
    if out is None:
        out = Path(tempfile.mkdtemp(prefix="joinproto-bench-")) if quick else ROOT / "docs"
    try:
        # This is checked before the measurement, which takes ten minutes.
        if find_spec("matplotlib") is None:
            raise not_installed("matplotlib")
        if only_member:
            found = evolve(earlier_results(out / "benchmarks.json"), member=cost_of_member())
        elif only_node:
            found = evolve(earlier_results(out / "benchmarks.json"), node=cost_of_node())
        elif only_restart:
            found = evolve(earlier_results(out / "benchmarks.json"), restart=cost_of_restart())
        else:
            found = benchmark(plan, say=lambda line: click.echo(line, err=True))
    except JoinprotoError as error:
        click.echo(str(error), err=True)
        context.exit(error.code)
    click.echo(report.terminal(found))
    write(found, out)
    click.echo(f"\nwritten: {out / 'benchmarks.md'}, .json and .svg")
    context.exit(1 if found.problems else 0)


def earlier_results(file: Path) -> results.Results:
    """Return the results in `file`; raises `UsageProblem` if there is no such file."""
    if not file.is_file():
        raise UsageProblem(
            f"there is no file {file} with earlier results", next="name its folder with --out"
        )
    return results.read_json(file.read_text("utf-8"))


def write(found: results.Results, folder: Path) -> None:
    """Write the four files into `folder`, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.json").write_text(results.to_json(found), "utf-8")
    plot.draw(found, folder / "benchmarks.svg")
    text = report.markdown(found, plot="benchmarks.svg")
    (folder / "benchmarks.md").write_text(text, "utf-8")
    (folder / "benchmarks-summary.md").write_text(report.summary(found), "utf-8")


if __name__ == "__main__":
    main()
