"""The ports of a simulated machine, which perform the effects of its node.

Source: Clusterer, the format of stories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from attrs import frozen

from joinproto.clusterer import broker
from joinproto.clusterer.config import Held
from joinproto.clusterer.messages import (
    BootBroker,
    BootNothing,
    Content,
    Members,
    Reply,
    ServiceTold,
)
from joinproto.clusterer.perform import Ports

if TYPE_CHECKING:
    from joinproto.clusterer.simulator import Machine, Simulator


@frozen
class MachinePorts(Ports[Never]):
    """The disk, the broker, the timer and the network of one machine."""

    sim: Simulator
    machine: Machine

    def send(self, to: str, content: Content) -> None:
        self.sim.send(self.machine.name, to, content)

    def tell_service(self, to: str, number: int, version: int, *, runs: bool) -> None:
        self.send(to, ServiceTold(number, runs, version))

    def keep(self, held: Held, identity: str) -> None:
        self.machine.disk.stored, self.machine.disk.identity = held, identity

    def keep_members(self, members: Members) -> None:
        self.machine.disk.record = members

    def wipe(self) -> None:
        disk, name = self.machine.disk, self.machine.name
        if disk.data is not None and disk.data == self.sim.before.get(name):
            self.sim.wiped.add(name)
        broker.wipe(disk)

    def stop_broker(self, *, leaves: bool) -> None:
        self.machine.boots = None
        self.sim.stop_broker(self.machine)

    def boot(self, boots: BootBroker) -> None:
        self.machine.boots = boots

    def boot_nothing(self) -> None:
        self.machine.boots = BootNothing()

    def forget(self, nodes: frozenset[str]) -> None:
        """Do nothing, because the simulated broker forgets nodes when it boots."""

    def arm(self, seconds: int | None, number: int) -> None:
        self.machine.ends_at = None if seconds is None else self.sim.now + seconds

    def answer(self, reply: Reply, why: str) -> None:
        self.sim.replies[self.machine.name] = reply.value

    def off(self, why: str, *, fails: bool) -> None:
        self.sim.off(self.machine, why)
