"""Local states of members, outcomes of their steps, and their answers, as values.

A local state says of one member whether it runs, its attributes, and the contents of its disk.
The engine numbers these values, and the reference search uses them as they are.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from typing import Any, Literal

from attrs import Factory, define, field, frozen

from joinproto.check.events import Message
from joinproto.check.freeze import freeze, rename, thaw


@frozen(cache_hash=True)
class LocalState:
    """The state of one member, as a value.

    `values`: the member's attributes in order, empty when it is stopped; `disk`: the durable
    attributes; both frozen.  `ended`: the member is stopped for good, in a world without restarts.
    """

    up: bool
    values: tuple[Hashable, ...]
    disk: tuple[Hashable, ...]
    ended: bool = False


Cost = Literal["", "crash", "wipe"]


@frozen
class Outcome:
    """The outcome of one step of a member.

    `sent`: (addressee or None for all others, content) in order.  `cost`: the fault whose budget
    the step spends.  `effects`: how many effects were performed before the crash; None without a
    crash.
    """

    after: LocalState
    sent: tuple[tuple[str | None, Hashable], ...] = ()
    recorded: tuple[Hashable, ...] = ()
    cost: Cost = ""
    effects: int | None = None
    rules: tuple[str, ...] = ()


@frozen
class Choice:
    """A step that a member may take by itself; `fair`: whether fairness may force it."""

    event: Hashable
    fair: bool = True
    fault: bool = False


class Lifecycle(enum.Enum):
    """An event of the world itself.  It holds no member's name, so renaming leaves it unchanged."""

    START = "start"
    CRASH = "crash"
    WIPE = "wipe the disk"

    def __str__(self) -> str:
        return self.value


START, CRASH, WIPE = Lifecycle


@frozen
class Offline:
    """An event for a stopped member's disk, such as a run of an operator's tool."""

    event: Any


@frozen
class DiskBecomes:
    """The event in `Offline(...)` for a fault of a stopped member's disk; no code is called.

    `blank`: all durable attributes except `keeps` become as they were when the member was
    made.  After that, the attributes in `values`, pairs (name, value), get these values.
    """

    values: tuple[tuple[str, Any], ...] = ()
    keeps: tuple[str, ...] = ()
    blank: bool = False

    def __str__(self) -> str:
        return "a fault of the disk"


# -- events: only the content of a Message or an Offline is frozen -------------------------


def freeze_event(event: Any) -> Hashable:
    """Return an event as a hashable value."""
    if type(event) is Message:
        return Message(event.sender, freeze(event.content))
    return Offline(freeze(event.event)) if type(event) is Offline else freeze(event)


def thaw_event(event: Hashable, *, backwards: bool = False) -> Any:
    """Return an event as a member gets it."""
    if type(event) is Message:
        content = thaw(event.content, backwards=backwards)
        return event if content is event.content else Message(event.sender, content)
    if type(event) is Offline:
        return Offline(thaw(event.event, backwards=backwards))
    return thaw(event, backwards=backwards)


def bare_event(event: Hashable) -> Any:
    """Return an event as a member gets it, without the `Offline` around it if there is one."""
    given = thaw_event(event)
    return given.event if isinstance(given, Offline) else given


def rename_event(event: Hashable, names: dict[str, str]) -> Hashable:
    """Return a frozen event with members' names exchanged."""
    if type(event) is Message:
        return Message(names.get(event.sender, event.sender), rename(event.content, names))
    return Offline(rename(event.event, names)) if type(event) is Offline else rename(event, names)


_UNKNOWN = object()


@define
class KnownAnswers:
    """The answers of one member: kind of question to question to answer.

    `new`: how many answers were added in this run.
    """

    answers: dict[str, dict[Hashable, Any]] = Factory(dict)
    new: int = field(default=0, init=False)

    def once(self, kind: str, question: Hashable, ask: Callable[[], Any]) -> Any:
        """Return the answer; `ask` is called if the answer is not known."""
        known = self.answers.setdefault(kind, {})
        found = known.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = known[question] = ask()
            self.new += 1
        return found
