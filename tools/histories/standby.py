"""Histories of three brokers of hot standby: real processes, and a client that counts messages.

A kind of history is a plot; a seed draws the brokers that events concern, and how many messages are
published.  At the end all brokers are down.  A store has a message if its text is in the store's
journal: no message is ever consumed.  `follow` carries out the last line on copies, and promotes
the broker that it names first.
"""

from __future__ import annotations

import random
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import define, field
from proton import Message, ProtonException
from proton.utils import BlockingConnection

from tools.failover.manager import Manager, running
from tools.failover.storm import run_recover
from tools.histories.followed import Followed, Steps, says_loss
from tools.histories.judged import History

NAMES = "abc"
NO_SOCKETS = shutil.ignore_patterns("*.sock")
TEXT = re.compile(rb"m-\d{6}-\d{6}")
SEND_SECONDS = 10.0
UP_SECONDS = 30.0
MARK = re.compile(r"joinproto recover mark-clean( --unproven)? (\S+)")
FIRST = re.compile(r"promot(?:e|ing) (\w+) first")


@define
class Play:
    """Brokers while a history is played.  `up`: running brokers.  `cut`: brokers cut off."""

    manager: Manager
    top: Path
    chance: random.Random
    seed: int
    up: set[str] = field(factory=set)
    cut: set[str] = field(factory=set)
    acknowledged: set[str] = field(factory=set)
    events: list[str] = field(factory=list)
    _count: int = 0

    @property
    def primary(self) -> str:
        return self.manager.primary

    def store(self, name: str) -> Path:
        return self.top / name

    def backup(self) -> str:
        return self.chance.choice(sorted(self.up - {self.primary}))

    def begin(self) -> None:
        self.start(*NAMES)
        self.promote("a")

    def start(self, *names: str) -> None:
        self.manager.start(*names)
        self.up |= {*names}

    def promote(self, *order: str) -> None:
        end = time.monotonic() + UP_SECONDS
        while not self.manager.promote(*order):
            if time.monotonic() > end:
                raise RuntimeError(f"none of {', '.join(order)} is promoted")
            time.sleep(0.2)
        for name in sorted(self.up - self.cut - {self.primary}):
            self.manager.wait_backup(name, UP_SECONDS)
        self.events.append(f"{self.primary} promoted")

    def kill(self, *names: str) -> None:
        for name in names:
            self.manager.kill(name)
        self.up -= {*names}
        self.events.append(f"{', '.join(names)} killed")

    def stop(self, name: str) -> None:
        self.manager.call(name, "stop")
        self.up.discard(name)
        self.events.append(f"{name} stopped in order")

    def publish(self, count: int = 0) -> None:
        """Publish `count` messages to the primary; 0: until the primary ends."""
        sent = 0
        with suppress(ProtonException, OSError):
            connection = BlockingConnection(self.manager.url(self.primary), timeout=SEND_SECONDS)
            try:
                sender = connection.create_sender("q")
                while not count or sent < count:
                    self._count += 1
                    text = f"m-{self.seed % 10**6:06}-{self._count:06}"
                    sender.send(Message(id=self._count, durable=True, body=text))
                    self.acknowledged.add(text)
                    sent += 1
            finally:
                with suppress(ProtonException, OSError):
                    connection.close()
        self.events.append(f"{sent} messages confirmed by {self.primary}")

    def some(self) -> None:
        self.publish(self.chance.randint(1, 20))

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Publish before and during the body, which must end the primary."""
        client = threading.Thread(target=self.publish)
        before, end = len(self.acknowledged), time.monotonic() + SEND_SECONDS
        client.start()
        while len(self.acknowledged) == before and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(self.chance.uniform(0.0, 0.3))
        yield
        client.join()

    def down(self) -> None:
        """End all brokers: kill them at once during writes, or kill or stop one after another."""
        order = sorted(self.up)
        self.chance.shuffle(order)
        how = self.chance.choice(("together", "in turn", "in order"))
        if how == "together" and self.primary in self.up:
            with self.publishing():
                self.kill(*order)
            return
        for name in order:
            self.stop(name) if how == "in order" else self.kill(name)
            if self.primary in self.up and self.chance.random() < 0.5:
                self.some()


def _orderly(it: Play) -> None:
    it.some()
    order = [*NAMES]
    it.chance.shuffle(order)
    for name in order:
        it.stop(name)


def _together(it: Play) -> None:
    it.some()
    with it.publishing():
        it.kill(*it.chance.sample(NAMES, len(NAMES)))


def _failover(it: Play) -> None:
    for _ in range(it.chance.randint(1, 2)):
        gone = it.primary
        with it.publishing():
            it.kill(gone)
        others = sorted(it.up)
        it.chance.shuffle(others)
        it.promote(*others)
        it.some()
        if it.chance.random() < 0.6:
            it.start(gone)
            it.manager.wait_backup(gone, UP_SECONDS)
            it.some()
        elif len(it.up) < 3:
            break


def _away(it: Play) -> None:
    name = it.backup()
    it.kill(name)
    it.some()
    if it.chance.random() < 0.4:
        it.start(name)
        it.some()  # it may not have caught up yet


def _cut(it: Play) -> None:
    lone = it.backup()
    it.manager.isolate(lone)
    it.cut.add(lone)
    it.events.append(f"{lone} cut off")
    it.some()


def _cut_primary(it: Play) -> None:
    """The primary is cut off and not fenced, and another broker is promoted."""
    lone = it.primary
    it.manager.isolate(lone)
    it.cut.add(lone)
    it.events.append(f"{lone} cut off, with its clients")
    it.publish(2)
    it.promote(*sorted(it.up - {lone}))
    it.some()


def _wiped(it: Play) -> None:
    name = it.backup()
    it.kill(name)
    it.some()
    shutil.rmtree(it.store(name))
    it.events.append(f"the disk of {name} lost")
    if it.chance.random() < 0.5:
        it.start(name)
        it.some()


def _old_copy(it: Play) -> None:
    name = it.backup()
    it.kill(name)
    shutil.copytree(it.store(name), it.top / "older", ignore=NO_SOCKETS)
    it.start(name)
    it.manager.wait_backup(name, UP_SECONDS)
    it.some()
    it.down()
    shutil.rmtree(it.store(name))
    (it.top / "older").rename(it.store(name))
    it.events.append(f"the directory of {name} replaced by an older copy")


def _forced(it: Play) -> None:
    """A broker that left before the others is marked by hand, and serves."""
    name = it.backup()
    it.kill(name)
    it.some()
    it.down()
    mark(it.store(name), unproven=True)
    it.start(name)
    it.promote(name)
    it.some()


PLOTS: Mapping[str, Callable[[Play], None]] = {
    "orderly": _orderly,
    "killed-together": _together,
    "failover": _failover,
    "away": _away,
    "cut": _cut,
    "cut-primary": _cut_primary,
    "wiped": _wiped,
    "old-copy": _old_copy,
    "forced": _forced,
}
KINDS = tuple(PLOTS)


def draw(seed: int, folder: Path, kind: str | None = None) -> History:
    """Play the history of a seed, and leave its stores in `folder`.

    `kind`: one of `KINDS`; without a kind, the seed gives it.
    """
    kind = kind or KINDS[seed % len(KINDS)]
    top = folder / "play"
    top.mkdir()
    with running(Manager.of(top, NAMES, cuts=True)) as manager:
        it = Play(manager, top, random.Random(f"{seed} {kind}"), seed)
        it.begin()
        PLOTS[kind](it)
        it.down()
    stores = {}
    for name in NAMES:
        if it.store(name).exists():
            stores[name] = folder / "stores" / name
            shutil.copytree(it.store(name), stores[name], ignore=NO_SOCKETS)
    shutil.rmtree(top)
    return History(
        broker="standby",
        seed=seed,
        kind=kind,
        events=tuple(it.events),
        stores=stores,
        has={name: _messages(store) for name, store in stores.items()},
        acknowledged=frozenset(it.acknowledged),
        nodes=len(NAMES),
    )


def follow(history: History, line: str, folder: Path) -> Followed | None:
    """Carry out a last line on copies; return None if the line names no broker."""
    marks, first = MARK.search(line), FIRST.search(line)
    top = folder / "play"
    node_of = {str(path): name for name, path in history.stores.items()}
    name = node_of[marks[2]] if marks else first[1] if first else ""
    if not name:
        return None
    top.mkdir()
    with running(Manager.of(top, NAMES, cuts=True)) as manager:
        for node, store in history.stores.items():
            shutil.copytree(store, top / node)
        if marks:
            others = [top / node for node in history.stores if node != name]
            mark(top / name, *others, unproven=marks[1] is not None)
        manager.start()
        is_up = bool(manager.promote(name))
        manager.kill(name)
        has = _messages(top / name) if is_up else history.kept
    shutil.rmtree(top)
    return Followed(
        steps=Steps(force=name if marks else "", stages=((name,),)),
        kept=len(history.kept),
        lost=len(history.kept - has),
        is_said=says_loss(line),
        not_up=() if is_up else (name,),
    )


def mark(store: Path, *others: Path, unproven: bool = False) -> None:
    """Mark a store, as an operator does."""
    words = ["mark-clean", store, *others, *(["--unproven"] if unproven else [])]
    plan_hash = run_recover(*words)["error"]["next"].rpartition(" ")[2]
    run_recover(*words, "--yes", "--plan-hash", plan_hash)


def _messages(store: Path) -> frozenset[str]:
    data = (store / "frames.log").read_bytes() if (store / "frames.log").exists() else b""
    return frozenset(text.decode() for text in TEXT.findall(data))
