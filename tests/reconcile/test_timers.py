"""The times of evaluations: reconciliation, Q2 and Q5."""

from __future__ import annotations

from itertools import pairwise

import pytest

from joinproto.reconcile.queue import Variant
from joinproto.reconcile.timers import CLOCK, HEARD_BY, Armed, Event, Happens, Tick, Timers, looks

PACE = Timers(interval=50, trigger_interval=10)


def times(variant: Variant, *events: Event, until: float = 200, queue: str = "q") -> list[float]:
    """Return the times of the looks."""
    return [one.at for one in looks(variant, PACE, events, until, queue=queue)]


def down(at: float, handled: float | None = None) -> Event:
    return Event(at=at, what=Happens.NODE_DOWN, handled=handled)


def test_each_event_arms_the_shipped_timer_again() -> None:
    """Real: an event cancels the timer, and arms it with the trigger interval."""
    assert [50, 100, 150, 200] == times(Variant.REAL)
    assert [11, 61, 111, 161] == times(Variant.REAL, down(1))


def test_events_that_keep_coming_delay_the_shipped_timer_for_ever() -> None:
    """Real, starvation: with an event every 9 seconds there is no look; ours looks nevertheless."""
    storm = [down(at) for at in range(0, 200, 9)]

    assert [] == times(Variant.REAL, *storm)
    ours = times(Variant.OURS, *storm)
    assert max(after - before for before, after in pairwise(ours)) <= 18


def test_an_event_handled_after_the_timer_has_fired_leaves_two_timers() -> None:
    """Real: the messages of two timers cannot be told apart."""
    doubled = times(Variant.REAL, down(49.9, handled=50.1))

    assert [50, 60.1, 100, 110.1, 150, 160.1, 200] == doubled
    assert len(times(Variant.OURS, down(49.9, handled=50.1))) <= 5


def test_a_look_soon_follows_a_look_that_changed_something() -> None:
    """Real and ours: a look follows soon until there is nothing to do."""
    found = looks(Variant.REAL, PACE, (), 100, changes=(0, 0))

    assert [50, 60, 70] == [one.at for one in found]
    assert ["interval", "change", "change"] == [one.because for one in found]


def test_each_queue_is_looked_at_at_its_own_time() -> None:
    """Q5, seed: "naturally spread this load over time"."""
    first = [times(Variant.SEED, queue=f"q{at}")[0] for at in range(1000)]

    assert all(0 <= at < 50 for at in first)
    tenths = [sum(5 * part <= at < 5 * part + 5 for at in first) for part in range(10)]
    assert min(tenths) > 60


def test_no_event_brings_a_look_of_the_design_forward() -> None:
    """Q2, seed: "periodic async checks"."""
    assert times(Variant.SEED, down(1)) == times(Variant.SEED)
    assert not HEARD_BY[Variant.SEED]


@pytest.mark.parametrize("what", [Happens.NODE_DRAINED, Happens.NODE_UNDRAINED])
def test_the_shipped_code_does_not_listen_to_maintenance(what: Happens) -> None:
    """Real: it waits for a full interval; ours looks soon."""
    event = Event(at=1, what=what)

    assert 50 == times(Variant.REAL, event)[0]
    assert times(Variant.OURS, event)[0] <= 11


def test_no_queue_is_looked_at_if_reconciliation_is_switched_off() -> None:
    """Q2: real hibernates, and ignores all events."""
    for variant in Variant:
        assert [] == looks(variant, Timers(enabled=False), (down(1),), 10_000)


def test_the_tables_and_transitions_agree() -> None:
    """The machine is declared to `transitions`; both give one answer."""
    for phase in Armed:
        for trigger in ("start", "event", "look"):
            for tick in (Tick(), Tick(enabled=False), Tick(hears=False), Tick(changed=True)):
                if CLOCK.can(phase, trigger):
                    one, other = _Model(phase), _Model(phase)
                    CLOCK.step(one, trigger, (tick,), 0)
                    CLOCK.declared(other, trigger, (tick,), 0)
                    assert one.phase is other.phase


class _Model:
    def __init__(self, phase: Armed) -> None:
        self.phase = phase
