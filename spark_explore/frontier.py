"""The search on Spark, driven level by level.

A job expands one level and takes in the next.  While levels are small a job does several of them,
because each job costs at least half a second.  The first step of a job reads its level from
storage, so no job needs an earlier exchange, and the loss of an executor costs at most one job.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
from attrs import Factory, define, evolve, field

from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Rows
from joinproto.check.engine.stopping import Tick
from joinproto.check.memory import resident_bytes
from joinproto.check.report import Growth
from joinproto.errors import EnvironmentProblem
from spark_explore import parcels, step
from spark_explore.homes import Homes
from spark_explore.keys import by_owner, keys_of, unique
from spark_explore.layouts import roomy
from spark_explore.repack import Repack
from spark_explore.rpc import packed
from spark_explore.session import cores_of, full_disk
from spark_explore.step import Counts, Task
from spark_explore.storage import Share, Storage
from spark_explore.table_server import Outgrown, RpcServer, TableServer
from spark_explore.verdicts import Verdicts
from spark_explore.worker_cache import Address

SMALL = 20_000
MIDDLE = 250_000

OWNERS_APART = 128
"""With more owners, executors add up the owners' counts, which costs one more exchange."""


@define
class Frontier:
    """The state of a search on Spark.

    `search`: the driver's search, with tables, claims, counters, and the first states.  `levels`:
    the number of new states of each level.  `outcomes`: how many outcomes were numbered up to the
    last level; a job may have gone further, so `numbered` has that number for each level.
    `counts`: how many values each field had when rows were last packed.  `shares`: every owner's
    data after the last level.
    """

    search: Search
    storage: Storage
    owners: int
    run: str
    host: str
    epoch: int = 0
    job: int = 0
    wide: bool = False
    levels: list[int] = Factory(list)
    generated: int = 1
    outcomes: int = 0
    numbered: dict[int, int] = Factory(dict)
    growth: list[Growth] = Factory(list)
    done: bool = False
    verdicts: Verdicts = field(init=False)
    table_server: TableServer = field(init=False)
    rpc_server: RpcServer | None = field(init=False, default=None)
    shares: list[Share] = Factory(list)
    counts: list[int] = Factory(list)
    _homes: Homes | None = field(init=False, default=None)
    _everything: Any = field(init=False, default=None)
    _asked_before: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self.verdicts = Verdicts(self.search)

    @property
    def distinct(self) -> int:
        return sum(self.levels)

    @property
    def bytes_per_state(self) -> float:
        """Return the bytes of a state in its level's file."""
        return 8.0 * self.search.tables.layout.words

    @property
    def level(self) -> int:
        return len(self.levels) - 1

    @property
    def level_files(self) -> list[list[tuple[int, str]]]:
        """Return the level files of each owner, with their levels."""
        return [
            [(level, file) for level, file in enumerate(share.files) if file]
            for share in self.shares
        ]

    # -- from a local search -------------------------------------------------------------

    def take_over(self, rows_of: Callable[[int], Rows]) -> None:
        """Store all levels; `rows_of` returns the rows of a level."""
        self.wide = self.search.tables.layout.words > 1
        self.job += 1
        shares = [Share(-1, owner, 0, (), ()) for owner in range(self.owners)]
        for level in range(len(self.levels)):
            shares = self.store_level(shares, rows_of(level))
        self.shares = shares

    def store_level(self, shares: list[Share], rows: Rows) -> list[Share]:
        """Store one level with these rows; return each owner's new share."""
        parts = dict(by_owner(rows, self.owners, wide=self.wide))
        found = []
        for share in shares:
            part = parts.get(share.owner, rows[:0])
            keys, part = unique(keys_of(part, wide=self.wide), part)
            found.append(
                self.storage.extend(self.job, share, [(keys, part)], rows.shape[1], wide=self.wide)
            )
        return found

    # -- jobs ----------------------------------------------------------------------------

    def open(self) -> None:
        """Begin to answer questions of executors."""
        self.storage.make()
        self.table_server = TableServer(self.search, self.wide, self.numbered)
        self.rpc_server = self.table_server.open(self.host)

    def close(self) -> None:
        if self.rpc_server is not None:
            self.rpc_server.close()

    def advance(self, context: Any, length: int) -> None:
        """Run one job of up to `length` levels, and take in its results."""
        began = time.perf_counter()
        self.job += 1
        task = self.task(context)
        found = self._run(context, task, length)
        if task.parcels is None:
            # Spark removes the rows of former exchanges when no object of the driver names them.
            gc.collect()
            context._jvm.System.gc()
        if isinstance(self.table_server.stopped, Outgrown):
            raise Outgrown
        if self.table_server.stopped is not None:
            raise self.table_server.stopped
        self._raise_problems(found)
        counted = [what for kind, what, *_ in found if kind == step.COUNTS]
        self._take(task, counted, time.perf_counter() - began)

    def levels_of_job(self) -> int:
        """Return the number of levels of the next job."""
        size = self.levels[-1]
        return 6 if size < SMALL else 3 if size < MIDDLE else 1

    def task(self, context: Any) -> Task:
        """Return the data that every step of the present job needs."""
        assert self.rpc_server is not None
        # A new worker gets the tables from the broadcast, and asks only for later updates.
        if self._everything is None or self.table_server.asked > 2 * self._asked_before + 1000:
            self._everything = context.broadcast(packed(self.table_server.everything()))
            self._asked_before = self.table_server.asked
        judge, local = self.search.judge, cores_of(str(context.master)) is not None
        always = sum(1 << c.bit for c in judge.whole if c.property.kind == "always")
        always |= sum(1 << c.bit for c in judge.implementing)
        wanted = always or any(
            c.property.kind == "sometimes" and self.verdicts.is_open(c) for c in judge.whole
        )
        address = Address(
            f"{self.run}-{self.epoch}", self.host, self.rpc_server.port, self.rpc_server.password
        )
        return Task(
            address=address,
            storage=self.storage if local else evolve(self.storage, cache=None),
            owners=self.owners,
            job=self.job,
            first=self.level,
            wide=self.wide,
            flags=1 if wanted else 0,
            always=always,
            everything=self._everything,
            parcels=self.storage.here / parcels.FOLDER if local else None,
        )

    def _run(self, context: Any, task: Task, length: int) -> list[tuple[Any, ...]]:
        owners, end = task.owners, task.first + length
        flow = context.parallelize(self.shares, owners)
        if task.storage.is_cached_apart:
            self._homes = self._homes or Homes(context, owners, _itself)
            flow = self._exchanged(flow.keyBy(_owner_of)).values()
        flow = flow.mapPartitionsWithIndex(partial(step.start, task))
        for level in range(task.first + 1, end):
            flow = self._exchanged(flow).mapPartitionsWithIndex(partial(step.middle, task, level))
        flow = self._exchanged(flow).mapPartitionsWithIndex(partial(step.end, task, end))
        if owners > OWNERS_APART:
            # The counts of all owners would fill the driver's memory, so executors add them up.
            parts = isqrt(owners)
            flow = flow.map(_with_owner).partitionBy(parts, _itself).values()
            flow = flow.mapPartitions(step.add_up)
        parcels.forget(self.storage.here / parcels.FOLDER)
        found: list[tuple[Any, ...]] = flow.collect()
        # They are removed before a job, too: a killed run or a failed job leaves some.
        parcels.forget(self.storage.here / parcels.FOLDER)
        return found

    def _exchanged(self, flow: Any) -> Any:
        """Return items (owner, ...) in the partitions of their owners, with preferred hosts."""
        flow = exchanged(flow, self.owners)
        return flow if self._homes is None else self._homes.prefer(flow)

    @staticmethod
    def _raise_problems(found: Iterable[tuple[Any, ...]]) -> None:
        problems = [what for kind, *what in found if kind == step.PROBLEM]
        # A full disk is reported first: it makes other executors fail to find a file.
        for what, text in problems:
            if what == "full":
                raise full_disk(text)
        for what, text in problems:
            raise EnvironmentProblem(
                f"an executor failed: {text or what}",
                next="every executor must reach the driver and open the folder of the run",
            )

    def repack(self, context: Any) -> None:
        """Pack all rows again, with room for numbers that no longer fit."""
        tables, old = self.search.tables, self.search.tables.layout
        layout = roomy(tables, self.counts)
        self.counts = tables.value_counts()
        self.job += 1
        storage = self.task(context).storage
        messages = min(old.capacity, tables.slots)
        job = Repack(storage, self.owners, self.job, old, layout, messages)
        self.shares = job.run(context, self.levels, self.shares)
        self.search.expander.repack(tables.grow_layout(layout))
        self.search.expander.refresh()
        self.epoch += 1
        self.wide = layout.words > 1
        self._everything = None
        self.table_server.begin_again(wide=self.wide)

    def forget(self) -> None:
        """Remove files that are no longer needed; no job may be running."""
        self.storage.forget(self.shares)

    # -- results -------------------------------------------------------------------------

    def _take(self, task: Task, counted: list[Counts], seconds: float) -> None:
        by_level: dict[int, list[Counts]] = {}
        for item in counted:
            by_level.setdefault(item.level, []).append(item)
        total = sum(item.new for item in counted) or 1
        for level in sorted(by_level):
            parts = by_level[level]
            new = sum(item.new for item in parts)
            if level > task.first:
                if new == 0:
                    self.done = True
                    break
                self.levels.append(new)
                self.shares = _shares_of(parts)
                self.growth.append(Growth(level, new, "spark", seconds=seconds * new / total))
                self.verdicts.judge(level, parts)
            self._count(level, parts)
            if self.verdicts.violated:
                break

    def _count(self, level: int, parts: list[Counts]) -> None:
        """Take in the counts of steps out of a level, unless it was not expanded or is violated."""
        if self.verdicts.violated or not all(item.expanded for item in parts):
            self._add_bytes(parts)
            return
        self.outcomes = max(self.outcomes, self.numbered.get(level, 0))
        generated = sum(item.generated for item in parts)
        self.generated += generated
        if self.growth and self.growth[-1].level == level:
            self.growth[-1].generated = generated
        self._add_bytes(parts)
        tables = self.search.tables
        for item in parts:
            if item.taken is not None and item.events is not None:
                which, times = item.taken
                np.add.at(tables.out["taken"].array, which, times)
                tables.event_taken += item.events

    def _add_bytes(self, parts: list[Counts]) -> None:
        if self.growth:
            self.growth[-1].sent += sum(item.sent for item in parts)
            self.growth[-1].written += sum(item.written for item in parts)

    def tick(self, seconds: float) -> Tick:
        return Tick(
            len(self.levels),
            self.distinct,
            self.generated,
            self.levels[-1],
            resident_bytes(),
            seconds,
        )


def exchanged(flow: Any, owners: int) -> Any:
    """Return items (owner, ...) in the partitions of their owners."""
    return flow.partitionBy(owners, _itself)


def _itself(owner: int) -> int:
    return owner


def _owner_of(share: Share) -> int:
    return share.owner


def _with_owner(what: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]]:
    # All counts of one owner go to one partition.
    return (what[1].owner if what[0] == step.COUNTS else 0), what


def _shares_of(parts: list[Counts]) -> list[Share]:
    every = (share for item in parts for share in item.shares)
    return sorted(every, key=lambda share: share.owner)
