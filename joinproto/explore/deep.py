"""Nearest states of worlds that plain Python cannot search: the engine, in a process of its own.

The process (`main`) searches the world to its end, notes for each state one that it was found
from, and then answers: an expression is asked once for each combination of what members show, the
nearest row of one that fits is taken, and the way back from it is told as the keys of its steps.
The page's process follows these keys, so its numbers stay its own.

Rows, levels and combinations are the engine's (`joinproto/check/engine/__init__.py`).
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

from attrs import Factory, define, field

from joinproto.check import catalogue
from joinproto.errors import JoinprotoError
from joinproto.explore.graph import Json
from joinproto.explore.walking import follow

if TYPE_CHECKING:
    import numpy as np

    from joinproto.check.engine.rows.rowset import RowSet
    from joinproto.check.engine.search import Search
    from joinproto.explore.session import Opened, Session

MEMORY_MAX_BYTES = 1536 << 20
ANSWER_SECONDS = 60.0
_PIECE = 1 << 18


# -- in the page's process -----------------------------------------------------------------


@define
class Engine:
    """The page's end of the other process: it is started when it is first needed."""

    target: str
    options: Mapping[str, Any]
    begun: bool = False
    is_over: bool = False
    is_ready: bool = False
    why_not: str = ""
    last: Json = Factory(dict)
    _process: subprocess.Popen[str] | None = None
    _listener: threading.Thread | None = None
    _answers: queue.Queue[Json] = Factory(queue.Queue)
    _lock: threading.Lock = Factory(threading.Lock)

    def begin(self) -> None:
        """Start the search, unless it is under way."""
        if self.begun or self.is_over:
            return
        self.begun = True
        path = os.pathsep.join(one for one in sys.path if one)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "joinproto.explore.deep"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._send({"target": self.target, "options": {k: str(v) for k, v in self.options.items()}})
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()

    def forget(self, opened: Opened) -> None:
        """End the search: the world is another one now.  With a fault more, none can load it."""
        same = opened.graph.world is opened.loaded.world
        self.close()
        self.target, self.options = opened.loaded.target, opened.loaded.options
        self.begun, self.is_ready, self.is_over, self.last = False, False, not same, {}
        self.why_not = (
            "" if same else "A world with an injected fault is not searched by the engine."
        )

    def close(self) -> None:
        """End the other process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
            if self._listener is not None:
                self._listener.join(10)

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            self._hear(process, lines)
        if self._process is process and not self.is_over:
            self.is_over, self.is_ready = True, False
            self.why_not = self.why_not or "The engine's process ended."

    def _hear(self, process: subprocess.Popen[str], lines: IO[str]) -> None:
        for line in lines:
            said = json.loads(line)
            if self._process is not process:
                return
            if "answer" in said:
                self._answers.put(said["answer"])
            elif "failed" in said:
                self.why_not, self.is_over = said["failed"], True
            else:
                self.last = said
                self.is_ready = bool(said.get("ready"))

    def _answer(self) -> Json:
        """Wait for the answer, and no longer than the process lives."""
        until = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                return self._answers.get(timeout=0.2)
            except queue.Empty:
                if self.is_over or time.monotonic() > until:
                    raise

    def _send(self, said: Json) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(said) + "\n")
        self._process.stdin.flush()

    def progress(self) -> Json:
        """Return what the verb `search` answers."""
        counts = list(self.last.get("levels", []))
        return {
            "states": self.last.get("states", 0),
            "levels": counts,
            "steps": self.last.get("steps", 0),
            "whole": self.is_ready,
            "stopped": self.why_not,
            "engine": True,
        }

    def searched(self) -> Json:
        """Return how far it has come; never that all was searched, before it can be asked."""
        states = self.last.get("states", 0)
        return {"states": states, "levels": len(self.last.get("levels", [])), "whole": False}

    def nearest(self, session: Session, given: Json) -> Json | None:
        """Return the nearest state that is asked for, and the way there."""
        with self._lock:
            asked = {key: given[key] for key in ("where", "claim", "is") if key in given}
            try:
                self._send({"ask": asked})
                found = self._answer()
            except (OSError, queue.Empty):
                self.is_ready = False
                return None
        searched = {**self.searched(), "whole": True}
        if "error" in found:
            return found
        if found["keys"] is None:
            return {"run": None, "searched": searched, "stopped": "", "words": found["words"]}
        run = follow(session.now.graph, found["start"], found["keys"], found["end"])
        return {"run": run, "searched": searched, "words": found["words"]}


# -- in the other process --------------------------------------------------------------------


@define
class _Searched:
    """A finished search.  `parent`: row to one that it was found from, -1 of first ones.

    `first`: combination to the nearest row that shows it; dtype int64, in order of combinations.
    """

    search: Search
    parent: np.ndarray[Any, Any] = field(init=False)
    first: np.ndarray[Any, Any] = field(init=False)
    order: np.ndarray[Any, Any] = field(init=False)

    def index(self) -> None:
        """Find the parents, level by level, and what each row shows."""
        import numpy as np

        search = self.search
        levels, count = search.found.levels, search.states.count
        self.parent = np.full(count, -1, np.int32)
        known = self._numbered()
        for begin, end in pairwise(levels):
            for at in range(begin, end, _PIECE):
                for batch in search.successors(at, min(end, at + _PIECE)):
                    rows = known.find(np.ascontiguousarray(batch.rows), len(batch.rows))
                    new = (rows >= end) & (self.parent[rows] < 0)
                    self.parent[rows[new]] = batch.source[new]
        numbers = np.empty(count, np.int32)
        for at in range(0, count, _PIECE):
            upto = min(count, at + _PIECE)
            numbers[at:upto] = search.judge.number(search.rows(), at, upto)
        combinations = int(numbers.max()) + 1
        self.first = np.full(combinations, count, np.int64)
        # From the last row to the first one: what stays is the nearest.
        for begin in range(((count - 1) // _PIECE) * _PIECE, -1, -_PIECE):
            piece = numbers[begin : begin + _PIECE][::-1]
            self.first[piece] = np.arange(begin + len(piece) - 1, begin - 1, -1)
        self.order = np.argsort(self.first, kind="stable")

    def _numbered(self) -> RowSet:
        """Return the rows as a set that says their numbers: one of one word does not."""
        from joinproto.check.engine.rows.rowset import RowSet

        search = self.search
        states = search.states
        if not states.is_direct:
            return states
        known = RowSet(states.words, search.budget, numbered=True, room=states.count)
        for at in range(0, states.count, _PIECE):
            piece = search.rows()[at : min(states.count, at + _PIECE)].copy()
            known.insert(piece, len(piece))
        return known

    def nearest(self, met: Any) -> int | None:
        """Return the row of a nearest state whose view is `met`; None: there is none."""
        for number in self.order:
            if met(self.search.judge.view(int(number))):
                return int(self.first[number])
        return None

    def way(self, row: int) -> list[int]:
        """Return the rows from a first one to `row`."""
        rows = [row]
        while (before := int(self.parent[rows[-1]])) >= 0:
            rows.append(before)
        return rows[::-1]


def _keys(session: Session, searched: _Searched, row: int) -> Json:
    """Return the way to a row as keys of steps, by walking next to it."""
    graph, search = session.now.graph, searched.search
    rows = searched.way(row)
    members = len(graph.names)

    def is_row(at: int, place: int) -> bool:
        values = search.tables.values_of(search.rows()[place])
        state = graph.state(at)
        monitor = search.tables.monitor
        same = tuple(values[:members]) == state.locals and values[search.tables.env_field] == (
            state.around
        )
        return same and (monitor < 0 or values[monitor] == state.monitor)

    runs = [([first], list[str]()) for first in graph.firsts if is_row(first, rows[0])]
    for place in rows[1:]:
        longer: dict[int, tuple[list[int], list[str]]] = {}
        for ids, keys in runs:
            for index, (_, to) in enumerate(graph.out(ids[-1])):
                if to not in longer and is_row(to, place):
                    key = graph.step_json(ids[-1], index)["key"]
                    longer[to] = [*ids, to], [*keys, key]
        runs = list(longer.values())
    ids, keys = runs[0]
    return {"start": graph.firsts.index(ids[0]), "keys": keys, "end": graph.key(ids[-1])}


def _answer(session: Session, searched: _Searched, asked: Json) -> Json:
    from joinproto.check.asking import ask_of_view
    from joinproto.explore.session import error_json
    from joinproto.explore.wanted import answered, wanted

    try:
        if asked.get("where") is not None:
            words, ask = asked["where"], wanted(asked["where"], session.now.graph.names)
            row = searched.nearest(lambda view: answered(words, ask, view))
        else:
            words, _ = session.met_by(asked)
            item = session.now.judging.item(asked.get("claim"))
            shall = bool(asked.get("is", item.kind == "sometimes"))
            row = searched.nearest(lambda view: ask_of_view(item, view) is shall)
    except JoinprotoError as problem:
        return {"error": error_json(problem)}
    if row is None:
        return {"keys": None, "words": words}
    return {**_keys(session, searched, row), "words": words}


def main(source: IO[str] = sys.stdin, out: IO[str] = sys.stdout) -> int:
    """Search the world that the first line names, and answer the lines after it."""
    from joinproto.check.engine.search import Search
    from joinproto.check.engine.stopping import Limits
    from joinproto.check.options import Words
    from joinproto.explore.session import Session

    def tell(**said: Any) -> None:
        out.write(json.dumps(said) + "\n")
        out.flush()

    asked = json.loads(source.readline())
    options = {name: Words(text) for name, text in asked["options"].items()}
    try:
        loaded = catalogue.load(asked["target"], options)
        told = time.monotonic()

        def progress(tick: Any) -> None:
            nonlocal told
            if time.monotonic() - told > 0.3:
                told = time.monotonic()
                tell(states=tick.distinct, levels=[0] * tick.level, steps=tick.generated)

        limits = Limits(memory_bytes=MEMORY_MAX_BYTES)
        with loaded.at_work():
            search = Search(loaded.world, limits, stop_at_violation=False, progress=progress)
            found = search.run()
            ends = search.found.levels
            counts = [b - a for a, b in pairwise(ends)]
            progressed = {"states": search.states.count, "levels": counts, "steps": found.generated}
            if found.stopped_by or loaded.world.same is not None:
                why = found.stopped_by or "the world's `same` takes several states for one"
                tell(failed=f"The engine did not search all states: {why}.")
                return 0
            tell(**progressed)
            searched = _Searched(search)
            searched.index()
            session = Session()
            session.opens(loaded)
            tell(**progressed, ready=True)
            for line in source:
                tell(answer=_answer(session, searched, json.loads(line)["ask"]))
    except JoinprotoError as problem:
        tell(failed=problem.message)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
