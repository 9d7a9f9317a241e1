"""A small proxy with real sockets, which forwards requests, and tunnels CONNECT requests."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from attrs import define, field


@define(eq=False)
class Proxy:
    """A proxy for the server at port `to`, which stands for every address.

    `asked`: the first line of each request.  `headers`: all received headers.
    """

    to: int
    port: int = 0
    asked: list[str] = field(factory=list)
    headers: list[str] = field(factory=list)

    def serve(self, connection: socket.socket) -> None:
        """Serve one connection."""
        with connection, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                part = connection.recv(65536)
                if not part:
                    return
                head += part
            first, _, rest = head.partition(b"\r\n")
            self.asked.append(first.decode())
            self.headers.append(rest.decode())
            with socket.create_connection(("127.0.0.1", self.to), timeout=60) as server:
                if first.startswith(b"CONNECT"):
                    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                else:
                    method, url, version = first.split(b" ")
                    path = b"/" + url.split(b"/", 3)[3]
                    server.sendall(b" ".join((method, path, version)) + b"\r\n" + rest)
                _piped(connection, server)


def _piped(one: socket.socket, other: socket.socket) -> None:
    while True:
        for ready in select.select([one, other], [], [], 60)[0]:
            data = ready.recv(65536)
            if not data:
                return
            (other if ready is one else one).sendall(data)


@contextmanager
def proxy(to: int) -> Iterator[Proxy]:
    """Start a proxy in front of the server at this port, and end it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        found = Proxy(to, listener.getsockname()[1])

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=found.serve, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield found
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
