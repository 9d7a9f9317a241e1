"""What `joinproto ask reconcile.*` answers.

Source: reconciliation, Q1 to Q3.
"""

from __future__ import annotations

from typing import Annotated

from attrs import asdict, frozen

from joinproto.ask.question import question
from joinproto.codec.json_form import AtLeast
from joinproto.codec.strict import DoesNotFit
from joinproto.reconcile import timers
from joinproto.reconcile.evaluate import Decision, evaluate
from joinproto.reconcile.explain import why, would_change
from joinproto.reconcile.queue import Node, Queue, Settings, Situation, Target, Variant
from joinproto.reconcile.tables import CANDIDATES, Action
from joinproto.reconcile.target import RULE, wanted
from joinproto.reconcile.timers import Event, Timers


@frozen(kw_only=True)
class AskTarget(Target):
    """Who wants how many replicas of one queue."""

    variant: Annotated[
        Variant, "whose rules: the design's, those of the broker that shipped, ours"
    ] = Variant.OURS


@frozen(kw_only=True)
class TargetAnswer:
    """How many replicas are kept."""

    target: Annotated[int, "0: no target, nothing is added"]
    said_by: Annotated[str | None, "what decided; null: nothing"]
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]


@question("reconcile.target", variant="seed", argument=3, policy=5)
def answer_target(asked: AskTarget) -> TargetAnswer:
    """How many replicas a queue is to have, and who says so."""
    found = wanted(asked, asked.variant)
    return TargetAnswer(target=found.count, said_by=found.said_by, rule=RULE, why=found.why)


@frozen(kw_only=True)
class AskQueue(Queue):
    """One evaluation of one queue, by its leader."""

    nodes: Annotated[tuple[Node, ...], "of the cluster; none: not known"]
    settings: Annotated[Settings, "what holds for all queues"] = Settings()
    variant: Annotated[
        Variant, "whose rules: the design's, those of the broker that shipped, ours"
    ] = Variant.OURS
    at: Annotated[str | None, "who evaluates; null: the leader"] = None
    dice: Annotated[int, AtLeast(0), "which candidate a random placement takes"] = 0

    def situation(self) -> Situation:
        """Return what is evaluated; raises `UsageProblem` for nodes or members told twice."""
        _once("nodes", [node.name for node in self.nodes])
        _once("members", list(self.members or ()))
        self._check_names()
        told = asdict(self, recurse=False)
        more = {one: told.pop(one) for one in ("nodes", "settings", "variant", "at", "dice")}
        return Situation(queue=Queue(**told), **more)

    def _check_names(self) -> None:
        """Refuse names that are empty, and a leader or evaluating node that is nowhere else."""
        told = {
            **{f"nodes[{at}].name": node.name for at, node in enumerate(self.nodes)},
            **{f"members[{at}]": name for at, name in enumerate(self.members or ())},
            "at": self.at,
        }
        for place, name in told.items():
            if name == "":
                raise DoesNotFit(place, "the name is empty", next="give the name of a node")
        if self.leader and self.members and self.leader not in self.members:
            raise DoesNotFit(
                "leader",
                f"{self.leader!r} leads and has no replica",
                next=f"one of {', '.join(self.members)}, or null",
            )
        self._check_replicas()
        known = {*(node.name for node in self.nodes), *(self.members or ())}
        if self.at is not None and self.nodes and self.at not in known:
            raise DoesNotFit(
                "at", f"there is no node {self.at!r}", next=f"one of {', '.join(sorted(known))}"
            )

    def _check_replicas(self) -> None:
        """Refuse what is told of replicas that are nowhere: a misspelt name would be ignored."""
        if not self.members:
            return
        told = [*((f"behind[{at}]", name) for at, name in enumerate(self.behind))]
        told += [(f"stays[{at}]", name) for at, name in enumerate(self.stays)]
        told += [(f"away.{name}", name) for name in self.away]
        for place, name in told:
            if name not in self.members:
                raise DoesNotFit(
                    place,
                    f"{name!r} has no replica of this queue",
                    next=f"one of {', '.join(self.members)}",
                )


@frozen(kw_only=True)
class QueueAnswer:
    """What the evaluation does, and why."""

    action: Annotated[Action, "what is done now"]
    nodes: Annotated[tuple[str, ...], "whom it adds or removes"]
    candidates: Annotated[tuple[str, ...], "who could take a replica"]
    target: Annotated[int, "how many are wanted"]
    survives: Annotated[int, "failures that the queue survives now; below 0: no majority runs"]
    rule: Annotated[str, "the rule that decided"]
    case: Annotated[str, "the case of the variant's table"]
    why: Annotated[str, "the reason, in a sentence"]
    would_change: Annotated[str | None, "what would make this a change; null: it is one"]


@question(
    "reconcile.queue",
    variant="ours",
    name="qq.1",
    members=["a", "b", "c"],
    target={"policy": 3},
    away={"c": 75},
    nodes=[
        {"name": "a", "zone": "1"},
        {"name": "b", "zone": "2"},
        {"name": "c", "zone": "3", "running": False},
        {"name": "d", "zone": "3"},
    ],
)
def answer_queue(asked: AskQueue) -> QueueAnswer:
    """One evaluation of one queue: add, remove, wait or nothing, and why."""
    return answered(evaluate(asked.situation()))


def answered(found: Decision) -> QueueAnswer:
    """Return a decision as it is answered."""
    return QueueAnswer(
        action=found.action,
        nodes=found.nodes,
        candidates=found.names(CANDIDATES),
        target=found.wanted.count,
        survives=found.situation.spare,
        rule=found.rule,
        case=found.case.name,
        why=why(found),
        would_change=would_change(found),
    )


@frozen(kw_only=True)
class AskTimer:
    """When evaluations happen, for a list of timed events."""

    variant: Annotated[
        Variant, "whose rules: the design's, those of the broker that shipped, ours"
    ] = Variant.OURS
    pace: Annotated[Timers, "how often"] = Timers()
    events: Annotated[tuple[Event, ...], "what happens, and when"] = ()
    until: Annotated[float, AtLeast(0), "seconds that are looked at"] = 3600.0
    queue: Annotated[str, "whose turn: sets the first look (seed, ours)"] = ""
    changes: Annotated[
        tuple[float, ...], "for each, the first look from this second on changes something"
    ] = ()


@frozen(kw_only=True)
class LookAnswer:
    """One evaluation."""

    at: Annotated[float, "seconds from the start"]
    because: Annotated[str, "interval, change, or the event"]


@frozen(kw_only=True)
class TimerAnswer:
    """All evaluations in their order."""

    looks: Annotated[tuple[LookAnswer, ...], "in their order"]
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]


WHEN = {
    Variant.SEED: "each queue looks once in an interval, at a time of its own",
    Variant.REAL: "one timer a node; an event arms it anew",
    Variant.OURS: "each queue looks once in an interval, and an event brings that forward",
}


@question(
    "reconcile.timer",
    variant="real",
    pace={"interval": 50, "trigger_interval": 10},
    events=[{"at": 1, "what": "node_down"}],
    until=120,
)
def answer_timer(asked: AskTimer) -> TimerAnswer:
    """When evaluations happen, for a list of timed events."""
    if asked.pace.interval == 0:
        raise DoesNotFit("pace.interval", "expected more than 0", next="null: the default")
    if asked.until / max(asked.pace.between(asked.variant), 1e-9) > 1e5:
        raise DoesNotFit("until", "more than 100,000 looks", next="less time or a longer interval")
    found = timers.looks(
        asked.variant,
        asked.pace,
        asked.events,
        asked.until,
        queue=asked.queue,
        changes=asked.changes,
    )
    looks = tuple(LookAnswer(at=one.at, because=one.because) for one in found)
    off = "reconciliation is switched off"
    return TimerAnswer(
        looks=looks, rule="Q2", why=WHEN[asked.variant] if asked.pace.enabled else off
    )


def _once(field_name: str, names: list[str]) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            place = f"{field_name}[{at}]"
            raise DoesNotFit(place, f"{name!r} is there twice", next="name each once")


QUESTIONS = (
    answer_target,
    answer_queue,
    answer_timer,
)
