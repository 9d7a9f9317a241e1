"""Histories of real etcd clusters: members as processes, cut links, clients that count.

A kind of history is a plot; a seed draws how many members there are, who it is about, how long
clients write, and how often a snapshot is taken.  Clients write keys that are there once, so what a
store has of what was acknowledged is seen in its bytes, by no reader of ours.

`follow` does what the last line says, with copies of the stores, and counts the keys.
"""

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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from joinproto.errors import EnvironmentProblem
from tools.fixtures.servers import require
from tools.histories.followed import Followed, Steps
from tools.histories.judged import History
from tools.histories.links import Links, free_port

KEY = re.compile(rb"key-[0-9]{5}-[a-z]-[0-9a-f]{8}")
UP_SECONDS = 60.0
CALL_SECONDS = 1.5


def call(port: int, path: str, seconds: float = CALL_SECONDS, **said: Any) -> Any:
    """Ask a member by HTTP; raises `OSError` or `ValueError`."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(said).encode())
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return json.load(answer)


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@frozen(kw_only=True)
class Settings:
    """How the members are started."""

    snapshot: int
    token: str


@define
class Cluster:
    """Members as processes.  `like`: of an earlier life, at whose addresses they look for others.

    `clients`: ports; `urls`: addresses of peers, before the proxies.
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
            *(require("etcd", "etcd-server"), "--name", name, "--data-dir", str(folder)),
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
        process = self.running.pop(name)
        process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)
        process.kill()
        process.wait()
        self.links.pids.pop(name, None)

    def wait(self, *names: str) -> bool:
        """Return once each of these serves; whether they do."""
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
        """Have a client at each running member write all the time."""
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

    def one(self) -> str:
        return self.chance.choice(sorted(self.running))

    def told(self, what: str) -> None:
        self.events.append(what)

    def away(self) -> str:
        """End one, by a kill or in order, while clients write; let the others go on."""
        who, kill = self.one(), self.chance.random() < 0.7
        with self.writing():
            time.sleep(0.2)
            self.end(who, kill=kill)
            time.sleep(self.chance.uniform(0.1, 2.0))
        self.told(f"{who} {'killed' if kill else 'stopped'}, the others go on")
        return who

    def back(self, who: str, *more: str, state: str = "new") -> None:
        self.start(who, *more, state=state)
        self.wait(who)
        self.told(f"{who} is started again")
        self.write()

    def down(self) -> None:
        """End all, together or in turn, while clients write."""
        together = self.chance.random() < 0.6
        with self.writing():
            time.sleep(self.chance.uniform(0.1, 0.4))
            while self.running:
                self.end(self.one(), kill=self.chance.random() < 0.8)
                if not together:
                    time.sleep(self.chance.uniform(0.0, 2.0))
        self.told(f"all are ended {'together' if together else 'in turn'}")

    def close(self) -> None:
        for name in list(self.running):
            self.end(name)
        self.links.close()


def _orderly(it: Cluster) -> None:
    it.write()
    for name in sorted(it.running):
        it.end(name, kill=False)
    it.told("all are stopped in order")


def _killed(it: Cluster) -> None:
    it.write()
    with it.writing():
        time.sleep(0.2)
        for name in it.chance.sample(sorted(it.running), len(it.running)):
            it.end(name)
    it.told("all are killed")


def _away(it: Cluster) -> None:
    it.write()
    it.away()
    if len(it.running) > 3 and it.chance.random() < 0.5:
        it.away()


def _back(it: Cluster) -> None:
    it.back(it.away())


def _cut(it: Cluster) -> None:
    """One is cut off, most often the one that leads; clients write on both sides."""
    it.write()
    lone = it.one()
    with it.writing():
        it.links.cut(lone)
        time.sleep(it.chance.uniform(0.5, 3.5))
        if it.chance.random() < 0.4:
            it.links.heal()
            time.sleep(it.chance.uniform(0.0, 1.5))
    it.told(f"{lone} is cut off{'' if it.links.away else ', and comes back'}")


def _wiped(it: Cluster) -> None:
    it.write()
    who = it.away()
    shutil.rmtree(it.data(who))
    it.told(f"the disk of {who} is wiped")


def _wiped_back(it: Cluster) -> None:
    """It is started blank under its old name: etcd takes it for the same member."""
    _wiped(it)
    who = next(iter({*it.names} - {*it.running}))
    it.back(who, state="existing")


def _founded_again(it: Cluster) -> None:
    """All are ended, and one that had all is wiped and started with the words of the founding."""
    it.write()
    behind = it.away()
    it.down()
    who = next(name for name in it.chance.sample(it.names, len(it.names)) if name != behind)
    shutil.rmtree(it.data(who))
    it.start(who)
    time.sleep(it.chance.uniform(2.0, 4.0))
    it.end(who)
    it.told(f"{who} is wiped, started alone as at the founding, and ended")


def _replaced(it: Cluster) -> None:
    """One is removed, and another one is added in its place, as the manual says."""
    _wiped(it)
    who = next(iter({*it.names} - {*it.running}))
    port, spare = it.clients[it.one()], next(one for one in it.urls if one not in it.names)
    members = call(port, "/v3/cluster/member/list", 10)["members"]
    gone = next(one["ID"] for one in members if one.get("name") == who)
    call(port, "/v3/cluster/member/remove", 10, ID=gone)
    time.sleep(6)  # etcd refuses the next change for five seconds
    call(port, "/v3/cluster/member/add", 10, peerURLs=[it.urls[spare]])
    it.names = (*(one for one in it.names if one != who), spare)
    it.start(spare, state="existing")
    it.wait(spare)
    it.told(f"{who} is removed, {spare} is added")
    it.write()


def _old_copy(it: Cluster) -> None:
    it.write()
    who = it.one()
    it.end(who)
    copied(it.data(who), it.folder / "old")
    it.back(who)
    it.write()
    if it.chance.random() < 0.5:
        it.end(who)
        it.write()
    else:
        it.down()
    shutil.rmtree(it.data(who))
    copied(it.folder / "old", it.data(who))
    it.told(f"an old copy of {who} is put back")
    if it.running and it.chance.random() < 0.5:
        it.back(who)


def _forced(it: Cluster) -> None:
    """One is started alone by force and takes writes; the others, who do not know, go on or not."""
    it.write()
    who = it.one()
    if it.chance.random() < 0.5:
        it.end(who)
        it.write()
    if it.running:
        it.down()
    it.start(who, "--force-new-cluster")
    if not it.wait(who):
        raise EnvironmentProblem(f"{who} does not start by force")
    it.write()
    it.end(who)
    it.told(f"{who} is started alone by force, and ended")
    if it.chance.random() < 0.7:
        rest = [name for name in it.names if name != who]
        for name in rest:
            it.start(name)
        it.wait(*rest)
        it.write()
        it.told("the others are started")


PLOTS: Mapping[str, Callable[[Cluster], None]] = {
    "orderly": _orderly,
    "killed": _killed,
    "away": _away,
    "back": _back,
    "cut": _cut,
    "wiped": _wiped,
    "replaced": _replaced,
    "wiped-back": _wiped_back,
    "old-copy": _old_copy,
    "cut-again": _cut,
    "forced": _forced,
    "founded-again": _founded_again,
}
KINDS = tuple(PLOTS)
DRAWN = KINDS[:10]
"""Those that a seed draws; the others are asked for."""
UNSEEN = ("wiped-back", "old-copy", "forced", "founded-again")
"""Here a store went back in a way that files need not show; a proof then names what it assumes."""


PLAYED: dict[int, Cluster] = {}


def copied(store: Path, to: Path) -> Path:
    """Copy a data directory, holes as holes."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(store), str(to)], check=True)
    return to


def keys_in(store: Path) -> frozenset[str]:
    """Return every key whose bytes are in some file of a store."""
    found: set[bytes] = set()
    for path in store.rglob("*"):
        if path.is_file():
            found |= set(KEY.findall(path.read_bytes().rstrip(b"\0")))
    return frozenset(key.decode() for key in found)


def draw(seed: int, folder: Path, kind: str | None = None) -> History:
    """Play the history of a seed; its stores lie in `folder`."""
    kind = kind or DRAWN[seed % len(DRAWN)]
    chance = random.Random(f"{seed} {kind}")
    names = tuple("abcde"[: chance.choice((3, 3, 3, 5))])
    settings = Settings(snapshot=chance.choice((20, 100, 10_000)), token=f"history-{seed}")
    it = PLAYED[seed] = Cluster(folder, settings, names, chance)
    try:
        for name in names:
            it.start(name)
        if not it.wait(*names):
            raise EnvironmentProblem("the members did not come up")
        PLOTS[kind](it)
        if it.running:
            it.down()
    finally:
        it.close()
    stores = {name: it.data(name) for name in it.urls if (it.data(name) / "member").is_dir()}
    return History(
        broker="etcd",
        seed=seed,
        kind=kind,
        events=tuple(it.events),
        stores=stores,
        has={name: keys_in(store) for name, store in stores.items()},
        acknowledged=frozenset(it.acknowledged),
        nodes=len(names),
        is_unseen=kind in UNSEEN,
    )


def follow(history: History, line: str, folder: Path) -> Followed | None:
    """Do what a last line says on copies of the stores; None: it names nothing to start."""
    whole, _, alone = line.partition("or, if only one can run:")
    named = [name for name, store in history.stores.items() if f"{store})" in whole]
    if not whole.startswith("start ") or not named:
        return None
    node = ""
    got = {"together": _started(history, folder / "together", named)}
    force = re.search(r"--data-dir (\S+) --force-new-cluster", alone)
    if force is not None:
        node = next(name for name, store in history.stores.items() if str(store) == force[1])
        got["alone"] = _started(history, folder / "alone", [node], "--force-new-cluster")
    lost = max(len(history.acknowledged - keys) for keys in got.values())
    return Followed(
        steps=Steps(force=node, stages=(tuple(named),)),
        kept=len(history.acknowledged),
        lost=lost,
        is_said=False,
        not_up=(),
        is_assumed=history.is_unseen,
    )


def _started(history: History, folder: Path, nodes: list[str], *more: str) -> frozenset[str]:
    """Return the keys that a cluster has which is started from copies of these stores."""
    settings = Settings(snapshot=10_000, token=f"history-{history.seed}")
    it = Cluster(folder, settings, tuple(nodes), random.Random(0), PLAYED[history.seed])
    try:
        for name in nodes:
            copied(history.stores[name], it.data(name))
        for name in nodes:
            it.start(name, *more)
        if not it.wait(*nodes):
            return frozenset()
        said = call(
            it.clients[nodes[0]], "/v3/kv/range", 20, key=packed("key-"), range_end=packed("key.")
        )
        return frozenset(base64.b64decode(one["key"]).decode() for one in said.get("kvs", ()))
    finally:
        it.close()
