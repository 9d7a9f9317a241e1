"""The plain search: real objects, copied for each step; nothing numbered, nothing left out.

It is written from the text of docs/semantics.md and shares no code with the checker but the words
that models are written with.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from attrs import Factory, evolve, frozen

from joinproto.check.events import (
    NOT_ENABLED,
    Broadcast,
    Maybe,
    Message,
    Persist,
    Record,
    Rule,
    Send,
)
from joinproto.check.view import DOWN

UP, STOPPED, ENDED = "up", "stopped", "ended"


class TooLarge(Exception):
    """More states than were asked for."""


@frozen
class Setting:
    """A closed world as plain values.

    `network`: "set"; "set of each", where a broadcast is a message to each; "set of nobody", where
    it is so, too, and nobody says who sent it; "bag" or "fifo".  `fairness`: whether strong, words,
    and of whom, None: each step by itself.
    """

    makers: Mapping[str, Callable[[], Any]]
    network: str
    budgets: Mapping[str, int] = Factory(dict)
    restarts: bool = True
    begins_up: bool = True
    beginnings: Sequence[Mapping[str, Mapping[str, Any]]] = ({},)
    monitor: Callable[[], Any] | None = None
    fairness: Sequence[tuple[bool, tuple[str, ...], str | None]] = ((False, (), None),)

    @property
    def is_set(self) -> bool:
        return self.network.startswith("set")


@frozen
class State:
    """`life`: of each member; `held`: the objects of those that are up; `disks`: what is durable;
    `net`: (sender or None, to or None, content) of all messages, the oldest first; `left`: of each
    budget; `split`: one side.
    """

    life: dict[str, str]
    held: dict[str, Any]
    disks: dict[str, dict[str, Any]]
    net: list[tuple[str | None, str | None, Any]]
    left: dict[str, int]
    monitor: Any = None
    split: tuple[str, ...] | None = None


# -- when two states are one -------------------------------------------------------------


T = TypeVar("T")
ATOMS = (enum.Enum, str, bytes, type(None), float, int, decimal.Decimal, dt.datetime, frozenset)


def told(value: Any, seen: dict[int, int]) -> Hashable:
    """Return what `value` is, types and second names included, dicts in any order."""
    kind = type(value)
    name = kind.__qualname__
    if isinstance(value, dt.datetime):
        return name, repr(value), value.fold
    if isinstance(value, ATOMS) and not isinstance(value, frozenset):
        return name, repr(value)
    held = _held(value)
    is_open = not _is_frozen(kind) and (held or hasattr(value, "__dict__"))
    if vars(kind).get("__hash__", 0) is None or is_open:
        # It can change, so it matters who else names it.
        if id(value) in seen:
            return "again", seen[id(value)]
        seen[id(value)] = len(seen)
    if isinstance(value, dict):
        order = sorted(value, key=lambda key: repr(told(key, {})))
        return name, tuple((told(key, {}), told(value[key], seen)) for key in order)
    if isinstance(value, (set, frozenset)):
        return name, tuple(sorted(repr(told(item, {})) for item in value))
    if isinstance(value, (tuple, list, deque)):
        most = getattr(value, "maxlen", None)
        return name, most, tuple(told(item, seen) for item in value)
    return name, tuple((key, told(item, seen)) for key, item in held)


def _is_frozen(kind: Any) -> bool:
    return kind.__setattr__ is not object.__setattr__


def _held(value: Any) -> list[tuple[str, Any]]:
    """Return the attributes and slots of `value`, those of base classes included."""
    slots = [
        f"_{base.__name__}{key}" if key.startswith("__") else key
        for base in type(value).__mro__
        for key in vars(base).get("__slots__", ())
        if key != "__weakref__"
    ]
    names = sorted({*slots, *getattr(value, "__dict__", ())})
    return [(key, getattr(value, key)) for key in names if hasattr(value, key)]


def copied(value: T) -> T:
    """Copy all that `value` holds, also what it would leave out of a copy (`__getstate__`)."""
    return cast("T", _copied(value, {}))


def _copied(value: Any, made: dict[int, Any]) -> Any:
    if isinstance(value, ATOMS):
        return value
    if id(value) in made:
        return made[id(value)]
    kind: Any = type(value)
    if isinstance(value, tuple):
        return tuple.__new__(kind, [_copied(item, made) for item in value])
    is_queue = isinstance(value, deque)
    new = made[id(value)] = kind(maxlen=value.maxlen) if is_queue else kind.__new__(kind)
    for key, item in _held(value):
        object.__setattr__(new, key, _copied(item, made))
    if isinstance(value, dict):
        new.update({_copied(key, made): _copied(item, made) for key, item in value.items()})
    elif isinstance(value, (set, list, deque)):
        add = new.add if isinstance(value, set) else new.append
        for item in value:
            add(_copied(item, made))
    return new


def key_of(state: State, network: str) -> Hashable:
    members = tuple(
        (
            state.life[name],
            told(state.held.get(name), {}),
            told(tuple(state.disks[name].values()), {}),
        )
        for name in state.life
    )
    messages: Any = [(sender, to, told(content, {})) for sender, to, content in state.net]
    match network:
        case "bag":
            messages = tuple(sorted(messages, key=repr))
        case "fifo":
            # What lies in different links has no order.
            messages = tuple(sorted(messages, key=lambda sent: sent[:2]))
        case _:
            messages = frozenset(messages)
    return members, messages, tuple(state.left.items()), told(state.monitor, {}), state.split


# -- steps -------------------------------------------------------------------------------


@frozen
class Step:
    """`name`: what fairness calls it, None: a fault or a whim, which is never forced.

    `word`, `member`: of a step that a member takes, and who does.
    """

    after: State
    name: Hashable = None
    is_fault: bool = False
    word: str = ""
    member: str = ""


class Plain:
    """A setting, and every step in it."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.names = list(setting.makers)

    def first(self) -> Iterator[State]:
        s = self.setting
        budgets = dict.fromkeys(("crashes", "losses", "duplicates", "partitions", "wipes"), 0)
        for beginning in s.beginnings:
            made = {name: make() for name, make in s.makers.items()}
            for name, values in beginning.items():
                vars(made[name]).update(copied(dict(values)))
            disks = {name: self._durable(member) for name, member in made.items()}
            life = dict.fromkeys(self.names, STOPPED)
            state = State(life, {}, disks, [], budgets, s.monitor and s.monitor())
            for name in self.names if s.begins_up else ():
                steps = self._perform(state, name, made[name], getattr(made[name], "start", tuple))
                state = next(steps).after
            yield evolve(state, left={**budgets, **s.budgets})

    def _durable(self, member: Any) -> dict[str, Any]:
        kept = {name: getattr(member, name) for name in getattr(member, "persistent", ())}
        return copied(kept)

    def steps(self, state: State) -> Iterator[Step]:
        """Yield every step out of a state."""
        for name in self.names:
            if state.life[name] == STOPPED:
                yield from self._start(copied(state), name)
            if state.life[name] == UP:
                offered: Any = getattr(copied(state.held[name]), "choices", tuple)()
                listed = list(offered or ())
                fair = [told(item, {}) for item in listed if not isinstance(item, Maybe)]
                for item in listed:
                    event = item.event if isinstance(item, Maybe) else item
                    key = told(event, {})
                    duty = ("choice", name, key) if key in fair else None
                    word = event if isinstance(event, str) else ""
                    yield from self._receive(copied(state), name, event, duty, word)
                if state.left["crashes"]:
                    after = self._crashed(copied(state), name)
                    yield Step(after, is_fault=True, member=name)
            elif state.left["wipes"]:
                empty = self._durable(self.setting.makers[name]())
                if told(empty, {}) != told(state.disks[name], {}):
                    after = self._spent(state, "wipes")
                    after.disks[name] = empty
                    yield Step(after, is_fault=True, member=name)
        yield from self._network(state)
        if state.split is not None:
            yield Step(evolve(copied(state), split=None), "heal", word="heal")
        elif state.left["partitions"]:
            for size in range(1, len(self.names)):
                for side in combinations(self.names[:-1], size):
                    yield Step(evolve(self._spent(state, "partitions"), split=side), is_fault=True)

    def _spent(self, state: State, budget: str) -> State:
        after = copied(state)
        after.left[budget] -= 1
        return after

    def _network(self, state: State) -> Iterator[Step]:
        links: set[tuple[str | None, str | None]] = set()
        for at, (sender, to, content) in enumerate(state.net):
            if self.setting.network == "fifo" and (sender, to) in links:
                continue
            links.add((sender, to))
            for name in [to] if to else [name for name in self.names if name != sender]:
                side = state.split
                if state.life[name] == UP and (not side or (sender in side) == (name in side)):
                    after = copied(state)
                    event = Message(sender, copied(content))
                    if not self.setting.is_set:
                        del after.net[at]
                    duty = ("receive", name, sender, to, told(content, {}))
                    yield from self._receive(after, name, event, duty, "receive")
            if state.left["losses"]:
                after = self._spent(state, "losses")
                del after.net[at]
                yield Step(after, is_fault=True)
            if state.left["duplicates"]:
                after = self._spent(state, "duplicates")
                after.net.append(copied(after.net[at]))
                yield Step(after, is_fault=True)

    def _start(self, state: State, name: str) -> Iterator[Step]:
        member = self.setting.makers[name]()
        for key, value in copied(state.disks[name]).items():
            setattr(member, key, value)
        start = getattr(member, "start", tuple)
        yield from self._perform(state, name, member, start, ("start", name), "start")

    def _receive(
        self, state: State, name: str, event: Any, duty: Hashable, word: str
    ) -> Iterator[Step]:
        member = state.held[name]
        yield from self._perform(state, name, member, lambda: member.receive(event), duty, word)

    def _perform(
        self,
        state: State,
        name: str,
        member: Any,
        call: Callable[[], Any],
        duty: Hashable = None,
        word: str = "",
    ) -> Iterator[Step]:
        state.held[name] = member
        state.life[name] = UP
        answer = call()
        if answer is NOT_ENABLED:
            return
        cut: list[State] = []
        for effect in answer or ():
            match effect:
                case Send(to, content):
                    self._send(state, name, to, copied(content))
                case Broadcast(content) if self.setting.network == "set":
                    self._send(state, name, None, copied(content))
                case Broadcast(content):
                    for other in self.names:
                        if other != name:
                            self._send(state, name, other, copied(content))
                case Record(event) if state.monitor is not None:
                    heard = copied(state.monitor)
                    if heard.receive(copied(event)) is not NOT_ENABLED:
                        state = evolve(state, monitor=heard)
                case Persist():
                    state.disks[name] = self._durable(member)
                case Rule():
                    continue
            if state.left["crashes"]:
                cut.append(self._crashed(copied(state), name))
        yield Step(copied(state), duty, word=word, member=name)
        # Between two effects: after the last one it is a crash after the step.
        yield from (Step(after, is_fault=True, member=name) for after in cut[:-1])

    def _send(self, state: State, name: str, to: str | None, content: Any) -> None:
        sender = None if self.setting.network == "set of nobody" else name
        known = [(s, t, told(c, {})) for s, t, c in state.net]
        if not self.setting.is_set or (sender, to, told(content, {})) not in known:
            state.net.append((sender, to, content))

    def _crashed(self, state: State, name: str) -> State:
        del state.held[name]
        state.life[name] = STOPPED if self.setting.restarts else ENDED
        state.left["crashes"] -= 1
        if self.setting.network == "fifo":
            state.net[:] = [sent for sent in state.net if sent[1] != name]
        return state

    def seen(self, state: State) -> dict[str, Any]:
        """Return what claims see: what each member shows, or DOWN; what the monitor shows."""
        found: dict[str, Any] = {}
        for name in self.names:
            member = copied(state.held.get(name))
            if member is None:
                found[name] = DOWN
            elif hasattr(member, "shows"):
                found[name] = member.shows()
            else:
                found[name] = SimpleNamespace(**vars(member))
        found["monitor"] = state.monitor and copied(state.monitor).shows()
        return found
