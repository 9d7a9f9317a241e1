"""The performance of three nodes on this machine: writes a second, and the pause after kill -9.

The three nodes are on loopback; each frame is on three disks (fsync) before it is acknowledged.
Clients are threads, each with one write at a time.  If etcd is installed, three members of it are
measured with the same threads, after the nodes have ended, so that neither disturbs the other.

The pause is the time from the kill to the answer of the first write begun after it, at a survivor.
In turn the sequencer, which orders the frames, and another member are killed.  etcd goes on without
a follower, and needs an election without its leader; a view of joinproto needs all of its members,
so it pauses after both.

Run as `python -m tools.bench.node`, it prints one JSON object.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Protocol

import cattrs
from attrs import define, field, frozen

from tools.bench.results import NodeCost
from tools.faults.clients import Connection
from tools.faults.network import Direct
from tools.faults.nodes import Fleet, until
from tools.faults.ports import free_ports

CLIENTS = 16
MANY_CLIENTS = 200
LONE_WRITES = 200
SECONDS = 5.0
KILLS = 3
NAMES = "abc"


class Client(Protocol):
    """One client's connection."""

    def __call__(self) -> bool:
        """Write once; return whether the write was acknowledged."""

    def close(self) -> None: ...


class Trio(Protocol):
    """Three members of a system that stores writes.

    `founded`: seconds from the start of the processes, without data, until all serve.
    """

    founded: float

    def client(self, name: str) -> Client: ...

    def leader(self) -> str: ...
    def kill(self, name: str) -> None: ...
    def start(self, name: str) -> None: ...
    def close(self) -> None: ...


# -- the two systems ---------------------------------------------------------------------------


class Ours:
    """Three nodes with default timing and without event logs."""

    def __init__(self, top: Path) -> None:
        self.fleet = Fleet.make(top, NAMES, events=None, network=Direct)
        began = time.perf_counter()
        self.fleet.start()
        self.fleet.wait_active()
        self.founded = time.perf_counter() - began

    def client(self, name: str) -> Client:
        return _Append(Connection(self.fleet[name].clients))

    def leader(self) -> str:
        return next(name for name in NAMES if self.fleet[name].status().get("is_sequencer"))

    def kill(self, name: str) -> None:
        self.fleet[name].kill()

    def start(self, name: str) -> None:
        self.fleet[name].start()
        self.fleet.wait_active()

    def close(self) -> None:
        self.fleet.close()


@define
class _Append:
    connection: Connection

    def __call__(self) -> bool:
        return self.connection.ask("append something").startswith(b"ok ")

    def close(self) -> None:
        self.connection.close()


@define
class Etcd:
    """Three members of etcd; clients use its JSON gateway, on connections that stay open."""

    top: Path
    peers: dict[str, int] = field(factory=dict)
    clients: dict[str, int] = field(factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(factory=dict)
    founded: float = 0.0

    def __attrs_post_init__(self) -> None:
        ports = free_ports(6)
        self.peers = dict(zip(NAMES, ports[:3], strict=True))
        self.clients = dict(zip(NAMES, ports[3:], strict=True))
        began = time.perf_counter()
        for name in NAMES:
            self._start(name, "new")
        self._wait()
        self.founded = time.perf_counter() - began

    def _wait(self) -> None:
        clients = [self.client(name) for name in NAMES]
        until(lambda: all(client() for client in clients))
        for client in clients:
            client.close()

    def _start(self, name: str, state: str) -> None:
        cluster = ",".join(f"{one}=http://127.0.0.1:{port}" for one, port in self.peers.items())
        peer = f"http://127.0.0.1:{self.peers[name]}"
        client = f"http://127.0.0.1:{self.clients[name]}"
        words = [
            "etcd", "--name", name, "--data-dir", str(self.top / name),
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--initial-cluster", cluster, "--initial-cluster-state", state,
        ]  # fmt: skip
        self.processes[name] = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def client(self, name: str) -> Client:
        return _Put(self.clients[name])

    def leader(self) -> str:
        found = {name: _post(self.clients[name], "maintenance/status", {}) for name in NAMES}
        return next(
            name for name, one in found.items() if one["header"]["member_id"] == one["leader"]
        )

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def start(self, name: str) -> None:
        self._start(name, "existing")
        self._wait()

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@define
class _Put:
    """Writes one key over and over, on one connection."""

    port: int
    _socket: socket.socket | None = None

    def __call__(self) -> bool:
        body = _json({"key": _text("key"), "value": _text("something")})
        head = f"POST /v3/kv/put HTTP/1.1\r\nHost: etcd\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            if self._socket is None:
                self._socket = socket.create_connection(("127.0.0.1", self.port), 10)
            self._socket.sendall(head.encode() + body)
            answer = self._socket.recv(4_096)
        except OSError:
            answer = b""
        if not answer.startswith(b"HTTP/1.1 200"):
            self.close()
            return False
        return True

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def _post(port: int, path: str, tree: dict[str, str]) -> dict[str, Any]:
    link = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        link.request("POST", f"/v3/{path}", _json(tree))
        return dict(json.loads(link.getresponse().read()))
    finally:
        link.close()


def _json(tree: dict[str, str]) -> bytes:
    return json.dumps(tree).encode()


def _text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


# -- measuring ---------------------------------------------------------------------------------


def writes_per_second(trio: Trio, *, clients: int, seconds: float) -> float:
    """Return the acknowledged writes a second of this many clients, spread over the members."""
    over = threading.Event()
    counts = [0] * clients

    def work(at: int) -> None:
        client = trio.client(NAMES[at % len(NAMES)])
        while not over.is_set():
            counts[at] += client()
        client.close()

    threads = [threading.Thread(target=work, args=(at,), daemon=True) for at in range(clients)]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 5)
    before, began = sum(counts), time.perf_counter()
    time.sleep(seconds)
    found = (sum(counts) - before) / (time.perf_counter() - began)
    over.set()
    for thread in threads:
        thread.join()
    return found


def lone_seconds(trio: Trio, *, writes: int) -> float:
    """Return the median seconds of one client's write while no other client writes."""
    times = []
    for name in NAMES:
        client = trio.client(name)
        until(client)
        for _ in range(writes // len(NAMES)):
            began = time.perf_counter()
            if client():
                times.append(time.perf_counter() - began)
        client.close()
    return statistics.median(times)


def seconds_after_kill(trio: Trio, victim: str) -> float:
    """Kill a member, start it again, and return the seconds from the kill to a write's answer."""
    survivor = next(name for name in NAMES if name != victim)
    client = trio.client(survivor)
    until(client)
    trio.kill(victim)
    began = time.perf_counter()
    until(client)
    found = time.perf_counter() - began
    client.close()
    trio.start(victim)
    return found


@frozen
class Found:
    """The measurements of one system, in seconds and writes a second.

    The seconds after a kill are medians.  `many`: the rate of many clients; `lone`: the median of
    one client's write.
    """

    founded: float
    rate: float
    many: float
    lone: float
    leader_killed: float
    other_killed: float


def measure(
    trio: Trio,
    *,
    clients: int,
    seconds: float,
    kills: int,
    many: int = MANY_CLIENTS,
    lone_writes: int = LONE_WRITES,
) -> Found:
    """Measure the system, and end it."""
    try:
        lone = lone_seconds(trio, writes=lone_writes)
        of_many = writes_per_second(trio, clients=many, seconds=seconds)
        rate = writes_per_second(trio, clients=clients, seconds=seconds)
        leader, other = [], []
        for _ in range(kills):
            leader.append(seconds_after_kill(trio, trio.leader()))
            leading = trio.leader()
            other.append(seconds_after_kill(trio, next(n for n in NAMES if n != leading)))
    finally:
        trio.close()
    return Found(
        founded=trio.founded,
        rate=rate,
        many=of_many,
        lone=lone,
        leader_killed=statistics.median(leader),
        other_killed=statistics.median(other),
    )


def cost(*, clients: int = CLIENTS, seconds: float = SECONDS, kills: int = KILLS) -> NodeCost:
    """Return the cost of three nodes, and of etcd if it is installed."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="joinproto-bench-") as folder:
        (Path(folder) / "ours").mkdir()
        ours = measure(Ours(Path(folder) / "ours"), clients=clients, seconds=seconds, kills=kills)
        theirs = None
        version = None
        if shutil.which("etcd") is not None:
            version = _version()
            (Path(folder) / "etcd").mkdir()
            theirs = measure(
                Etcd(Path(folder) / "etcd"), clients=clients, seconds=seconds, kills=kills
            )
    return NodeCost(
        clients=clients,
        load=load,
        founded_seconds=ours.founded,
        writes_per_second=ours.rate,
        leader_killed_seconds=ours.leader_killed,
        other_killed_seconds=ours.other_killed,
        many_clients=MANY_CLIENTS,
        many_writes_per_second=ours.many,
        lone_seconds=ours.lone,
        etcd=version,
        etcd_founded_seconds=None if theirs is None else theirs.founded,
        etcd_writes_per_second=None if theirs is None else theirs.rate,
        etcd_many_writes_per_second=None if theirs is None else theirs.many,
        etcd_lone_seconds=None if theirs is None else theirs.lone,
        etcd_leader_killed_seconds=None if theirs is None else theirs.leader_killed,
        etcd_other_killed_seconds=None if theirs is None else theirs.other_killed,
    )


def _version() -> str:
    done = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=False)
    with suppress(IndexError):
        return done.stdout.split()[2]
    return "unknown"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(cattrs.unstructure(cost())) + "\n")
