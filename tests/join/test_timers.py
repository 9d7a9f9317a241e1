"""Timers: the measured time of ballots, and time for the members that can finish a ballot.

The runs simulate three members, messages that take time, and a member that crashes repeatedly.
"""

from __future__ import annotations

import heapq
from itertools import count

import pytest
from attrs import define, evolve, field, frozen

from joinproto.join.config import Config, TotalFailure
from joinproto.join.member import Member
from joinproto.join.messages import Action, Closing, Event, OpenForClients, Sent
from joinproto.join.perform import perform
from joinproto.join.phases import RUNNING
from joinproto.join.store import Ballot, StoreRecord
from joinproto.join.timers import Timers


@define
class SlowNetwork:
    """Three members whose messages take `latency` seconds; `records` are on their disks.

    `flapping`: the member that is started with other options than the others.
    `served`: the number of the last view in which each member has served clients.
    """

    latency: float = 0.0
    now: float = 0.0
    flapping: str = ""
    members: dict[str, Member] = field(factory=dict)
    records: dict[str, StoreRecord] = field(factory=dict)
    served: dict[str, int] = field(factory=dict)
    _order: count[int] = field(factory=count)
    _wire: list[tuple[float, int, str, str, object]] = field(factory=list)

    def start(self, name: str) -> None:
        record = self.records.setdefault(name, StoreRecord(store_id=f"store of {name}"))
        config = Config(
            member=name,
            electors=frozenset("abc"),
            wait_for=2,
            # With other options a member never becomes ready.
            options="other" if name == self.flapping else "same",
            total_failure=TotalFailure.AUTOMATIC,
            patience=0.5,
            heartbeat=0.5,
        )
        self.members[name] = Member.start(self.now, config, record, seed=f"{name}{self.now}")
        self.perform(name)
        for other in set(self.members) - {name}:
            self.members[name].peer_up(self.now, other)
            self.members[other].peer_up(self.now, name)
            self.perform(other)
        self.perform(name)

    def crash(self, name: str) -> None:
        del self.members[name]
        for other in self.members:
            self.members[other].peer_down(self.now, name)
            self.perform(other)

    def perform(self, name: str) -> None:
        member = self.members[name]
        while batch := member.poll():
            perform(batch, Ports(self, name))
            member.advance(batch)

    def send(self, sent: Sent, sender: str) -> None:
        at = (self.now + self.latency, next(self._order), sender, sent.to, sent.message)
        heapq.heappush(self._wire, at)

    def until(self, end: float) -> None:
        while True:
            at = min([*self._due().values(), *(one[0] for one in self._wire[:1])], default=end)
            if at >= end:
                self.now = end
                return
            self.now = max(self.now, at)
            while self._wire and self._wire[0][0] <= self.now:
                _, _, sender, to, message = heapq.heappop(self._wire)
                if to in self.members:
                    self.members[to].receive(self.now, sender, message)  # type: ignore[arg-type]
                    self.perform(to)
            for name, at in self._due().items():
                if at <= self.now:
                    self.members[name].tick(self.now)
                    self.perform(name)

    def _due(self) -> dict[str, float]:
        running = {name: one for name, one in self.members.items() if one.phase in RUNNING}
        return {name: one.deadline for name, one in running.items() if one.deadline is not None}


@frozen
class Ports:
    """The ports for one member's batches."""

    slow: SlowNetwork
    name: str

    def close(self, why: Closing) -> None:
        """Do nothing: the test needs only the openings."""

    def persist(self, record: StoreRecord) -> None:
        self.slow.records[self.name] = record

    def send_all(self, sends: tuple[Sent, ...]) -> None:
        for sent in sends:
            self.slow.send(sent, self.name)

    def see(self, event: Event) -> None:
        """Do nothing."""

    def act(self, action: Action) -> None:
        if isinstance(action, OpenForClients):
            self.slow.served[self.name] = action.view.number


@pytest.mark.parametrize("victim", "abc")
@pytest.mark.parametrize(
    ("latency", "period"), [(0.05, 1), (0.2, 0.7), (0.3, 1), (0.4, 1), (0.4, 3), (0.8, 1.7)]
)
def test_a_member_in_a_crash_loop_does_not_keep_the_others_from_their_view(
    victim: str, latency: float, period: float
) -> None:
    """Patience follows measurements, and a started member does not end the others' ballots."""
    slow = SlowNetwork()
    for name in "abc":
        slow.start(name)
    slow.until(9)
    assert {"a": 1, "b": 1, "c": 1} == slow.served

    slow.latency, slow.flapping = latency, victim
    others = sorted(set("abc") - {victim})
    end = slow.now + 60
    while slow.now < end and any(slow.served.get(name, 0) < 2 for name in others):
        if victim in slow.members:
            slow.crash(victim)
        slow.start(victim)
        slow.until(slow.now + period)

    assert slow.now < end
    assert all(slow.served[name] >= 2 for name in others)


def test_patience_follows_the_time_of_answers() -> None:
    """Late answers count, too, because an answer names its ballot."""
    pace, one, two = Timers(), Ballot(1, "s"), Ballot(2, "s")
    assert 0.5 == pace.patience(0.5)

    pace = pace.asking(1.0, one).asking(1.5, two).answered(1.8, one)

    assert pytest.approx(0.8) == pace.trip
    assert pytest.approx(2 * 0.8 + 4 * 0.4) == pace.patience(0.5)
    steady = pace
    for _ in range(40):
        steady = steady.asking(0.0, two).answered(0.8, two)
    assert pytest.approx(2 * 0.8, rel=0.01) == steady.patience(0.5)
    assert pace == pace.answered(3.0, Ballot(9, "s")), "no member asked in this ballot"
    slower = pace
    for _ in range(80):
        slower = slower.asking(0.0, two).answered(2.0, two)
    assert pytest.approx(2 * 2.0, rel=0.01) == slower.patience(0.5)


def test_an_answer_to_a_repeated_question_is_not_measured() -> None:
    """The late member may have waited for the end of a rival's ballot."""
    pace, one, two = Timers(), Ballot(1, "s"), Ballot(2, "s")

    pace = pace.asking(1.0, one).asking(1.5, two).insisting(one)

    assert pace == pace.answered(60.0, one)
    assert pytest.approx(0.3) == pace.answered(1.8, two).trip


def test_a_holder_cannot_prolong_its_time() -> None:
    pace = Timers().given_to(1.0, "a").given_to(1.4, "a")

    assert 1.5 == pace.held_until("b", 0.5)
    assert None is pace.held_until("a", 0.5)
    assert None is pace.without("a").held_until("b", 0.5)
    assert 2.5 == pace.next_turn(0.5, 2)
    assert None is pace.learned().held_until("b", 0.5)


def test_a_started_member_defers_only_to_members_that_ran_on() -> None:
    """After a total failure no member ran on, so a started member does not wait."""
    pace = Timers(started=10.0, rounds=3)
    both = frozenset("ab")

    ran = pace.greeted_by("a", ran_on=True)
    assert 14.0 == ran.deferred_until(both, 0.5)
    assert None is evolve(ran, rounds=0).deferred_until(both, 0.5)
    assert None is ran.deferred_until(frozenset(), 0.5)
    told = pace.greeted_by("a", ran_on=False).greeted_by("b", ran_on=False)
    assert None is told.deferred_until(both, 0.5)
    assert 14.0 == told.greeted_by("b", ran_on=True).deferred_until(both, 0.5)


def test_a_started_member_does_not_wait_long_for_members_that_it_never_heard() -> None:
    """A hello counts no longer once its member is gone or was restarted."""
    pace = Timers(started=10.0, rounds=4).greeted_by("a", ran_on=False)
    both = frozenset("ab")

    assert 11.0 == pace.deferred_until(both, 0.5)
    ran = pace.greeted_by("b", ran_on=True)
    assert 18.0 == ran.deferred_until(both, 0.5)
    assert 11.0 == ran.without("b").deferred_until(both, 0.5)
    assert None is ran.greeted_by("b", ran_on=False).deferred_until(both, 0.5)
