"""A killed search continues from its checkpoint, and gives the report of an unbroken search."""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.check.engine.checkpoint import FILE, Checkpoint
from joinproto.check.engine.rows import row_file
from joinproto.check.engine.rows.row_file import RowFiles
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.memory import Budget, resident_bytes
from joinproto.check.report import Report
from joinproto.errors import UsageProblem
from tests.census import without_costs

KINDS: list[tuple[str, dict[str, Any], bool]] = [
    ("two-phase-commit", {"members": 5}, False),  # a set of messages
    ("two-phase-commit", {"members": 5}, True),  # symmetry
    ("two-phase-commit", {"members": 4, "mutant": "one-vote-short"}, False),  # violated
    ("token-ring-lossy", {}, False),  # queues, a deadlock
    ("note-partition", {}, False),  # joint steps, a monitor
    ("two-writers", {}, False),  # claims about fair runs
    ("join-founders", {}, False),  # messages that expire
]

KILLED = """
# Ends itself this many seconds after its first checkpoint.
import os, signal, sys, threading
from pathlib import Path
from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.check.engine.checkpoint import Checkpoint
folder, members, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGKILL))
timer.daemon = True
write = Checkpoint._write
def write_and_begin(self, *given):
    write(self, *given)
    if timer.ident is None:
        timer.start()
Checkpoint._write = write_and_begin
remove = Checkpoint.remove
def end_and_remove(self):
    timer.cancel()  # the search is over; killed now, it would look as if it had lost its checkpoint
    remove(self)
Checkpoint.remove = end_and_remove
checkpoint = Checkpoint(folder, {"world": "two-phase-commit"}, seconds=0)
check(load_world("two-phase-commit", members=members), checkpoint=checkpoint, workers=2)
"""


def checkpoint_in(folder: Path, name: str = "world", **options: Any) -> Checkpoint:
    """Return a checkpoint that is written before each level."""
    return Checkpoint(folder, {"world": name, **options}, seconds=0)


def without_run_costs(report: Report) -> Report:
    """Return a report without the parts that differ from run to run."""
    return evolve(without_costs(report), bytes_per_state=0)


@pytest.mark.parametrize(("name", "options", "symmetry"), KINDS)
def test_a_continued_search_reports_the_same_as_an_unbroken_search(
    name: str, options: dict[str, Any], symmetry: bool, tmp_path: Path
) -> None:
    """Counts, claims, coverage and the shortest run are equal; the folder is removed at the end."""
    whole = check(load_world(name, **options), symmetry=symmetry)
    half = whole.distinct // 3
    folder = tmp_path / "kept"

    part = check(
        load_world(name, **options),
        symmetry=symmetry,
        states_max=half,
        checkpoint=checkpoint_in(folder),
    )
    rest = check(load_world(name, **options), symmetry=symmetry, checkpoint=checkpoint_in(folder))

    assert part.stopped_by
    assert "the same command goes on" in part.notes[-1]
    assert "went on from level" in rest.notes[-1]
    assert without_run_costs(whole) == without_run_costs(rest)
    assert not folder.exists()


def test_a_search_that_is_killed_twice_at_random_moments_continues(tmp_path: Path) -> None:
    """The last checkpoint is complete, whenever the process ended."""
    assert_continues_after_kills(tmp_path / "kept", members=6, seconds=0.15)


@pytest.mark.soak("engines")
def test_a_larger_search_that_is_killed_twice_continues(tmp_path: Path) -> None:
    """A million states have levels that take seconds."""
    assert_continues_after_kills(tmp_path / "kept", members=8, seconds=3.0)


def assert_continues_after_kills(folder: Path, *, members: int, seconds: float) -> None:
    """Kill a search twice, each within `seconds` after its first checkpoint; then complete it."""
    whole = check(load_world("two-phase-commit", members=members))

    kills, attempts = 0, 0
    while kills < 2:
        after = str(random.uniform(0.0, seconds))
        command = [sys.executable, "-c", KILLED, str(folder), str(members), after]
        code = subprocess.run(command, check=False).returncode
        assert (attempts := attempts + 1) < 30
        if code == 0:  # the search ended before it was killed, and removed the folder: try again
            assert not folder.exists()
            kills = 0
            continue
        assert -signal.SIGKILL == code
        assert (folder / FILE).exists()
        kills += 1
    rest = check(
        load_world("two-phase-commit", members=members),
        checkpoint=checkpoint_in(folder, "two-phase-commit"),
    )

    assert "went on from level" in rest.notes[0]
    assert without_run_costs(whole) == without_run_costs(rest)


def leave_checkpoint(folder: Path, **options: Any) -> None:
    """Leave a checkpoint of a search that a limit ended."""
    world = load_world("two-phase-commit", members=4)
    assert check(world, states_max=100, checkpoint=checkpoint_in(folder, **options)).stopped_by


def test_another_search_is_refused_and_the_difference_is_named(tmp_path: Path) -> None:
    """The numbers of one search have no meaning in another search."""
    leave_checkpoint(tmp_path / "kept", members=4)

    with pytest.raises(UsageProblem, match="members 4 there, 3 here"):
        check(
            load_world("two-phase-commit", members=3),
            checkpoint=checkpoint_in(tmp_path / "kept", members=3),
        )


def test_other_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of members follow from their code."""
    leave_checkpoint(tmp_path / "kept")
    monkeypatch.setattr("joinproto.check.engine.checkpoint.code_of", lambda tables: "another")

    with pytest.raises(UsageProblem, match="source, or joinproto's, has changed"):
        check(
            load_world("two-phase-commit", members=4), checkpoint=checkpoint_in(tmp_path / "kept")
        )


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def give_other_format(path: Path) -> None:
    path.write_bytes(b"joinproto checkpoint 0\n" + path.read_bytes())


@pytest.mark.parametrize(
    ("damage", "expected"),
    [(cut, "has changed since it was written"), (give_other_format, "another version")],
)
def test_a_damaged_checkpoint_is_refused(
    damage: Callable[[Path], None], expected: str, tmp_path: Path
) -> None:
    """The search does not continue, and the message says what to remove."""
    leave_checkpoint(tmp_path / "kept")
    damage(tmp_path / "kept" / FILE)

    with pytest.raises(UsageProblem, match=expected) as problem:
        check(
            load_world("two-phase-commit", members=4), checkpoint=checkpoint_in(tmp_path / "kept")
        )

    assert "remove" in problem.value.next


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def flip_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8 * 5] ^= 1
    path.write_bytes(data)


def exchange_states(path: Path) -> None:
    """Keep the states, in another order."""
    data = path.read_bytes()
    path.write_bytes(data[8:16] + data[:8] + data[16:])


@pytest.mark.parametrize("damage", [zero, flip_bit, exchange_states])
def test_states_that_were_changed_are_refused(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    """Otherwise the search would expand states that no run reaches."""
    leave_checkpoint(tmp_path / "kept")
    (rows,) = (tmp_path / "kept").glob("rows-*.bin")
    before = rows.read_bytes()
    damage(rows)
    assert before != rows.read_bytes()

    with pytest.raises(UsageProblem, match="have changed since they were written"):
        check(
            load_world("two-phase-commit", members=4), checkpoint=checkpoint_in(tmp_path / "kept")
        )

    rows.write_bytes(before)
    whole = check(
        load_world("two-phase-commit", members=4), checkpoint=checkpoint_in(tmp_path / "kept")
    )
    assert 1_568 == whole.distinct


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageProblem, match="is not a folder"):
            checkpoint_in(place).open()


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    """The files may belong to another program."""
    (tmp_path / "letter.txt").write_text("dear")

    with pytest.raises(UsageProblem, match=r"letter\.txt is not a file of a checkpoint"):
        checkpoint_in(tmp_path).open()


def test_two_searches_do_not_share_a_folder(tmp_path: Path) -> None:
    """The second search is refused while the first one uses the folder."""
    first = checkpoint_in(tmp_path)
    first.open()

    with pytest.raises(UsageProblem, match="another process"):
        checkpoint_in(tmp_path).open()

    first.close()
    third = checkpoint_in(tmp_path)
    assert not third.open()
    third.close()


def test_a_full_disk_ends_a_search_that_continues_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is a limit: the findings so far are reported, and the checkpoint stays."""
    whole = check(load_world("two-phase-commit", members=6))

    def take(number: int, begin: int, end: int) -> None:
        if begin > 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.truncate(number, end)

    with monkeypatch.context() as patched:
        patched.setattr(row_file, "_take_blocks", take)
        patched.setattr(row_file, "_BYTES_MIN", 1 << 12)
        part = check(
            load_world("two-phase-commit", members=6), checkpoint=checkpoint_in(tmp_path / "kept")
        )
    rest = check(
        load_world("two-phase-commit", members=6), checkpoint=checkpoint_in(tmp_path / "kept")
    )

    assert "no space left" in part.stopped_by
    assert without_run_costs(whole) == without_run_costs(rest)


def test_rows_in_a_file_give_back_memory_when_let_go(tmp_path: Path) -> None:
    """The rows are read again when they are needed, and a file that grows keeps them."""
    files, count = RowFiles(tmp_path), 1 << 22
    rows = files.fresh(2, count)
    rows[:count, 1] = range(count)
    rows = files.grown(2 * count)
    touched = rows[:count, 1].sum()
    before = resident_bytes()

    assert files.let_go()

    assert before - resident_bytes() > count * 16 * 3 // 4
    assert touched == rows[:count, 1].sum() == count * (count - 1) // 2


def test_reading_all_rows_of_a_file_does_not_load_the_whole_file(tmp_path: Path) -> None:
    """A new layout, a continued search and a checkpoint read every row in the file."""
    files, count = RowFiles(tmp_path), 1 << 23
    budget = Budget(1 << 62)
    budget.let_go = files.let_go
    states = RowSet(2, budget, files=files)
    states.expect(count)
    rows = files.grown(count)
    for begin in range(0, count, 1 << 20):
        rows[begin : begin + (1 << 20), 0] = 1 << 63
        rows[begin : begin + (1 << 20), 1] = range(begin, begin + (1 << 20))
        files.let_go()
    states.table[:] = 0
    before, size = file_bytes(), 16 * count
    budget.limit_bytes = resident_bytes()

    states.put_back(rows, count)
    assert file_bytes() - before < size * 3 // 4
    files.digest(count)
    assert file_bytes() - before < size * 3 // 4
    moved = states.rows_in_new_file(2)
    assert moved is not None
    for begin, end in states.pieces(count):
        moved[begin:end] = states.rows[begin:end]
    assert file_bytes() - before < size * 3 // 4
    states.replace(moved, count)
    assert (states.rows[:count, 1] == np.arange(count)).all()


def file_bytes() -> int:
    """Return the bytes of file pages that this process has in memory."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"RssFile:\s+(\d+)", status)[1])  # type: ignore[index]
