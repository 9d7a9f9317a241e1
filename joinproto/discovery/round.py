"""One round: a node's next action, from the backend's answer and the nodes that it sees.

Source: discovery, D3.
"""

from __future__ import annotations

from typing import Annotated

from attrs import field, frozen

from joinproto.ask.question import ByCase, Named, Why
from joinproto.codec.json_form import AtLeast
from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.boot import FIRST, TABLES, WHY, Peer, Rules, Step
from joinproto.machine.compiled import members_of
from joinproto.machine.tables import Case


@frozen(kw_only=True)
class Properties:
    """The properties of a node that answers."""

    members: Annotated[
        int, AtLeast(0), "the number of nodes in its cluster, 1 for a node alone, even if blank"
    ] = 1
    started: Annotated[float, "when it started, in seconds; an earlier start is less"] = 0.0
    ready: Annotated[bool | None, "whether its database is ready; null: not known"] = None
    in_cluster: Annotated[bool, "whether it has a database, alone or with others"] = False


@frozen(kw_only=True)
class Round:
    """The facts of a round.  `seen`: the nodes that answer, by name.

    `tries`: how many rounds are left after this one, None without an end.  `hint`: the configured
    size of the cluster.  `expected`: the number of members (ours), or None.  `locked`: the node has
    the lock, or needs none.  `by_name`: until 3.12, nodes are tried in the order of names, not of
    the list.
    """

    me: str
    answer: Answer
    seen: dict[str, Properties] = field(factory=dict)
    tries: int | None = 0
    hint: int = 1
    expected: int | None = None
    locked: bool = True
    ignores_locks: bool = False
    by_name: bool = False


@frozen
class Decision(ByCase):
    """The next action of a booting node."""

    step: Annotated[Step, "the next action"]
    case: Annotated[Named[Case[Step]], "the case of the rules' table"]
    node: Annotated[str | None, "the node that it joins; null: none"]
    why: Why
    order: Annotated[tuple[str, ...], "the nodes that answer, the preferred node first"]
    gave_up: Annotated[bool, "whether it stands alone because no try was left"] = False


def decide(about: Round, rules: Rules) -> Decision:
    """Return a blank node's next action."""
    listed = named(about.answer)
    order = sort(about, rules)
    peers = peers_of(about, rules, order)
    me = next(at for at, peer in enumerate(peers) if peer.name == about.me)
    case = TABLES[rules].choose(peers, me)
    firsts = [peers[at].name for at in members_of(FIRST, peers, me)]
    chosen = firsts[0] if firsts else None
    expected = expected_of(about)
    why = WHY[case.name].format(
        me=about.me,
        chosen=chosen,
        failed=about.answer.why if isinstance(about.answer, Failed) else "",
        seen=sum(peer.seen and peer.listed for peer in peers),
        listed=len(listed),
        known=len(known_by(about)),
        hint=hint_of(about),
        expected=expected,
        majority=majority_of(expected),
    )
    step = case.outcome
    if step is Step.RETRY and about.tries == 0:
        return Decision(Step.ALONE, case, None, f"{why}, and no try is left", order, gave_up=True)
    node = chosen if step is Step.JOIN else None
    return Decision(step, case, node, why, order)


def named(answer: Answer) -> tuple[str, ...]:
    """Return the nodes that an answer names, each once, in its order."""
    match answer:
        case Listed(nodes):
            return tuple(dict.fromkeys(nodes))
        case Selected(node):
            return (node,)
    return ()


def sort(about: Round, rules: Rules) -> tuple[str, ...]:
    """Return the nodes that answer, in the order in which the rules prefer them.

    Until 3.12: the nodes that have their tables, without the node itself, in the list's order or by
    name.  Since 3.13: by the larger cluster, then the earlier start, then the name.  Ours, without
    the node itself: members of a cluster first, then by name.
    """
    seen = [name for name in named(about.answer) if name in about.seen]
    match rules:
        case Rules.SEED:
            found = [name for name in seen if name != about.me and _has_tables(about.seen[name])]
            return tuple(sorted(found) if about.by_name else found)
        case Rules.REAL:
            return tuple(sorted(seen, key=lambda name: _order_since_3_13(name, about.seen[name])))
        case Rules.OURS:
            others = [name for name in seen if name != about.me]
            return tuple(sorted(others, key=lambda name: (not about.seen[name].in_cluster, name)))


def _has_tables(told: Properties) -> bool:
    return told.in_cluster and told.ready is not False


def _order_since_3_13(name: str, told: Properties) -> tuple[int, float, str]:
    return (-told.members, told.started, name)


def hint_of(about: Round) -> int:
    """Return how many nodes are wanted: the larger of the setting and the list's length."""
    return max(about.hint, len(named(about.answer)))


def expected_of(about: Round) -> int:
    """Return how many members are expected.

    Without the setting, it is the hint or the number of known nodes, whichever is larger.
    """
    return about.expected or max(about.hint, len(known_by(about)))


def known_by(about: Round) -> tuple[str, ...]:
    """Return the node itself and the listed nodes.

    The node counts even if the list lacks it.  Otherwise: one member is expected, c is listed and
    has founded a cluster; b, which is not listed and does not hear c, founds another cluster.
    """
    return tuple(dict.fromkeys((about.me, *named(about.answer))))


def majority_of(expected: int) -> int:
    """Return how many of the expected members must vote for a cluster, this node included."""
    return expected // 2 + 1


def peers_of(about: Round, rules: Rules, order: tuple[str, ...]) -> tuple[Peer, ...]:
    """Return the rows for the tables: the node itself, then the listed nodes."""
    listed, known = named(about.answer), known_by(about)
    expected = expected_of(about)
    peers = []
    for name in known:
        told = about.seen.get(name)
        peers.append(
            Peer(
                name=name,
                listed=name in listed,
                seen=name in order if rules is Rules.SEED else told is not None,
                first=bool(order) and name == order[0],
                ready=name == about.me or told is None or told.ready is not False,
                in_cluster=told is not None and told.in_cluster,
                failed=isinstance(about.answer, Failed),
                selects=isinstance(about.answer, Selected),
                only_me=listed == (about.me,),
                wants_two=hint_of(about) > 1,
                last=about.tries == 0,
                expected=expected,
                majority=majority_of(expected),
                too_many=len(known) > expected,
                locked=about.locked or about.ignores_locks,
            )
        )
    return tuple(peers)
