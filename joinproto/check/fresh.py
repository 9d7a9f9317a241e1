"""Questions put again in a fresh process, to check that answers depend on a member's state alone.

Members can share hidden state in many places: a closure, a cache, another module, the environment,
a file.  All of these belong to the process or lie outside of it.  So another process loads the
model, with another hash seed and another time of day, and puts the questions near the initial
states, with the members in reverse order.  Then the answers of both processes are compared.

The fresh process runs at the same time as the search.  It stops after `QUESTIONS_MAX` questions to
each member, or when further states bring no new question (`IDLE_STATES`).  Once the search is over,
it stops after `CPU_SECONDS_MAX`.  The two processes exchange only texts.
"""

from __future__ import annotations

import enum
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attrs import define, field

from joinproto.check.events import Message
from joinproto.check.frozen import text_of
from joinproto.check.local import Choice, Lifecycle, LocalState, Offline, Outcome, thaw_event
from joinproto.check.problems import ModelProblem

if TYPE_CHECKING:
    import subprocess

QUESTIONS_MAX = 1_500
CPU_SECONDS_MAX = 0.25
QUESTIONS_MIN = 100
"""At least this many questions are put, however long that takes: importing a model may be slow."""
IDLE_STATES = 500
"""The fresh process stops after this many states without a new question, plus three for each
earlier state.
"""
WAIT_SECONDS = 20.0
"""The search waits for the answers at most this long after its end."""

_PLAIN = (bool, int, float, str, type(None))

NEXT = (
    "use only the attributes and the event: no clock, no chance, no order of a set, and no"
    " object, file or variable that members or steps share; let them share messages alone"
)

_sampling: dict[tuple[str, str], list[tuple[str, Any, Any]]] | None = None


def sample_of(world: str, member: str) -> list[tuple[str, Any, Any]] | None:
    """Return the list for the member's first questions; None if answers are not compared."""
    return None if _sampling is None else _sampling.setdefault((world, member), [])


# -- questions and answers as texts --------------------------------------------------------


def text(value: Any) -> str:
    """Return a text that is the same for equal questions or answers, in every process."""
    match value:
        case LocalState():
            held = text_of(value.values), text_of(value.disk)
            return f"{value.up} {value.ended} {held}"
        case Choice():
            return f"{text(value.event)} {value.fair} {value.fault}"
        case Message():
            return f"message {value.sender!r} {text_of(value.content)}"
        case Offline():
            return f"offline {text_of(value.event)}"
        case Lifecycle():
            return f"lifecycle {value.value}"
    return text_of(value)


def question_text(kind: str, question: Any) -> str:
    asked = " ".join(map(text, question)) if kind == "step" else text(question)
    import hashlib  # here and not above, as it is slow to load

    return hashlib.blake2b(f"{kind} {asked}".encode(), digest_size=16).hexdigest()


def answer_parts(kind: str, answer: Any, *, in_order: bool) -> list[str]:
    """Return an answer as texts.  `in_order`: keep the order of messages to one member (queues).

    Crashes in a step are left out, because messages may be sent in the order of a set.
    """
    if kind == "choices":
        return sorted(map(text, answer))
    if kind != "step":
        return [text_of(answer)]
    if not answer:
        return ["no such step"]
    step: Outcome = answer[0]
    sent = [(repr(to), text_of(content)) for to, content in step.sent]
    sent.sort(key=lambda one: one[0] if in_order else repr(one))
    recorded = [text_of(event) for event in step.recorded]
    held = [*map(text_of, step.after.values), *map(text_of, step.after.disk)]
    return [*held, f"sends {sent}", f"records {recorded}", f"takes the rules {step.rules}"]


# -- this process ----------------------------------------------------------------------------


@define
class Fresh:
    """The fresh process of one world, and the questions that the search puts meanwhile."""

    target: str
    options: Mapping[str, Any]
    world: Any
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _why: str = field(default="", init=False)

    def __enter__(self) -> Fresh:
        import subprocess  # here and not above: worlds that ship do not need it

        global _sampling  # noqa: PLW0603  members are made in many places, for one search at a time
        _sampling = {}
        seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        # Another time zone changes the hour that the clock shows.
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": "FRESH-9:30"}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "joinproto.check.fresh_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
            )
            assert self._process.stdin
            asked = {"target": self.target, "options": self._typed(), "began": time.time()}
            json.dump(asked, self._process.stdin)
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except (OSError, TypeError, ValueError) as error:
            self._why = f"no process could be made: {error}"
        return self

    def _typed(self) -> dict[str, Any]:
        """Return the options for JSON: plain values, and for others their typed text in a list."""
        found: dict[str, Any] = {}
        for name, value in self.options.items():
            typed = value.name if isinstance(value, enum.Enum) else str(value)
            found[name] = value if type(value) in _PLAIN else [typed]
        return found

    def __exit__(self, *about: object) -> None:
        global _sampling  # noqa: PLW0603
        _sampling = None
        if self._process is not None:
            self._process.kill()
            # This closes its pipes and waits for its end.
            with suppress(OSError), self._process:
                pass

    def compare(self) -> str:
        """Return why no answers were compared, or ""; raises `ModelProblem` if two answers differ,
        or if a step used a file, a connection or another process.
        """
        if self._process is None or self._why:
            return self._why
        import subprocess

        try:
            text, _ = self._process.communicate("", timeout=WAIT_SECONDS)
            answers = [json.loads(line) for line in text.splitlines()]
        except (subprocess.TimeoutExpired, OSError, ValueError):
            return "the fresh process did not answer in time"
        ended = answers[-1].get("ended") if answers else None
        if ended != "well":
            return ended or "the fresh process ended early"
        for item in answers:
            if "touches" in item:
                raise ModelProblem(
                    f"member {item['member']}: a step or choices() {item['touches']}: only the"
                    " members' attributes are part of a state",
                    next=NEXT,
                )
        found = {
            (one["member"], one["question"]): one["answer"] for one in answers if "answer" in one
        }
        self._compare(found)
        return ""

    def _compare(self, found: dict[tuple[str, str], list[str]]) -> None:
        assert _sampling is not None
        in_order = type(self.world.network).__name__ == "FifoLinks"
        for (world, member), sample in _sampling.items():
            for kind, question, answer in sample if world == self.world.name else ():
                other = found.get((member, question_text(kind, question)))
                mine = answer_parts(kind, answer, in_order=in_order)
                if other is not None and other != mine:
                    self._refuse(member, kind, question, mine, other)

    def _refuse(
        self, member: str, kind: str, question: Any, mine: list[str], other: list[str]
    ) -> None:
        about = "choices()" if kind == "choices" else "its observation"
        if kind == "step":
            event = question[1]
            given = event if isinstance(event, Lifecycle) else thaw_event(event)
            about = f"its step {given!s}"
        one, two = next(
            ((a, b) for a, b in zip(mine, other, strict=False) if a != b), (mine[-1], other[-1])
        )
        raise ModelProblem(
            f"member {member}: {about} has another answer in a fresh process, in one and the same"
            f" state: {_short(one)} here, {_short(two)} there",
            next=NEXT,
            member=member,
        )


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
