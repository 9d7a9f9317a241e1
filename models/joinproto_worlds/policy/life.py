"""Events of a few nodes and their disks, until an operator must decide which node continues.

Nodes serve clients together; each write is on all nodes that serve before it is acknowledged. Nodes
stop in order, are killed, lose the network, lose their disks, and return.  Where none of the nodes
that answer runs any more, the policy is asked `choose-founder`.  A node that is down may ask
`may-i-start`, and an operator may want to remove such a node (`may-i-remove`).  The policy's answer
is carried out at once: the founder serves alone, and a node that joins it takes its data.

The facts in a question come from the shipped reader (`joinproto.recovery`), which reads files as
the system writes them.

A wipe is not the policy's fault: writes that were only on a wiped disk do not count as lost by an
answer.  Writes on a disk that is not mounted do count: only its directory looks blank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any, Literal

from attrs import evolve

from joinproto.check import Together, View, World, always, sometimes
from joinproto.recovery.policy.asked import Questioner
from joinproto_worlds.policy.asking import about_founder, about_node
from joinproto_worlds.policy.nodes import CLIENTS, Clients, Left, Move, Node, Nodes, System


class Holder:
    """A member of the world that only holds a value: each event replaces it."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def choices(self) -> tuple[()]:
        return ()

    def receive(self, event: Any) -> None:
        self.state = event

    def shows(self) -> Any:
        return self.state


def world_of(system: System, asker: Questioner, *, nodes: int = 3, left: Left) -> World:
    """Return the world in which `asker` is asked about `nodes` nodes of a system."""
    names = [chr(ord("a") + number) for number in range(nodes)]
    view = tuple(f"{name}.1" for name in names)
    first = {name: Node(name, data=(0,), view=view) for name in names}
    return World(
        name=f"policy-{system.name}",
        members={
            **{name: partial(Holder, node) for name, node in first.items()},
            CLIENTS: partial(Holder, Clients(left=left)),
        },
        beside=(CLIENTS,),
        together=partial(_steps, system, asker),
        properties=[
            always("no acknowledged write is lost", partial(_is_unharmed, "a write lost")),
            always("one cluster serves", partial(_is_unharmed, "two clusters")),
            sometimes("its answer founds the cluster", _is_founded),
        ],
        about="a policy is asked after a failure, and what it says is done",
    )


# -- claims ---------------------------------------------------------------------------------------


def _is_unharmed(harm: str, view: View) -> bool:
    return bool(view[CLIENTS].harm != harm)


def _is_founded(view: View) -> bool:
    return any(node.founded_by == "policy" for node in _nodes(view).values())


# -- events ----------------------------------------------------------------------------------------


def _steps(system: System, asker: Questioner, view: View) -> Iterator[Together]:
    nodes, clients = _nodes(view), view[CLIENTS]
    for move in (*_events(system, nodes, clients), *_answers(system, asker, nodes, clients)):
        events: dict[str, Any] = {node.name: _first(node) for node in move.nodes}
        if move.clients is not None:
            events[CLIENTS] = _first(move.clients)
        yield Together(move.words, events)


@cache
def _first(value: Any) -> Any:
    """Return the first value equal to this one: the checker recognises values by identity."""
    return value


def _nodes(view: View) -> Nodes:
    return {name: shown for name, shown in view.items() if name != CLIENTS}


def _components(nodes: Nodes) -> list[tuple[Node, ...]]:
    """Return the groups of nodes that serve together."""
    found: dict[tuple[str, ...], list[Node]] = {}
    for node in nodes.values():
        if node.serves:
            found.setdefault(node.view, []).append(node)
    return [tuple(group) for group in found.values()]


def _events(system: System, nodes: Nodes, clients: Clients) -> Iterator[Move]:
    """Yield the events that happen without the policy."""
    left = clients.left
    if left.writes:
        for group in _components(nodes):
            write = clients.written + 1
            yield Move(
                f"a write is acknowledged by {_named(group)}",
                tuple(evolve(node, data=(*node.data, write)) for node in group),
                evolve(
                    clients.spending("writes"),
                    acknowledged=(*clients.acknowledged, write),
                    written=write,
                ),
            )
    if left.ends:
        yield from _ends(system, nodes, clients.spending("ends"))
    if left.starts:
        yield from _returns(system, nodes, clients.spending("starts"))
    if left.wipes:
        yield from _wipes(nodes, clients)
    if left.unmounted:
        yield from _unmounts(nodes, clients)
    if left.by_hand and not any(node.serves for node in nodes.values()):
        after = clients.spending("by_hand")
        for node in nodes.values():
            if node.disk == "whole":
                founder = _alone(node, "hand")
                yield Move(f"an operator founds the cluster from {node.name}", (founder,), after)


def _ends(system: System, nodes: Nodes, clients: Clients) -> Iterator[Move]:
    for node in nodes.values():
        others = tuple(
            one
            for one in nodes.values()
            if node.serves and one.serves and one.view == node.view and one is not node
        )
        lost = _go_on_without(system, node, others, in_order=False)
        if node.runs:
            down = evolve(node, runs=False, serves=False)
            yield Move(f"{node.name} is killed", (down, *lost), clients)
            stopped = evolve(down, is_clean=True)
            told = _go_on_without(system, node, others, in_order=True)
            yield Move(f"{node.name} is stopped in order", (stopped, *told), clients)
        if node.serves and others and system.needs_majority:
            cut = evolve(node, serves=False)
            yield Move(f"the network cuts off {node.name}", (cut, *lost), clients)
    running = [node for node in nodes.values() if node.runs]
    if len(running) > 1:
        down_all = tuple(evolve(node, runs=False, serves=False) for node in running)
        yield Move("the power fails", down_all, clients)


def _go_on_without(
    system: System, gone: Node, others: tuple[Node, ...], *, in_order: bool
) -> tuple[Node, ...]:
    """Return the other nodes of a group after `gone` left it: in a new view, or not serving."""
    goes_on = in_order or not system.needs_majority or 2 * len(others) > len(others) + 1
    if not goes_on:
        return tuple(evolve(node, serves=False) for node in others)
    return _joined(others, number=gone.number + 1)


def _joined(group: tuple[Node, ...], *, number: int, founded_by: Any = "") -> tuple[Node, ...]:
    """Return these nodes as a group that serves in a new view."""
    view = tuple(node.entry for node in group)
    return tuple(
        evolve(
            node,
            runs=True,
            serves=True,
            disk="whole",
            view=view,
            number=number,
            founded_by=founded_by,
            is_clean=False,
        )
        for node in group
    )


def _returns(system: System, nodes: Nodes, clients: Clients) -> Iterator[Move]:
    for node in nodes.values():
        if node.runs or node.disk in ("removed", "unmounted"):
            continue
        again = evolve(node, starts=node.starts + 1)
        for group in _components(nodes):
            copied = evolve(again, data=group[0].data)
            others = [one for one in nodes.values() if one is not node]
            yield Move(
                f"{node.name} starts and joins {_named(group)}",
                _joined(
                    tuple(sorted((*group, copied), key=lambda one: one.name)),
                    number=group[0].number + 1,
                    founded_by=group[0].founded_by,
                ),
                _without_lost(clients, (*others, copied)),
            )
        if system.goes_alone(node):
            yield Move(f"{node.name} starts alone", _joined((again,), number=1), clients)


def _wipes(nodes: Nodes, clients: Clients) -> Iterator[Move]:
    for node in nodes.values():
        if node.runs or node.disk != "whole":
            continue
        yield Move(
            f"{node.name} loses its disk",
            (Node(node.name, runs=False, serves=False, disk="blank", starts=node.starts),),
            _without_lost(
                clients.spending("wipes"), [one for one in nodes.values() if one is not node]
            ),
        )


def _unmounts(nodes: Nodes, clients: Clients) -> Iterator[Move]:
    after = clients.spending("unmounted")
    for node in nodes.values():
        if not node.runs and node.disk == "whole":
            unmounted = evolve(node, disk="unmounted")
            yield Move(f"the disk of {node.name} is not mounted", (unmounted,), after)


def _without_lost(clients: Clients, nodes: Iterable[Node]) -> Clients:
    """Return the clients without acknowledged writes that are on no disk of `nodes`."""
    kept = {write for node in nodes for write in node.data}
    left = tuple(write for write in clients.acknowledged if write in kept)
    return evolve(clients, acknowledged=left)


def _named(group: tuple[Node, ...]) -> str:
    return " and ".join(node.name for node in group)


# -- the policy's answers --------------------------------------------------------------------------


def _answers(system: System, asker: Questioner, nodes: Nodes, clients: Clients) -> Iterator[Move]:
    if not clients.left.asks:
        return
    after = clients.spending("asks")
    for silent in (None,) if clients.left.all_answer else (None, *nodes):
        if any(node.runs for node in nodes.values() if node.name != silent):
            continue
        answer = _ask(system, asker, nodes, clients, silent=silent)
        if answer is not None and answer in nodes:
            words = f" while {silent} does not answer" if silent else ""
            yield Move(
                f"the policy, asked for a founder{words}: {answer}",
                (_alone(nodes[answer], "policy"),),
                _harmed(nodes, after, nodes[answer]),
            )
    for node in nodes.values():
        if node.runs or node.disk == "removed":
            continue
        about = partial(about_node, system, tuple(nodes.values()), node=node)
        if "may-i-start" in asker.asks and asker.answer(about(ask="may-i-start")) == "found":
            harmed = _harmed(nodes, after, node)
            words = f"the policy, asked by {node.name}: found"
            yield Move(words, (_alone(node, "policy"),), harmed)
        if "may-i-remove" in asker.asks and asker.answer(about(ask="may-i-remove")) == "yes":
            gone = evolve(node, data=(), disk="removed", view=(), is_clean=False)
            kept = {write for one in nodes.values() if one is not node for write in one.data}
            is_kept = set(clients.acknowledged) <= kept
            words = f"the policy, asked to remove {node.name}: yes"
            harmed = evolve(after, harm="" if is_kept else "a write lost")
            yield Move(words, (gone,), harmed)


def _harmed(nodes: Nodes, clients: Clients, founder: Node) -> Clients:
    """Return the clients after the policy let `founder` found the cluster, with the harm done."""
    if any(node.serves for node in nodes.values()):
        return evolve(clients, harm="two clusters")
    is_whole = set(clients.acknowledged) <= set(founder.at_hand)
    return evolve(clients, harm="" if is_whole else "a write lost")


def _alone(node: Node, by: Literal["hand", "policy"]) -> Node:
    begun = evolve(node, starts=node.starts + 1, data=node.at_hand)
    (founder,) = _joined((begun,), number=1, founded_by=by)
    return founder


def _ask(
    system: System, asker: Questioner, nodes: Nodes, clients: Clients, *, silent: str | None
) -> str | None:
    """Return the policy's choice for an operator who hears all nodes, or all but `silent`."""
    acknowledged = set(clients.acknowledged)
    is_served = any(node.serves for node in nodes.values())
    heard = (node for name, node in nodes.items() if name != silent)
    safe = [] if is_served else [one.name for one in heard if acknowledged <= set(one.at_hand)]
    asked = about_founder(system, tuple(nodes.values()), silent)
    return asker.answer(evolve(asked, safe=frozenset(safe)))
