"""Boots in network namespaces: each node has its own namespace, and a bridge joins them.

The backend's server is in the bridge's namespace.  The namespaces are those of `tools/torture`.
One node may be cut off at the start, and be connected later.  It is cut off from the server and the
other nodes, or only from the other nodes; then it still gets their names from the server.
"""

from __future__ import annotations

import ctypes
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from attrs import define, field

from joinproto.errors import EnvironmentProblem
from tools.faults.namespaces import BRIDGE_HOST, Namespaces, missing

CUT_SECONDS = (2.0, 8.0)
CLONE_NEWNET = 0x40000000
ALONE, APART = "from all", "from the nodes"


def require_spaces() -> None:
    """Raise `EnvironmentProblem` if namespaces are not possible here."""
    lacks = missing()
    if lacks:
        raise EnvironmentProblem(
            lacks, next="install iproute2 and util-linux, or leave out --spaces"
        )


@define(eq=False)
class Spaces:
    """The namespaces.  `cuts`: whether one node is cut off at each start.

    `seen`: how often nodes were cut off from all, and from the nodes.
    """

    network: Namespaces
    cuts: bool = False
    seen: Counter[str] = field(factory=Counter)
    server = BRIDGE_HOST

    @property
    def hosts(self) -> list[str]:
        return [self.network.host(name) for name in self.network.names]

    def namespace(self, host: str) -> str:
        """Return the namespace of this address, as a file."""
        return self.network.namespace(self.network.names[self.hosts.index(host)])

    @contextmanager
    def cut(self, chance: random.Random) -> Iterator[None]:
        """Cut one node off if `cuts`, in turn from all or from the nodes only.

        The node is connected after some seconds, or at the end of the block.
        """
        if not self.cuts:
            yield
            return
        name, extent = chance.choice(self.network.names), (ALONE, APART)[self.seen.total() % 2]
        self.seen[extent] += 1
        if extent == ALONE:
            self.network.isolate([name])
        else:
            for other in self.network.names:
                if other != name:
                    self.network.cut(name, other)
        over = Event()

        def come_back() -> None:
            over.wait(chance.uniform(*CUT_SECONDS))
            self.network.heal()

        healing = Thread(target=come_back)
        healing.start()
        try:
            yield
        finally:
            over.set()
            healing.join()


@contextmanager
def spaces(count: int, *, cuts: bool) -> Iterator[Spaces]:
    """Make `count` namespaces for nodes; this process must be inside a namespace already."""
    network = Namespaces({str(at): 0 for at in range(1, count + 1)})
    try:
        yield Spaces(network, cuts)
    finally:
        network.close()


def enter(namespace: str) -> None:
    """Move this process into a namespace, for the sockets that it opens from now on."""
    with Path(namespace).open("rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), namespace)
