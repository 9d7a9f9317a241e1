"""The trace to a state, found backwards through levels in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from attrs import frozen

from joinproto.check.engine.expansion.expander import Batch
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.runs.paths import FoundRun, forward, uncounted
from joinproto.check.engine.shapes import Rows
from spark_explore.frontier import Frontier
from spark_explore.keys import padded
from spark_explore.step import Task
from spark_explore.worker_cache import set_of

HERE_MAX = 100_000
"""Levels up to this size are expanded by the driver, because a job takes longer."""


def trace_to(frontier: Frontier, context: Any, targets: Rows, level: int) -> FoundRun:
    """Return the same shortest run to one of `targets` that the local engine returns."""
    search = frontier.search

    def walk() -> FoundRun:
        words = search.tables.layout.words
        towards = [set_of(padded(targets, words))]
        for earlier in range(level - 1, -1, -1):
            if frontier.levels[earlier] <= HERE_MAX:
                found = _leading_here(frontier, towards[0], earlier)
            else:
                found = _leading(frontier, context, towards[0], earlier)
            towards.insert(0, set_of(found))
        return forward(search, towards)

    found: FoundRun = uncounted(search, walk)
    return found


def _files(frontier: Frontier, level: int) -> list[str]:
    shares = frontier.shares
    return [share.files[level] for share in shares if share.files[level]]


def _leading_here(frontier: Frontier, towards: RowSet, level: int) -> Rows:
    search = frontier.search
    words = search.tables.layout.words
    found = [np.zeros((0, words), np.uint64)]
    for file in _files(frontier, level):
        rows = padded(np.array(frontier.storage.load(file)), words)
        found.append(rows[_sources(search.steps_out_of([rows]), rows, towards)])
    return np.concatenate(found)


def _sources(steps: Iterable[Batch], rows: Rows, towards: RowSet) -> Any:
    """Return a mask of the rows from which a step leads to a row of `towards`."""
    leads = np.zeros(len(rows), np.bool_)
    for batch in steps:
        leads[batch.source[towards.find(batch.rows, len(batch.rows)) >= 0]] = True
    return leads


# -- on executors ----------------------------------------------------------------------


@frozen
class Backward:
    """One job that looks for rows of a level that lead to `targets`, which is a broadcast."""

    task: Task
    targets: Any

    def leading(self, file: str) -> Iterator[Rows]:
        cache = self.task.cache()
        cache.catch_up()
        words = cache.tables.layout.words
        towards = set_of(padded(np.array(self.targets.value), words))
        for _, part in self.task.storage.chunks(file, 1 << 16):
            rows = padded(part, words)
            leads = _sources(cache.successors(rows), rows, towards)
            if leads.any():
                yield rows[leads]


def _leading(frontier: Frontier, context: Any, towards: RowSet, level: int) -> Rows:
    targets = context.broadcast(towards.rows[: towards.count])
    job = Backward(frontier.task(context), targets)
    files = _files(frontier, level)
    found = context.parallelize(files, len(files)).flatMap(job.leading).collect()
    targets.destroy()
    words = frontier.search.tables.layout.words
    return np.concatenate([np.zeros((0, words), np.uint64), *found])
