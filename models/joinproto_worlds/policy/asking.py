"""The questions to a policy, with the facts that the shipped reader finds in the nodes' files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

from attrs import evolve

from joinproto.recovery.found import Found
from joinproto.recovery.judgement import store_result
from joinproto.recovery.policy.asked import StateQuestion
from joinproto.recovery.policy.question import Ask, Question
from joinproto_worlds.policy.nodes import Node, System

TIMED_OUT = "timed-out"


def about_founder(system: System, nodes: tuple[Node, ...], silent: str | None) -> StateQuestion:
    """Return the question of an operator who hears all nodes, or all but `silent`.

    Its `blank` is the question if the disk of `silent` is empty.
    """
    names = tuple(node.name for node in nodes)
    if silent is None:
        return _founder(system, names, nodes)
    heard = tuple(node for node in nodes if node.name != silent)
    lost = Node(silent, runs=False, serves=False, disk="blank")
    return evolve(
        _founder(system, names, heard, silent),
        truth=partial(_founder, system, names, nodes),
        blank=partial(_founder, system, names, (*heard, lost)),
    )


@cache
def _founder(
    system: System, names: tuple[str, ...], heard: tuple[Node, ...], silent: str | None = None
) -> StateQuestion:
    """Return the question about `names`.

    It is cached, because it is the same for every disk of the silent node.
    """
    unknown = {} if silent is None else {silent: TIMED_OUT}
    return _question(system, names, heard, "choose-founder", unknown=unknown)


@cache
def about_node(system: System, nodes: tuple[Node, ...], ask: Ask, node: Node) -> StateQuestion:
    """Return the question whether `node` may start with only its own store, or may be removed."""
    others = tuple(one for one in nodes if one is not node)
    is_start = ask == "may-i-start"
    heard = (node,) if is_start else others
    return _question(
        system,
        tuple(one.name for one in nodes),
        heard,
        ask,
        unknown={one.name: "not-asked" for one in others} if is_start else {node.name: TIMED_OUT},
        node=node.name,
        reasons=() if is_start else ("it has not answered for ten minutes",),
    )


def _question(
    system: System,
    names: tuple[str, ...],
    heard: tuple[Node, ...],
    ask: Ask,
    *,
    unknown: Mapping[str, str],
    node: str | None = None,
    reasons: tuple[str, ...] = (),
) -> StateQuestion:
    found = _read(system, heard)
    question = Question(
        ask=ask,
        nodes=names,
        node=node,
        stores=tuple(map(store_result, found)),
        unknown=unknown,
        reasons=reasons,
    )
    return StateQuestion(question=question, found=found)


def _read(system: System, heard: tuple[Node, ...]) -> tuple[Found, ...]:
    """Return the shipped reader's findings on the disks of these nodes."""
    found = tuple(_found(system, node) for node in heard if node.disk != "removed")
    return system.together(found)


@cache
def _found(system: System, node: Node) -> Found:
    return system.found(node)
