"""A link between two processes on loopback, which can be cut in one direction or in both.

Dropped bytes are held and sent later, as TCP repeats lost data once the network works again.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

CHUNK = 64 * 2**10


class Link:
    """Listens at `port`, and passes bytes to the port `target` and back, unless it is cut."""

    def __init__(self, target: int) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._there = threading.Event()  # set if bytes may pass to the target
        self._back = threading.Event()  # set if bytes may pass back
        self._over = False
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.heal()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, *, there: bool = True, back: bool = True) -> None:
        """Block the direction to the target (`there`), the direction back, or both."""
        if there:
            self._there.clear()
        if back:
            self._back.clear()

    def heal(self) -> None:
        self._there.set()
        self._back.set()

    def reset(self) -> None:
        with self._lock:
            for one in self._sockets:
                _end(one)
            self._sockets.clear()

    def close(self) -> None:
        self._over = True
        _end(self._listener)
        self.reset()
        self.heal()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._over:
                caller, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(caller,), daemon=True).start()

    def _carry(self, caller: socket.socket) -> None:
        self._there.wait()  # while the link is cut, the connection does not arrive
        try:
            called = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            _end(caller)
            return
        with self._lock:
            if self._over:
                _end(caller)
                _end(called)
                return
            self._sockets |= {caller, called}
        directions = [(caller, called, self._there), (called, caller, self._back)]
        pumps = [threading.Thread(target=_pump, args=one, daemon=True) for one in directions]
        for pump in pumps:
            pump.start()
        for pump in pumps:
            pump.join()
        with self._lock:
            self._sockets -= {caller, called}
        _end(caller)
        _end(called)


def _pump(source: socket.socket, sink: socket.socket, is_open: threading.Event) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            is_open.wait()
            sink.sendall(data)
        is_open.wait()
    # Only this direction ends; bytes can still pass in the other direction.
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
