"""Nodes of RabbitMQ 3.10 as their logs report them: start, tables, peers, stop."""

from joinproto.check import NOT_ENABLED, Broadcast, Message, MessageSet, World, always_each


class Node:
    def __init__(self):
        self.phase = "stopped"  # starting, ready (it has its tables), serving, stopping
        self.sees = frozenset()

    def choices(self):
        if self.phase == "stopped":
            yield "starts"
        else:
            yield "is killed"  # no log reports this
        if self.phase in ("starting", "ready"):
            yield "has tables"  # once for each kind of table
        if self.phase == "ready":
            yield "serves"
        if self.phase == "serving":
            yield "stops"
        if self.phase == "stopping":
            yield "stopped"
        for peer in sorted(self.sees):
            yield f"sees {peer} down"

    def receive(self, event):
        match event:
            case Message(peer, "up"):
                if self.phase not in ("ready", "serving"):
                    return NOT_ENABLED
                self.sees |= {peer}
            case "starts":
                self.phase = "starting"
                return [Broadcast("up")]
            case "has tables":
                self.phase = "ready"
            case "serves":
                self.phase = "serving"
            case "stops":
                self.phase = "stopping"
            case "stopped" | "is killed":
                self.phase, self.sees = "stopped", frozenset()
            case _:
                _, peer, _ = event.split()
                self.sees -= {peer}
        return []


def world(nodes: int = 3) -> World:
    return World(
        name="rabbitmq-nodes",
        members=dict.fromkeys("abcdefg"[:nodes], Node),
        properties=[
            always_each(
                "a stopped node sees no peer", lambda node: node.phase != "stopped" or not node.sees
            )
        ],
        network=MessageSet(),
    )
