"""A server with real sockets that misbehaves in a chosen manner."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum

from attrs import define, field


class Manner(Enum):
    """The server's behaviour on a connection."""

    REFUSES = "refuses"  # no server listens
    HANGS = "hangs"  # takes the request, and says nothing
    CLOSES = "closes"  # takes the request, and hangs up
    RESETS = "resets"  # resets the connection
    HALF = "half"  # sends half of the answer, then hangs up
    STALLS = "stalls"  # sends half of the answer, then no more
    DRIPS = "drips"  # sends a byte now and then, without end
    DRIPS_HEADERS = "drips headers"
    NO_HTTP = "no HTTP"
    GARBAGE = "garbage"  # a whole answer that is neither JSON nor XML
    NOT_UTF8 = "not UTF-8"
    HUGE = "huge"
    NESTED = "nested"
    WRONG = "wrong"  # JSON of another form
    NULL = "null"
    EMPTY = "empty"  # no body
    REDIRECTS = "redirects"
    S400 = "400"
    S403 = "403"
    S404 = "404"
    S429 = "429"
    S500 = "500"
    S503 = "503"


_BODIES = {
    Manner.GARBAGE: b"<html>It works!</html>",
    Manner.NOT_UTF8: b'"\xff\xfe"',
    Manner.NESTED: b"[" * 100_000,
    Manner.WRONG: b'{"hello": ["world", 1, null]}',
    Manner.NULL: b"null",
    Manner.EMPTY: b"",
}


def _answer(status: int, body: bytes, more: str = "") -> bytes:
    head = f"HTTP/1.1 {status} x\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


@define(eq=False)
class RudeServer:
    """The badly behaved server.  `requests`: their first lines."""

    manner: Manner
    port: int = 0
    requests: list[str] = field(factory=list)
    _ends: threading.Event = field(factory=threading.Event)

    def serve(self, listener: socket.socket) -> None:
        while not self._ends.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(60)
            data = connection.recv(65536)
            self.requests.append(data.split(b"\r\n")[0].decode("latin-1"))
            self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        manner = self.manner
        if manner in _BODIES:
            connection.sendall(_answer(200, _BODIES[manner]))
        elif manner.value.isdigit():
            connection.sendall(_answer(int(manner.value), b"[]"))
        elif manner is Manner.REDIRECTS:
            connection.sendall(_answer(302, b"", "Location: http://127.0.0.1:1/\r\n"))
        elif manner is Manner.NO_HTTP:
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        elif manner is Manner.HANGS:
            self._ends.wait()
        elif manner is Manner.RESETS:
            linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        elif manner in (Manner.HALF, Manner.STALLS):
            connection.sendall(_answer(200, b"[]" + b" " * 98)[:-50])
            if manner is Manner.STALLS:
                self._ends.wait()
        elif manner is Manner.HUGE:
            connection.sendall(b"HTTP/1.1 200 x\r\nContent-Length: 99999999\r\n\r\n")
            for _ in range(200):
                connection.sendall(b" " * 65536)
        elif manner in (Manner.DRIPS, Manner.DRIPS_HEADERS):
            if manner is Manner.DRIPS:
                connection.sendall(b"HTTP/1.1 200 x\r\nContent-Length: 9999\r\n\r\n")
            else:
                connection.sendall(b"HTTP/1.1 200 x\r\nX-Header: ")
            while not self._ends.is_set():
                connection.sendall(b" ")
                time.sleep(0.02)


@contextmanager
def rude(manner: Manner) -> Iterator[RudeServer]:
    """Start a server that misbehaves in this manner, and end it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = RudeServer(manner, listener.getsockname()[1])
        if manner is not Manner.REFUSES:
            listener.listen(32)
            threading.Thread(target=server.serve, args=(listener,), daemon=True).start()
        try:
            yield server
        finally:
            server._ends.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
