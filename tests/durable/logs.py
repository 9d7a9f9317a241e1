"""Journals as the product opens and writes them: of a member's log, and of a broker."""

from __future__ import annotations

from random import Random
from zlib import crc32

from attrs import evolve, mutable

from joinproto.apps.standby.keeping.disk import Disk as BrokerDisk
from joinproto.apps.standby.keeping.disk import open_disk as open_broker
from joinproto.apps.standby.keeping.form import Action, Put, Taken
from joinproto.durable.filesystem import (
    remove,
)
from joinproto.durable.journal.journal import Frame, Journal, Run
from joinproto.durable.journal.records import base_head, base_line
from joinproto.log.dropping import dropping
from joinproto.log.keeper import LEFTOVERS
from joinproto.log.rebasing import BasePieces
from joinproto.log.snapshot import FILE as SNAPSHOT
from joinproto.log.snapshot import load, making
from joinproto.standby.messages import View
from joinproto.swarm.disk import Disk
from tests.durable.kind import APPLICATION, PLACE, SIZES, Step, Value
from tests.standby.test_kept import QUEUE, ids


@mutable
class LogOpen:
    """An open journal.  Its value is the texts of all frames, dropped frames included."""

    journal: Journal
    texts: tuple[bytes, ...]

    @property
    def value(self) -> Value:
        return self.texts

    def step(self, chance: Random, number: int) -> Step:
        base = self.journal.first_seq - 1
        what = chance.random()
        if what < 0.15 and len(self.texts) > base:
            return self._cut(chance.randint(base, len(self.texts) - 1))
        if what < 0.4 and self.texts:
            return Step(lambda: self._make_snapshot(drops_frames=chance.random() < 0.7), self.texts)
        if what < 0.5:
            return self._take_base(number, chance.randint(1, 3))
        texts = [chance.randbytes(chance.choice(SIZES)) for _ in range(chance.randint(1, 3))]
        return self.append(number, texts)

    def append(self, number: int, data: list[bytes]) -> Step:
        first = len(self.texts) + 1
        texts = (*self.texts, *data)
        frames = [Frame(f"{number:064x}", seq, one) for seq, one in enumerate(data, start=first)]

        def append() -> None:
            self.journal.append(frames)
            self.texts = texts

        return Step(append, texts, tuple(texts[:end] for end in range(first, len(texts))))

    def _cut(self, last: int) -> Step:
        def cut() -> None:
            self.journal.cut(last)
            self.texts = self.texts[:last]

        return Step(cut, self.texts[:last])

    def _make_snapshot(self, *, drops_frames: bool) -> None:
        """Make a snapshot, and with `drops_frames` drop the journal's frames that it covers."""
        if self.make_snapshot(keeps_floor=drops_frames) and drops_frames:
            for work in dropping(self.journal, lambda: None):
                work()

    def make_snapshot(self, *, keeps_floor: bool = True) -> bool:
        """Make a snapshot, with `keeps_floor` also the floor; return whether it was made."""
        made: list[bool] = []
        state = iter([b"".join(map(_frame, self.texts))])
        runs = self.journal.runs
        for work in making(
            self.journal,
            runs,
            APPLICATION,
            state,
            is_floor=keeps_floor,
            when_made=lambda: made.append(True),
        ):
            work()
        return bool(made)

    def _take_base(self, number: int, count: int) -> Step:
        texts = tuple(f"{number}.{at}".encode() for at in range(count))
        runs = (Run(f"{number:064x}", 1, count),)
        body = base_line(runs, APPLICATION) + b"".join(map(_frame, texts))

        def take() -> None:
            pieces = BasePieces(journal=self.journal, common=0, runs=runs, kind=APPLICATION)
            data = base_head(len(body), crc32(body)) + body
            for at in range(0, len(data), 100):
                pieces.take(data[at : at + 100])
            pieces.finish(lambda: None)
            assert not pieces.problem
            self.texts = texts

        return Step(take, texts)

    def close(self) -> None:
        self.journal.close()


def _frame(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


def _texts(state: bytes) -> tuple[bytes, ...]:
    found, at = [], 0
    while at < len(state):
        end = at + 4 + int.from_bytes(state[at : at + 4], "big")
        found.append(state[at + 4 : end])
        at = end
    return tuple(found)


def open_log(disk: Disk) -> LogOpen:
    journal = Journal.open(PLACE, files=disk)
    texts = _texts(journal.state())
    seq = journal.first_seq
    while frames := journal.read(seq):
        texts += tuple(frame.data for frame in frames)
        seq = frames[-1].seq + 1
    snapshot = load(journal, SNAPSHOT, APPLICATION)
    if snapshot is not None:
        assert texts[: snapshot.last] == _texts(snapshot.state), "a snapshot of another log"
    remove(disk, journal.folder, *LEFTOVERS)
    return LogOpen(journal, texts)


@mutable
class BrokerOpen:
    disk: BrokerDisk

    @property
    def value(self) -> tuple[int, tuple[str, ...] | None]:
        queues = self.disk.queues
        return self.disk.kept.view.generation, tuple(ids(self.disk)) if queues else None

    def step(self, chance: Random, number: int) -> Step:
        generation, there = self.value
        if chance.random() < 0.3:
            view = View(generation=number, number=1, primary="a", members=("a",))
            kept = evolve(self.disk.kept, cluster="c", clean=False, view=view)
            return Step(lambda: self.disk.write(kept), (number, there))
        actions: list[Action] = [] if there is not None else [QUEUE]
        left = list(there or ())
        for at in range(chance.randint(1, 3)):
            actions.append(Put("q", f"{number}.{at}", number * 10 + at, b"x" * 20))
            left.append(f"{number}.{at}")
        while len(left) > 6:
            actions.append(Taken("q", left.pop(0)))
        return Step(lambda: self.disk.append(actions), (generation, tuple(left)))

    def close(self) -> None:
        self.disk.close()


def open_broker_disk(disk: Disk) -> BrokerOpen:
    path = PLACE / "b"
    opened = open_broker(path, "a", files=disk, frames_on=disk)
    return BrokerOpen(opened)
