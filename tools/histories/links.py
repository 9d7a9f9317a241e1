"""Links between processes of this machine that can be cut: each process is behind a proxy.

The proxy finds the process that connects by the port of its end of the connection.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from attrs import define, field

from tools.faults.ports import free_ports


@define
class Links:
    """Proxies of several servers.

    `behind`: each server's own port.  `fronts`: the port of each server's proxy; a port that is not
    given is chosen.  `pids`: the process of each running server.  `away`: servers whose links are
    cut.
    """

    behind: Mapping[str, int]
    fronts: dict[str, int] = field(factory=dict)
    pids: dict[str, int] = field(init=False, factory=dict)
    away: set[str] = field(init=False, factory=set)
    _ears: dict[str, socket.socket] = field(init=False, factory=dict)
    _open: list[tuple[str, str, socket.socket, socket.socket]] = field(init=False, factory=list)
    _is_over: bool = field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        for name in self.behind:
            self._ears[name] = socket.create_server(("127.0.0.1", self.fronts.get(name, 0)))
            self.fronts[name] = self._ears[name].getsockname()[1]
            threading.Thread(target=self._listen, args=(name,), daemon=True).start()

    def close(self) -> None:
        self._is_over = True
        for ear in self._ears.values():
            with suppress(OSError):
                ear.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for a connection
            ear.close()
        self.cut(*self.behind)

    def cut(self, *names: str) -> None:
        """Cut these servers off from all other servers, and from each other, at once."""
        self.away |= set(names)
        for one, other, near, far in list(self._open):
            if {one, other} & self.away:
                for end in (near, far):
                    with suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)

    def heal(self) -> None:
        self.away.clear()

    def _listen(self, name: str) -> None:
        while not self._is_over:
            try:
                near, (_, port) = self._ears[name].accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(name, near, port), daemon=True).start()

    def _carry(self, name: str, near: socket.socket, port: int) -> None:
        caller = self._caller(port)
        with near, suppress(OSError):
            if {caller, name} & self.away:
                return
            with socket.create_connection(("127.0.0.1", self.behind[name]), timeout=5) as far:
                far.settimeout(None)
                link = (caller, name, near, far)
                self._open.append(link)
                with selectors.DefaultSelector() as both:
                    both.register(near, selectors.EVENT_READ, far)
                    both.register(far, selectors.EVENT_READ, near)
                    while not {caller, name} & self.away:
                        for key, _ in both.select(0.5):
                            data = key.fileobj.recv(65_536)  # type: ignore[union-attr]
                            if not data:
                                self._open.remove(link)
                                return
                            key.data.sendall(data)

    def _caller(self, port: int) -> str:
        end = f"0100007F:{port:04X}"
        lines = Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
        inodes = {line.split()[9] for line in lines if line.split()[1] == end}
        for name, pid in list(self.pids.items()):
            with suppress(OSError):
                for file in Path(f"/proc/{pid}/fd").iterdir():
                    with suppress(OSError):
                        if file.readlink().name.removeprefix("socket:[")[:-1] in inodes:
                            return name
        return ""


def free_port() -> int:
    """Return a port that stays free while its server is down: it is below the ports of clients."""
    (port,) = free_ports(1)
    return port
