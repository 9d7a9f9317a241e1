"""The engine, in a process of its own, answers questions about worlds too large for plain Python.

The process (`process.py`) searches the whole world, notes for each state a state that it was found
from (`searched.py`), and then answers.  For a nearest state (`nearest.py`), an expression is
evaluated once for each combination of the values that it reads, and the nearest fitting row is
taken.  The answer has the keys of the steps to that row.  The page's process follows these keys,
so its states keep their own numbers.  For the projected graph (`projected.py`), array operations
sort all rows into nodes.

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
from typing import IO, TYPE_CHECKING, Any

from attrs import Factory, define

from joinproto.explore.graph import Json
from joinproto.explore.walking import follow

if TYPE_CHECKING:
    from joinproto.explore.session import OpenWorld, Session

ANSWER_SECONDS = 60.0


@define
class Engine:
    """The connection to the engine's process, which is started when it is first needed.

    `is_over`: the process ended, or must not start.  `is_ready`: it has searched all states and
    answers.  `why_not`: why it does not answer, in words.  `last`: its last report of progress.
    """

    target: str
    options: Mapping[str, Any]
    begun: bool = False
    is_over: bool = False
    is_ready: bool = False
    why_not: str = ""
    last: Json = Factory(dict)
    _cover: Json | None = None
    _process: subprocess.Popen[str] | None = None
    _listener: threading.Thread | None = None
    _answers: queue.Queue[Json] = Factory(queue.Queue)
    _lock: threading.Lock = Factory(threading.Lock)

    def begin(self) -> None:
        """Start the search, unless it is under way or over."""
        if self.begun or self.is_over:
            return
        self.begun = True
        path = os.pathsep.join(one for one in sys.path if one)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "joinproto.explore.deep.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._send({"target": self.target, "options": {k: str(v) for k, v in self.options.items()}})
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()

    def forget(self, opened: OpenWorld) -> None:
        """End the search, because the page has opened another world.

        The engine cannot load a world with an injected fault.
        """
        same = opened.graph.world is opened.loaded.world
        self.close()
        self.target, self.options = opened.loaded.target, opened.loaded.options
        self.begun, self.is_ready, self.is_over, self.last = False, False, not same, {}
        self._cover = None
        self._answers = queue.Queue()  # a late answer is about the former world
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
            self._read(process, lines)
        if self._process is process and not self.is_over:
            self.is_over, self.is_ready = True, False
            self.why_not = self.why_not or "The engine's process ended."

    def _read(self, process: subprocess.Popen[str], lines: IO[str]) -> None:
        for line in lines:
            message = json.loads(line)
            if self._process is not process:
                return
            if "answer" in message:
                self._answers.put(message["answer"])
            elif "cover" in message:
                self._cover = message["cover"]
            elif "failed" in message:
                self.why_not, self.is_over = message["failed"], True
            else:
                self.last = message
                self.is_ready = bool(message.get("ready"))

    def _answer(self) -> Json:
        """Return the process's answer; raises `queue.Empty` if it is late or the process ended."""
        until = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                return self._answers.get(timeout=0.2)
            except queue.Empty:
                if self.is_over or time.monotonic() > until:
                    raise

    def _send(self, message: Json) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def progress(self) -> Json:
        """Return the answer to the question `search`."""
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
        """Return the progress of the search.

        `whole` is False; `_run` sets it once the engine has answered.
        """
        states = self.last.get("states", 0)
        return {"states": states, "levels": len(self.last.get("levels", [])), "whole": False}

    def cover(self) -> Json | None:
        """Return how often rows and steps were taken; None until all states are found."""
        return self._cover

    def nearest(self, session: Session, given: Json) -> Json | None:
        """Return a shortest run to the nearest state that `given` asks for.

        `given`: `where`, an expression that must be true there; or `claim`, the name of a claim,
        and `is`, whether it must be true there.  Returns None if the process cannot answer.
        """
        goal = {key: given[key] for key in ("where", "claim", "is") if key in given}
        return self._run(session, {"nearest": goal})

    def way(self, session: Session, row: int) -> Json | None:
        """Return a shortest run to a row that `graph` gave for a node."""
        return self._run(session, {"way": row})

    def graph(self, by: list[str], nodes_max: int) -> Json | None:
        """Return the projected graph of all states; its nodes have rows instead of examples."""
        return self._ask({"graph": {"by": by, "nodes_max": nodes_max}})

    def _ask(self, question: Json) -> Json | None:
        with self._lock:
            try:
                self._send({"ask": question})
                return self._answer()
            except (OSError, queue.Empty):
                self.is_ready = False
                return None

    def _run(self, session: Session, question: Json) -> Json | None:
        found = self._ask(question)
        if found is None or "error" in found:
            return found
        searched = {**self.searched(), "whole": True}
        if found.get("keys") is None:
            return {"run": None, "searched": searched, "stopped": "", "words": found["words"]}
        run = follow(session.now.graph, found["start"], found["keys"], found["end"])
        return {"run": run, "searched": searched, "words": found["words"]}
