"""The step of one owner for one level: collect arriving rows, keep the new rows, expand them.

The result of a step depends only on the owner's share after the level before, and on the items
that arrive.  So a step that runs twice gives the same rows and the same numbers.  Its counts are
sent with the rows, so that no row is counted twice or lost if a step runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from attrs import Factory, define, evolve, field, frozen

from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.shapes import Ints, Keys, Rows
from spark_explore.blocks import Block, BlockBuilder, merge
from spark_explore.keys import by_owner, padded
from spark_explore.parcels import received, sent
from spark_explore.session import is_full
from spark_explore.storage import Share, Storage
from spark_explore.worker_cache import (
    Address,
    Stopped,
    UncountedBudget,
    WorkerCache,
    forget_worker_caches,
    worker_cache_of,
)

ROWS, COUNTS, PROBLEM = "rows", "counts", "problem"
Item = tuple[int, tuple[Any, ...]]
"""(owner, (ROWS, words, Content) or (COUNTS, Counts) or (PROBLEM, what, text))."""

_CHUNK_BYTES = 1 << 22
_BLOCK_BYTES = 1 << 24
BAD_MAX = 1 << 16
Times = tuple[Ints, Ints]
"""Sorted numbers, and how often each was met."""


@define
class Counts:
    """The counts of an owner in one level, and of the steps out of it.

    About the new states: `new` (their number), `bad` (rows that break a claim about one or two
    members), `seen` (observations by watched field), `flags_any` (flags of combinations that are
    set in some state) and `flags_bad` (rows that break an `always`).  About the steps out of them:
    `generated` (their number), `taken` (outcome, times), `events`.  `sent`: bytes of rows;
    `written`: bytes of files.  `shares`: the owner's data after the level; of several owners that
    were added up, the share of each.
    """

    level: int
    owner: int
    new: int = 0
    bad: Rows | None = None
    seen: list[list[int]] = Factory(list)
    flags_any: int = 0
    flags_bad: Rows | None = None
    generated: int = 0
    taken: Times | None = None
    events: Ints | None = None
    sent: int = 0
    written: int = 0
    expanded: bool = False
    shares: tuple[Share, ...] = ()

    def with_other(self, other: Counts) -> Counts:
        """Return the counts of both owners in one level, added up."""
        pairs = zip_longest(self.seen, other.seen, fillvalue=list[int]())
        seen = [sorted({*mine, *others}) for mine, others in pairs]
        return Counts(
            self.level,
            self.owner,
            new=self.new + other.new,
            bad=_joined(self.bad, other.bad),
            seen=seen,
            flags_any=self.flags_any | other.flags_any,
            flags_bad=_joined(self.flags_bad, other.flags_bad),
            generated=self.generated + other.generated,
            taken=_times(self.taken, other.taken),
            events=_sum(self.events, other.events),
            sent=self.sent + other.sent,
            written=self.written + other.written,
            expanded=self.expanded and other.expanded,
            shares=self.shares + other.shares,
        )


@frozen
class Task:
    """The data of one job that every step of it needs.

    `job`: its number.  `first`: the level with which it begins.  `flags`: 1 if combinations of new
    states are numbered for claims, 0 if not.  `always`: the flags that every state must have.
    `everything`: a broadcast of the driver's tables.
    `parcels`: the folder for files with sent rows, if all processes are on one machine; None means
    that Spark sends the rows.
    """

    address: Address
    storage: Storage
    owners: int
    job: int
    first: int
    wide: bool
    flags: int
    always: int
    everything: Any = field(repr=False)
    parcels: Path | None = None

    def cache(self) -> WorkerCache:
        return worker_cache_of(self.address, lambda: bytes(self.everything.value))


def start(task: Task, owner: int, shares: Iterable[Share]) -> Iterator[Item]:
    """Expand the owner's part of the first level; `shares`: only the owner's."""
    yield from _guarded(owner, lambda: _expand_stored(task, *shares), [])


def middle(task: Task, level: int, owner: int, items: Iterable[Item]) -> Iterator[Item]:
    """Take in the owner's part of `level`, and expand it."""
    rest: list[Item] = []
    work = partial(_arrived, task, owner, level, items, rest, expands=True)
    yield from _guarded(owner, work, rest)


def end(task: Task, level: int, owner: int, items: Iterable[Item]) -> Iterator[tuple[Any, ...]]:
    """Take in the owner's part of the job's last level; yield the counts of all its levels."""
    rest: list[Item] = []
    work = partial(_arrived, task, owner, level, items, rest, expands=False)
    for _, what in _guarded(owner, work, rest):
        yield what


def add_up(found: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Add up the results of `end` of several owners: yield one `Counts` for each level."""
    levels: dict[int, Counts] = {}
    for kind, *what in found:
        if kind == COUNTS:
            (counts,) = what
            before = levels.get(counts.level)
            levels[counts.level] = counts if before is None else before.with_other(counts)
        else:
            yield kind, *what
    yield from ((COUNTS, counts) for counts in levels.values())


def _joined(rows: Rows | None, others: Rows | None) -> Rows | None:
    if rows is None or others is None:
        return others if rows is None else rows
    words = max(rows.shape[1], others.shape[1])
    return np.concatenate([padded(rows, words), padded(others, words)])


def _times(one: Times | None, other: Times | None) -> Times | None:
    if one is None or other is None:
        return other if one is None else one
    which, at = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    times = np.zeros(len(which), np.int64)
    np.add.at(times, at, np.concatenate([one[1], other[1]]))
    return which, times


def _sum(one: Ints | None, other: Ints | None) -> Ints | None:
    if one is None or other is None:
        return other if one is None else one
    total = np.zeros(max(len(one), len(other)), np.int64)
    total[: len(one)] += one
    total[: len(other)] += other
    return total


def _guarded(owner: int, work: Callable[[], Iterator[Item]], rest: list[Item]) -> Iterator[Item]:
    """Yield the results of `work`.

    If the driver ended the job, or a system call failed, this problem is yielded, too.

    Before it `rest` is yielded: the items that came with the rows, among them the problem of an
    earlier step.  Other errors are raised.
    """
    try:
        yield from work()
    except BaseException as error:
        # Unfinished work may leave cells marked as asked for.
        forget_worker_caches()
        if isinstance(error, Stopped):
            what = "stopped", ""
        elif isinstance(error, OSError):
            what = "full" if is_full(error) else "system", f"{error}"
        else:
            raise
        yield from rest
        yield owner, (PROBLEM, *what)


def _expand_stored(task: Task, share: Share) -> Iterator[Item]:
    cache = task.cache()
    cache.catch_up()
    counts = Counts(task.first, share.owner, shares=(share,))
    if share.count:
        rows = task.storage.level_rows(share, cache.tables.layout.words)
        yield from _expand(task, cache, rows, counts)
    counts.expanded = True
    yield share.owner, (COUNTS, counts)


def _arrived(
    task: Task,
    owner: int,
    level: int,
    items: Iterable[Item],
    rest: list[Item],
    *,
    expands: bool,
) -> Iterator[Item]:
    cache = task.cache()
    counts, rows = _take_in(task, cache, owner, level, items, rest)
    yield from rest
    rest.clear()
    if expands and len(rows):
        yield from _expand(task, cache, rows, counts)
    counts.expanded = expands
    yield owner, (COUNTS, counts)


# -- taking in -------------------------------------------------------------------------


def _take_in(
    task: Task, cache: WorkerCache, owner: int, level: int, items: Iterable[Item], rest: list[Item]
) -> tuple[Counts, Rows]:
    """Keep the new rows that arrived; all other items go to `rest`."""
    counts = Counts(level, owner)

    def note(size: int) -> None:
        counts.written += size

    storage = evolve(task.storage, on_written=note)
    blocks = _gather(task, items, rest)
    # Rows may have numbers and words that are newer than this cache.
    cache.catch_up()
    words = max(block.rows.shape[1] for block in blocks)
    words = max(words, cache.tables.layout.words if task.wide else 1)
    share = _share_before(counts, rest)

    def new() -> Iterator[tuple[Keys, Rows]]:
        for arrived in merge(blocks, words):
            keys, rows = storage.drop_known(share, *arrived)
            if len(rows):
                _judge(task, cache, rows, counts)
                yield keys, rows

    share = storage.extend(task.job, share, new(), words, wide=task.wide)
    counts.new, counts.shares = share.count, (share,)
    return counts, storage.level_rows(share, words)


def _share_before(counts: Counts, rest: list[Item]) -> Share:
    for _, (kind, *what) in rest:
        if kind == COUNTS and what[0].level == counts.level - 1:
            share: Share
            (share,) = what[0].shares
            return share
    # The step before has failed; its problem is in `rest`.
    raise Stopped


def _gather(task: Task, items: Iterable[Item], rest: list[Item]) -> list[Block]:
    """Return the rows that arrived in sorted blocks; all other items go to `rest`."""
    gathering = BlockBuilder(task.storage.here, task.wide)
    for owner, (kind, *what) in items:
        if kind == ROWS:
            words, content = what
            gathering.add(received(content, words))
        else:
            rest.append((owner, (kind, *what)))
    return gathering.blocks()


def _judge(task: Task, cache: WorkerCache, rows: Rows, counts: Counts) -> None:
    """Add the observations and the broken claims of some new rows to the counts."""
    bad, seen = cache.watch(rows)
    if len(bad):
        counts.bad = _joined(counts.bad, rows[bad])
    no_field: list[int] = []
    pairs = zip_longest(counts.seen, seen, fillvalue=no_field)
    counts.seen = [sorted({*before, *here}) for before, here in pairs]
    if not task.flags:
        return
    always = np.uint64(task.always)
    for begin in range(0, len(rows), 1 << 16):
        piece = rows[begin : begin + (1 << 16)]
        _, flags = cache.combinations(piece)
        counts.flags_any |= int(np.bitwise_or.reduce(flags))
        broken = piece[flags & always != always]
        room = BAD_MAX - (0 if counts.flags_bad is None else len(counts.flags_bad))
        if len(broken) and room:
            counts.flags_bad = _joined(counts.flags_bad, broken[:room])


# -- expanding -------------------------------------------------------------------------


class _Outbox:
    """Successors that must be sent to their owners, each only once in a block."""

    def __init__(self, task: Task, cache: WorkerCache) -> None:
        words = cache.tables.layout.words
        self._task = task
        self._room = max(1 << 12, _BLOCK_BYTES // (8 * words))
        # The block is kept from step to step, because it is large, and growing it takes time.
        if cache.block is None or cache.block.words != words:
            cache.block = RowSet(words, UncountedBudget(), room=self._room + (1 << 16))
        cache.block.clear()
        self._set = cache.block
        self.sent = 0

    def add(self, rows: Rows) -> Iterator[Item]:
        if self._set.count + len(rows) > self._room:
            yield from self.flush()
        self._set.insert(rows, len(rows))

    def widen(self, words: int) -> None:
        self._set.replace(padded(self._set.rows[: self._set.count], words), self._set.count)

    def flush(self) -> Iterator[Item]:
        task, rows = self._task, self._set.rows[: self._set.count]
        if len(rows) == 0:
            return
        self.sent += rows.nbytes
        parts = by_owner(rows, task.owners, wide=task.wide)
        for owner, content in sent(parts, task.parcels):
            yield owner, (ROWS, rows.shape[1], content)
        self._set.clear()


def _expand(task: Task, cache: WorkerCache, rows: Rows, counts: Counts) -> Iterator[Item]:
    tables, expander = cache.tables, cache.expander
    outbox = _Outbox(task, cache)
    holder: list[Rows] = [np.zeros((0, tables.layout.words), np.uint64)]

    def widen(_old: Any) -> None:
        holder[0] = padded(holder[0], tables.layout.words)
        outbox.widen(tables.layout.words)

    tables.level = counts.level
    # Counts that remain of a failed task must not be added to those of this task.
    expander.count_up()
    taken, events = tables.out["taken"].array, tables.event_taken
    taken[:] = 0
    events[:] = 0
    expander.quiet = True
    expander.on_layout.append(widen)
    chunk = max(1, _CHUNK_BYTES // (8 * tables.layout.words))
    try:
        for begin in range(0, len(rows), chunk):
            # A copy, because compiled loops need a writable array, and a mapped file is not.
            holder[0] = padded(np.array(rows[begin : begin + chunk]), tables.layout.words)
            joint = cache.combinations(holder[0])[0] if tables.shape().joint else None
            for batch in expander.successors(lambda: holder[0], 0, len(holder[0]), joint):
                counts.generated += len(batch.rows)
                yield from outbox.add(batch.rows)
        yield from outbox.flush()
    finally:
        expander.on_layout.remove(widen)
        expander.quiet = False
    counts.generated += expander.count_up()
    counts.sent = outbox.sent
    taken = tables.out["taken"].array
    which = np.flatnonzero(taken)
    counts.taken, counts.events = (which, taken[which].copy()), events.copy()
