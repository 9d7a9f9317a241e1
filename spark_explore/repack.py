"""Pack the rows of all levels in another layout, because a number no longer fits into its field.

In another layout rows have other keys, and so other owners.  So all rows are exchanged once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from attrs import frozen

from joinproto.check.engine.rows.layout import Layout
from spark_explore.blocks import BlockBuilder, merge
from spark_explore.keys import by_owner, padded
from spark_explore.storage import Share, Storage

_BATCH_BYTES = 1 << 30
_CHUNK_ROWS = 1 << 18
Item = tuple[int, tuple[int, bytes]]


@frozen
class Repack:
    """The jobs of one repacking.  `messages`: how many messages the old layout has bits for."""

    storage: Storage
    owners: int
    job: int
    old: Layout
    new: Layout
    messages: int

    def run(self, context: Any, levels: list[int], shares: list[Share]) -> list[Share]:
        """Rewrite all levels; return every owner's share.  `levels`: their numbers of states."""
        batch: list[tuple[int, str]] = []
        found = [Share(-1, owner, 0, (), ()) for owner in range(self.owners)]
        size = 0
        for level, count in enumerate(levels):
            size += 8 * self.old.words * count
            batch += [(level, one.files[level]) for one in shares if one.files[level]]
            if size > _BATCH_BYTES or level == len(levels) - 1:
                found = self._run(context, batch, found, level)
                batch, size = [], 0
        return found

    def _run(
        self, context: Any, batch: list[tuple[int, str]], shares: list[Share], last: int
    ) -> list[Share]:
        flow = context.parallelize(batch, max(1, min(len(batch), self.owners)))
        flow = flow.mapPartitions(self.send).partitionBy(self.owners, int)
        return list(
            flow.mapPartitionsWithIndex(
                lambda owner, items: self.keep(shares[owner], items, last)
            ).collect()
        )

    def send(self, files: Iterable[tuple[int, str]]) -> Iterator[Item]:
        """Yield the rows of some files, packed in the new layout, for their owners."""
        for level, name in files:
            for _, part in self.storage.chunks(name, _CHUNK_ROWS):
                wide = padded(part, self.old.words)
                rows = self.new.repack(wide, len(part), self.old, self.messages)
                for owner, mine in by_owner(rows, self.owners, wide=self.new.words > 1):
                    yield owner, (level, mine.tobytes())

    def keep(self, share: Share, items: Iterable[Item], last: int) -> Iterator[Share]:
        """Write an owner's part of the levels up to `last`, after the levels that it has."""
        storage, words, first = self.storage, self.new.words, share.level + 1
        arrived = [BlockBuilder(storage.here, words > 1) for _ in range(first, last + 1)]
        for _, (level, content) in items:
            arrived[level - first].add(np.frombuffer(content, np.uint64).reshape(-1, words))
        for gathering in arrived:
            pieces = merge(gathering.blocks(), words)
            share = storage.extend(self.job, share, pieces, words, wide=words > 1)
        yield share
