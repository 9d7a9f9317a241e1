"""Random lives of a log: links break, views change, and each write is in the log once or never.

The harness of `test_replicated` plays the members.  As in the protocol, each
view starts at the end of the longest journal of the members that stay.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import define, field

from joinproto.durable.journal.journal import Journal
from joinproto.join.messages import Closing, StartUpdate
from tests.log.test_replicated import Bench, Three, first_view, next_view

STEPS = 60


@define
class Life:
    """Three logs, their clients' answers, and a random number generator."""

    three: Three
    chance: random.Random
    members: str = "abc"
    count: int = 0
    answers: Counter[str] = field(factory=Counter)
    acknowledged: dict[str, int] = field(factory=dict)

    def step(self) -> None:
        actions = [self.submit] * 3 + [self.deliver] * 2
        self.chance.choice([*actions, self.cut, self.reconnect, self.change_view])()

    def submit(self) -> None:
        bench = self.three[self.chance.choice(self.members)]
        text = f"text {self.count}"
        self.count += 1

        def done(position: object, text: str = text) -> None:
            self.answers[text] += 1
            self.acknowledged[text] = getattr(position, "seq", 0)

        if bench.log.is_open:
            bench.log.submit(text.encode(), done)
            bench.work()

    def deliver(self) -> None:
        for _ in range(self.chance.randrange(1, 8)):
            if self.three.wire:
                sender, to, data = self.three.wire.popleft()
                if (sender, to) not in self.three.lost:
                    self.three[to].log.hear(sender, data)
                    self.three[to].work()

    def cut(self) -> None:
        """End a connection in both directions; messages on it are lost."""
        one, other = self.chance.sample("abc", 2)
        pair = {(one, other), (other, one)}
        self.three.lost |= pair
        kept = [message for message in self.three.wire if message[:2] not in pair]
        self.three.wire.clear()
        self.three.wire.extend(kept)

    def reconnect(self) -> None:
        pairs = list(self.three.lost)
        self.three.lost.clear()
        for one, other in pairs:
            self.three[other].log.peer_up(one)
            self.three[other].work()

    def change_view(self) -> None:
        """Some members stay, some come back; members that lack data get it from another member."""
        staying = self.chance.sample(self.members, self.chance.randrange(1, len(self.members) + 1))
        coming = [name for name in "abc" if name not in self.members and self.chance.random() < 0.7]
        former = self.three[staying[0]].view
        assert former is not None
        for bench in self.three.logs.values():
            bench.log.close(Closing.NEXT_VIEW)
        # All are sure of the view, so the highest of the staying members has all committed frames.
        source = max(staying, key=lambda name: self.three[name].journal.last_seq)
        position = self.three[source].journal.last
        self.members = "".join(sorted({*staying, *coming}))
        view = next_view(former, self.members, position)
        self.reconnect()
        for name in self.members:
            self.three[name].learn(view)
            self.three[name].is_ready = self.three[name].journal.last == position
        for name in self.members:
            if not self.three[name].is_ready:
                self.three[name].log.start_update(StartUpdate(source, view, position, False))
        self.three.settle()
        for name in self.chance.sample(self.members, len(self.members)):
            assert position == self.three[name].journal.last
            self.three[name].is_ready = True
        for name in self.chance.sample(self.members, len(self.members)):
            self.three[name].open()
            if self.chance.random() < 0.5:
                self.deliver()

    def check(self) -> None:
        assert not [text for text, times in self.answers.items() if times > 1]
        for name in self.members:
            texts = self.three.texts(name)
            assert len(texts) == len(set(texts)), "a write is in the log twice"
            for text, seq in self.acknowledged.items():
                assert text == texts[seq - 1], f"{name} lacks {text}"
            applied = self.three[name].app.texts
            assert texts[: len(applied)] == applied


@contextmanager
def life(top: Path, seed: int) -> Iterator[Life]:
    wire: deque[tuple[str, str, bytes]] = deque()
    logs = {}
    for name in "abc":
        (top / name).mkdir()
        logs[name] = Bench(name, wire, Journal.open(top / name))
    for bench in logs.values():
        bench.learn(first_view())
    for bench in logs.values():
        bench.open()
    try:
        yield Life(Three(wire, logs), random.Random(seed))
    finally:
        for bench in logs.values():
            bench.journal.close()


@pytest.mark.parametrize("seed", range(25))
def test_random_runs_keep_every_promise_of_the_log(tmp_path: Path, seed: int) -> None:
    with life(tmp_path, seed) as one:
        for _ in range(STEPS):
            one.step()
            one.check()
        one.members = "".join(sorted(one.members))
        one.change_view()
        one.three.settle()
        one.check()

        # Every member of the view has answered all its clients.
        for name in one.members:
            assert 0 == one.three[name].log.pending
        texts = one.three.texts(one.members[0])
        assert set(one.acknowledged) <= set(texts)


def test_a_random_run_changes_views_and_acknowledges_writes(tmp_path: Path) -> None:
    with life(tmp_path, 3) as one:
        for _ in range(STEPS):
            one.step()

        view = one.three[one.members[0]].view
        assert view is not None
        assert view.number > 3
        assert len(one.acknowledged) > 3


def test_a_log_that_submits_again_without_looking_is_caught(
    tmp_path: Path,
) -> None:
    """A log that does not recognize its own frames breaks the promise of "once"."""
    failed = 0
    for seed in range(25):
        (tmp_path / f"{seed}").mkdir()
        with life(tmp_path / f"{seed}", seed) as one:
            for bench in one.three.logs.values():
                bench.log.updates.note_written = lambda frame: None
            try:
                for _ in range(STEPS):
                    one.step()
                    one.check()
            except AssertionError:
                failed += 1

    assert failed > 0
