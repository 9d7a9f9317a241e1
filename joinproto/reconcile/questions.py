"""The answers of `joinproto ask reconcile.*`.

Source: reconciliation, Q1 to Q3.
"""

from __future__ import annotations

from typing import Annotated

from attrs import asdict, frozen

from joinproto.ask.question import Answer, Rule, question, refuse_twice
from joinproto.codec.json_form import AtLeast, Last
from joinproto.codec.strict import DoesNotFit
from joinproto.reconcile.evaluate import Decision, evaluate
from joinproto.reconcile.explain import why, would_change
from joinproto.reconcile.queue import WHOSE, Node, Queue, Settings, Situation, Target, Variant
from joinproto.reconcile.tables import CANDIDATES, Action
from joinproto.reconcile.target import Wanted, wanted
from joinproto.reconcile.timers import Event, Look, Timers, looks


@question(
    "reconcile.target",
    "How many replicas of one queue are wanted, and by what.",
    variant="seed",
    argument=3,
    policy=5,
)
def answer_target(target: Target, variant: WHOSE = Variant.OURS) -> Wanted:
    """Return the number of replicas that a queue must have, and the source that sets it."""
    return wanted(target, variant)


@frozen(kw_only=True)
class AskQueue(Queue):
    """One evaluation of one queue, by its leader."""

    nodes: Annotated[tuple[Node, ...], "of the cluster; none: not known"]
    settings: Annotated[Settings, "what holds for all queues"] = Settings()
    variant: WHOSE = Variant.OURS
    at: Annotated[str | None, "the node that evaluates; null: the leader"] = None
    dice: Annotated[int, AtLeast(0), "which candidate a random placement takes"] = 0

    def situation(self) -> Situation:
        """Return the situation to evaluate; raises `DoesNotFit` for names that cannot be right."""
        refuse_twice("nodes", [node.name for node in self.nodes])
        refuse_twice("members", list(self.members or ()))
        self._check_names()
        told = asdict(self, recurse=False)
        more = {one: told.pop(one) for one in ("nodes", "settings", "variant", "at", "dice")}
        return Situation(queue=Queue(**told), **more)

    def _check_names(self) -> None:
        """Refuse empty names, and a leader or evaluating node that is not in the lists."""
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
        """Refuse facts about replicas that do not exist: a misspelt name would be ignored."""
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
class QueueAnswer(Answer):
    """The action of the evaluation, and the reason."""

    action: Annotated[Action, "what is done now"]
    nodes: Annotated[tuple[str, ...], "the nodes that it adds or removes"]
    candidates: Annotated[tuple[str, ...], "the nodes that could take a replica"]
    target: Annotated[int, "how many are wanted"]
    survives: Annotated[int, "failures that the queue survives now; below 0: no majority runs"]
    case: Annotated[str, Last(8), "the case of the variant's table"]
    would_change: Annotated[str | None, Last(10), "what would make this a change; null: it is one"]


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
    """Return the answer for a decision."""
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
class TimerAnswer(Answer):
    """All evaluations in their order."""

    looks: Annotated[tuple[Look, ...], "in their order"]
    rule: Rule = "Q2"


WHEN = {
    Variant.SEED: "each queue looks once in an interval, at a time of its own",
    Variant.REAL: "one timer a node; an event arms it anew",
    Variant.OURS: "each queue looks once in an interval, and an event brings that forward",
}
PACE = Timers()


@question(
    "reconcile.timer",
    "When evaluations happen, for a list of timed events.",
    variant="real",
    pace={"interval": 50, "trigger_interval": 10},
    events=[{"at": 1, "what": "node_down"}],
    until=120,
)
def answer_timer(
    variant: WHOSE = Variant.OURS,
    pace: Annotated[Timers, "how often"] = PACE,
    events: Annotated[tuple[Event, ...], "what happens, and when"] = (),
    until: Annotated[float, AtLeast(0), "seconds that are looked at"] = 3600.0,
    queue: Annotated[str, "whose turn it is: sets the first look (seed, ours)"] = "",
    changes: Annotated[
        tuple[float, ...], "for each, the first look from this second on changes something"
    ] = (),
) -> TimerAnswer:
    """Return the times of evaluations, for a list of timed events."""
    if pace.interval == 0:
        raise DoesNotFit("pace.interval", "expected more than 0", next="null: the default")
    if until / max(pace.between(variant), 1e-9) > 1e5:
        raise DoesNotFit("until", "more than 100,000 looks", next="less time or a longer interval")
    found = looks(variant, pace, events, until, queue=queue, changes=changes)
    why = WHEN[variant] if pace.enabled else "reconciliation is switched off"
    return TimerAnswer(looks=tuple(found), why=why)


QUESTIONS = (
    answer_target,
    answer_queue,
    answer_timer,
)
