"""RabbitMQ with Mnesia: the two lists of a node, as the node left them.

A node keeps one list of all nodes, and one of the nodes that run, which it updates while it runs
itself.  The list does not distinguish kills from stops.  A node that was alone when it ended starts
alone; any other node waits for the nodes that it lists.  `choose-founder` asks which node gets
`rabbitmqctl force_boot`, and `may-i-remove` asks about `rabbitmqctl forget_cluster_node`.  The
writes are definitions of queues, users and permissions.
"""

from __future__ import annotations

from collections.abc import Iterable

from joinproto.check import World
from joinproto.recovery.foreign import rabbitmq
from joinproto.recovery.found import Format, Found, Raw, RawFile
from joinproto.recovery.policy.asked import Questioner
from joinproto_worlds.policy.life import world_of
from joinproto_worlds.policy.nodes import Left, Node, System, name_of

NODES = "abc"


def world(asker: Questioner, left: Left) -> World:
    return world_of(SYSTEM, asker, left=left)


def found(node: Node) -> Found:
    """Return the shipped reader's findings in a node's directory."""
    files: tuple[RawFile, ...] = ()
    if not node.looks_blank:
        all_nodes = _listed(NODES)
        running = _listed(name_of(entry) for entry in node.view)
        files = (
            RawFile(rabbitmq.CLUSTER, f"{{{all_nodes},{all_nodes}}}.\n".encode()),
            RawFile(rabbitmq.RUNNING, f"{running}.\n".encode()),
        )
    return rabbitmq.read(
        Raw(
            path=f"/var/lib/rabbitmq/mnesia/rabbit@{node.name}",
            host=node.name,
            format=Format.RABBITMQ,
            in_use="beam.smp" if node.runs else "",
            files=files,
        )
    )


def _listed(names: Iterable[str]) -> str:
    return f"[{','.join(f'rabbit@{name}' for name in names)}]"


SYSTEM = System(
    name="rabbitmq",
    found=found,
    together=rabbitmq.clustered,
    needs_majority=False,
    goes_alone=lambda node: len(node.view) == 1,
)
