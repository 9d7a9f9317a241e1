"""A decision in words: its reason, and the facts that would have to change.

Source: reconciliation, "Explaining".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from joinproto.reconcile.evaluate import Decision
from joinproto.reconcile.queue import Variant
from joinproto.reconcile.tables import (
    AWAY,
    CANDIDATES,
    CATCHING_UP,
    DROPPED,
    GONE,
    LOST,
    PRESENT,
    Action,
)
from joinproto.reconcile.target import ANY

WHY = {
    "the nodes are not known": "the nodes of the cluster are not known: the question failed",
    "the members are not known": "the queue did not say which its members are",
    "no leader": "no node leads: the replicas have not elected a leader, so no message is"
    " committed, and no replica can be added or removed",
    "another node leads": "{leader} leads and evaluates the queue, not {here}",
    "the leader is down": "{here} must evaluate the queue, and does not run",
    "it fails": "{wanted}: the evaluating process ends, and no queue is evaluated",
    "in maintenance": "{here} is in maintenance and evaluates no queue",
    "no target": "{wanted}",
    "a change is under way": "a change of its members is not committed yet: {changing}",
    "no majority": "{running} of {size} replicas run, and a change needs {majority}",
    "one catches up": "{behind} still catches up",
    "drop a node that left": "{gone} has a replica, but is no longer in the cluster{survives}",
    "drop a lost member": "{lost} no longer counts, but is still listed, so the majority is"
    " {majority} of {size} replicas{survives}",
    "enough": "{there}{although}{survives}",
    "no free node": "{there}, and no node can take another{survives}",
    "it would be even": "one more replica would make {next_size}, and no second node could take"
    " another",
    "a member is down": "{down} has a replica, but does not run",
    "one more": "{there}; {choice}",
    "one more for one that stays": "{lost} no longer counts, but is still listed, so the majority"
    " is {majority} of {size} replicas; {choice}{survives}",
    "away, not for long": "{away} is away, for {away_for:g} of {interval:g} seconds",
}
"""The reason of each case, by the name of the case."""

CHANGES = {
    "the nodes are not known": "an answer with the cluster's nodes",
    "the members are not known": "an answer of the queue with its members",
    "no leader": "an election: look at the logs of {up}, and restart one of them",
    "another node leads": "{leader} evaluates the queue at its next turn",
    "the leader is down": "another leader, or {here} running",
    "it fails": "a configured size of 1 or more, or no configured size",
    "in maintenance": "the end of the maintenance of {here}",
    "no target": "an argument, a policy or a setting with a number of replicas",
    "a change is under way": "the commit of that change, or its failure",
    "no majority": "{missing} more of {down} running{shrink}",
    "one catches up": "{behind} being caught up, or lost",
    "enough": "{not_enough}",
    "no free node": "{too_few}",
    "it would be even": "{too_few}",
    "a member is down": "{too_few}",
    "away, not for long": "{away} staying away for {left:g} more seconds",
}
"""For each case without a change: the facts that would lead to a change."""


def why(decision: Decision) -> str:
    """Return the reason as one sentence without its full stop."""
    return WHY[_case(decision)].format_map(_words(decision))


def would_change(decision: Decision) -> str | None:
    """Return the facts that would lead to a change, or None if the decision is a change."""
    if decision.action in (Action.ADD, Action.REMOVE):
        return None
    return CHANGES[_case(decision)].format_map(_words(decision))


def _case(decision: Decision) -> str:
    """Return the case whose words apply; the shipped rules have no case for a target of 0."""
    name = decision.case.name
    return "no target" if name == "enough" and not decision.wanted.count else name


class _Words:
    """Words by name, computed only when a sentence uses them: most use two or three."""

    def __init__(self, **words: Callable[[], object]) -> None:
        self._words = words

    def __getitem__(self, name: str) -> object:
        return self._words[name]()


def _words(decision: Decision) -> _Words:
    situation = decision.situation
    queue, size = situation.queue, len(situation.members)
    down = [name for name in situation.members if not situation.runs(name)]
    interval = situation.settings.failure_interval
    counts_all = situation.variant is Variant.REAL

    def gone() -> tuple[str, ...]:
        return decision.names(GONE)

    def longest() -> float:
        return max((queue.away.get(name, 0.0) for name in decision.names(AWAY)), default=0.0)

    def survives() -> str:
        failures = max(0, situation.spare)
        words = f"; the queue survives {failures} failure" + "s" * (failures != 1)
        return "" if counts_all else words

    def counted() -> int:
        return size if counts_all else size - len(decision.names(LOST))

    def there() -> str:
        if decision.wanted.count == ANY:
            return f"{counted()} replicas are there, and the argument asks for one on each node"
        return f"{counted()} of {decision.wanted.count} wanted replicas are there"

    def shrink() -> str:
        lost = decision.names(LOST)
        if not lost or size - len(lost) >= size // 2 + 1 or counts_all:
            return ""
        up = [name for name in situation.members if situation.runs(name)]
        kept = listed(up) if len(up) < 2 else f"one of {listed(up)}"
        return (
            f"; or, as {listed(lost)} may never come back, a forced shrink to {kept},"
            " which loses the messages that only other replicas had:"
            " force_shrink_member_to_current_member"
        )

    return _Words(
        leader=lambda: queue.leader,
        here=lambda: situation.evaluator,
        wanted=lambda: decision.wanted.why,
        changing=lambda: queue.changing,
        size=lambda: size,
        running=lambda: size - len(down),
        majority=lambda: size // 2 + 1,
        missing=lambda: max(0, size // 2 + 1 - (size - len(down))),
        there=there,
        next_size=lambda: size + 1,
        behind=lambda: listed(decision.names(CATCHING_UP)),
        gone=lambda: listed(gone()),
        up=lambda: listed([one for one in situation.members if situation.runs(one)]),
        shrink=shrink,
        lost=lambda: listed(decision.names(LOST)),
        survives=survives,
        down=lambda: listed(down),
        away=lambda: listed(decision.names(AWAY)),
        away_for=lambda: round(longest(), 1),
        interval=lambda: interval,
        left=lambda: round(max(0.0, interval - longest()), 1),
        choice=lambda: "" if decision.choice is None else decision.choice.why,
        although=lambda: _despite(down, gone()) if counts_all else "",
        not_enough=lambda: _not_enough(decision, counted(), down, gone()),
        too_few=lambda: _too_few(decision, down, gone()),
    )


def _despite(down: Sequence[str], gone: Sequence[str]) -> str:
    if gone:
        return f", because {listed(gone)} counts, although it left the cluster"
    return f", because {listed(down)} counts, although it does not run" if down else ""


def _not_enough(decision: Decision, counted: int, down: Sequence[str], gone: Sequence[str]) -> str:
    """Return the facts with which the variant would change a queue that has enough replicas."""
    situation, spare = decision.situation, counted - decision.wanted.count
    more = f"a number over {counted}" if spare else "a higher number"
    if situation.variant is Variant.REAL:
        # A member that left counts as one that does not run: no target helps until it is dropped.
        also = "" if gone else _joined(more, _nodes_missing(decision, counted), down)
        if counted - len(down) >= decision.wanted.count:
            down = ()  # enough are left without these
        return _ways_of_shipped(decision, down, gone, also=also)
    nodes = _nodes_missing(decision, counted)
    ways = [_joined(more, nodes, ())]
    size, left = len(situation.members), len(decision.names(PRESENT)) - spare - 1
    if left > 0 and (2 * left > size or situation.variant is Variant.SEED):
        lost = f"{spare + 1} replicas" if spare else "a replica"
        ways.append(
            _joined(f"the loss of {lost}", _nodes_missing(decision, counted, loses=True), ())
        )
    return "; or ".join(ways)


def _too_few(decision: Decision, down: Sequence[str], gone: Sequence[str]) -> str:
    """Return the facts with which the variant would add a replica to a queue with too few."""
    nodes = _nodes_missing(decision, len(decision.situation.members))
    if decision.situation.variant is not Variant.REAL:
        return nodes
    return _ways_of_shipped(decision, down, gone, also=_joined("", nodes, down))


def _ways_of_shipped(
    decision: Decision, down: Sequence[str], gone: Sequence[str], *, also: str
) -> str:
    """Return the ways to a change by the shipped rules, which count replicas that do not run.

    `also`: another way, or "".
    """
    situation = decision.situation
    size = len(situation.members)
    ways = [also] if also and not gone else []
    if down:
        nodes = _nodes_missing(decision, size - len(down))
        ways.insert(0, _joined(f"{listed(down)} removed from the queue by hand", nodes, ()))
    if gone:
        ways.insert(0, "auto_remove")
    elif situation.removes and size > 1:
        ways.append("one of its nodes leaving the cluster")
    return "; or ".join(ways)


def _nodes_missing(decision: Decision, size: int, *, loses: bool = False) -> str:
    """Return which nodes are missing to give a queue of this size one more replica, or "".

    `loses`: the queue has lost one more replica by then.
    """
    variant = decision.situation.variant
    if variant is not Variant.REAL:
        # Our rules make an odd number even only if a dead member can be dropped afterwards.
        may_drop = decision.situation.removes and (loses or decision.names(DROPPED))
        is_kept = (loses or decision.names(LOST)) and not may_drop
        is_ours = variant is Variant.OURS
        size = len(decision.situation.members) if is_ours and is_kept else 0
    needs = 2 if size % 2 else 1
    missing = max(0, needs - len(decision.names(CANDIDATES)))
    if not missing:
        return ""
    nodes = "one more running node" if missing == 1 else "two more running nodes"
    full = " or full" if variant is Variant.OURS else ""
    return f"{nodes} without a replica, not in maintenance{full}"


def _joined(first: str, nodes: str, down: Sequence[str]) -> str:
    running = f"{listed(down)} running" if down else ""
    return ", and ".join(filter(None, (first, nodes, running)))


def listed(names: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    *front, last = names or ("no node",)
    return f"{', '.join(front)} and {last}" if front else last
