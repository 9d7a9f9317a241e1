"""Weak and strong fairness of a world: the steps that a run may not postpone for ever.

Weak: a step that stays possible for ever is taken.  Strong: a step that is possible again and again
is taken again and again.  A *duty* is a set of steps of which fairness requires one; faults,
`Maybe` choices and joint steps with `fair=False` belong to no duty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import field, frozen


def _as_tuple(of: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (of,) if isinstance(of, str) else tuple(of)


@frozen
class Fair:
    """Some steps, and whether runs are weakly or strongly fair to them.

    `actions`: words of choices and joint steps, or `receive`, `start`, `heal`; empty: all.  The
    first word of a choice that is a tuple names this choice, too.  `of`: members; empty: every
    member.  `which(member, event)`: selects some of these steps.
    `each`: every step is a duty of its own (a message at a member, a choice); otherwise each member
    has one duty, and any of its steps fulfils it.
    """

    strong: bool
    actions: tuple[str, ...] = ()
    of: tuple[str, ...] = field(default=(), converter=_as_tuple)
    which: Callable[[str, Any], Any] | None = None
    each: bool = False

    def __str__(self) -> str:
        how = "strong" if self.strong else "weak"
        words = ", ".join(f"“{action}”" for action in self.actions)
        if not words:
            words = "each delivery, choice, restart, heal and joint step"
            words = f"{words} by itself" if self.each else "some step"
        elif self.each:
            words = f"each {words} by itself"
        elif len(self.actions) > 1:
            words = f"one of {words}"
        if not (self.each and not self.of):
            words += f" of {', '.join(self.of) or 'each member'}"
        return f"{how}: {words}{'' if self.which is None else ', where which(...) says so'}"

    def takes(self, word: str, member: str, event: Any) -> bool:
        """Return whether the step `word`, in which `member` receives `event`, is included."""
        if self.actions and not {word, _first_word(event)} & {*self.actions}:
            return False
        if self.of and member not in self.of:
            return False
        return self.which is None or bool(self.which(member, event))


def _first_word(event: Any) -> Any:
    """Return the first word of a choice such as ("return all", 3); None of another event."""
    event = getattr(event, "event", event)
    return event[0] if isinstance(event, tuple) and event and isinstance(event[0], str) else None


def weak(
    *actions: str,
    of: str | tuple[str, ...] = (),
    which: Callable[[str, Any], Any] | None = None,
    each: bool = False,
) -> Fair:
    """Return the fairness by which a step that stays possible for ever is taken: see `Fair`."""
    return Fair(False, actions, of, which, each)


def strong(
    *actions: str,
    of: str | tuple[str, ...] = (),
    which: Callable[[str, Any], Any] | None = None,
    each: bool = False,
) -> Fair:
    """Return the fairness by which a step that is possible again and again is taken: see `Fair`."""
    return Fair(True, actions, of, which, each)


EACH_STEP = weak(each=True)
"""The fairness of a world that declares none: each step by itself, weakly."""


def unsound_fairness(fairness: Any, members: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield pairs of text: a value of the wrong kind, and the expected one."""
    wanted = "a list of EACH_STEP, weak(...) and strong(...)"
    if not isinstance(fairness, (list, tuple)):
        yield f"fairness is {fairness!r}", wanted
        return
    for item in fairness:
        if not isinstance(item, Fair):
            yield f"fairness holds {item!r}", wanted
            continue
        if not all(isinstance(action, str) for action in item.actions):
            yield f"fairness names the action {item.actions!r}", "texts; which=... for values"
        strangers = [name for name in item.of if name not in members]
        if strangers:
            yield (
                f"fairness is for {strangers[0]!r}, which is not a member",
                f"one of {', '.join(members)}",
            )
        which: Any = item.which
        if which is not None and not callable(which):
            yield f"which is {which!r}", "a function of a member's name and an event"
