"""A run as a story: each step with its changes, and the members that are down or cut off.

A trace holds whole states, and a reader looks for the changes.  Only this module finds them, for
the chart, the page and the file formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field, frozen

from joinproto.check.report import MessageText, Step, Trace

State = Mapping[str, Mapping[str, str]]

RECEIVE, START, CRASH = "receive", "start", "crash"
SPLIT, HEAL = "split", "heal"
LOSE, DOUBLE = "lose", "duplicate"
MONITOR = "monitor"
"""The name of the part of a world that has a state as a member has, but takes no steps."""


@frozen
class Change:
    """An attribute of a member before and after a step; None if it was not there.

    A member that is down has the attribute "".
    """

    member: str
    attribute: str
    before: str | None
    after: str | None


@frozen
class Moment:
    """A state of the run and the step that led there; moment 0 is the initial state.

    `went_down`: members that go down in the step, or crash before they are up.  `came_up`: members
    that come up.  `sent_in`: the number of the step that sent this step's message, if it is known.
    `apart`: the network is split after this step.  `side`: the members on one side of the split,
    empty if they are not known.  `picture`: the model's own picture of this state, or "".
    `fixed`: members and their attributes that are the same in the whole run.
    """

    number: int
    step: Step | None
    states: State
    changes: tuple[Change, ...] = ()
    went_down: frozenset[str] = frozenset()
    came_up: frozenset[str] = frozenset()
    sent_in: int | None = None
    apart: bool = False
    side: frozenset[str] = frozenset()
    picture: str = ""
    fixed: frozenset[tuple[str, str]] = frozenset()

    @property
    def down(self) -> frozenset[str]:
        """Return the members that are down after this step."""
        return down_in(self.states)

    @property
    def crashes(self) -> bool:
        """Return whether the step is a crash, on its own or in the middle of another step."""
        return self.step is not None and is_crash(self.step)

    @property
    def is_network(self) -> bool:
        """Return whether the network splits or heals in this step."""
        return self.is_of_network(SPLIT, HEAL)

    @property
    def is_joint(self) -> bool:
        """Return whether several members take this step together."""
        step = self.step
        is_of_none = step is not None and step.member is None and step.message is None
        return is_of_none and not self.is_network

    @property
    def is_lost(self) -> bool:
        """Return whether the network loses a message in this step."""
        return self.is_of_network(LOSE)

    @property
    def is_doubled(self) -> bool:
        """Return whether the network doubles a message in this step."""
        return self.is_of_network(DOUBLE)

    def is_of_network(self, *actions: str) -> bool:
        """Return whether the step is one of these actions of the network."""
        step = self.step
        return step is not None and step.member is None and step.action in actions

    def addressees(self, among: Sequence[str]) -> tuple[str, ...]:
        """Return which of `among` the step's message is for: one, all but the sender, or none."""
        step = self.step
        if step is None or step.message is None:
            return ()
        to = step.member if step.member is not None else step.message.to
        if to is None:
            return tuple(name for name in among if name != step.message.sender)
        return (to,) if to in among else ()

    @property
    def changed(self) -> tuple[str, ...]:
        """Return the members that changed, in their order."""
        return tuple(dict.fromkeys(change.member for change in self.changes))


@frozen
class Sending:
    """A message and the step that sent it."""

    number: int
    message: MessageText


@frozen
class Story:
    """A run.  `members`: in the order of the trace.

    `lifelines`: the members without the monitor, if it takes no steps.  `under_way`: messages that
    were sent and not received by the end; of a lasso, only messages sent before the cycle, because
    the next round of the cycle may receive the others.
    """

    trace: Trace
    members: tuple[str, ...]
    lifelines: tuple[str, ...]
    moments: tuple[Moment, ...]
    under_way: tuple[Sending, ...]

    @property
    def loop_at(self) -> int | None:
        """Return the number of the moment at which the cycle begins."""
        return self.trace.loop_at

    @property
    def stops(self) -> bool:
        """Return whether the run is a lasso without a cycle, so that it ends."""
        return self.trace.loop_at is not None and self.trace.loop_at >= len(self.trace.steps)


def story_of(trace: Trace) -> Story:
    """Return the story of `trace`."""
    members = tuple(dict.fromkeys(_names(trace)))
    network = _Network()
    pictures = trace.pictures or ("",) * (len(trace.steps) + 1)
    fixed = frozenset(_fixed(trace))
    moments = [Moment(0, None, trace.initial, picture=pictures[0], fixed=fixed)]
    for number, step in enumerate(trace.steps, start=1):
        before = moments[-1]
        apart, side = before.apart, before.side
        if step.member is None and step.action == SPLIT:
            apart, side = True, _side(step.detail, members)
        elif step.member is None and step.action == HEAL:
            apart, side = False, frozenset()
        down = down_in(step.states)
        crashed = {step.member} if step.member is not None and is_crash(step) else set()
        moments.append(
            Moment(
                number=number,
                step=step,
                states=step.states,
                changes=tuple(changes(before.states, step.states, members)),
                went_down=(down - before.down) | crashed,
                came_up=before.down - down,
                sent_in=network.handle(number, step),
                apart=apart,
                side=side,
                picture=pictures[number],
                fixed=fixed,
            )
        )
    under_way = _under_way(trace, network)
    return Story(trace, members, _lifelines(trace, members), tuple(moments), under_way)


def down_in(states: State) -> frozenset[str]:
    """Return the members that are down in `states`."""
    return frozenset(name for name, values in states.items() if "" in values)


def is_crash(step: Step) -> bool:
    """Return whether the step is a crash, on its own or in the middle of another step."""
    return step.action.partition(" ")[0] == CRASH


def changes(before: State, after: State, members: Sequence[str]) -> Iterator[Change]:
    """Yield the differences, in the order of the members and of their attributes."""
    for name in members:
        old, new = before.get(name, {}), after.get(name, {})
        for attribute in dict.fromkeys([*old, *new]):
            if old.get(attribute) != new.get(attribute):
                yield Change(name, attribute, old.get(attribute), new.get(attribute))


def _fixed(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield (member, attribute) of members that run at first, if the value never changes."""
    for name, values in trace.initial.items():
        later = [step.states.get(name, {}) for step in trace.steps]
        for attribute, text in values.items() if "" not in values else ():
            # A member that is down shows only its disk, so other attributes count as unchanged.
            if all(state.get(attribute, text if "" in state else None) == text for state in later):
                yield name, attribute


def _names(trace: Trace) -> Iterator[str]:
    yield from trace.initial
    for step in trace.steps:
        yield from step.states


def _under_way(trace: Trace, network: _Network) -> tuple[Sending, ...]:
    end = len(trace.steps) if trace.loop_at is None else trace.loop_at
    return tuple(item for item in network.under_way() if item.number <= end)


def _lifelines(trace: Trace, members: Sequence[str]) -> tuple[str, ...]:
    messages = [one for step in trace.steps for one in (step.message, *step.sent) if one]
    act = {step.member for step in trace.steps}
    act |= {name for one in messages for name in (one.sender, one.to)}
    return tuple(name for name in members if name != MONITOR or name in act)


def _side(detail: str, members: Sequence[str]) -> frozenset[str]:
    names = frozenset(filter(None, re.split(r"[{}(),|\s]+", detail.removeprefix("off "))))
    return names if names < frozenset(members) else frozenset()


@define
class _Numbered:
    """A message in the network.  `handled`: members that received it, or for which it was lost."""

    number: int
    message: MessageText
    handled: set[str | None] = field(factory=set)


@define
class _Network:
    """The messages of a run, to find the step that sent a received message.

    It takes the oldest equal message that the receiver has not received yet.  This is right for
    queues, and as good as any other choice for a set.  If the receiver has all of these, it takes
    the newest message once more.
    """

    numbered: list[_Numbered] = field(factory=list)

    def handle(self, number: int, step: Step) -> int | None:
        found: int | None = None
        message = step.message
        if message is not None:
            receiver = step.member if step.member is not None else message.to
            same = [entry for entry in self.numbered if _fits(entry.message, message, receiver)]
            fresh = [entry for entry in same if receiver not in entry.handled]
            entry = fresh[0] if fresh else same[-1] if same else None
            if entry is not None:
                found = entry.number
                if step.member is None and step.action == DOUBLE:
                    self.numbered.append(_Numbered(entry.number, entry.message))
                else:
                    entry.handled.add(receiver)
        self.numbered += [_Numbered(number, item) for item in step.sent]
        return found

    def under_way(self) -> tuple[Sending, ...]:
        left = [entry for entry in self.numbered if not entry.handled]
        return tuple(dict.fromkeys(Sending(entry.number, entry.message) for entry in left))


def _fits(sent: MessageText, received: MessageText, receiver: str | None) -> bool:
    return (
        received.sender in (None, sent.sender)
        and sent.content == received.content
        and (sent.to is None or receiver is None or sent.to == receiver)
    )
