"""`joinproto chance`: the exact probability that a run breaks a claim.

0  no run can break a claim       2  usage, a bad model (file:line), a weight that fits no step
1  a run can: the probability     3  undetermined: the graph was not searched to its end
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from joinproto.check import catalogue
from joinproto.check.chance import Chance, ClaimChance, Weight
from joinproto.check.chance import chance as chance_of
from joinproto.cli import loading
from joinproto.cli.options import AS_JSON, option
from joinproto.cli.output import Terminal, alone_on_stdout
from joinproto.cli.searching import at_work
from joinproto.cli.show.amounts import count, duration
from joinproto.cli.show.layout import Text
from joinproto.cli.show.pieces import Piece, Role, line, visible
from joinproto.codec.json_form import printed

EXAMPLE = """\b
Examples:
  joinproto chance discovery-delay
  joinproto chance note-lone-restart --weight "crash=0.01"
  joinproto chance discovery-delay --delay "begins=5..60s" --delay "looks=0.2s"
"""

VERDICTS = {
    "holds": Piece("no run breaks a claim", Role.GOOD),
    "violated": Piece("a run can break a claim", Role.BAD),
    "undetermined": Piece("UNDETERMINED", Role.WARN),
}


@click.command(epilog=EXAMPLE)
@loading.target()
@loading.world_options
@option(
    ("--weight", "weights"),
    "Draw steps that begin with these words with weight W; other steps have weight 1.",
    metavar="STEP=W",
    multiple=True,
)
@option(
    ("--delay", "delays"),
    "Steps that begin with these words take (A + B) / 2 seconds on average; other steps 1 second.",
    metavar="STEP=A..Bs",
    multiple=True,
)
@loading.limit_options
@AS_JSON
def chance(
    target: str, weights: tuple[str, ...], delays: tuple[str, ...], as_json: bool, **arguments: Any
) -> int:
    """Say how likely a run breaks a claim: the exact probability.

    All states are searched and read as a Markov chain: in each state, one of the steps that change
    it is drawn, all equally likely, faults too.  A run ends where no step is left or the claim is
    broken.  --weight and --delay make steps more or less likely; the last one that fits a step
    counts.  STEP is how a step begins in a run that `joinproto check` shows: crash, a: crash.
    """
    limits = loading.limits(arguments)
    options = loading.given(arguments)
    given = (*map(Weight.read, weights), *map(Weight.of_delay, delays))
    with alone_on_stdout(as_json):
        loaded = catalogue.load(target, options)
        with at_work(loaded) as how:
            found = chance_of(loaded.world, weights=given, **how, **limits)
    if as_json:
        click.echo(printed(found))
    else:
        click.echo(Terminal.now().lay_out(_texts(found)))
    return {"holds": 0, "violated": 1, "undetermined": 3}[found.result]


def _texts(found: Chance) -> Iterator[Text]:
    yield Text(line(Piece(f"{visible(found.world)}: ", Role.TITLE), VERDICTS[found.result]), 0, 2)
    if found.why:
        yield Text(line(Piece(f"{found.why}: so no probability is known", Role.WARN)), 2, 2)
    width = max(len(visible(claim.name)) for claim in found.claims) + 2
    for claim in found.claims:
        name = Piece(visible(claim.name).ljust(width), Role.NAME)
        yield Text(line(f"{_as_text(claim):24}", name))
    judged = [one for one in found.claims if one.kind != "sometimes" and one.probability]
    if len(judged) > 1:
        yield Text(
            line(f"{_number(found.probability):10}{'':14}", "at least one of the claims breaks")
        )
    chain = f"{count(found.states)} states, {count(found.steps)} steps that change one"
    yield Text(line(Piece(f"{chain}; {duration(found.seconds)}", Role.QUIET)))


def _as_text(claim: ClaimChance) -> str:
    if claim.probability is None:
        return "unknown"
    verb = "comes true" if claim.kind == "sometimes" else "breaks"
    return f"{_number(claim.probability):10} {verb}"


def _number(probability: float | None) -> str:
    if probability in (0.0, 1.0):
        return f"{probability:.0f}"
    return "unknown" if probability is None else f"{probability:.6g}"
