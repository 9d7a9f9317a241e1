"""The page's socket on loopback, which is taken before the server's libraries are loaded.

A browser that asks early waits for the server and is not refused, so it can start meanwhile.
"""

from __future__ import annotations

import socket

from attrs import frozen

from joinproto.errors import EnvironmentProblem


@frozen
class TakenPort:
    """A taken port of 127.0.0.1.  `names`: the values that a browser may send as `Host`."""

    socket: socket.socket
    port: int

    @property
    def names(self) -> frozenset[str]:
        return frozenset({f"127.0.0.1:{self.port}", f"localhost:{self.port}"})

    def address(self, token: str) -> str:
        """Return the address to open in a browser, without the fragment."""
        return f"http://127.0.0.1:{self.port}/{token}/"


def take_port(port: int = 0) -> TakenPort:
    """Take a port, or any free port for 0; raises `EnvironmentProblem` if it is in use."""
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(("127.0.0.1", port))
        taken.listen()
    except OSError as error:
        taken.close()
        raise EnvironmentProblem(
            f"cannot listen on 127.0.0.1:{port}: {error.strerror}", next="give another --port"
        ) from error
    return TakenPort(taken, taken.getsockname()[1])
