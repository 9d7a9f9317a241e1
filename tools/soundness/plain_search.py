"""The plain search: real objects, copied for each step; nothing numbered, nothing left out.

It shares no code with the checker but the words that models are written with.  A crash is
tried after every effect.  Where it leads to the state of a crash right after the step, the step
is marked: the checker has no such steps, and every state must be reached without them.
"""

from __future__ import annotations

import enum
import pickle
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from attrs import evolve, frozen

from joinproto.check.events import NOT_ENABLED, Broadcast, Maybe, Message, Persist, Rule, Send
from joinproto.check.view import DOWN

UP, STOPPED, ENDED = "up", "stopped", "ended"


class TooLarge(Exception):
    """More states than were asked for."""


@frozen
class Setting:
    """A closed world as plain values.

    `network`: "set"; "set of each", where a broadcast is a message to each; "set of nobody", where
    it is so, too, and nobody says who sent it; "bag" or "fifo".
    """

    makers: Mapping[str, Callable[[], Any]]
    network: str
    crashes: int = 0
    restarts: bool = True
    losses: int = 0
    duplicates: int = 0

    @property
    def is_set(self) -> bool:
        return self.network.startswith("set")


@frozen
class State:
    """`life`: of each member; `held`: the objects of those that are up; `disks`: what is durable;
    `net`: (sender or None, to or None, content) of all messages, the oldest first.
    """

    life: dict[str, str]
    held: dict[str, Any]
    disks: dict[str, dict[str, Any]]
    net: list[tuple[str | None, str | None, Any]]
    crashes: int
    losses: int
    duplicates: int


def copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301  our own, of a moment ago


# -- when two states are one -------------------------------------------------------------


def told(value: Any, seen: dict[int, int]) -> Hashable:
    """Return what `value` is, types and second names included, dicts in any order."""
    kind = type(value)
    name = kind.__qualname__
    if isinstance(value, (enum.Enum, str, bytes, type(None), float, bool, int)):
        return name, repr(value)
    if vars(kind).get("__hash__", 0) is None:  # it can change, so it matters who else names it
        if id(value) in seen:
            return "again", seen[id(value)]
        seen[id(value)] = len(seen)
    if isinstance(value, dict):
        order = sorted(value, key=lambda key: repr(told(key, {})))
        return name, tuple((told(key, {}), told(value[key], seen)) for key in order)
    if isinstance(value, (set, frozenset)):
        return name, tuple(sorted(repr(told(item, {})) for item in value))
    if isinstance(value, (tuple, list, deque)):
        return name, tuple(told(item, seen) for item in value)
    names = [item.name for item in getattr(kind, "__attrs_attrs__", ())] or sorted(vars(value))
    return name, tuple((key, told(getattr(value, key), seen)) for key in names)


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
    return members, messages, state.crashes, state.losses, state.duplicates


# -- steps -------------------------------------------------------------------------------


@frozen
class Step:
    """`is_again`: a crash in the middle that a crash right after it makes superfluous."""

    after: State
    is_fault: bool = False
    is_again: bool = False


class Plain:
    """A setting, and every step in it."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.names = list(setting.makers)

    def first(self) -> State:
        s = self.setting
        disks = {name: self._durable(make()) for name, make in s.makers.items()}
        life = dict.fromkeys(self.names, STOPPED)
        state = State(life, {}, disks, [], 0, s.losses, s.duplicates)
        for name in self.names:
            state = next(step.after for step in self._start(state, name))
        return evolve(state, crashes=s.crashes)

    def _durable(self, member: Any) -> dict[str, Any]:
        kept = {name: getattr(member, name) for name in getattr(member, "persistent", ())}
        return copied(kept)  # type: ignore[no-any-return]

    def steps(self, state: State) -> Iterator[Step]:
        """Yield every step out of a state."""
        for name in self.names:
            if state.life[name] == STOPPED:
                yield from self._start(copied(state), name)
            if state.life[name] == UP:
                offered: Any = getattr(copied(state.held[name]), "choices", tuple)()
                for item in list(offered or ()):
                    event = item.event if isinstance(item, Maybe) else item
                    yield from self._receive(copied(state), name, event)
                if state.crashes:
                    yield Step(self._crashed(copied(state), name), True)
        yield from self._network(state)

    def _network(self, state: State) -> Iterator[Step]:
        links: set[tuple[str | None, str | None]] = set()
        for at, (sender, to, _) in enumerate(state.net):
            if self.setting.network == "fifo" and (sender, to) in links:
                continue
            links.add((sender, to))
            targets = [to] if to else [name for name in self.names if name != sender]
            for name in targets:
                if state.life[name] == UP:
                    after = copied(state)
                    content = copied(after.net[at][2])
                    if not self.setting.is_set:
                        del after.net[at]
                    yield from self._receive(after, name, Message(sender, content))
            if not self.setting.is_set:
                if state.losses:
                    after = copied(state)
                    del after.net[at]
                    yield Step(evolve(after, losses=state.losses - 1), True)
                if state.duplicates:
                    after = copied(state)
                    after.net.append(after.net[at])
                    yield Step(copied(evolve(after, duplicates=state.duplicates - 1)), True)

    def _start(self, state: State, name: str) -> Iterator[Step]:
        member = self.setting.makers[name]()
        for key, value in copied(state.disks[name]).items():
            setattr(member, key, value)
        state.life[name] = UP
        yield from self._perform(state, name, member, getattr(member, "start", tuple))

    def _receive(self, state: State, name: str, event: Any) -> Iterator[Step]:
        member = state.held[name]
        yield from self._perform(state, name, member, lambda: member.receive(event))

    def _perform(
        self, state: State, name: str, member: Any, call: Callable[[], Any]
    ) -> Iterator[Step]:
        state.held[name] = member
        answer = call()
        if answer is NOT_ENABLED:
            return
        cut: list[tuple[State, Any]] = []
        sends = 0
        for effect in answer or ():
            sends += isinstance(effect, (Send, Broadcast))
            match effect:
                case Send(to, content):
                    self._send(state, name, to, copied(content))
                case Broadcast(content):
                    if self.setting.network == "set":
                        self._send(state, name, None, copied(content))
                    else:
                        for other in self.names:
                            if other != name:
                                self._send(state, name, other, copied(content))
                case Persist():
                    state.disks[name] = self._durable(member)
                case Rule():
                    continue
            if state.crashes:
                so_far = sends, told(state.disks[name], {})
                cut.append((self._crashed(copied(state), name), so_far))
        yield Step(copied(state))
        last = sends, told(state.disks[name], {})
        for after, so_far in cut:
            yield Step(after, True, so_far == last)

    def _send(self, state: State, name: str, to: str | None, content: Any) -> None:
        sender = None if self.setting.network == "set of nobody" else name
        sent = (sender, to, content)
        known = [(s, t, told(c, {})) for s, t, c in state.net]
        if not self.setting.is_set or (sender, to, told(content, {})) not in known:
            state.net.append(sent)

    def _crashed(self, state: State, name: str) -> State:
        del state.held[name]
        state.life[name] = STOPPED if self.setting.restarts else ENDED
        if self.setting.network == "fifo":
            state.net[:] = [sent for sent in state.net if sent[1] != name]
        return evolve(state, crashes=state.crashes - 1)

    def seen(self, state: State) -> dict[str, Any]:
        """Return what claims see: what each member shows, or DOWN."""
        found: dict[str, Any] = {}
        for name in self.names:
            member = copied(state.held.get(name))
            if member is None:
                found[name] = DOWN
            elif hasattr(member, "shows"):
                found[name] = member.shows()
            else:
                found[name] = SimpleNamespace(**vars(member))
        return found


@frozen
class Space:
    """Everything reachable.  `depth`: of each state, in steps; None: only by steps that are
    marked.  `ways`: steps that are no fault.
    """

    states: list[State]
    depth: list[int | None]
    ways: list[tuple[int, int]]

    def levels(self) -> tuple[int, ...]:
        counts = Counter(self.depth)
        return tuple(counts[depth] for depth in range(len(counts)))

    def least(self, wanted: list[bool]) -> int | None:
        """Return the depth of the first state that is wanted."""
        found = zip(self.depth, wanted, strict=True)
        return min((at for at, is_wanted in found if is_wanted and at is not None), default=None)

    def hopeless(self, good: list[bool]) -> list[bool]:
        """Return from which states no step but faults leads to a good one."""
        found = reached(
            [at for at, is_good in enumerate(good) if is_good], [(b, a) for a, b in self.ways]
        )
        return [at not in found for at in range(len(good))]


def reached(first: list[int], ways: list[tuple[int, int]]) -> dict[int, int]:
    """Return how many steps lead to each of what can be reached."""
    after: dict[int, list[int]] = {}
    for source, target in ways:
        after.setdefault(source, []).append(target)
    found = dict.fromkeys(first, 0)
    queue = list(first)
    for at in queue:
        for target in after.get(at, ()):
            if target not in found:
                found[target] = found[at] + 1
                queue.append(target)
    return found


def search(setting: Setting, *, states_max: int) -> Space:
    """Return everything reachable; raises `TooLarge`."""
    plain = Plain(setting)
    number: dict[Hashable, int] = {}
    states: list[State] = []
    steps: list[tuple[int, Step, int]] = []

    def add(state: State) -> int:
        key = key_of(state, setting.network)
        if key not in number:
            if len(number) >= states_max:
                raise TooLarge
            number[key] = len(number)
            states.append(state)
        return number[key]

    add(plain.first())
    for at, state in enumerate(states):
        for step in plain.steps(state):
            to = add(step.after)
            steps.append((at, step, to))
    depth = reached([0], [(at, to) for at, step, to in steps if not step.is_again])
    ways = [(at, to) for at, step, to in steps if not step.is_fault]
    return Space(states, [depth.get(at) for at in range(len(states))], ways)
