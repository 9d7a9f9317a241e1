"""A broker's journal is shortened between its writes, and a kill at any moment loses no write."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from joinproto.apps.standby.keeping import disk as keeping
from joinproto.apps.standby.keeping import shortening
from joinproto.apps.standby.keeping.disk import Disk, open_disk
from joinproto.apps.standby.keeping.form import Action, Taken
from joinproto.log import dropping, snapshot
from tests.log.kills import counted, last_told_before_kill
from tests.standby.test_kept import LIFE, QUEUE, ids, put

WRITES = 60


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pieces a few hundred bytes long, and do not wait for this machine's disk."""
    monkeypatch.setattr(keeping, "COMPACT_BYTES", 5_000)
    monkeypatch.setattr(shortening, "ACTIONS_A_PIECE", 4)
    for folder in (keeping, dropping, snapshot):
        monkeypatch.setattr(folder, "PIECE_BYTES", 300)
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda file: None)


def actions(number: int, stay: int = 5) -> list[Action]:
    """Return the actions in one write: two messages come, and two that came before go."""
    came = [put(2 * number), put(2 * number + 1)]
    gone = [Taken("q", f"1.a.{2 * (number - stay) + at}") for at in (0, 1)]
    return [*came, *(gone if number > stay else ())]


def messages_after(writes: int, stay: int = 5) -> list[str]:
    """Return the messages after this many writes."""
    first = 2 + 2 * max(0, writes - stay)
    return [f"1.a.{number}" for number in range(first, 2 * writes + 2)]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with open_disk(tmp_path / "store", "a") as disk:
        disk.write(LIFE[1])
        disk.append([QUEUE])
    return tmp_path / "store"


def live(disk: Disk, first: int = 1, last: int = WRITES) -> Iterator[int]:
    for number in range(first, last + 1):
        disk.append(actions(number))
        yield number


def test_the_journal_is_shortened_in_small_pieces_between_writes(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shortening a million messages at once would take seconds, in which sessions would end."""
    sizes: list[int] = []

    def each(name: str, args: Any) -> None:
        if name == "pwrite" and sizes:
            sizes[-1] += len(args[1])

    monkeypatch.setattr(keeping, "COMPACT_BYTES", 50_000)
    counted(monkeypatch, each)
    with open_disk(store, "a") as disk:
        for number in range(1, 201):
            sizes.append(0)
            disk.append(actions(number, stay=60))
            assert messages_after(number, stay=60) == ids(disk)
        assert disk.journal.first_seq > 1
        state = disk.journal.base.state_bytes if disk.journal.base else 0

    # A write has its own bytes and three pieces.
    assert max(sizes) < 1_500 < 4_000 < state
    with open_disk(store, "a") as again:
        assert messages_after(200, stay=60) == ids(again)
    assert {"frames.index", "frames.log", "standby"} == {one.name for one in store.iterdir()}


def test_a_shortening_can_be_finished_without_further_writes(store: Path) -> None:
    with open_disk(store, "a") as disk:
        last = next(number for number in live(disk) if disk._chore is not None)
        before = disk.journal.size
        while disk.go_on():
            pass
        assert messages_after(last) == ids(disk)
        assert disk.journal.size < before


def test_the_journal_is_shortened_even_if_each_run_writes_little(store: Path) -> None:
    """A broker that is restarted before the journal has doubled still shortens it in time."""
    for first in range(1, 400, 10):
        with open_disk(store, "a") as disk:
            assert [*live(disk, first, first + 9)]
            assert disk.journal.size < 20_000


def test_actions_that_are_written_before_the_first_piece_are_kept(store: Path) -> None:
    with open_disk(store, "a") as disk:
        assert [*live(disk, last=40)]
        while disk.go_on():
            pass
        work = shortening.shortening(disk.journal, disk.queues)
        assert [*live(disk, 41, 42)]
        for each in work:
            each()

    with open_disk(store, "a") as again:
        assert messages_after(42) == ids(again)


def _lives(path: Path) -> Iterator[int]:
    return live(open_disk(path, "a"))


@pytest.mark.soak("stores")
@pytest.mark.parametrize("half", [False, True], ids=["before", "within"])
def test_a_store_has_all_confirmed_writes_after_a_kill_at_any_step(
    store: Path, tmp_path: Path, half: bool
) -> None:
    """All confirmed writes are there; the journal goes on, and is shortened again."""
    for step in range(10_000):
        path = Path(shutil.copytree(store, tmp_path / f"{step}"))
        begin = partial(_lives, path)
        told, is_end = last_told_before_kill(begin, step, half=half)
        with open_disk(path, "a") as disk:
            shortening.clear(disk.journal)
            assert ids(disk) in (messages_after(told), messages_after(told + 1)), step
            last = told if ids(disk) == messages_after(told) else told + 1
            for number in live(disk, last + 1, WRITES + 20):
                assert messages_after(number) == ids(disk)
            while disk.go_on():
                pass
            assert disk.journal.first_seq > 1, step
        names = {one.name for one in path.iterdir()}
        assert {"frames.index", "frames.log", "standby"} == names, step
        if is_end:
            break
    assert step > 300
