"""The network between the nodes, which can be cut: proxies on loopback, or network namespaces.

Proxies need no rights.  Namespaces are closer to a real network: each node has its own address,
interface and TCP stack, and packets are lost, not held.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping

from joinproto.errors import MisuseError
from joinproto.net.addresses import Address, dials
from tools.faults.proxy import Link


class Network(ABC):
    """A network between nodes.  `names`: the nodes' names."""

    names: tuple[str, ...]
    is_open = False
    """Whether nodes do not listen on loopback, and so must prove their identities."""

    @abstractmethod
    def host(self, name: str) -> str:
        """Return the host on which a node listens."""

    @abstractmethod
    def address(self, caller: str, called: str) -> Address:
        """Return the address at which `caller` reaches `called`."""

    def enter(self, name: str) -> list[str]:
        """Return the words that, before a command, make it run in the node's namespace."""
        return []

    @abstractmethod
    def drop(self, sender: str, receiver: str) -> None:
        """Block the messages from `sender` to `receiver`."""

    def cut(self, one: str, other: str) -> None:
        """Block all traffic between two nodes."""
        self.drop(one, other)
        self.drop(other, one)

    def isolate(self, names: Collection[str]) -> None:
        """Cut these nodes off from all others."""
        for one in names:
            for other in self.names:
                if other not in names:
                    self.cut(one, other)

    @abstractmethod
    def heal(self) -> None:
        """End all blocks."""

    @abstractmethod
    def close(self) -> None:
        """Remove the network."""


class Direct(Network):
    """A network without proxies, which cannot be cut, for measurements."""

    def __init__(self, ports: Mapping[str, int]) -> None:
        self.names, self._ports = tuple(ports), ports

    def host(self, name: str) -> str:
        return "127.0.0.1"

    def address(self, caller: str, called: str) -> Address:
        return Address("127.0.0.1", self._ports[called])

    def drop(self, sender: str, receiver: str) -> None:
        raise MisuseError("a direct network cannot be cut", next="use `Proxies`")

    def heal(self) -> None:
        pass

    def close(self) -> None:
        pass


class Proxies(Network):
    """One proxy on loopback for each pair of nodes; dropped bytes are held, and sent later.

    `ports`: the nodes' ports.  `electors`: decide which of two nodes calls the other.
    """

    def __init__(self, ports: Mapping[str, int], electors: Iterable[str]) -> None:
        self.names, self._ports, voters = tuple(ports), ports, set(electors)
        self._links = {
            (caller, called): Link(ports[called])
            for caller in ports
            for called in ports
            if caller != called and dials(caller, called, voters)
        }

    def host(self, name: str) -> str:
        return "127.0.0.1"

    def address(self, caller: str, called: str) -> Address:
        link = self._links.get((caller, called))
        return Address("127.0.0.1", self._ports[called] if link is None else link.port)

    def drop(self, sender: str, receiver: str) -> None:
        if (sender, receiver) in self._links:
            self._links[sender, receiver].cut(back=False)
        else:
            self._links[receiver, sender].cut(there=False)

    def heal(self) -> None:
        for link in self._links.values():
            link.heal()

    def close(self) -> None:
        for link in self._links.values():
            link.close()
