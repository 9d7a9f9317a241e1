"""`python -m tools.mutate`: change the protocol a little, many times; does a check fail?

0  no mutation survived, or each survivor has its reason in `survivors.toml`
1  a mutation survived without a reason
2  bad arguments, or a catcher fails on the unchanged code
"""

from __future__ import annotations

import math
import random
import sys
import time
from pathlib import Path

import click

from joinproto.errors import UsageProblem
from tools.mutate import changed, report
from tools.mutate.patches import MUTATED_PACKAGES, Mutation, Package, all_mutations, source_of

WORK = Path(".mutate")


@click.command()
@click.option(
    "--package",
    type=click.Choice(list(MUTATED_PACKAGES)),
    default="join",
    show_default=True,
    help="The package whose files are changed.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Try only mutations of this name; * matches any text.",
)
@click.option(
    "--since",
    metavar="REV",
    help="Try only mutations of lines that changed since this git revision.",
)
@click.option(
    "--sample", type=click.IntRange(min=1), help="Try only this many mutations, drawn at random."
)
@click.option("--seed", type=int, default=1, show_default=True, help="The seed of the sample.")
@click.option(
    "--minutes", type=click.FloatRange(min=0), help="Begin no mutation after so many minutes."
)
@click.option("--survivors", is_flag=True, help="Try only mutations that survived, by the results.")
@click.option(
    "--tests",
    is_flag=True,
    help="Run only the unit tests, and print the mutations that survive them.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="The number of processes.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=WORK / "results.jsonl",
    show_default=True,
    help="The file of results, to which new results are appended.",
)
@click.option(
    "--list", "lists", is_flag=True, help="Print the names of the mutations, and try none."
)
@click.option("--show", is_flag=True, help="Print the patches of the mutations, and try none.")
@click.option(
    "--report", "reports", is_flag=True, help="Write the table of the results in docs/mutation.md."
)
def main(
    package: str,
    only: tuple[str, ...],
    since: str | None,
    sample: int | None,
    seed: int,
    minutes: float | None,
    survivors: bool,
    tests: bool,
    jobs: int,
    results: Path,
    lists: bool,
    show: bool,
    reports: bool,
) -> None:
    """Try mutations of a package, and list those that no check notices."""
    try:
        if reports:
            raise SystemExit(report.write(results))
        wanted = changed.chosen(all_mutations(package), only, since)
        if survivors:
            from tools.mutate.campaign import read

            names = {name for name, one in read(results).items() if one.survived}
            wanted = [one for one in wanted if one.name in names]
        if sample is not None:
            # In random order: if the campaign is stopped, the finished part is a random sample.
            random.Random(seed).shuffle(wanted)
            wanted = wanted[:sample]
        if lists or show:
            for one in wanted:
                click.echo(one.diff(source_of(one.path)) if show else one.name)
            raise SystemExit(0)
        # Worlds, the link and random runs check the join protocol only.
        tests = tests or package != "join"
        done = _run(wanted, jobs, results, MUTATED_PACKAGES[package], tests=tests, minutes=minutes)
        raise SystemExit(done)
    except UsageProblem as error:
        click.echo(str(error), err=True)
        raise SystemExit(2) from None


def _run(
    wanted: list[Mutation],
    jobs: int,
    results: Path,
    package: Package,
    *,
    tests: bool,
    minutes: float | None,
) -> int:
    from tools.mutate.baseline import REST, baseline, hash_of_catchers
    from tools.mutate.campaign import campaign, read, still_holds, write
    from tools.mutate.warm import warm_up

    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    reasons = report.reasons({one.name for one in all_mutations()})
    results.parent.mkdir(parents=True, exist_ok=True)
    warm_up()
    base = baseline(
        results.with_suffix(f".{Path(package.tests[0]).name}.json"),
        jobs,
        lambda text: click.echo(text, err=True),
        ("tests",) if tests else ("tests", "rest"),
        package,
    )
    if base.left_out:
        click.echo(f"left-out runs, which fail on unchanged code: {'; '.join(base.left_out)}",
                   err=True)  # fmt: skip
    known, every = read(results), hash_of_catchers((*package.tests, *REST))
    hashed = hash_of_catchers(package.tests) if tests else every
    there = {one.name for one in base.of("unit")}
    todo = [
        one
        for one in wanted
        if not still_holds(
            known.get(one.name), one.hash(source_of(one.path)), {hashed, every}, there
        )
    ]
    click.echo(f"{len(wanted)} mutations, {len(wanted) - len(todo)} known", err=True)
    for at, one in enumerate(campaign(todo, base, hashed, jobs, tests_alone=tests), 1):
        write(results, one)
        known[one.name] = one
        said = f"{one.kind} {one.who}: {one.what}" if one.kind else f"SURVIVED {one.differs}"
        click.echo(f"{at}/{len(todo)} {one.seconds:.1f} s {one.name}: {said}")
        sys.stdout.flush()
        if time.monotonic() > end:
            break
    here = [known[one.name] for one in wanted if one.name in known]
    survived = [one.name for one in here if one.survived]
    unexplained = [name for name in survived if name not in reasons]
    click.echo(
        f"{len(here)} mutations, {len(here) - len(survived)} noticed, {len(survived)} survived,"
        f" {len(unexplained)} of them without a reason; {sum(one.seconds for one in here):.0f} s"
    )
    for name in unexplained:
        click.echo(f"  {name}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    main()
