"""An executor's copy of the numbered world, kept from task to task, and its line to the driver.

What the copy lacks is asked for in the middle of the work: a question takes a millisecond,
a level that has to be done again a second.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from models.engine.combos import Combos
from models.engine.memory import Budget
from models.engine.rowset import RowSet
from models.engine.search import Expander
from models.engine.watching import Fears, watch
from spark_explore import line
from spark_explore.delta import Copy, Parts
from spark_explore.keys import Ints, Rows

SECONDS_MAX = 600.0
"""A question may wait for other questions, each a call of member code."""


class Stopped(Exception):
    """The driver ended the job; it knows why."""


@frozen
class Address:
    """Where the driver takes questions.  `run`: which run they are about."""

    run: str
    host: str
    port: int
    password: str = field(repr=False)


class Asking(Copy):
    """A copy that asks for what it lacks.  `level`: which one it works on."""

    def __init__(self, address: Address, parts: Parts) -> None:
        super().__init__(parts)
        self._address = address
        self._connection: socket.socket | None = None
        self.level = 0

    def fill(self, asked: Ints) -> None:
        self.ask("cells", {"asked": asked, "level": np.array([self.level], np.int64)})

    def ask(self, kind: str, parts: Parts) -> Parts:
        """Put a question; takes in what is new, returns the answer's other parts."""
        found = self._put(kind, {**parts, "position": self.position()})
        self.take_in(found)
        return found

    def _put(self, kind: str, parts: Parts) -> Parts:
        try:
            if self._connection is None:
                self._connection = self._connect()
            line.send(self._connection, {"ask": kind}, parts)
            words, found = line.receive(self._connection)
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
        line.send(connection, {"password": self._address.password})
        return connection


class Ample(Budget):
    """Memory for blocks and combinations: small, so nobody counts it."""

    def __init__(self) -> None:
        super().__init__(1 << 26)

    def allows(self, more: int) -> bool:
        return True


@define
class Desk:
    """What an executor's process knows of a run.  `block`: room for successors."""

    copy: Asking
    block: RowSet | None = None
    expander: Expander = field(init=False)
    _combos: Combos = field(init=False)
    _numbers: Ints = field(init=False)
    _flags: npt.NDArray[np.uint64] = field(init=False)
    _fears: Fears = field(init=False)
    _fears_of: tuple[Any, ...] = field(init=False, default=())

    def __attrs_post_init__(self) -> None:
        self.expander = Expander(self.copy)
        self._combos = Combos(self.copy.queue_field, Ample())
        self._numbers, self._flags = np.zeros(0, np.int64), np.zeros(0, np.uint64)

    def catch_up(self) -> None:
        """Learn what was numbered since; rows that others made may hold new numbers."""
        self.copy.ask("news", {})
        self.expander.refresh()

    def watch(self, rows: Rows) -> tuple[Ints, list[list[int]]]:
        """Return rows that break a claim about one member or two, and what was seen."""
        copy = self.copy
        watched = copy.members + (copy.monitor >= 0)
        made_of = (copy.shown[:watched], len(copy.broken))
        if made_of != self._fears_of:
            self._fears = Fears.of(copy.shown[:watched], copy.broken)
            self._fears_of = made_of
        bad, seen = watch(copy, self._fears, rows, 0, len(rows))
        return bad, self._fears.by_field(seen)

    def combinations(self, rows: Rows) -> tuple[Ints, npt.NDArray[np.uint64]]:
        """Return the driver's number of each row's combination, and its flags."""
        known = self._combos.count
        self._combos.make_room(self.copy.shown[: self._combos.parts])
        here = self._combos.number(self.copy, rows, 0, len(rows))
        if self._combos.count > known:
            try:
                found = self.copy.ask("combinations", {"shown": self._combos.shown_from(known)})
            except BaseException:
                # What was added to our own set has no answer: begin it anew.
                self._combos = Combos(self._combos.parts, Ample())
                self._numbers, self._flags = self._numbers[:0], self._flags[:0]
                raise
            self._numbers = np.concatenate([self._numbers, found["numbers"]])
            self._flags = np.concatenate([self._flags, found["flags"]])
            self.expander.refresh()
        return self._numbers[here], self._flags[here]


_desks: dict[str, Desk] = {}


def leave_desk() -> None:
    """Forget what this process knows: its last question was not answered."""
    _desks.clear()


def desk_of(address: Address, everything: Callable[[], bytes]) -> Desk:
    """Return this process's desk for the run; a new one starts with `everything`."""
    found = _desks.get(address.run)
    if found is None:
        # One run at a time: what is left of another only takes memory.
        _desks.clear()
        found = _desks[address.run] = Desk(Asking(address, line.unpacked(everything())))
    return found
