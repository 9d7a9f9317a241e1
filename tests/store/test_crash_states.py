"""After a loss of power at any moment, a store has either the old record or the new one.

A run writes down its operations; each state that they may leave on a disk is laid down and
opened.  The same enumeration must find a bad state as soon as one step is left out.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.errors import StoreMissing
from joinproto.store.handle import Store, create_store, open_store
from tests.store.crashes import Enumerated, Judge, enumerate_crashes
from tests.store.recording import RECORDERS, Killed, LeftOut, Legal, Recording
from tests.store.records import life

LIFE = life()
JUDGE = Judge()


@frozen
class Write:
    """The record of this number is written; the process may be killed after some operations."""

    record: int
    kill_in: int | None = None


@frozen
class Reopen:
    """The store is closed and opened; the process may be killed in between."""

    kill_in: int | None = None


Step = Write | Reopen


def run(steps: list[Step], files: Recording) -> Enumerated:
    """Return the states that a crash may leave at any moment of these steps."""
    with TemporaryDirectory() as name:
        _live(Path(name), steps, files)
    return enumerate_crashes(files.diary, JUDGE)


def _live(path: Path, steps: list[Step], files: Recording) -> None:
    store: Store | None = None
    on_disk: frozenset[object] = frozenset({None})
    for step in steps:
        files.kill_in = None
        if store is None:
            store, on_disk = _open_and_note(path, files)
        files.kill_in = step.kill_in
        try:
            match step:
                case Write(number):
                    record = LIFE[number]
                    on_disk |= {record}
                    files.diary.append(Legal(on_disk))
                    if store is None:
                        store = create_store(path, record, member="a", files=files)
                    else:
                        store.write(record)
                    on_disk = frozenset({record})
                    files.diary.append(Legal(on_disk))
                case Reopen() if store is not None:
                    store.close()
                    store = open_store(path, files=files)
        except Killed:
            files.die()
            store = None
    files.die()


def _open_and_note(path: Path, files: Recording) -> tuple[Store | None, frozenset[object]]:
    try:
        store = open_store(path, files=files)
    except StoreMissing:
        return None, frozenset({None})
    # A process that has read a record acts on it, so from here on the record must stay.
    files.diary.append(Legal(frozenset({store.record})))
    return store, frozenset({store.record})


def _steps() -> st.SearchStrategy[list[Step]]:
    kill = st.none() | st.integers(0, 12)
    write = st.builds(Write, st.integers(0, 1), kill)
    return st.lists(write | st.builds(Reopen, kill), min_size=1, max_size=4)


@settings(max_examples=250)
@given(steps=_steps(), chunk=st.sampled_from([1 << 30, 200]))
def test_after_a_crash_there_is_the_old_record_or_the_new_one(
    steps: list[Step], chunk: int
) -> None:
    """In every possible state, the store has either the old record or the new one."""
    assert run(steps, Recording(chunk=chunk)).bad is None


def test_a_whole_life_is_safe_at_every_moment() -> None:
    """The same holds for a long run: a founding, a promise, a change, an orderly end, a mark."""
    steps: list[Step] = [Write(number) for number in range(len(LIFE))]

    crashes = run(steps, Recording())

    assert crashes.bad is None
    # Nine writes.  Until the directory is synced, both records are possible.
    assert 9 * 2 == crashes.choices
    assert crashes.states > 1_000


MUST_FAIL: dict[LeftOut, tuple[list[Step], str]] = {
    # The name is on the disk before the content.
    LeftOut.FILE_SYNC: ([Write(0)], "StoreCorrupt"),
    # The write has returned, and the old record comes back.
    LeftOut.DIRECTORY_SYNC: ([Write(0)], "None"),
    # A crash within the write leaves neither the old record nor the new one.
    LeftOut.RENAME: ([Write(0), Write(1)], "StoreCorrupt"),
    # The process is killed before the fsync of the directory.  The next process reads the new
    # record from memory and acts on it; then the power fails.
    LeftOut.SYNC_AT_OPENING: ([Write(0), Write(1, kill_in=8), Reopen()], "StoreRecord"),
}


@pytest.mark.parametrize("left_out", MUST_FAIL)
def test_a_step_left_out_is_found(left_out: LeftOut) -> None:
    """An enumeration that never finds a bad state would prove nothing."""
    steps, outcome = MUST_FAIL[left_out]

    bad = run(steps, RECORDERS[left_out]()).bad

    assert bad is not None
    assert outcome in repr(bad.found), bad


@pytest.mark.parametrize("left_out", MUST_FAIL)
def test_the_same_steps_without_leaving_one_out_are_safe(left_out: LeftOut) -> None:
    """So the test above finds the missing step, and not a fault of the run."""
    assert run(MUST_FAIL[left_out][0], Recording()).bad is None
