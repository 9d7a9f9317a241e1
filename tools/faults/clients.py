"""Clients of nodes: they write without pause, and record the outcome of each write."""

from __future__ import annotations

import random
import socket
import threading
import time
from contextlib import suppress
from typing import BinaryIO

from attrs import define, field

from joinproto.net.addresses import Address

SECONDS = 10.0


@define
class Ledger:
    """The outcomes of writes.

    `acknowledged`: text to its number in the log.  `refused`: texts that were certainly not
    written.  `open`: texts without an answer, which may have been written.
    """

    acknowledged: dict[str, int] = field(factory=dict)
    refused: set[str] = field(factory=set)
    open: set[str] = field(factory=set)
    times: list[float] = field(factory=list)  # of acknowledgements, by `time.monotonic`
    _lock: threading.Lock = field(factory=threading.Lock)

    def note(self, text: str, answer: bytes) -> None:
        with self._lock:
            if answer.startswith(b"ok "):
                self.acknowledged[text] = int(answer[3:])
                self.times.append(time.monotonic())
            elif answer.startswith(b"no "):
                self.refused.add(text)
            else:
                self.open.add(text)


@define
class Connection:
    """One client's connection to a node."""

    address: Address
    seconds: float = SECONDS
    _socket: socket.socket | None = None
    _lines: BinaryIO | None = None

    def ask(self, line: str) -> bytes:
        """Return the first line of the answer; b"" if the connection broke before.

        If there is no connection: b"no connection", which counts as refused, as no line was sent.
        """
        if self._lines is None:
            try:
                self._socket = self._connect()
            except OSError:
                return b"no connection"
            self._lines = self._socket.makefile("rb")
        try:
            assert self._socket is not None
            self._socket.sendall(line.encode() + b"\n")
        except OSError:
            self.close()
            return b""
        return self._line()

    def _line(self) -> bytes:
        """Return the next line; b"" if the connection broke before its end."""
        line = b""
        with suppress(OSError):
            line = b"" if self._lines is None else self._lines.readline()
        if not line.endswith(b"\n"):
            self.close()
            return b""
        return line.rstrip(b"\n")

    def _connect(self) -> socket.socket:
        return socket.create_connection((self.address.host, self.address.port), self.seconds)

    def read_all(self, patience: float = 0.0) -> list[tuple[int, str]] | None:
        """Return the whole log; None if the node does not answer, or does not serve.

        `patience`: for how many seconds to try again if the node does not serve.
        """
        found: list[tuple[int, str]] = []
        until = time.monotonic() + patience
        while True:
            answer = self.ask(f"read {len(found) + 1}")
            count = len(found)
            while answer and not answer.startswith((b"no ", b"end ")):
                number, _, text = answer.partition(b" ")
                found.append((int(number), text.decode()))
                answer = self._line()
            if not answer.startswith(b"end "):
                if time.monotonic() > until:
                    return None
                time.sleep(0.1)
                continue
            if len(found) == count:
                return found

    def close(self) -> None:
        for one in (self._lines, self._socket):
            if one is not None:
                with suppress(OSError):
                    one.close()
        self._socket = self._lines = None


class Writers:
    """Threads that write new texts, each at a node that accepts its writes."""

    def __init__(
        self, addresses: list[Address], ledger: Ledger, *, count: int, seed: int = 0
    ) -> None:
        self.addresses = addresses
        self.ledger = ledger
        self._over = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._write, args=(number, random.Random(seed + number)), daemon=True
            )
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int, chance: random.Random) -> None:
        at, written = 0, 0
        connections = [Connection(address) for address in self.addresses]
        while not self._over.is_set():
            text = f"w{number}.{written}"
            written += 1
            answer = connections[at].ask(f"append {text}")
            self.ledger.note(text, answer)
            if not answer.startswith(b"ok "):
                at = chance.randrange(len(connections))
                self._over.wait(0.05)
        for connection in connections:
            connection.close()
