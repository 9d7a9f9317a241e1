"""One broker in this process, without sockets, for tests of how it handles messages."""

from __future__ import annotations

import asyncio
from typing import Any

from attrs import define

from joinproto.apps.standby.core import Core
from joinproto.apps.standby.peers import Envelope
from joinproto.codec.json_form import encoded
from joinproto.net.addresses import Address
from joinproto.standby.broker import Role
from joinproto.standby.messages import Kind, View, Wired, WiringItem, to_tree

PUBLIC = Address("127.0.0.1", 5672)


def hear_report(core: Core, name: str, role: Role, **more: Any) -> None:
    """Receive another broker's report."""
    core.links.session_began(name, PUBLIC)
    facts = {
        "role": role.value,
        "standing": role.value,
        "view": encoded(View()),
        "cluster": None,
        "public": str(PUBLIC),
        "answers": False,
        **more,
    }
    core.links.received(name, Envelope("state", facts))


def follow_b(core: Core, view: View) -> None:
    """Make the broker follow `b`, which has a queue; none of its messages has arrived yet."""
    hear_report(core, "b", Role.PRIMARY, view=encoded(view), cluster="c" * 32)
    queue = WiringItem(kind=Kind.QUEUE, name="q", id="1", durable=True)
    wired = to_tree(Wired(view=view, things=(queue,), events=0))
    core.links.received("b", Envelope("link", {"link": core.links._link, "content": wired}))


@define
class Wire(asyncio.Transport):
    """A transport that keeps the bytes that a port writes."""

    written: bytes = b""
    has_ended: bool = False

    def __attrs_pre_init__(self) -> None:
        super().__init__()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def close(self) -> None:
        self.has_ended = True

    abort = close
