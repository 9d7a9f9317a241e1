"""The table server: the part of the driver that alone gives out numbers.

Executors ask it for cells of the tables that were not needed before, and for the flags of
combinations of observations.  The same code as in a local search computes each answer once.  An
error here (a member that raises, a number that no longer fits) ends the job: the executor is told
to stop, and the driver's own thread finds the reason in `stopped`.
"""

from __future__ import annotations

import errno
import hmac
import json
import resource
import secrets
import socket
import threading
from contextlib import suppress
from typing import Any

import numpy as np
from attrs import Factory, define, field

from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.runs.paths import move_of
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Ints, Rows
from joinproto.check.engine.tables import kernel
from joinproto.check.steps import said
from joinproto.errors import EnvironmentProblem
from spark_explore import rpc
from spark_explore.table_updates import UpdateLog, updates_after

Parts = rpc.Parts


class Outgrown(Exception):
    """A number no longer fits; all rows must be packed again."""


@define
class TableServer:
    """Answers for one search.

    `wide`: rows have more than one word, and may become wider.  `numbered`: for each level, the
    number of outcomes after its last new cell.
    """

    search: Search
    wide: bool
    numbered: dict[int, int] = Factory(dict)
    log: UpdateLog = field(init=False)
    stopped: BaseException | None = field(init=False, default=None)
    asked: int = field(init=False, default=0)
    _lock: threading.RLock = field(init=False, factory=threading.RLock)
    _words: dict[int, str] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.log = UpdateLog.of(self.search.tables)

    def begin_again(self, *, wide: bool) -> None:
        """Answer questions again, about rows of another layout."""
        with self._lock:
            self.wide, self.stopped = wide, None

    # -- questions ---------------------------------------------------------------------

    def everything(self) -> Parts:
        """Return the whole tables, for a new replica."""
        with self._lock:
            return self._updates_after(np.zeros(0, np.int64))

    def answer(self, words: dict[str, Any], parts: Parts) -> tuple[dict[str, Any], Parts]:
        """Return the answer to one question.

        `words`: {"ask": kind}.  `parts`: the arguments, and the `position` of the replica.
        """
        with self._lock:
            if self.stopped is None:
                try:
                    return {}, self._answer(words["ask"], parts)
                except BaseException as error:  # noqa: BLE001  raised again in the driver's thread
                    self.stopped = error
            return {"stop": True}, {}

    def _answer(self, kind: str, parts: Parts) -> Parts:
        found: Parts = {}
        if kind == "cells":
            self._fill(parts["asked"], int(parts["level"][0]))
        elif kind == "combinations":
            numbers = self.search.judge.number_shown(parts["shown"])
            found = {"numbers": numbers, "flags": self.search.judge.flags[numbers]}
            self._settle()
        elif kind == "words":
            steps = zip(parts["info"].tolist(), parts["rows"], strict=True)
            text = json.dumps([self._words_of(info, row) for info, row in steps])
            found = {"words": np.frombuffer(text.encode(), np.uint8)}
        return {**found, **self._updates_after(parts["position"])}

    def _words_of(self, info: int, row: Rows) -> str:
        found = self._words.get(info)
        if found is None:
            found = self._words[info] = said(move_of(self.search, info, row))
        return found

    def _updates_after(self, position: Ints) -> Parts:
        tables, judge = self.search.tables, self.search.judge
        judge.refresh()
        shown = [len(numbers) for numbers in tables.shown[: judge.parts]]
        return updates_after(tables, self.log, shown, list(judge.broken), position)

    def _fill(self, asked: Ints, level: int) -> None:
        tables = self.search.tables
        # Another executor may have asked for the same cells before.
        new = [row for row in asked.tolist() if self._is_open(row)]
        if new:
            self.asked += len(new)
            wanted = np.array(new, np.int64)
            tables.fill(wanted)
            self.log.add(tables, wanted)
            # Before `_settle`, which may raise `Outgrown`: these cells are not asked for again.
            self.numbered[level] = len(tables.outcomes)
        self._settle()

    def _is_open(self, row: list[int]) -> bool:
        kind, x, y, z = row
        content = self.search.tables.grid_of(kind).get(x, y, z)
        return content < 0 and content != kernel.REFUSED

    def _settle(self) -> None:
        """Make the layout fit all numbered values; raises `Outgrown` if rows must be repacked."""
        search = self.search
        for callback in search.expander.on_new:
            callback()
        if search.tables.outgrown():
            layout = extended(search.tables.layout, search.tables.value_counts(), self.search)
            if layout is None or not self.wide:
                raise Outgrown
            search.expander.repack(search.tables.grow_layout(layout))

    # -- calls -------------------------------------------------------------------------

    def open(self, host: str) -> RpcServer:
        """Return a server at `host`, an address that executors can reach."""
        return RpcServer(self, host)


def extended(layout: Layout, counts: list[int], search: Search) -> Layout | None:
    """Return `layout` with more room for messages at its end, or None if a field is full.

    Rows in the old layout become rows in the new one if words of zeros are appended.
    """
    if any(count > 1 << width for count, width in zip(counts, layout.widths, strict=True)):
        return None
    words = layout.words
    found = layout
    while found.capacity < search.tables.slots:
        words += max(1, words // 4)
        spare = layout.capacity + 64 * (words - layout.words)
        found = Layout(layout.widths, spare, words)
    return found


class RpcServer:
    """The RPC side of the table server: one thread for each connection of a worker."""

    def __init__(self, table_server: TableServer, host: str) -> None:
        self._tables = table_server
        # Each core of the cluster has one connection, and the usual limit is 1,024 files.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self._socket = socket.create_server((host, 0), backlog=4096)
        self.port: int = self._socket.getsockname()[1]
        self.password = secrets.token_hex(16)
        self._callers: list[socket.socket] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                caller, _ = self._socket.accept()
            except OSError as error:
                if self._socket.fileno() < 0:
                    return  # closed
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    # Otherwise executors would wait for answers that never come.
                    self._tables.stopped = EnvironmentProblem(
                        f"{len(self._callers):,} executors ask the driver, which may open no more"
                        " connections",
                        next="raise the driver's limit of open files (ulimit -n) to twice the"
                        " number of the cluster's cores, and use --resume",
                    )
                    for caller in [*self._callers]:
                        caller.close()
                    return
                continue  # this caller closed its connection before it was accepted
            caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._callers.append(caller)
            threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        try:
            with caller:
                try:
                    said, _ = rpc.receive(caller)
                except (KeyError, TypeError, MemoryError):
                    return  # the caller is no worker of this run
                if not hmac.compare_digest(str(said.get("password")), self.password):
                    return
                while True:
                    rpc.send(caller, *self._tables.answer(*rpc.receive(caller)))
        except (OSError, ValueError):  # the caller is gone, or is no worker of this run
            return
        finally:
            with suppress(ValueError):
                self._callers.remove(caller)

    def close(self) -> None:
        self._socket.close()
        for caller in [*self._callers]:
            caller.close()
