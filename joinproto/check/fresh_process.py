"""The fresh process of `joinproto/check/fresh.py`: loads a model, and puts questions to it.

It reads one line of JSON and writes lines of JSON: the answers, each with a digest of its question.
An audit hook of Python detects steps that write to a file or use the network.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

# Done before a module of the model can import these functions under its own names.
_HOURS = 5 * 3600 + 1800


def _later(real: Callable[[], Any], more: int) -> Callable[[], Any]:
    return lambda: real() + more


for _name in ("time", "monotonic", "perf_counter"):
    setattr(time, _name, _later(getattr(time, _name), _HOURS))
    setattr(time, f"{_name}_ns", _later(getattr(time, f"{_name}_ns"), _HOURS * 10**9))

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
_OUTSIDE = {
    "os.rename": "renames a file",
    "os.remove": "removes a file",
    "os.mkdir": "makes a directory",
    "os.symlink": "makes a link",
    "os.truncate": "truncates a file",
    "sqlite3.connect": "opens a database",
    "socket.connect": "opens a connection",
    "socket.bind": "opens a port",
    "subprocess.Popen": "starts a process",
    "os.system": "starts a process",
    "os.fork": "starts a process",
    "shelve.open": "opens a database",
}


class OutsideChanges:
    """The first change outside this process, or read of a new file, by members' code, in words.

    `member`: the member whose code is asked, or was asked last.
    """

    def __init__(self, began: float) -> None:
        self.began = began
        self.is_on = False
        self.what = ""
        self.member = ""

    def hook(self, event: str, about: tuple[Any, ...]) -> None:
        if not self.is_on or self.what:
            return
        if event == "open":
            path, _, flags = about
            is_code = isinstance(path, int) or "__pycache__" in str(path) or path == os.devnull
            if isinstance(flags, int) and flags & _WRITES and not is_code:
                self.what = f"writes to {path}"
            elif not is_code and self._is_new(path):
                self.what = f"reads {path}, which was written meanwhile"
        elif event in _OUTSIDE:
            self.what = _OUTSIDE[event]

    def _is_new(self, path: Any) -> bool:
        try:
            return Path(path).stat().st_mtime >= self.began
        except (OSError, TypeError, ValueError):
            return False


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    # The model's output is dropped.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    asked = json.loads(sys.stdin.readline())
    try:
        _ask(asked, out)
    except Exception as error:  # noqa: BLE001  the search reports it
        print(json.dumps({"ended": f"the fresh process cannot run the model: {error}"}), file=out)
    else:
        print(json.dumps({"ended": "well"}), file=out)
    out.flush()
    os._exit(0)


def _ask(asked: dict[str, Any], out: Any) -> None:
    from attrs import evolve

    from joinproto.check import fresh
    from joinproto.check.catalogue import load
    from joinproto.check.local import KnownAnswers
    from joinproto.check.options import TypedText
    from joinproto.check.reference import Reference

    options = {
        name: TypedText(value[0]) if isinstance(value, list) else value
        for name, value in asked["options"].items()
    }
    world = load(asked["target"], options).world
    touched = OutsideChanges(asked["began"])
    sys.addaudithook(touched.hook)
    members = dict(reversed(list(world.members.items())))
    reference = Reference(evolve(world, members=members))
    codes = [*reference.codes.members]

    class Asked(KnownAnswers):
        """The known answers of the member `name`; a question sets `touched.member` to it."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def once(self, kind: str, question: Hashable, ask: Callable[[], Any]) -> Any:
            if not touched.what:
                touched.member = self.name
            return super().once(kind, question, ask)

    for code in codes:
        code.known = Asked(code.name)
    reference.failing = []

    most, newest = 0, 0

    def is_over(states: int) -> bool:
        """Return whether to stop after this many states."""
        nonlocal most, newest
        answers = [sum(map(len, code.known.answers.values())) for code in codes if code.known]
        if sum(answers) > most:
            most, newest = sum(answers), states
        is_enough = min(answers) >= fresh.QUESTIONS_MAX or most >= 4 * fresh.QUESTIONS_MAX
        if is_enough or states > fresh.IDLE_STATES + 4 * newest:
            return True
        ended = select.select([sys.stdin], [], [], 0)[0]
        is_late = time.process_time() >= fresh.CPU_SECONDS_MAX
        return bool(ended) and most >= fresh.QUESTIONS_MIN and is_late

    touched.is_on = True
    queue = list(reference.initials())
    seen = set(queue)
    for states, state in enumerate(queue, start=1):
        for _, after in reference.successors(state):
            if after not in seen:
                seen.add(after)
                queue.append(after)
        if is_over(states) or touched.what:
            break
    touched.is_on = False
    in_order = type(world.network).__name__ == "FifoLinks"
    if touched.what:
        line: dict[str, Any] = {"member": touched.member, "touches": touched.what}
        print(json.dumps(line), file=out)
        return
    for code in codes:
        assert code.known is not None
        for kind, answers in code.known.answers.items():
            for question, answer in answers.items():
                line = {
                    "member": code.name,
                    "question": fresh.question_text(kind, question),
                    "answer": fresh.answer_parts(kind, answer, in_order=in_order),
                }
                print(json.dumps(line), file=out)


if __name__ == "__main__":
    main()
