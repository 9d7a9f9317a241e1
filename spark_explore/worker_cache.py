"""A worker's cache of the driver's tables, kept from task to task.

During its work a worker asks the table server for missing entries: a call takes a millisecond, but
to do a level again takes a second.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import define, field, frozen

from joinproto.check.engine.claims.combinations import Combinations
from joinproto.check.engine.claims.watching import watch
from joinproto.check.engine.expansion.expander import Batch, Expander
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.shapes import Ints, Keys, Rows
from joinproto.check.engine.tables.claimed import BreakingObservations
from joinproto.check.memory import Budget
from spark_explore import rpc
from spark_explore.table_updates import Parts, Replica

SECONDS_MAX = 600.0
"""Seconds to wait for an answer, which may come after answers that call other members."""


class Stopped(Exception):
    """The driver ended the job, and knows the reason."""


@frozen
class Address:
    """The driver's address for questions.  `run`: the run to which the questions belong."""

    run: str
    host: str
    port: int
    password: str = field(repr=False)


class RemoteTables(Replica):
    """A replica that asks the driver for missing entries.  `level`: the level being expanded."""

    def __init__(self, address: Address, parts: Parts) -> None:
        super().__init__(parts)
        self._address = address
        self._connection: socket.socket | None = None
        self.level = 0

    def fill(self, asked: Ints) -> None:
        self.ask("cells", {"asked": asked, "level": np.array([self.level], np.int64)})

    def ask(self, kind: str, parts: Parts) -> Parts:
        """Ask the driver; take in the updates, and return the answer."""
        found = self._put(kind, {**parts, "position": self.position()})
        self.take_in(found)
        return found

    def _put(self, kind: str, parts: Parts) -> Parts:
        try:
            if self._connection is None:
                self._connection = self._connect()
            rpc.send(self._connection, {"ask": kind}, parts)
            words, found = rpc.receive(self._connection)
        except OSError as error:
            self._connection = None
            at = f"{self._address.host}:{self._address.port}"
            raise ConnectionError(f"the driver does not answer at {at}: {error}") from error
        if words.get("stop"):
            raise Stopped
        return found

    def _connect(self) -> socket.socket:
        address = (self._address.host, self._address.port)
        connection = socket.create_connection(address, timeout=SECONDS_MAX)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        rpc.send(connection, {"password": self._address.password})
        return connection


class UncountedBudget(Budget):
    """A budget for blocks and combinations, which are small and so are not counted."""

    def __init__(self) -> None:
        super().__init__(1 << 26)

    def allows(self, more: int) -> bool:
        return True


def set_of(rows: Rows) -> RowSet:
    """Return rows as a set in which the number of each is its place in `rows`."""
    found = RowSet(rows.shape[1], UncountedBudget(), numbered=True, room=len(rows))
    found.insert(np.ascontiguousarray(rows), len(rows))
    return found


@define
class WorkerCache:
    """The state of a run in a worker's process.  `block`: a buffer for successors."""

    tables: RemoteTables
    block: RowSet | None = None
    expander: Expander = field(init=False)
    _combinations: Combinations = field(init=False)
    _numbers: Ints = field(init=False)
    _flags: Keys = field(init=False)
    _fears: BreakingObservations = field(init=False)
    _fears_of: tuple[Any, ...] = field(init=False, default=())

    def __attrs_post_init__(self) -> None:
        self.expander = Expander(self.tables)
        self._combinations = Combinations(self.tables.queue_field, UncountedBudget())
        self._numbers, self._flags = np.zeros(0, np.int64), np.zeros(0, np.uint64)

    def catch_up(self) -> None:
        """Get all updates since the last call: rows of other workers may have new numbers."""
        self.tables.ask("news", {})
        self.expander.refresh()

    def watch(self, rows: Rows) -> tuple[Ints, list[list[int]]]:
        """Return rows that break a claim about one or two members, and the observations seen."""
        tables = self.tables
        watched = tables.members + (tables.monitor >= 0)
        made_of = (tables.shown[:watched], len(tables.broken))
        if made_of != self._fears_of:
            self._fears = BreakingObservations.of(tables.shown[:watched], tables.broken)
            self._fears_of = made_of
        bad, seen = watch(tables, self._fears, rows, 0, len(rows))
        return bad, self._fears.by_field(seen)

    def words(self, info: Ints, rows: Rows) -> list[str]:
        """Return the names of steps.

        `rows`: one for each of `info`.  A joint step must be a step out of its row, unless its name
        was asked for before.
        """
        found = self.tables.ask("words", {"info": info, "rows": rows})
        return list(json.loads(found["words"].tobytes()))

    def combinations(self, rows: Rows) -> tuple[Ints, Keys]:
        """Return the driver's number of each row's combination, and its flags."""
        known = self._combinations.count
        self._combinations.make_room(self.tables.shown[: self._combinations.parts])
        here = self._combinations.number(self.tables, rows, 0, len(rows))
        if self._combinations.count > known:
            try:
                found = self.tables.ask(
                    "combinations", {"shown": self._combinations.shown_from(known)}
                )
            except BaseException:
                # The combinations that were added have no answer, so the set is emptied.
                self._combinations = Combinations(self._combinations.parts, UncountedBudget())
                self._numbers, self._flags = self._numbers[:0], self._flags[:0]
                raise
            self._numbers = np.concatenate([self._numbers, found["numbers"]])
            self._flags = np.concatenate([self._flags, found["flags"]])
            self.expander.refresh()
        return self._numbers[here], self._flags[here]

    def successors(self, rows: Rows, numbers: Ints | None = None) -> Iterator[Batch]:
        """Return the steps out of rows; `numbers`: their combinations' numbers, or None."""
        if not self.tables.shape().joint:
            numbers = None
        elif numbers is None:
            numbers, _ = self.combinations(rows)
        return self.expander.successors(lambda: rows, 0, len(rows), numbers)


_caches: dict[str, WorkerCache] = {}


def forget_worker_caches() -> None:
    """Remove all caches of this process, because after an error they may be incomplete."""
    _caches.clear()


def worker_cache_of(address: Address, everything: Callable[[], bytes]) -> WorkerCache:
    """Return this process's cache for the run; a new one starts with `everything`."""
    found = _caches.get(address.run)
    if found is None:
        # There is one run at a time: the cache of another run would only take memory.
        _caches.clear()
        found = _caches[address.run] = WorkerCache(
            RemoteTables(address, rpc.unpacked(everything()))
        )
    return found
