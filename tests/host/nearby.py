"""Members in this process, with real sockets on loopback, real stores and long time limits.

A loaded machine pauses for seconds. `unhurried` and `PausedClock` keep such a pause from looking
like a peer that is gone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any

import anyio
import pytest
from attrs import define, field

from joinproto.host.clock import SystemClock
from joinproto.host.cluster import Cluster
from joinproto.host.nodata import NoData
from joinproto.host.ports import Host
from joinproto.join.config import Config
from joinproto.join.messages import Closing
from joinproto.join.store import StoreRecord
from joinproto.join.view import View
from joinproto.net import door, tcp
from joinproto.net.addresses import Address
from joinproto.net.network import Network
from joinproto.net.tcp import TcpTransport
from joinproto.store.handle import Store, create_store, open_store
from tools.faults.ports import free_ports

PATIENCE = 120
"""Seconds after which a test gives up; no test waits so long if it passes."""
NEVER = 3_600.0
PAUSE_SECONDS_MAX = 0.04


@contextmanager
def unhurried() -> Iterator[None]:
    """Lift the time limits of greeting and farewell, and skip waiting for this machine's disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "GREETING_SECONDS", NEVER)
        patch.setattr(tcp, "FAREWELL_SECONDS", NEVER)
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, lambda file: None)
        yield


@define
class PausedClock:
    """A clock that stands still while the machine pauses: it continues in small steps only.

    Otherwise: a, b and c close their cluster, the machine pauses for longer than `patience`
    before c's answer is read, and a goes on without c.
    """

    _now: float = 0.0
    _asked: float = field(factory=time.monotonic)
    _lock: Lock = field(factory=Lock)

    def now(self) -> float:
        with self._lock:
            asked = time.monotonic()
            self._now += min(asked - self._asked, PAUSE_SECONDS_MAX)
            self._asked = asked
            return self._now

    def epoch_ms(self) -> int:
        return SystemClock().epoch_ms()


async def until(holds: Callable[[], bool]) -> None:
    """Return as soon as the condition holds."""
    with anyio.fail_after(PATIENCE):
        while not holds():  # noqa: ASYNC110  the condition has no event
            await anyio.sleep(0.01)


@define
class Place:
    """One member of three: its address and its data.  `told`: "opened", or why it closed."""

    name: str
    top: Path
    ports: dict[str, int]
    clock: PausedClock
    wait_for: int = 2
    more: dict[str, Any] = field(factory=dict)
    network: dict[str, Any] = field(factory=dict)
    told: list[str] = field(factory=list)
    store: Store | None = None
    transport: TcpTransport | None = None

    def config(self) -> Config:
        return Config(
            member=self.name,
            electors=frozenset("abc"),
            wait_for=self.wait_for,
            patience=0.4,
            heartbeat=0.1,
            **self.more,
        )

    def host(self) -> Host:
        """Open the store; make it if there is none."""
        path = self.top / self.name
        if path.exists():
            self.store = open_store(path)
        else:
            path.mkdir()
            self.store = create_store(path, StoreRecord(store_id=token_hex(8)), member=self.name)
        self.transport = TcpTransport(network(self.name, self.ports, **self.network))
        service = NoData(self._opened, self._closed)
        return Host(
            store=self.store,
            transport=self.transport,
            service=service,
            transfer=service,
            clock=self.clock,
        )

    def cluster(self) -> Cluster:
        return Cluster(self.config(), self.host())

    def close(self) -> None:
        if self.store is not None:
            self.store.close()

    def _opened(self, view: View, is_sequencer: bool) -> None:
        self.told.append("opened")

    def _closed(self, why: Closing) -> None:
        self.told.append(why.value)


def network(name: str, ports: dict[str, int], **more: Any) -> Network:
    """Return the settings of this member, with the addresses of all members in `ports`."""
    settings: dict[str, Any] = {
        "cluster_name": "cluster",
        "electors": frozenset("abc"),
        "silence": NEVER,
        "listen": Address("127.0.0.1", ports[name]),
        "addresses": {one: Address("127.0.0.1", port) for one, port in ports.items()},
    }
    return Network(member=name, **(settings | more))


def places(top: Path, names: Iterable[str] = "abc", **more: Any) -> dict[str, Place]:
    names = list(names)
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    clock = PausedClock()
    return {name: Place(name, top, ports, clock, more=dict(more)) for name in names}
