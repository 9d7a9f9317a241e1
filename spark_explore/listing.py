"""All states and steps of a finished search as two tables in files.

Claims about runs need every step, and the driver's memory may not hold all steps.

    states   `id`, `level`, `flags` (a bit for each claim about the world), `key` (the row itself)
    steps    `source` and `target` (ids), `flags` of the source, `then` (flags of the target),
             `info` (which step), `changes` (whether source and target differ)

A step leads to a row; one join on keys finds the state with that row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812  the usual name

from joinproto.check.engine.shapes import Rows
from joinproto.errors import EnvironmentProblem
from spark_explore import frames
from spark_explore.dataset import PartsWriter
from spark_explore.frontier import Frontier
from spark_explore.keys import padded
from spark_explore.places import Place
from spark_explore.session import frames_of
from spark_explore.step import Task

_CHUNK_ROWS = 1 << 14
_OWNER_BITS = 40


@frozen
class StoredFrame:
    """A DataFrame in files.  `wanted`: the number of rows for which the given column is true."""

    frame: Any
    place: Place
    rows: int
    wanted: int

    def drop(self) -> None:
        self.place.clear()


@define
class Listed:
    """The two tables, which must be removed at the end (`remove`)."""

    session: Any
    place: Place
    wide: bool
    _kept: int = field(init=False, default=0)
    _files: dict[str, list[str]] = field(init=False, factory=dict)

    @property
    def states(self) -> Any:
        return self._read("states", f"id long, level int, flags long, key {self._key}")

    @property
    def steps(self) -> Any:
        kinds = "source long, target long, flags long, then long, info long, changes boolean"
        return self._read("steps", kinds)

    @property
    def _key(self) -> str:
        return "binary" if self.wide else "long"

    def _read(self, name: str, kinds: str) -> Any:
        return frames.read(self.session, self.place / name, kinds, self._files.get(name, ()))

    def keep(self, frame: Any, wanted: Any = None) -> StoredFrame:
        """Write a DataFrame to files, so that its inputs are not computed again.

        `wanted`: a column; the rows for which it is true are counted.
        """
        self._kept += 1
        place = self.place / f"kept-{self._kept}"
        seen = Observation()
        chosen = F.lit(True) if wanted is None else wanted
        of = F.coalesce(F.sum(F.when(chosen, 1).otherwise(0)), F.lit(0)).alias("wanted")
        names = frames.write(frame.observe(seen, F.count(F.lit(1)).alias("rows"), of), place)
        found = frames.read(self.session, place, frame.schema, names)
        return StoredFrame(found, place, **seen.get)

    def resolve(self, count: int) -> None:
        """Replace the rows that steps lead to by ids of states; `count`: the number of steps."""
        kinds = f"source long, flags long, key {self._key}, info long, changes boolean"
        states = self.states.select(
            "key", F.col("id").alias("target"), F.col("flags").alias("then")
        )
        steps = self._read("listed", kinds).join(states, "key")
        names = ["source", "target", "flags", "then", "info", "changes"]
        self._files["steps"] = frames.write(steps.select(*names), self.place / "steps")
        (self.place / "listed").clear()
        if (found := self.steps.count()) != count:
            raise EnvironmentProblem(
                f"of {count:,} steps out of the states found, {found:,} lead to a state found",
                next="start a new search in another folder: files here are missing or changed",
            )

    def rows_of(self, states: Any) -> Rows:
        keys = [row.key for row in states.select("key").collect()]
        if not self.wide:
            return np.array(keys, np.int64).view(np.uint64).reshape(-1, 1)
        return np.stack([np.frombuffer(key, np.uint64) for key in keys])

    def remove(self) -> None:
        self.place.clear()


@frozen
class Listing:
    """One job, in which every task lists the states of some files, and the steps out of them."""

    task: Task
    place: Place

    def write(self, number: int, files: Iterable[tuple[int, str]]) -> Iterator[int]:
        """Write the states and steps of files, each given with its level.

        Yields the number of steps.
        """
        cache = self.task.cache()
        cache.catch_up()
        states = PartsWriter(self.place / "states", f"part-{number}")
        steps = PartsWriter(self.place / "listed", f"part-{number}")
        at, count = number << _OWNER_BITS, 0
        for level, name in files:
            for _, part in self.task.storage.chunks(name, _CHUNK_ROWS):
                rows = padded(part, cache.tables.layout.words)
                numbers, unsigned = cache.combinations(rows)
                flags = unsigned.view(np.int64)
                ids = at + np.arange(len(rows), dtype=np.int64)
                at += len(rows)
                levels = np.full(len(rows), level, np.int32)
                states.add(_table(id=ids, level=levels, flags=flags, key=self._keys(rows)))
                for batch in cache.successors(rows, numbers):
                    source = batch.source.copy()
                    count += len(source)
                    steps.add(
                        _table(
                            source=ids[source],
                            flags=flags[source],
                            key=self._keys(batch.rows),
                            info=batch.info.copy(),
                            changes=(batch.rows != rows[source]).any(axis=1),
                        )
                    )
        states.flush()
        steps.flush()
        yield count

    def _keys(self, rows: Rows) -> Any:
        if not self.task.wide:
            return pa.array(rows[:, 0].copy().view(np.int64))
        size = rows.shape[1] * 8
        ends = pa.py_buffer(np.arange(0, size * len(rows) + 1, size, dtype=np.int32).tobytes())
        return pa.Array.from_buffers(
            pa.binary(), len(rows), [None, ends, pa.py_buffer(rows.tobytes())]
        )


def _table(**columns: Any) -> Any:
    return pa.table(columns)


def listed(frontier: Frontier, context: Any) -> Listed:
    """Return all states and steps of a finished search."""
    place = frontier.storage.place / "listed"
    place.clear()
    for name in ("states", "listed"):
        (place / name).make()
    lots = frontier.level_files
    job = Listing(frontier.task(context), place)
    flow = context.parallelize(lots, len(lots))
    counts = flow.mapPartitionsWithIndex(
        lambda number, lot: job.write(number, (item for items in lot for item in items))
    ).collect()
    found = Listed(frames_of(context, frontier.owners), place, frontier.wide)
    found.resolve(sum(counts))
    return found
