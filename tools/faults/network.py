"""The network between the nodes, which can be cut: proxies on loopback, or a network namespace.

Proxies need nothing.  Namespaces are closer to a real network: each node has an address, an
interface and a kernel's TCP of its own, and packets are lost, not held.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping

from joinproto.errors import MisuseError
from joinproto.net.addresses import Address, dials
from tools.faults.proxy import Link


class Network(ABC):
    """`names`: of the nodes."""

    names: tuple[str, ...]
    is_open = False
    """Whether nodes listen on more than loopback, and so must prove which they are."""

    @abstractmethod
    def host(self, name: str) -> str:
        """Return on which address the node listens."""

    @abstractmethod
    def way(self, caller: str, called: str) -> Address:
        """Return the address at which `caller` finds `called`."""

    def enter(self, name: str) -> list[str]:
        """Return the words to be put before a command that runs where the node does."""
        return []

    @abstractmethod
    def drop(self, sender: str, receiver: str) -> None:
        """Block one direction."""

    def cut(self, one: str, other: str) -> None:
        """Block all traffic between two nodes."""
        self.drop(one, other)
        self.drop(other, one)

    def isolate(self, names: Collection[str]) -> None:
        """Part these from all others."""
        for one in names:
            for other in self.names:
                if other not in names:
                    self.cut(one, other)

    @abstractmethod
    def heal(self) -> None:
        """Block nothing any longer."""

    @abstractmethod
    def close(self) -> None:
        """Leave nothing of it behind."""


class Direct(Network):
    """No proxy: the nodes alone are measured.  `ports`: where they listen."""

    def __init__(self, ports: Mapping[str, int]) -> None:
        self.names, self._ports = tuple(ports), ports

    def host(self, name: str) -> str:
        return "127.0.0.1"

    def way(self, caller: str, called: str) -> Address:
        return Address("127.0.0.1", self._ports[called])

    def drop(self, sender: str, receiver: str) -> None:
        raise MisuseError("there is nothing to cut between the nodes", next="use `Proxies`")

    def heal(self) -> None:
        pass

    def close(self) -> None:
        pass


class Proxies(Network):
    """One proxy on loopback for each two nodes; dropped bytes are held, and sent later.

    `ports`: where the nodes listen.  `electors`: names of those that vote, which tells which one
    calls.
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

    def way(self, caller: str, called: str) -> Address:
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
