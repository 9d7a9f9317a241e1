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
    "How many replicas a queue must have, and which source sets the number.",
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

    nodes: Annotated[tuple[Node, ...], "the nodes of the cluster; empty: they are not known"]
    settings: Annotated[Settings, "the settings for all queues"] = Settings()
    variant: WHOSE = Variant.OURS
    at: Annotated[str | None, "the node that evaluates; null: the leader"] = None
    dice: Annotated[
        int, AtLeast(0), "the index, modulo their number, of the candidate for a random placement"
    ] = 0

    def situation(self) -> Situation:
        """Return the situation to evaluate.

        Raises `DoesNotFit` for an empty, repeated or unknown name.
        """
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
                f"{self.leader!r} is the leader, but is not among `members`",
                next=f"name one of {', '.join(self.members)}, or null",
            )
        self._check_replicas()
        known = {*(node.name for node in self.nodes), *(self.members or ())}
        if self.at is not None and self.nodes and self.at not in known:
            raise DoesNotFit(
                "at",
                f"there is no node {self.at!r}",
                next=f"name one of {', '.join(sorted(known))}",
            )

    def _check_replicas(self) -> None:
        """Refuse facts about replicas that do not exist: else a misspelt name would be ignored."""
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
                    next=f"name one of {', '.join(self.members)}",
                )


@frozen(kw_only=True)
class QueueAnswer(Answer):
    """The result of one evaluation of a queue, and the reason."""

    action: Annotated[Action, "the action for the queue now"]
    nodes: Annotated[tuple[str, ...], "the nodes that gain or lose a replica"]
    candidates: Annotated[tuple[str, ...], "the nodes that could take a replica"]
    target: Annotated[int, "the number of replicas that the queue must have"]
    survives: Annotated[int, "failures that the queue survives now; below 0: no majority runs"]
    case: Annotated[str, Last(8), "the name of the case that decided"]
    would_change: Annotated[
        str | None, Last(10), "the facts that would lead to a change; null: the action is a change"
    ]


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
    """The times of all evaluations."""

    looks: Annotated[tuple[Look, ...], "the evaluations, in their order"]
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
    pace: Annotated[Timers, "the time between evaluations"] = PACE,
    events: Annotated[tuple[Event, ...], "events with their times"] = (),
    until: Annotated[float, AtLeast(0), "the end of the time that is covered, in seconds"] = 3600.0,
    queue: Annotated[
        str, "the name of the queue, which determines its first look (seed, ours)"
    ] = "",
    changes: Annotated[
        tuple[float, ...], "times in seconds; the first look at or after each changes something"
    ] = (),
) -> TimerAnswer:
    """Return the times of evaluations, for a list of timed events."""
    if pace.interval == 0:
        raise DoesNotFit(
            "pace.interval", "expected more than 0", next="use null for the default interval"
        )
    if until / max(pace.between(variant), 1e-9) > 1e5:
        raise DoesNotFit(
            "until", "expected at most 100,000 looks", next="use less time or a longer interval"
        )
    found = looks(variant, pace, events, until, queue=queue, changes=changes)
    why = WHEN[variant] if pace.enabled else "reconciliation is switched off"
    return TimerAnswer(looks=tuple(found), why=why)


QUESTIONS = (
    answer_target,
    answer_queue,
    answer_timer,
)
