"""A level that is larger than memory: blocks in files, merged by one range of keys at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.shapes import Rows
from spark_explore import blocks, step
from spark_explore.blocks import Block, ranges
from spark_explore.keys import keys_of, unique
from spark_explore.repack import Repack
from spark_explore.step import ROWS, Item, Task
from spark_explore.storage import Share, Storage
from spark_explore.worker_cache import Address

RANDOM = np.random.default_rng(11)


def sorted_keys(count: int, most: int) -> np.ndarray:
    return np.sort(RANDOM.integers(0, most, count, dtype=np.uint64))


@pytest.mark.parametrize("counts", [(), (0,), (1,), (500,), (500, 0, 3), (300, 700, 40)])
def test_ranges_are_small_and_cover_all_keys(
    monkeypatch: pytest.MonkeyPatch, counts: tuple[int, ...]
) -> None:
    """Each key is in one range, and the ranges are in order; equal keys are in the same range."""
    monkeypatch.setattr(blocks, "RANGE_BYTES", 8 * 16)
    arrays = [sorted_keys(count, 200) for count in (*counts, 90)]
    ends = [0] * len(arrays)
    last = -1

    for parts in ranges(arrays):
        assert ends == [part.start for part in parts]
        ends = [part.stop for part in parts]
        here = np.concatenate([keys[part] for keys, part in zip(arrays, parts, strict=True)])
        assert len(here) == 0 or last < here.min()
        last = max([last, *here.tolist()])
        for keys, part in zip(arrays, parts, strict=True):
            most_equal = np.unique(keys[part], return_counts=True)[1].max(initial=0)
            assert part.stop - part.start <= 16 + most_equal

    assert [len(keys) for keys in arrays] == ends


@pytest.mark.parametrize("words", [1, 3])
def test_a_stored_block_is_the_same_and_leaves_no_file(tmp_path: Path, words: int) -> None:
    rows = RANDOM.integers(0, 1 << 63, (1000, words), dtype=np.uint64)
    block = Block(*unique(keys_of(rows, wide=words > 1), rows))

    stored = block.stored(tmp_path)
    stored.release()

    assert (block.keys == stored.keys).all()
    assert (block.rows == stored.rows).all()
    assert [] == list(tmp_path.iterdir())


def arrivals(words: int, most: int) -> tuple[list[Item], set[tuple[int, ...]]]:
    """Return rows in pieces as they come from executors, with copies, and the set of these rows."""
    pieces = [
        RANDOM.integers(0, most, (int(RANDOM.integers(1, 90)), words), dtype=np.uint64)
        for _ in range(int(RANDOM.integers(0, 40)))
    ]
    items: list[Item] = [(0, (ROWS, words, piece.tobytes())) for piece in pieces]
    return items, {tuple(row) for piece in pieces for row in piece.tolist()}


@pytest.mark.parametrize("words", [1, 2])
def test_levels_in_small_blocks_have_each_new_row_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: int
) -> None:
    """No row is lost, kept twice or confused with another, even if many rows share a key."""
    monkeypatch.setattr(blocks, "RANGE_BYTES", 1 << 8)
    monkeypatch.setattr(blocks, "GATHER_BYTES", 1 << 11)
    wide = words > 1
    if wide:
        monkeypatch.setattr(blocks, "keys_of", lambda rows, wide: rows[:, 0] % 19 * wide)
    most = 40 if wide else 4000
    address = Address("run", "127.0.0.1", 1, "")
    storage = Storage(tmp_path)
    task = Task(address, storage, 1, 1, 0, wide, 0, 0, everything=None)
    storage.make()
    share, stored = Share(-1, 0, 0, (), ()), 0
    met: set[tuple[int, ...]] = set()

    for _ in range(25):
        items, expected = arrivals(words, most)
        found = step._gather(task, items, [])
        stored += len(found) > 1
        pieces = (storage.drop_known(share, *one) for one in blocks.merge(found, words))
        share = storage.extend(1, share, pieces, words, wide=wide)
        level: Rows = storage.level_rows(share, words)
        assert len(level) == share.count
        assert expected - met == {tuple(row) for row in level.tolist()}
        assert share.count == len(expected - met)
        met |= expected

    assert stored > 5
    assert sum(run.count for run in share.runs) == len(met)
    storage.forget([share])
    kept = {name for run in share.runs for name in (run.keys, run.places)} | set(share.files)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("[lr]*/*")}
    assert kept - {""} == left


def test_a_run_that_is_merged_in_its_own_level_leaves_no_file(tmp_path: Path) -> None:
    """Otherwise the disk would have keys and places of a level twice."""
    storage = Storage(tmp_path)
    storage.make()
    share = Share(-1, 0, 0, (), ())

    for _ in range(3):
        rows = RANDOM.integers(0, 1 << 63, (100, 2), dtype=np.uint64)
        piece = unique(keys_of(rows, wide=True), rows)
        share = storage.extend(share.level + 2, share, [piece], 2, wide=True)
        last = {
            f"runs/{path.name}"
            for path in (tmp_path / "runs").glob(f"*-{share.level + 1}-{share.level}-*")
        }
        assert {name for run in share.runs for name in (run.keys, run.places)} == last


def test_repacked_levels_are_kept_in_blocks_in_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The rows of a level are in files except for the last block, as in a level's own job."""
    monkeypatch.setattr(blocks, "GATHER_BYTES", 1 << 11)
    stored: list[int] = []
    keep = Block.stored

    def noted(self: Block, folder: Path) -> Block:
        stored.append(len(self.keys))
        return keep(self, folder)

    monkeypatch.setattr(Block, "stored", noted)
    Storage(tmp_path).make()
    layout = Layout([8], 1)
    levels = [RANDOM.integers(0, 1 << 63, (2000, 1), dtype=np.uint64) for _ in range(2)]
    items = [
        (0, (level, rows[at : at + 50].tobytes()))
        for at in range(0, 2000, 50)
        for level, rows in enumerate(levels)
    ]

    storage = Storage(tmp_path)
    none = Share(-1, 0, 0, (), ())
    (share,) = Repack(storage, 1, 1, layout, layout, 0).keep(none, items, 1)

    for level, rows in enumerate(levels):
        found = storage.load(share.files[level])
        assert np.sort(rows, axis=0).tolist() == found.tolist()
    assert len(stored) > 10
