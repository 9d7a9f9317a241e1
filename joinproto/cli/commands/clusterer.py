"""`joinproto clusterer`: read and compare declarative cluster configs, and play stories of them.

The exit code is 0 for any answer, 1 if `validate` finds a config that is not valid, and 2 if an
input cannot be read.  `node` and `apply` have exit codes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Annotated, Any

import click
from attrs import frozen

import joinproto
from joinproto.cli.commands.clusterer_asking import OperatorProof, answers, chances, with_proof
from joinproto.cli.commands.clusterer_run import (
    apply,
    config_of,
    node,
    plan_as_text,
    silent_as_text,
    status,
)
from joinproto.cli.inputs import placing, text_of
from joinproto.cli.options import AS_JSON, option, together
from joinproto.cli.show.amounts import aligned, plural
from joinproto.clusterer.ask_config import CompareAnswer, ReadAnswer, answer_read, compared
from joinproto.clusterer.plan import plan as planned
from joinproto.clusterer.plan_start import Up
from joinproto.clusterer.reading import Release
from joinproto.clusterer.reporting import StepTold
from joinproto.clusterer.run import StoryRun, play, play_orders
from joinproto.clusterer.story import Story
from joinproto.clusterer.story_reading import story_of
from joinproto.codec.json_form import Merged, printed
from joinproto.codec.strict import DoesNotFit, fitted, parse
from joinproto.errors import UsageProblem

EXAMPLE = """\b
Example:
  joinproto clusterer validate cluster.config
  joinproto clusterer compare cluster.config new.config --json
  joinproto clusterer run two-younger-at-once --seeds 20
"""
STATUS_ADVICE = """write an object such as {"a": "off"}"""
STORY_HELP = "docs/clusterer.md, Stories, has the form; `joinproto clusterer stories` has examples"
STORIES = Path(joinproto.__file__).parent / "clusterer" / "stories"


@frozen
class Validated:
    """`clusterer validate --json`: the config of a file, or its first error."""

    file: Annotated[str, "the file's name"]
    answer: Annotated[ReadAnswer, Merged()]


@click.group(epilog=EXAMPLE)
def clusterer() -> None:
    """Declarative cluster configs that a set of nodes reaches by itself.

    A config file holds Erlang terms, or TOML.
    """


for _command in (node, apply, status):
    clusterer.add_command(_command)


options = together(
    AS_JSON,
    option(
        "--release",
        "seed: a config must have shutdown_timeout; head: it is ignored.",
        click.Choice([one.value for one in Release]),
        default=Release.SEED.value,
    ),
)
"""The options of commands that read config files."""


@clusterer.command(epilog="Example: joinproto clusterer validate cluster.config")
@options
@click.argument("file")
def validate(file: str, release: str, as_json: bool) -> int:
    """Read a config, and print its first error; exit code 1 if it is not valid."""
    answer = answer_read(text=text_of(file), release=Release(release))
    if as_json:
        click.echo(printed(Validated(file, answer)))
        return int(answer.error is not None)
    if answer.error is None:
        click.echo(f"{file}: {answer.why}" + (f"\n  {answer.note}" if answer.note else ""))
        return 0
    click.echo(f"{file}:{answer.error.line}: {answer.error.found}\n  write {answer.error.write}")
    return 1


@clusterer.command(epilog="Example: joinproto clusterer compare cluster.config new.config")
@options
@click.argument("a")
@click.argument("b")
def compare(a: str, b: str, release: str, as_json: bool) -> int:
    """Say how config A compares with config B: younger, older, coeval or invalid."""
    one, other = (config_of(file, Release(release)).held.config for file in (a, b))
    answer: CompareAnswer = compared(one, other)
    text = f"{answer.result.value}: {answer.why} ({answer.rule})"
    click.echo(printed(answer) if as_json else text)
    return 0


@clusterer.command(
    epilog="Example: joinproto clusterer plan cluster.config new.config --status status.json"
)
@options
@option(
    "--status",
    "A JSON object: node to off, reset or blank; nodes that it leaves out are ready.",
    metavar="FILE",
)
@option("--to", "Ask this running node, and the nodes that it knows.", metavar="HOST:PORT")
@with_proof
@click.argument("configs", nargs=-1, required=True, metavar="[CURRENT] NEW")
def plan(
    configs: tuple[str, ...],
    status: str | None,
    to: str | None,
    proof: OperatorProof,
    release: str,
    as_json: bool,
) -> int:
    """Say what config NEW does to a cluster that has reached CURRENT, or to running nodes (--to).

    It prints which nodes are wiped, leave, restart or wait, and for which nodes they wait, in the
    worst of many orders.  Without --to each node of CURRENT knows all other nodes, and a node that
    only NEW names counts as running by itself, with data of its own.
    """
    new, silent = configs[-1], list[str]()
    if len(configs) != (2 if to is None else 1) or (to is not None and status is not None):
        raise UsageProblem(
            f"found {plural(len(configs), 'config')}{' and --to' if to else ''}"
            f"{' and --status' if status else ''}",
            next="write plan CURRENT NEW [--status FILE], or plan NEW --to HOST:PORT",
        )
    if to is not None:
        known = answers(proof.ask, to)
        after = config_of(new, known.release).held.config
        found, silent = known.plan(after), known.silent(after)
    else:
        chosen = Release(release)
        before, after = (config_of(file, chosen).held.config for file in configs)
        statuses = {} if status is None else statuses_of(status, before.nodes | after.nodes)
        found = planned(before, after, statuses, release=chosen, chances=chances())
    if as_json:
        click.echo(printed(found))
        return 0
    click.echo("\n".join([*plan_as_text(new, found), *silent_as_text(silent)]))
    return 0


def statuses_of(file: str, nodes: frozenset[str]) -> Mapping[str, Up]:
    """Return the status of each node in a file; raises `DoesNotFit` with the node at fault."""
    with placing(next=STATUS_ADVICE, file=file):
        kind: Any = Mapping[str, Up]
        found: Mapping[str, Up] = fitted(kind, parse(text_of(file)))
    for name in found:
        if name not in nodes:
            raise DoesNotFit(name, f"{file}: {name} is in neither config", next="leave it out")
    return found


# -- stories -------------------------------------------------------------------------------


@clusterer.command(epilog="Example: joinproto clusterer run two-younger-at-once --seeds 20")
@click.argument("story")
@option("--seeds", "Try this many other orders.", click.IntRange(min=0), default=0)
@AS_JSON
def run(story: str, seeds: int, as_json: bool) -> int:
    """Play a story, and print the outcome of each step.

    STORY is a file, - for standard input, or the name of a story that ships (`stories` lists them).
    With --seeds each step's events are tried in other orders, too.  If the outcome depends on the
    order, each outcome is shown with the number of its orders, and with one of these orders.
    """
    found = story_from(story)
    if seeds:
        played = play_orders(found, seeds, lambda seed: Random(seed).randrange)
    else:
        played = StoryRun(steps=play(found))
    click.echo(printed(played) if as_json else "\n".join(_as_text(played)))
    return 0


@clusterer.command(epilog="Example: joinproto clusterer stories")
@AS_JSON
def stories(as_json: bool) -> int:
    """List the stories that ship."""
    found = tuple(
        ShippedStory(path.stem, story_from(str(path)).about)
        for path in sorted(STORIES.glob("*.json"))
    )
    table = aligned([(one.name, one.about) for one in found])
    click.echo(printed(Stories(found)) if as_json else "\n".join(table))
    return 0


@frozen
class ShippedStory:
    """A story that ships."""

    name: Annotated[str, "for `clusterer run`"]
    about: Annotated[str, "what it shows"]


@frozen
class Stories:
    """`clusterer stories --json`: the stories that ship."""

    stories: Annotated[tuple[ShippedStory, ...], "by name"]


def story_from(name: str) -> Story:
    """Return the story of a file, of standard input (`-`), or of a shipped story's name.

    Raises `UsageProblem`.
    """
    shipped = STORIES / f"{name}.json"
    is_shipped = "/" not in name and not Path(name).exists() and shipped.is_file()
    if not is_shipped and name != "-" and not Path(name).exists():
        raise UsageProblem(
            f"{name}: neither a file nor a story that ships",
            next="joinproto clusterer stories   lists the stories that ship",
        )
    file = str(shipped) if is_shipped else name
    with placing(next=STORY_HELP, file=file):
        return story_of(parse(text_of(file)))


def _as_text(played: StoryRun) -> Iterator[str]:
    for at, step in enumerate(played.steps):
        yield f"step {at}"
        yield from _step_as_text(step)
    if played.orders is not None:
        noun = "outcome" if played.outcomes == 1 else "different outcomes"
        yield f"{played.orders} orders, {played.outcomes} {noun}"
    ends = played.ends or ()
    if len(ends) == 1:
        return
    for number, end in enumerate(ends, 1):
        order = "the plain order" if end.seed < 0 else f"seed {end.seed}"
        yield f"outcome {number}: {end.orders} of {played.orders} orders, among them {order}"
        if end.step is None:
            yield "  as shown above"
            continue
        yield f"  the outcome of step {end.step} depends on the order; in this one"
        yield from (f"    {event}" for event in end.events)
        if not end.rests and end.step == len(end.steps):
            yield "  does not come to rest: its events repeat for ever"
            continue
        yield "  ends in"
        yield from (f"  {line}" for line in _step_as_text(end.steps[end.step]))
        if end.step < len(end.steps) - 1:
            yield f"  and after step {len(end.steps) - 1}"
            yield from (f"  {line}" for line in _step_as_text(end.steps[-1]))


def _step_as_text(step: StepTold) -> Iterator[str]:
    for name, one in step.nodes.items():
        version = "-" if one.version is None else one.version
        data = one.data or "-"
        yield f"  {name:10} {one.state:9} version {version:<3} data {data:8} {one.why}"
    if step.wiped:
        yield f"  wiped: {', '.join(step.wiped)}"
    yield from (f"  {name} answers: {reply}" for name, reply in step.replies.items())
