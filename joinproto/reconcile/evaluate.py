"""One evaluation: `evaluate(situation) -> Decision`, the case of the table and the nodes chosen.

Source: reconciliation, Q1 to Q4.
"""

from __future__ import annotations

from attrs import frozen

from joinproto.machine.compiled import members_of
from joinproto.machine.tables import Case
from joinproto.machine.terms import Group
from joinproto.machine.values import evolve
from joinproto.reconcile.placement import Choice, Placement, placement_of
from joinproto.reconcile.queue import EVALUATING, Node, Situation, Variant
from joinproto.reconcile.tables import CANDIDATES, DROPPED, GONE, TABLES, Action, NodeRow
from joinproto.reconcile.target import Wanted, wanted


@frozen
class Decision:
    """The next action for a queue, and all facts for its explanation.

    `nodes`: the nodes to add or to remove; more than one only when the shipped broker removes.
    `rows`, `me`: the rows that the table read, and the index of the evaluating node's row.
    `choice`: the reason for a node that is added.
    """

    situation: Situation
    wanted: Wanted
    case: Case[Action]
    rows: tuple[NodeRow, ...]
    me: int
    nodes: tuple[str, ...] = ()
    choice: Choice | None = None

    @property
    def action(self) -> Action:
        return self.case.outcome

    @property
    def rule(self) -> str:
        return self.case.label

    def names(self, group: Group) -> tuple[str, ...]:
        """Return the names of the nodes in one of the sets of the tables."""
        return tuple(self.rows[at].name for at in members_of(group, self.rows, self.me))


def evaluate(situation: Situation, place: Placement | None = None) -> Decision:
    """Return the variant's decision for a queue.

    `place`: the function that chooses a node, instead of the function that the settings name.
    """
    target = wanted(situation.queue.target, situation.variant)
    rows = rows_of(situation, target.count)
    here = situation.evaluator or ""
    me = next(at for at, row in enumerate(rows) if row.name == here)
    decision = Decision(situation, target, TABLES[situation.variant].choose(rows, me), rows, me)
    if decision.action is Action.ADD:
        takes = decision.names(CANDIDATES)
        candidates = tuple(node for node in situation.nodes if node.name in takes)
        choice = (place or placement_of(situation))(candidates, situation)
        return evolve(decision, nodes=(choice.node,), choice=choice)
    if decision.action is Action.REMOVE:
        gone = decision.names(GONE) or decision.names(DROPPED)
        return evolve(decision, nodes=gone if situation.variant is Variant.REAL else gone[:1])
    return decision


def rows_of(situation: Situation, target: int) -> tuple[NodeRow, ...]:
    """Return the rows for the tables, in the order of names."""
    nodes = {node.name: node for node in situation.nodes}
    queue, here = situation.queue, situation.evaluator or ""
    members = frozenset(situation.members)
    runs = {name: situation.runs(name) for name in members}
    leads, has_leader = queue.leader in (None, EVALUATING, here), queue.leader is not None
    knows_nodes, knows_members = bool(nodes), bool(queue.members)
    fails, removes = queue.target.configuration == 0, situation.removes
    has_majority = 2 * sum(runs.values()) > len(members)
    survives_less = situation.spare < (target - 1) // 2
    is_odd, changing = len(members) % 2 == 1, queue.changing is not None
    rows = []
    for name in sorted({here, *nodes, *members}):
        node = nodes.get(name)
        rows.append(
            NodeRow(
                name=name,
                has_replica=name in members,
                in_cluster=node is not None,
                running=runs.get(name, node is not None and node.running),
                drained=node is not None and node.drained,
                lost=name in members and _is_lost(situation, name, node),
                takes=node is not None and name not in members and _takes(situation, node),
                behind=name in queue.behind,
                stays=name in queue.stays,
                knows_nodes=knows_nodes,
                knows_members=knows_members,
                leads=leads,
                has_leader=has_leader,
                fails=fails,
                removes=removes,
                changing=changing,
                has_majority=has_majority,
                survives_less=survives_less,
                is_odd=is_odd,
                target=target,
            )
        )
    return tuple(rows)


def _is_lost(situation: Situation, name: str, node: Node | None) -> bool:
    """Return whether this replica no longer counts: its node left, or it is away for too long."""
    if node is None:
        return True
    if situation.runs(name) or situation.variant is Variant.REAL:
        return False
    return situation.queue.away.get(name, 0.0) >= situation.settings.failure_interval


def _takes(situation: Situation, node: Node) -> bool:
    is_full = node.full and situation.variant is Variant.OURS
    return node.running and not node.drained and not is_full
