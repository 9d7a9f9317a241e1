"""Hostile and broken peers: connections and frames that no correct member makes."""

from __future__ import annotations

import json
import random
import socket
from contextlib import suppress

from attrs import define, field

from joinproto.net.framing import framed
from joinproto.net.refused import Refused
from joinproto.net.session import Identity, Session

SECONDS = 5.0
FRAMES_EACH = 5


@define
class HostilePeer:
    """Attacks one port.  `sent`: connections and frames so far; `proved`: accepted connections."""

    port: int
    member: str
    cluster: str
    secret: bytes
    seed: int
    sent: int = 0
    proved: int = 0
    chance: random.Random = field(init=False)
    _recorded: bytes = b""

    def __attrs_post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def attack(self) -> None:
        """Connect once, and break the protocol; any answer of the member is allowed."""
        action = self.chance.choice(
            [
                self._nothing,
                self._garbage,
                self._too_long,
                self._greeting_of_another_cluster,
                self._greeting_of_another_version,
                self._greeting_without_the_secret,
                self._replay,
                self._half_a_greeting,
                self._garbage_of_a_proved_peer,
            ]
        )
        self.sent += 1
        address = ("127.0.0.1", self.port)
        with suppress(OSError, Refused), socket.create_connection(address, SECONDS) as link:
            link.settimeout(SECONDS)
            action(link)

    def _nothing(self, link: socket.socket) -> None:
        pass

    def _garbage(self, link: socket.socket) -> None:
        for _ in range(FRAMES_EACH):
            link.sendall(self.chance.randbytes(self.chance.randrange(1, 400)))
            self.sent += 1

    def _too_long(self, link: socket.socket) -> None:
        link.sendall(b"\xff\xff\xff\xff" + bytes(1_000))
        self.sent += 1

    def _greeting_of_another_cluster(self, link: socket.socket) -> None:
        self._greet(link, cluster="another")

    def _greeting_of_another_version(self, link: socket.socket) -> None:
        self._greet(link, versions=[7, 9])

    def _greeting_without_the_secret(self, link: socket.socket) -> None:
        self._greet(link)
        link.recv(4_096)
        link.sendall(framed(json.dumps({"proof": self.chance.randbytes(32).hex()}).encode()))
        self.sent += 1

    def _replay(self, link: socket.socket) -> None:
        """Repeat the bytes of an earlier, proved connection."""
        if not self._recorded:
            session = Session(self._identity("newcomer"), self.member)
            link.sendall(first := session.take_out())
            list(session.feed(link.recv(4_096)))
            link.sendall(second := session.take_out())
            self._recorded = first + second
            return
        link.sendall(self._recorded)
        link.recv(4_096)
        self.sent += 2

    def _half_a_greeting(self, link: socket.socket) -> None:
        said = self._greeting()
        link.sendall(said[: self.chance.randrange(len(said))])
        self.sent += 1

    def _garbage_of_a_proved_peer(self, link: socket.socket) -> None:
        """Send garbage as a faulty peer that knows the secret."""
        session = Session(self._identity(f"broken{self.chance.randrange(5)}"), self.member)
        link.sendall(session.take_out())
        while session.peer is None:
            heard = link.recv(4_096)
            if not heard:
                return
            list(session.feed(heard))
            link.sendall(session.take_out())
        self.proved += 1
        for _ in range(FRAMES_EACH):
            body = self.chance.choice([b"m", b"h", b"?", b""]) + self.chance.randbytes(200)
            with suppress(OSError):
                link.sendall(session.seal(body))
            self.sent += 1

    def _greet(self, link: socket.socket, **changed: object) -> None:
        link.sendall(self._greeting(**changed))
        self.sent += 1

    def _greeting(self, **changed: object) -> bytes:
        greeting = {
            "joinproto": changed.get("versions", [1, 1]),
            "cluster": changed.get("cluster", self.cluster),
            "from": "newcomer",
            "to": self.member,
            "nonce": self.chance.randbytes(16).hex(),
        }
        return framed(json.dumps(greeting).encode())

    def _identity(self, name: str) -> Identity:
        return Identity(member=name, cluster_name=self.cluster, secret=self.secret)
