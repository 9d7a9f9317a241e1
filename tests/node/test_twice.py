"""Two real processes that are configured as the same member by a copied configuration."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from attrs import evolve

from joinproto.net.addresses import Address
from tools.faults.clients import Connection
from tools.faults.nodes import Fleet, Node, until
from tools.faults.ports import free_ports

pytestmark = pytest.mark.soak("nodes")


def twin_of(node: Node) -> Node:
    """Return a node with the same name, other ports, and its own data directory."""
    top = node.top / "twin"
    top.mkdir()
    port, clients = free_ports(2)
    twin = evolve(node, top=top, port=port, clients=Address("127.0.0.1", clients), process=None)
    text = node.config.read_text()
    text = text.replace(str(node.top), str(top)).replace(str(node.clients), str(twin.clients))
    own = f'listen = "127.0.0.1:{node.port}"'
    assert own in text
    twin.config.write_text(text.replace(own, f'listen = "127.0.0.1:{port}"'))
    return twin


def test_a_second_process_of_a_member_is_refused_and_disturbs_no_member(
    fleet: Callable[..., Fleet],
) -> None:
    """The later process is refused by its name, and no view changes."""
    three = fleet()
    three.start()
    three.wait_active()
    twin = twin_of(three["a"])
    views = three["b"].status()["view"]["number"]
    twin.start()
    try:
        connection = Connection(three["b"].clients)

        def is_refused() -> bool:
            assert connection.ask("append text").startswith(b"ok ")
            return all("runs as 'a' already" in said for said in (three["b"].said(), twin.said()))

        until(is_refused)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            assert is_refused()
        connection.close()

        assert views == three["b"].status()["view"]["number"]

        # After kill -9 of the first process the name is free at once.
        three["a"].kill()
        three["a"].start()
        until(lambda: three["b"].status()["view"]["number"] > views)
    finally:
        twin.kill()
    three.wait_active()
