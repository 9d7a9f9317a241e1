"""Members of etcd as processes: their links can be cut, and clients count acknowledged writes."""

from __future__ import annotations

import base64
import json
import random
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from tools.fixtures.servers import require, run
from tools.histories.links import Links, free_port

KEY = re.compile(rb"key-[0-9]{5}-[a-z]-[0-9a-f]{8}")
UP_SECONDS = 60.0
CALL_SECONDS = 1.5
API = {"PATH": "/usr/bin:/bin", "ETCDCTL_API": "3"}


def call(
    port: int, path: str, seconds: float = CALL_SECONDS, *, ticket: str = "", **fields: Any
) -> Any:
    """Return a member's answer to a request; raises `OSError` or `ValueError`.

    `ticket`: a user's token; "" for none.
    """
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(fields).encode())
    if ticket:
        request.add_header("Authorization", ticket)
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return json.load(answer)


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@frozen(kw_only=True)
class Settings:
    """The settings of all members.  `snapshot`: the number of entries from snapshot to snapshot."""

    snapshot: int
    token: str


@frozen(kw_only=True)
class LastStatus:
    """A member's own status just before its end.

    `index`: the index of its last committed entry.  `kill`: whether the member was killed.
    """

    cluster: str
    member: str
    term: int
    index: int
    revision: int
    is_learner: bool
    kill: bool


@define
class Cluster:
    """Members as processes.  `like`: an earlier cluster, whose addresses these members use again.

    `clients`: ports for clients.  `urls`: addresses for peers, which are the proxies'.  `program`:
    the etcd to start.  `asked`: each member's own status just before its end.
    """

    folder: Path
    settings: Settings
    names: tuple[str, ...]
    chance: random.Random
    like: Cluster | None = None
    links: Links = field(init=False)
    clients: dict[str, int] = field(init=False, factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(init=False, factory=dict)
    urls: dict[str, str] = field(init=False, factory=dict)
    events: list[str] = field(init=False, factory=list)
    acknowledged: set[str] = field(init=False, factory=set)
    asked: dict[str, LastStatus] = field(init=False, factory=dict)
    program: str = "etcd"
    written: int = 0

    def __attrs_post_init__(self) -> None:
        spare = "d" if "d" not in self.names else "f"
        if self.like is None:
            self.links = Links({name: free_port() for name in (*self.names, spare)})
            self.clients = {name: free_port() for name in self.links.behind}
        else:
            self.links = Links(self.like.links.behind, self.like.links.fronts)
            self.clients = self.like.clients
        self.urls = {name: f"http://127.0.0.1:{port}" for name, port in self.links.fronts.items()}

    def data(self, name: str) -> Path:
        return self.folder / "run" / name

    def start(self, name: str, *more: str, data: Path | None = None, state: str = "new") -> None:
        folder = data or self.data(name)
        folder.parent.mkdir(parents=True, exist_ok=True)
        members = self.names if state == "new" else tuple(self.urls)
        listed = [one for one in members if one in self.names or one == name]
        command = [
            *(require(self.program, "etcd-server"), "--name", name, "--data-dir", str(folder)),
            *("--listen-peer-urls", f"http://127.0.0.1:{self.links.behind[name]}"),
            *("--initial-advertise-peer-urls", self.urls[name]),
            *("--listen-client-urls", f"http://127.0.0.1:{self.clients[name]}"),
            *("--advertise-client-urls", f"http://127.0.0.1:{self.clients[name]}"),
            *("--initial-cluster", ",".join(f"{one}={self.urls[one]}" for one in listed)),
            *("--initial-cluster-state", state, "--initial-cluster-token", self.settings.token),
            *("--snapshot-count", str(self.settings.snapshot), "--logger", "zap"),
            *("--heartbeat-interval", "100", "--election-timeout", "1000", *more),
        ]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True
            )
        self.links.pids[name] = self.running[name].pid

    def end(self, name: str, *, kill: bool = True) -> None:
        self._ask(name, kill=kill)
        process = self.running.pop(name)
        process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)
        process.kill()
        process.wait()
        self.links.pids.pop(name, None)

    def _ask(self, name: str, *, kill: bool) -> None:
        self.asked.pop(name, None)
        with suppress(OSError, ValueError):
            said = call(self.clients[name], "/v3/maintenance/status")
            # The JSON of Protocol Buffers omits zeros, and writes long numbers as text.
            self.asked[name] = LastStatus(
                cluster=f"{int(said['header']['cluster_id']):x}",
                member=f"{int(said['header']['member_id']):x}",
                term=int(said["raftTerm"]),
                index=int(said["raftIndex"]),
                revision=int(said["header"].get("revision", 0)),
                is_learner=bool(said.get("isLearner")),
                kill=kill,
            )

    def wait(self, *names: str) -> bool:
        """Wait until each of these members serves; return whether all do."""
        end = time.monotonic() + UP_SECONDS
        for name in names:
            while time.monotonic() < end:
                with suppress(OSError, ValueError):
                    call(self.clients[name], "/v3/kv/range", key=packed("key"))
                    break
                if name in self.running and self.running[name].poll() is not None:
                    return False
                time.sleep(0.1)
            else:
                return False
        return True

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let a client at each running member write during the body."""
        over = threading.Event()
        clients = [threading.Thread(target=self._write, args=(name, over)) for name in self.running]
        for one in clients:
            one.start()
        try:
            yield
        finally:
            over.set()
            for one in clients:
                one.join()

    def _write(self, name: str, over: threading.Event) -> None:
        while not over.is_set():
            self.written += 1
            key = f"key-{self.written:05}-{name}-{self.chance.getrandbits(32):08x}"
            try:
                call(self.clients[name], "/v3/kv/put", key=packed(key), value=packed(key * 8))
                self.acknowledged.add(key)
            except (OSError, ValueError):
                over.wait(0.05)

    def write(self, most: float = 0.6) -> None:
        with self.writing():
            time.sleep(self.chance.uniform(0.15, most))

    def at(self) -> int:
        """Return the port of a running member."""
        return self.clients[self.one()]

    def saved(self, name: str) -> Path:
        """Save a running member's snapshot in a file of this name, as the manual says."""
        file = self.folder / name
        run(
            [
                *(require("etcdctl", "etcd-client"), "--endpoints"),
                *(f"http://127.0.0.1:{self.at()}", "snapshot", "save", str(file)),
            ],
            env=API,
        )
        return file

    def restore(self, name: str, snapshot: Path) -> None:
        """Make the directory of a member from a snapshot, as the manual says."""
        tool = "etcdutl" if shutil.which("etcdutl") else "etcdctl"
        shutil.rmtree(self.data(name))
        run(
            [
                *(
                    require(tool, "etcd-client"),
                    "snapshot",
                    "restore",
                    str(snapshot),
                    "--name",
                    name,
                ),
                *("--data-dir", str(self.data(name))),
                *("--initial-cluster", ",".join(f"{one}={self.urls[one]}" for one in self.names)),
                *("--initial-cluster-token", self.settings.token),
                *("--initial-advertise-peer-urls", self.urls[name]),
            ],
            env=API,
        )

    def one(self) -> str:
        return self.chance.choice(sorted(self.running))

    def note(self, what: str) -> None:
        self.events.append(what)

    def away(self) -> str:
        """Kill or stop a member while clients write; the others continue."""
        who, kill = self.one(), self.chance.random() < 0.7
        with self.writing():
            time.sleep(0.2)
            self.end(who, kill=kill)
            time.sleep(self.chance.uniform(0.1, 2.0))
        self.note(f"{who} {'killed' if kill else 'stopped'}, the others go on")
        return who

    def back(self, who: str, *more: str, state: str = "new") -> None:
        self.start(who, *more, state=state)
        self.wait(who)
        self.note(f"{who} is started again")
        self.write()

    def down(self) -> None:
        """End all members, at once or one after another, while clients write."""
        together = self.chance.random() < 0.6
        with self.writing():
            time.sleep(self.chance.uniform(0.1, 0.4))
            while self.running:
                self.end(self.one(), kill=self.chance.random() < 0.8)
                if not together:
                    time.sleep(self.chance.uniform(0.0, 2.0))
        self.note(f"all are ended {'together' if together else 'in turn'}")

    def close(self) -> None:
        for name in list(self.running):
            self.end(name)
        self.links.close()


def copied(store: Path, to: Path) -> Path:
    """Copy a data directory, and keep holes in files."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(store), str(to)], check=True)
    return to


def keys_in(store: Path) -> frozenset[str]:
    """Return every key whose bytes are in a file of this store; `store` may be a file itself."""
    found: set[bytes] = set()
    for path in [store, *store.rglob("*")]:
        if path.is_file():
            found |= set(KEY.findall(path.read_bytes().rstrip(b"\0")))
    return frozenset(key.decode() for key in found)
