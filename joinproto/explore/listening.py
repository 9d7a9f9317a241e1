"""The page's socket on loopback, taken before the server's libraries are loaded.

A browser that comes early waits for the server and is not refused, so it starts while they load.
"""

from __future__ import annotations

import socket

from attrs import frozen

from joinproto.errors import EnvironmentProblem


@frozen
class Taken:
    """A port of 127.0.0.1.  `names`: those that a browser may put into `Host`."""

    socket: socket.socket
    port: int

    @property
    def names(self) -> frozenset[str]:
        return frozenset({f"127.0.0.1:{self.port}", f"localhost:{self.port}"})

    def address(self, token: str) -> str:
        """Return the address to open in a browser, without the fragment."""
        return f"http://127.0.0.1:{self.port}/{token}/"


def take(port: int = 0) -> Taken:
    """Take a port, 0 for any that is free; raises `EnvironmentProblem` where it is taken."""
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
    return Taken(taken, taken.getsockname()[1])
