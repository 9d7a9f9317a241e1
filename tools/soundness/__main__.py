"""`python -m tools.soundness`: random models, searched by the checker and by the plain search.

    0  no difference        1  a difference: its seed, what differs, and the model's source

`--models N --seed S` makes one model for each of the seeds from S on, so that a difference is found
again with `--seed THAT --models 1 --show`.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import click

from joinproto.cli.options import AS_JSON
from tools.soundness.compare import Comparison, compare
from tools.soundness.random_model import write

PIECE = 50


def compare_models(first: int, count: int, states_max: int) -> list[tuple[int, Comparison]]:
    """Return the comparison for the model of each of `count` seeds, from `first` on."""
    return [
        (seed, compare(write(seed), states_max=states_max)) for seed in range(first, first + count)
    ]


def comparisons(
    seed: int, models: int, jobs: int, states_max: int
) -> Iterator[list[tuple[int, Comparison]]]:
    wanted = [
        (at, min(PIECE, seed + models - at), states_max) for at in range(seed, seed + models, PIECE)
    ]
    if jobs == 1:
        yield from (compare_models(*item) for item in wanted)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(compare_models, *zip(*wanted, strict=True))


@click.command()
@click.option(
    "--models", type=click.IntRange(min=1), default=1000, show_default=True, help="How many models."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The first model's seed.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="How many processes."
)
@click.option(
    "--states",
    "states_max",
    type=click.IntRange(min=1),
    default=80,
    show_default=True,
    help="Leave out models with more states.",
)
@click.option("--show", is_flag=True, help="Print the source of each model, with the comparison.")
@AS_JSON
def main(models: int, seed: int, jobs: int, states_max: int, show: bool, as_json: bool) -> None:
    """Compare the checker with a search that shares no code with it, on random models."""
    counts: Counter[str] = Counter()
    different: list[tuple[int, str]] = []
    began = reported = time.monotonic()
    states = 0
    for found in comparisons(seed, models, jobs, states_max):
        for at, compared in found:
            counts[compared.verdict] += 1
            states += compared.states
            if compared.verdict == "different":
                different.append((at, compared.said))
            if show or (compared.verdict == "different" and not as_json):
                click.echo(f"seed {at}: {compared.verdict} {compared.said}\n{write(at).source}")
        if time.monotonic() - reported > 10:
            reported = time.monotonic()
            click.echo(f"{counts.total():,} models, {len(different)} different", err=True)
    seconds = time.monotonic() - began
    if as_json:
        click.echo(
            json.dumps(
                {
                    "models": counts.total(),
                    "seed": seed,
                    "states": states,
                    "seconds": round(seconds, 1),
                    **{
                        key.replace(" ", "_"): counts[key]
                        for key in ("same", "refused", "too large")
                    },
                    "different": [{"seed": at, "said": text} for at, text in different],
                }
            )
        )
    else:
        click.echo(
            f"{counts.total():,} models from seed {seed}: {counts['same']:,} the same ({states:,}"
            f" states), {counts['refused']:,} refused as they must be, {counts['too large']:,} too"
            f" large, {len(different):,} different; {seconds:.0f} s"
        )
    raise SystemExit(1 if different else 0)


if __name__ == "__main__":
    main()
