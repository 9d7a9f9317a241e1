"""All levels packed by another layout: for when a number no longer fits where it was.

Rows of another layout have other keys, so other owners, so everything moves once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from joinproto.check.engine.rows.layout import Layout
from spark_explore.blocks import Gathering, met
from spark_explore.keys import by_owner, padded
from spark_explore.storage import Share, Storage

_BATCH_BYTES = 1 << 30
_CHUNK_ROWS = 1 << 18
Item = tuple[int, tuple[int, bytes]]


@frozen
class Repack:
    """One job.  `files`: by level.  `messages`: how many the old layout has bits for."""

    folder: Path
    owners: int
    job: int
    old: Layout
    new: Layout
    messages: int

    def run(self, context: Any, files: list[list[str]]) -> None:
        """Write all levels anew, as `job`."""
        batch: list[tuple[int, str]] = []
        size = first = 0
        for level, names in enumerate(files):
            size += sum((self.folder / name).stat().st_size for name in names)
            batch += [(level, name) for name in names]
            if size > _BATCH_BYTES or level == len(files) - 1:
                self._run(context, batch, first, level)
                batch, size, first = [], 0, level + 1

    def _run(self, context: Any, batch: list[tuple[int, str]], first: int, last: int) -> None:
        flow = context.parallelize(batch, max(1, min(len(batch), self.owners)))
        flow = flow.mapPartitions(self.send).partitionBy(self.owners, int)
        flow.mapPartitionsWithIndex(
            lambda owner, items: self.keep(owner, items, first, last)
        ).count()

    def send(self, files: Iterable[tuple[int, str]]) -> Iterator[Item]:
        """Yield the rows of some files, packed anew, to their owners."""
        for level, name in files:
            every = Storage(self.folder).load(name)
            for begin in range(0, len(every), _CHUNK_ROWS):
                part = padded(np.array(every[begin : begin + _CHUNK_ROWS]), self.old.words)
                rows = self.new.repack(part, len(part), self.old, self.messages)
                for owner, mine in by_owner(rows, self.owners, wide=self.new.words > 1):
                    yield owner, (level, mine.tobytes())

    def keep(self, owner: int, items: Iterable[Item], first: int, last: int) -> Iterator[int]:
        """Write an owner's part of some levels."""
        storage, words = Storage(self.folder), self.new.words
        arrived = [Gathering(self.folder, words > 1) for _ in range(first, last + 1)]
        for _, (level, content) in items:
            arrived[level - first].add(np.frombuffer(content, np.uint64).reshape(-1, words))
        share = Share(-1, owner, 0, (), ())
        if first:
            share = storage.share(self.job, first - 1, owner)
        for gathering in arrived:
            pieces = met(gathering.blocks(), words)
            share = storage.extend(self.job, share, pieces, words, wide=words > 1)
        yield share.level
