"""The plain search: it copies the members' objects for each step, without numbers or reductions.

It is written from the text of docs/semantics.md.  It shares no code with the checker except the
names with which models are written.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from attrs import Factory, evolve, frozen

from joinproto.check import DOWN, NOT_ENABLED, Broadcast, Maybe, Message, Persist, Record, Send


class TooLarge(Exception):
    """The model has more states than the search may visit."""


@frozen
class Setting:
    """A closed world as plain values.

    `network`: "set"; "set of each", where a broadcast is a message to each receiver; "set of
    nobody", which is the same without names of senders; "bag" or "fifo".  `fairness`: whether it is
    strong, the words of its steps, and their member; None means each step by itself.
    """

    makers: Mapping[str, Callable[[], Any]]
    network: str
    budgets: Mapping[str, int] = Factory(dict)
    restarts: bool = True
    begins_up: bool = True
    beginnings: Sequence[Mapping[str, Mapping[str, Any]]] = ({},)
    monitor: Callable[[], Any] | None = None
    fairness: Sequence[tuple[bool, tuple[str, ...], str | None]] = ((False, (), None),)


@frozen
class State:
    """A state.

    `held`: the objects of members that are up.  `disks`: the durable attributes of each member.
    `net`: (sender or None, to or None, content) of all messages, the oldest first.  `left`: the
    rest of each budget.  `ended`: members that never restart.  `split`: one side of a partition.
    """

    held: dict[str, Any]
    disks: dict[str, dict[str, Any]]
    net: list[tuple[str | None, str | None, Any]]
    monitor: Any
    left: Counter[str] = Factory(Counter)
    ended: frozenset[str] = frozenset()
    split: tuple[str, ...] | None = None


# -- when two states are one -------------------------------------------------------------


ATOMS = (enum.Enum, str, bytes, type(None), float, int, decimal.Decimal, dt.datetime, frozenset)


def comparable(value: Any, seen: dict[int, int] | None = None) -> Hashable:
    """Return a form of `value` that compares types and aliases, but not the order of dicts."""
    kind: Any = type(value)
    if isinstance(value, ATOMS) and not isinstance(value, frozenset):
        return kind.__qualname__, repr(value)
    seen = {} if seen is None else seen
    held = _held(value)
    has_open = kind.__setattr__ is object.__setattr__ and (held or hasattr(value, "__dict__"))
    if kind.__hash__ is None or has_open:
        # The object can change, so it matters whether another name refers to it.
        if id(value) in seen:
            return "again", seen[id(value)]
        seen[id(value)] = len(seen)
    if isinstance(value, dict):
        held = [
            (comparable(key), value[key])
            for key in sorted(value, key=lambda key: repr(comparable(key)))
        ]
    elif isinstance(value, (set, frozenset)):
        held = [(item, None) for item in sorted(map(comparable, value), key=repr)]
    elif isinstance(value, (tuple, list, deque)):
        held = [(None, item) for item in value]
    most = getattr(value, "maxlen", None)
    return kind.__qualname__, most, tuple((key, comparable(item, seen)) for key, item in held)


def _held(value: Any) -> list[tuple[Any, Any]]:
    """Return the attributes and slots of `value`, including those of base classes."""
    slots = [
        f"_{base.__name__}{key}" if key.startswith("__") else key
        for base in type(value).__mro__
        for key in vars(base).get("__slots__", ())
        if key != "__weakref__"
    ]
    names = sorted({*slots, *getattr(value, "__dict__", ())})
    return [(key, getattr(value, key)) for key in names if hasattr(value, key)]


def copied(value: Any, made: dict[int, Any] | None = None) -> Any:
    """Copy all that `value` holds, even what its `__getstate__` would leave out."""
    if isinstance(value, ATOMS):
        return value
    made = {} if made is None else made
    if id(value) in made:
        return made[id(value)]
    kind: Any = type(value)
    if isinstance(value, tuple):
        return tuple.__new__(kind, [copied(item, made) for item in value])
    is_queue = isinstance(value, deque)
    new = made[id(value)] = kind(maxlen=value.maxlen) if is_queue else kind.__new__(kind)
    for key, item in _held(value):
        object.__setattr__(new, key, copied(item, made))
    if isinstance(value, dict):
        new.update({copied(key, made): copied(item, made) for key, item in value.items()})
    elif isinstance(value, set):
        new.update([copied(item, made) for item in value])
    elif isinstance(value, (list, deque)):
        new.extend([copied(item, made) for item in value])
    return new


def key_of(state: State, network: str) -> Hashable:
    messages = [(sender, to, comparable(content)) for sender, to, content in state.net]
    if network in ("bag", "fifo"):
        # Messages of different links have no order, and in a bag no messages have.
        messages.sort(key=repr if network == "bag" else lambda sent: repr(sent[:2]))
    under_way = frozenset(messages) if network.startswith("set") else tuple(messages)
    members = [
        (comparable(state.held.get(name)), comparable(state.disks[name])) for name in state.disks
    ]
    return (
        comparable((state.ended, state.left, state.split)),
        comparable(state.monitor),
        *members,
        under_way,
    )


# -- steps -------------------------------------------------------------------------------


@frozen
class Step:
    """A step.  `name`: for fairness; None for a fault or a `Maybe`, which are never forced.

    `word`, `member`: the kind of a member's step, and the member.
    """

    after: State
    name: Hashable = None
    is_fault: bool = False
    word: str = ""
    member: str = ""


class PlainSteps:
    """The initial states and the steps of a setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.names = list(setting.makers)
        self.is_set = setting.network.startswith("set")

    def first(self) -> Iterator[State]:
        for beginning in self.setting.beginnings:
            made = {name: make() for name, make in self.setting.makers.items()}
            for name, values in beginning.items():
                vars(made[name]).update(copied(dict(values)))
            disks = {name: self._durable(member) for name, member in made.items()}
            state = State({}, disks, [], self.setting.monitor and self.setting.monitor())
            for name in self.names if self.setting.begins_up else ():
                state.held[name] = made[name]
                state = next(self._perform(state, name, None, "start")).after
            yield evolve(state, left=+Counter(self.setting.budgets))

    def _durable(self, member: Any) -> Any:
        return copied({name: getattr(member, name) for name in getattr(member, "persistent", ())})

    def steps(self, state: State) -> Iterator[Step]:
        for name in self.names:
            if name not in (*state.held, *state.ended):
                after = copied(state)
                after.held[name] = self.setting.makers[name]()
                for key, value in copied(state.disks[name]).items():
                    setattr(after.held[name], key, value)
                yield from self._perform(after, name, ("start", name), "start")
            if name in state.held:
                yield from self._choices(state, name)
                if state.left["crashes"]:
                    yield self._crash(state, name)
            elif state.left["wipes"]:
                empty = self._durable(self.setting.makers[name]())
                if comparable(empty) != comparable(state.disks[name]):
                    yield self._fault(state, "wipes", name, disks={**state.disks, name: empty})
        for at in range(len(state.net)):
            yield from self._message(state, at)
        if state.split is not None:
            yield Step(evolve(state, split=None), "heal", word="heal")
        elif state.left["partitions"]:
            for size in range(1, len(self.names)):
                for side in combinations(self.names[:-1], size):
                    yield self._fault(state, "partitions", split=side)

    def _fault(self, state: State, budget: str, member: str = "", **changes: Any) -> Step:
        left = state.left - Counter([budget])
        return Step(evolve(state, left=left, **changes), is_fault=True, member=member)

    def _crash(self, state: State, name: str) -> Step:
        ended = state.ended if self.setting.restarts else state.ended | {name}
        held = {other: member for other, member in state.held.items() if other != name}
        is_lost = name if self.setting.network == "fifo" else ""
        net = [sent for sent in state.net if sent[1] != is_lost]
        return self._fault(state, "crashes", name, ended=ended, held=held, net=net)

    def _choices(self, state: State, name: str) -> Iterator[Step]:
        listed = list(getattr(copied(state.held[name]), "choices", tuple)() or ())
        fair = [comparable(item) for item in listed if not isinstance(item, Maybe)]
        for item in listed:
            event = item.event if isinstance(item, Maybe) else item
            duty = ("choice", name, comparable(event)) if comparable(event) in fair else None
            word = event if isinstance(event, str) else ""
            yield from self._perform(copied(state), name, duty, word, event)

    def _message(self, state: State, at: int) -> Iterator[Step]:
        (sender, to, content), side = state.net[at], state.split or ()
        if self.setting.network == "fifo" and (sender, to) in [sent[:2] for sent in state.net[:at]]:
            return
        rest = [*state.net[:at], *state.net[at + 1 :]]
        for name in self._receivers(sender, to):
            if name in state.held and (sender in side) == (name in side):
                # The event has its own copy of the content.
                event = Message(sender, copied(content))
                after = copied(state if self.is_set else evolve(state, net=rest))
                duty = ("receive", name, sender, to, comparable(content))
                yield from self._perform(after, name, duty, "receive", event)
        if state.left["losses"]:
            yield self._fault(state, "losses", net=rest)
        if state.left["duplicates"]:
            yield self._fault(state, "duplicates", net=[*state.net, state.net[at]])

    def _receivers(self, sender: str | None, to: str | None) -> list[str]:
        return [to] if to else [name for name in self.names if name != sender]

    def _perform(
        self, state: State, name: str, duty: Hashable, word: str, *event: Any
    ) -> Iterator[Step]:
        """Yield the step in which a member receives an event, or starts without one."""
        member = state.held[name]
        answer = (member.receive if event else getattr(member, "start", tuple))(*event)
        if answer is NOT_ENABLED:
            return
        cut: list[Step] = []
        for effect in answer or ():
            match effect:
                case Send(to, content):
                    self._send(state, name, to, content)
                case Broadcast(content):
                    self._send(state, name, None, content)
                case Record(event) if state.monitor is not None:
                    heard = copied(state.monitor)
                    if heard.receive(copied(event)) is not NOT_ENABLED:
                        state = evolve(state, monitor=heard)
                case Persist():
                    state.disks[name] = self._durable(member)
            if state.left["crashes"]:
                cut.append(self._crash(copied(state), name))
        yield Step(copied(state), duty, word=word, member=name)
        # Crashes between two effects; a crash after the last effect is one after the step.
        yield from cut[:-1]

    def _send(self, state: State, name: str, to: str | None, content: Any) -> None:
        sender = None if self.setting.network == "set of nobody" else name
        known = [(s, t, comparable(c)) for s, t, c in state.net] if self.is_set else []
        for other in [to] if self.setting.network == "set" else self._receivers(name, to):
            if (sender, other, comparable(content)) not in known:
                state.net.append((sender, other, copied(content)))

    def seen(self, state: State) -> dict[str, Any]:
        """Return what claims see: each member's observation, or DOWN, and the monitor's."""
        found: dict[str, Any] = {}
        for name in self.names:
            member = copied(state.held.get(name))
            shows = getattr(member, "shows", lambda held=member: SimpleNamespace(**vars(held)))
            found[name] = DOWN if member is None else shows()
        found["monitor"] = state.monitor and copied(state.monitor).shows()
        return found
