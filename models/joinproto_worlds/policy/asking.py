"""The questions about nodes, with the facts that the reader which ships makes of their files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from attrs import evolve

from joinproto.recovery.found import Found
from joinproto.recovery.judgement import store_told
from joinproto.recovery.policy.asked import StateQuestion
from joinproto.recovery.policy.question import Ask, Question
from joinproto_worlds.policy.nodes import Node, System

TIMED_OUT = "timed-out"


@cache
def about_founder(system: System, nodes: tuple[Node, ...], silent: str | None) -> StateQuestion:
    """Return the question of an operator who hears all nodes, or all but `silent`."""
    if silent is None:
        return _founder(system, nodes, nodes)
    heard = tuple(node for node in nodes if node.name != silent)
    lost = Node(silent, runs=False, serves=False, disk="blank")
    return evolve(
        _founder(system, nodes, heard, {silent: TIMED_OUT}),
        truth=about_founder(system, nodes, None),
        blank=_founder(system, nodes, (*heard, lost)),
    )


def _founder(
    system: System,
    nodes: tuple[Node, ...],
    heard: tuple[Node, ...],
    unknown: Mapping[str, str] | None = None,
) -> StateQuestion:
    question = _question(system, nodes, heard, "choose-founder", unknown=unknown)
    return StateQuestion(question=question, found=_read(system, heard))


@cache
def about_one(system: System, nodes: tuple[Node, ...], ask: Ask, node: Node) -> StateQuestion:
    """Return whether `node` may start by its own store alone, or be removed with it."""
    others = tuple(one for one in nodes if one is not node)
    is_start = ask == "may-i-start"
    heard = (node,) if is_start else others
    question = _question(
        system,
        nodes,
        heard,
        ask,
        unknown={one.name: "not-asked" for one in others} if is_start else {node.name: TIMED_OUT},
        node=node.name,
        reasons=() if is_start else ("it has not answered for ten minutes",),
    )
    return StateQuestion(question=question, found=_read(system, heard))


def _question(
    system: System,
    nodes: tuple[Node, ...],
    heard: tuple[Node, ...],
    ask: Ask,
    *,
    unknown: Mapping[str, str] | None = None,
    node: str | None = None,
    reasons: tuple[str, ...] = (),
) -> Question:
    return Question(
        ask=ask,
        nodes=tuple(one.name for one in nodes),
        node=node,
        stores=tuple(map(store_told, _read(system, heard))),
        unknown=unknown or {},
        reasons=reasons,
    )


def _read(system: System, heard: tuple[Node, ...]) -> tuple[Found, ...]:
    """Return the findings of the shipped reader on these disks."""
    found = tuple(_found(system, node) for node in heard if node.disk != "removed")
    return system.together(found)


@cache
def _found(system: System, node: Node) -> Found:
    return system.found(node)
