"""A proxy between the nodes and a server, which fails at random times as real servers do.

There is a proxy for TCP and one for DNS.  At each moment it treats all nodes alike; at the end it
always works.
"""

from __future__ import annotations

import random
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum

from attrs import define, field

TURN_SECONDS = (0.05, 0.8)
HANGS_SECONDS = 60.0


class Weather(Enum):
    """How the server seems to behave behind the proxy."""

    FAIR = "fair"  # the server works
    KILLED = "killed"  # no process listens
    HANGS = "hangs"  # no answer
    S500 = "500"  # an internal error
    HALF = "half"  # half of the answer
    GARBAGE = "garbage"  # not an answer of this server
    EMPTY = "empty"  # an empty list, well formed


FOUL = tuple(one for one in Weather if one is not Weather.FAIR)


def answer(status: int, body: bytes) -> bytes:
    """Return a complete HTTP answer."""
    return (
        f"HTTP/1.1 {status} x\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    ).encode() + body


@define(eq=False)
class ProxyState:
    """The state of a proxy.  `empty`: an answer without nodes.  `seen`: requests by weather.

    `host`, `port`: the address of the proxy.
    """

    chance: random.Random
    empty: bytes
    foul: tuple[Weather, ...] = ()
    weather: Weather = Weather.FAIR
    seen: dict[Weather, int] = field(factory=dict)
    ends: threading.Event = field(factory=threading.Event)
    host: str = "127.0.0.1"
    port: int = 0

    def change(self, seconds: float) -> None:
        """Change the weather at random times for `seconds`; then make it fair."""
        until = time.monotonic() + seconds
        while self.foul and time.monotonic() < until and not self.ends.is_set():
            self.weather = self.chance.choice((Weather.FAIR, *self.foul, *self.foul))
            time.sleep(self.chance.uniform(*TURN_SECONDS))
        self.weather = Weather.FAIR

    def request_weather(self) -> Weather:
        """Return the weather for a request, and count the request."""
        now = self.weather
        self.seen[now] = self.seen.get(now, 0) + 1
        return now


@define(eq=False)
class TcpProxy:
    """The TCP proxy before the server at the port `to`."""

    proxy: ProxyState
    to: int

    def serve(self, connection: socket.socket) -> None:
        """Serve one connection; each request on it gets the weather of that moment."""
        with connection, suppress(OSError):
            server = socket.create_connection(("127.0.0.1", self.to), timeout=10)
            with server:
                self._forward(connection, server)

    def _forward(self, connection: socket.socket, server: socket.socket) -> None:
        foul: Weather | None = None
        while not self.proxy.ends.is_set():
            ready = select.select([connection, server], [], [], 1.0)[0]
            for one in ready:
                data = one.recv(65536)
                if not data:
                    return
                if one is connection:
                    foul = self.proxy.request_weather()
                    if foul is Weather.FAIR or foul is Weather.HALF:
                        # With half an answer the server has still performed the request.
                        server.sendall(data)
                        continue
                    self._answer_wrongly(connection, foul)
                    return
                if foul is Weather.HALF:
                    connection.sendall(data[: len(data) // 2])
                    return
                connection.sendall(data)

    def _answer_wrongly(self, connection: socket.socket, weather: Weather) -> None:
        match weather:
            case Weather.KILLED:
                linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            case Weather.HANGS:
                self.proxy.ends.wait(HANGS_SECONDS)
            case Weather.S500:
                connection.sendall(answer(500, b"[]"))
            case Weather.GARBAGE:
                connection.sendall(answer(200, b"<html>It works!</html>"))
            case Weather.EMPTY:
                connection.sendall(answer(200, self.proxy.empty))


@contextmanager
def before_tcp(proxy: ProxyState, to: int) -> Iterator[None]:
    """Run a TCP proxy before the server at port `to`; the proxy's port is `proxy.port`."""
    with socket.socket() as listener:
        listener.bind((proxy.host, 0))
        listener.listen(128)
        proxy.port = listener.getsockname()[1]

        def serve() -> None:
            while not proxy.ends.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                if proxy.weather is Weather.KILLED:
                    proxy.request_weather()
                    connection.close()
                    continue
                serve_one = TcpProxy(proxy, to).serve
                threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield
        finally:
            proxy.ends.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def before_dns(proxy: ProxyState, to: int) -> Iterator[None]:
    """Run a proxy for DNS over UDP before the server at port `to`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind((proxy.host, 0))
        own.settimeout(0.5)
        proxy.port = own.getsockname()[1]

        def serve() -> None:
            while not proxy.ends.is_set():
                try:
                    data, whom = own.recvfrom(65536)
                except TimeoutError:
                    continue
                except OSError:
                    return
                with suppress(OSError):
                    said = _dns_answer(proxy.request_weather(), data, to)
                    if said is not None:
                        own.sendto(said, whom)

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield
        finally:
            proxy.ends.set()


def _dns_answer(weather: Weather, question: bytes, to: int) -> bytes | None:
    if weather in (Weather.KILLED, Weather.HANGS):
        return None
    if weather is Weather.GARBAGE:
        return question[:2] + b"\xff" * 20
    if weather is Weather.S500:  # SERVFAIL
        return question[:2] + b"\x81\x82" + question[4:6] + b"\0" * 6 + question[12:]
    if weather is Weather.EMPTY:  # the name exists, but has no record of this type
        return question[:2] + b"\x81\x80" + question[4:6] + b"\0" * 6 + question[12:]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.settimeout(2.0)
        server.sendto(question, ("127.0.0.1", to))
        data = server.recv(65536)
    return data[: len(data) // 2] if weather is Weather.HALF else data
