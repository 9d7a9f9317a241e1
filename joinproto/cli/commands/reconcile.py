"""`joinproto reconcile`: the reasons for a queue's replicas, and the planned changes.

The exit code is 0 for any answer, and 2 if the state cannot be read.
"""

from __future__ import annotations

from typing import Annotated, BinaryIO, Self

import click
from attrs import evolve, frozen

from joinproto.cli.commands.reconcile_run import function_of, run
from joinproto.cli.commands.reconcile_simulate import results, simulate
from joinproto.cli.inputs import placing
from joinproto.cli.options import AS_JSON, INPUT, option, together
from joinproto.codec.json_form import AtLeast, Count, Merged, printed
from joinproto.codec.strict import DoesNotFit, fitted, parse
from joinproto.reconcile.evaluate import Decision, evaluate
from joinproto.reconcile.explain import why
from joinproto.reconcile.plan import Change, Limits, Load, Plan, is_settled
from joinproto.reconcile.plan import plan as planned
from joinproto.reconcile.questions import AskQueue, QueueAnswer, answered
from joinproto.reconcile.queue import Situation, titled

EXAMPLE = """\b
Example:
  joinproto reconcile explain state.json
  joinproto reconcile plan state.json --json
"""
SCHEMA = "joinproto ask reconcile.queue --schema prints the expected form"
SHARED_FIELDS = ("nodes", "settings", "variant")


@frozen
class QueueResult:
    """A queue, and the result of its evaluation."""

    name: Annotated[str, "the queue's name"]
    vhost: Annotated[str, "the queue's virtual host"]
    answer: Annotated[QueueAnswer, Merged()]

    @classmethod
    def of(cls, decision: Decision) -> Self:
        queue = decision.situation.queue
        return cls(queue.name, queue.vhost, answered(decision))

    @property
    def title(self) -> str:
        return titled(self.name, self.vhost)


@frozen
class Explained:
    """`reconcile explain --json`: each queue, in the order of the state."""

    queues: Annotated[tuple[QueueResult, ...], "the queues, in the order of the state"]


@frozen
class Planned:
    """`reconcile plan --json`: all changes, their cost, and the queues that they do not mend."""

    changes: Annotated[tuple[Change, ...], "the changes, in their order"]
    nodes: Annotated[tuple[Load, ...], "the load of each node"]
    seconds: Annotated[float, AtLeast(0), "seconds until the last change ends, at least"]
    bytes: Annotated[Count, "bytes that are copied"]
    left: Annotated[tuple[QueueResult, ...], "queues without the wanted replicas at the end"]

    @classmethod
    def of(cls, plan: Plan) -> Self:
        left = tuple(QueueResult.of(one) for one in plan.ends if not is_settled(one))
        return cls(plan.changes, plan.loads, plan.seconds, plan.bytes, left)


@click.group(epilog=EXAMPLE)
def reconcile() -> None:
    """Keep a minimum of replicas of each queue: explain, plan, run or simulate it.

    FILE holds the state, a JSON object: `nodes`, `queues` (inputs of `joinproto ask
    reconcile.queue`; a queue takes fields that it leaves out from the state), `settings`,
    `variant`, `limits`.
    """


reconcile.add_command(run)
reconcile.add_command(simulate)
reconcile.add_command(results)


_options = together(
    INPUT,
    option("--placement", "Your function that chooses a node.", metavar="MODULE:NAME"),
    AS_JSON,
)


@reconcile.command()
@_options
def explain(file: BinaryIO, placement: str | None, as_json: bool) -> int:
    """Say for each queue why a replica is, or is not, added or removed."""
    situations, _ = read_state(file.read())
    place = function_of(placement)
    if not situations and not as_json:
        click.echo("the state has no queues")
        return 0
    answers = [QueueResult.of(evaluate(one, place)) for one in situations]
    if as_json:
        click.echo(printed(Explained(tuple(answers))))
        return 0
    for one in answers:
        does = " ".join((one.answer.action.value, *one.answer.nodes))
        click.echo(f"{one.title}: {does}: {one.answer.why} ({one.answer.rule})")
        if one.answer.would_change:
            click.echo(f"  would change that: {one.answer.would_change}")
    return 0


@reconcile.command()
@_options
def plan(file: BinaryIO, placement: str | None, as_json: bool) -> int:
    """Print the changes of all queues together, their order, and the bytes that they copy."""
    situations, limits = read_state(file.read())
    found = planned(situations, limits, function_of(placement))
    click.echo(printed(Planned.of(found)) if as_json else _as_text(found))
    return 0


def read_state(text: bytes) -> tuple[list[Situation], Limits]:
    """Return the queues' situations and the limits; raises `DoesNotFit` with the field's path."""
    with placing(next=SCHEMA):
        state = parse(text)
    if not isinstance(state, dict) or not isinstance(state.get("queues"), list):
        raise DoesNotFit(
            "queues", "queues: expected a list of queues", next="docs/reconcile.md has a state file"
        )
    unknown = sorted(set(state) - {"queues", "limits", *SHARED_FIELDS})
    if unknown:
        raise DoesNotFit(
            unknown[0],
            f"{unknown[0]}: there is no such field",
            next=f"fields: queues, limits, {', '.join(SHARED_FIELDS)}",
        )
    with placing(next=SCHEMA, below="limits"):
        limits = fitted(Limits, state.get("limits", {}))
    # The shared fields are read once, and checked even if the state has no queue.
    given = {name: state[name] for name in SHARED_FIELDS if name in state}
    with placing(next=SCHEMA):
        shared = fitted(AskQueue, {"nodes": [], **given})
        shared.situation()
    situations: list[Situation] = []
    titles = set[tuple[str, str]]()
    for at, queue in enumerate(state["queues"]):
        own = queue if isinstance(queue, dict) else {}
        with placing(next=SCHEMA, below=f"queues[{at}]"):
            asked = fitted(AskQueue, {"nodes": [], **own} if own is queue else queue)
            rest = {name: getattr(shared, name) for name in given if name not in own}
            situations.append(evolve(asked, **rest).situation())
            title = (asked.vhost, asked.name)
            if "name" in own and title in titles:
                named = f"{situations[-1].queue.title!r} is there twice"
                raise DoesNotFit("", named, next="list each queue of a vhost once")
        titles.add(title)
    return situations, limits


def _as_text(found: Plan) -> str:
    lines = [
        f"{one.starts:8.0f} s  {one.title}: {one.action.value} {one.node}"
        + (f", {one.bytes:,} bytes until {one.ends:.0f} s" if one.bytes else "")
        for one in found.changes
    ]
    lines.append(
        f"{len(found.changes)} changes, {found.bytes:,} bytes, {found.seconds:.0f} s at least"
    )
    lines += [
        f"  {load.node}: {load.adds} more, {load.removes} fewer;"
        f" {load.bytes_in:,} bytes in, {load.bytes_out:,} out; load {load.load:g}"
        for load in found.loads
        if load.adds or load.removes
    ]
    lines += [
        f"left: {one.situation.queue.title}: {why(one)} ({one.rule})"
        for one in found.ends
        if not is_settled(one)
    ]
    return "\n".join(lines)
