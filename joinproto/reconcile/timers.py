"""When evaluations (looks) happen, as a state machine over times; the host has the clock.

Seed: each queue is looked at once in each interval, at its own time within the interval.  Real:
each node has one timer, and an event arms it again.  Therefore events that keep coming delay the
look for ever, and an event that is handled after the timer has fired, but before its message is
read, leaves two timers.  Ours: like the seed, but an event may bring the next look forward.

Source: reconciliation, Q2 and Q5; the real machine as read from the code that shipped.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import AtLeast
from joinproto.machine.machine import Arrow, StateMachine
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members
from joinproto.machine.values import evolve
from joinproto.reconcile.queue import Variant


class Happens(Enum):
    """The kind of an event in the cluster that may bring a look forward."""

    NODE_UP = "node_up"
    NODE_DOWN = "node_down"
    QUEUE_CREATED = "queue_created"
    POLICY_SET = "policy_set"
    POLICY_CLEARED = "policy_cleared"
    NODE_DRAINED = "node_drained"
    NODE_UNDRAINED = "node_undrained"
    MEMBER_LEFT = "member_left"


@frozen(kw_only=True)
class Timers:
    """The time between evaluations, and from an event to one, in seconds."""

    enabled: Annotated[bool, "whether queues are evaluated at all"] = True
    interval: Annotated[
        float | None, AtLeast(0), "seconds between two looks; null: real 3600, seed and ours 60"
    ] = None
    trigger_interval: Annotated[float, AtLeast(0), "seconds from an event to a look"] = 10.0

    def between(self, variant: Variant) -> float:
        """Return the seconds between two looks at a queue that needs no change."""
        return (
            self.interval
            if self.interval is not None
            else (3600.0 if variant is Variant.REAL else 60.0)
        )


class Armed(Enum):
    """The phase of a clock."""

    OFF = "off"
    RESTING = "resting"  # the next look is at most an interval away
    ALERT = "alert"  # an event happened, or the last look changed something or lacked a fact


@frozen(kw_only=True)
class Tick:
    """The row that the machine's tables read.

    `hears`: the variant listens to this event.  `changed`: the look changed something, or lacked a
    fact.
    """

    enabled: bool = True
    hears: bool = True
    changed: bool = False


_ROWS = Members("T", Tick)
_ON = _ROWS.fact("reconciliation is switched on", enabled=True)
_HEARS = _ROWS.fact("the variant listens to such events", hears=True)
_CHANGED = _ROWS.fact("the look changed something, or could not see", changed=True)

START = Table(
    "reconcile-start",
    "reconciliation, Q2",
    (
        Case("Q2", "switched on", _ON, Armed.RESTING),
        Case("Q2", "switched off", ALWAYS, Armed.OFF),
    ),
)
HEARD = Table(
    "reconcile-event",
    "reconciliation, Q2",
    (
        Case("Q2", "an event", _HEARS, Armed.ALERT),
        Case("Q2", "nothing to hear", ALWAYS, Armed.RESTING),
    ),
)
LOOKED = Table(
    "reconcile-looked",
    "reconciliation, Q2",
    (
        Case("Q2", "again soon", _CHANGED, Armed.ALERT),
        Case("Q2", "rest", ALWAYS, Armed.RESTING),
    ),
)
CLOCK = StateMachine(
    "reconcile-clock",
    Armed,
    (
        Arrow("start", (Armed.OFF,), START),
        Arrow("event", (Armed.RESTING,), HEARD),
        Arrow("look", (Armed.RESTING, Armed.ALERT), LOOKED),
    ),
)
"""An event while a clock is alert does not change its phase; `Clock.hear` changes its timers."""

HEARD_BY = {
    Variant.SEED: frozenset[Happens](),
    Variant.REAL: frozenset(Happens)
    - {Happens.NODE_DRAINED, Happens.NODE_UNDRAINED, Happens.MEMBER_LEFT},
    Variant.OURS: frozenset(Happens),
}
"""The events that each variant listens to.

The seed listens to none.  The shipped broker does not listen to maintenance or to a node that
leaves.
"""


@frozen(kw_only=True)
class Clock:
    """The clock of a node (real) or of a queue (seed, ours).

    `looks_at`: the times, in seconds, at which the armed timers fire; only the real variant can
    have more than one timer.
    """

    variant: Variant
    pace: Timers
    queue: str = ""
    phase: Armed = Armed.OFF
    looks_at: tuple[float, ...] = ()

    @property
    def next(self) -> float | None:
        """Return the time of the next look, or None if the clock is off."""
        return min(self.looks_at, default=None)

    def __str__(self) -> str:
        times = " and ".join(f"{at:g}" for at in sorted(self.looks_at))
        return f"{self.phase.value}, timer at {times}" if times else self.phase.value

    def start(self, now: float) -> Clock:
        """Return the clock after its start, which stays off if it is not enabled."""
        clock = self._step("start", Tick(enabled=self.pace.enabled))
        if clock.phase is Armed.OFF:
            return clock
        between = self.pace.between(self.variant)
        first = between if self.variant is Variant.REAL else between * _share(self.queue)
        return evolve(clock, looks_at=(now + first,))

    def hear(self, what: Happens, now: float) -> Clock:
        """Return the clock after an event that is handled at `now`.

        In the real variant, a timer whose time has come still fires, and a second timer is armed.
        """
        if self.phase is Armed.OFF or what not in HEARD_BY[self.variant]:
            return self
        clock = self if self.phase is Armed.ALERT else self._step("event", Tick())
        soon = now + self.pace.trigger_interval
        if self.variant is Variant.REAL:
            fired = tuple(at for at in self.looks_at if at <= now)
            return evolve(clock, looks_at=(*fired, soon))
        return evolve(clock, looks_at=(min(soon, *self.looks_at),))

    def looked(self, now: float, *, changed: bool) -> Clock:
        """Return the clock after the due look.

        `changed`: the look changed something, or lacked a fact.
        """
        clock = self._step("look", Tick(changed=changed))
        rest = sorted(self.looks_at)[1:]
        pause = self.pace.trigger_interval if changed else self.pace.between(self.variant)
        return evolve(clock, looks_at=(*rest, now + pause))

    def idle(self, until: float) -> Clock:
        """Return the clock after all looks before `until`, none of which led to a change."""
        between = self.pace.between(self.variant)
        if self.next is None or self.next >= until or between <= 0:
            return self
        missed = math.ceil((until - self.next) / between)
        return evolve(self, looks_at=(self.next + missed * between,))

    def _step(self, trigger: str, tick: Tick) -> Clock:
        model = _Model(self.phase)
        CLOCK.step(model, trigger, (tick,), 0)
        return evolve(self, phase=model.phase)


class _Model:
    """The model that `CLOCK` moves."""

    def __init__(self, phase: Armed) -> None:
        self.phase = phase


@frozen(kw_only=True)
class Event:
    """An event at a time; a busy node may handle it later."""

    at: Annotated[float, AtLeast(0), "when it happens, in seconds from the start"]
    what: Annotated[Happens, "the kind of event"]
    handled: Annotated[
        float | None, AtLeast(0), "when it is handled, in seconds from the start; null: at once"
    ] = None


@frozen(kw_only=True)
class Look:
    """One evaluation of a queue."""

    at: Annotated[float, "when it happens, in seconds from the start"]
    because: Annotated[
        str, "interval; change: the look before changed something; or the event's kind"
    ]


def looks(
    variant: Variant,
    pace: Timers,
    events: Sequence[Event],
    until: float,
    *,
    queue: str = "",
    changes: Sequence[float] = (),
) -> list[Look]:
    """Return the evaluations up to `until`, in seconds.

    `changes`: for each of these times, the first look from then on changes something.
    """
    clock = Clock(variant=variant, pace=pace, queue=queue).start(0.0)
    coming = sorted(events, key=lambda one: one.at)
    left = sorted(changes)
    found: list[Look] = []
    reason = "interval"
    while True:
        due = clock.next
        if coming and (due is None or coming[0].at < due):
            event = coming.pop(0)
            before = clock.looks_at
            clock = clock.hear(event.what, max(event.at, event.handled or 0.0))
            if clock.looks_at != before:
                reason = event.what.value
            continue
        if due is None or due > until:
            return found
        found.append(Look(at=due, because=reason))
        changed = bool(left) and left[0] <= due
        if changed:
            left.pop(0)
        clock = clock.looked(due, changed=changed)
        reason = "change" if changed else "interval"


def _share(queue: str) -> float:
    """Return after which part of the interval, from 0 to 1, the queue's first look happens."""
    return int.from_bytes(hashlib.blake2b(queue.encode(), digest_size=8).digest()) / 2**64
