"""Random runs: real members, real metadata files, and a network that behaves at random.

A run founds a cluster, and then hypothesis draws faults: messages are lost, doubled and reordered;
processes crash between a write and a message; disks are wiped; operators stop members, let them
leave, and permit restarts.  After each step the claims are checked on a history that knows the
durable contents of every disk.

`print_blob` prints a line that replays a failure; hypothesis also keeps the example.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from attrs import Factory, define, evolve
from hypothesis import Phase as HypothesisPhase
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from joinproto.join.balloting import IMPOSSIBLE
from joinproto.join.config import Config, TotalFailure
from joinproto.join.ids import ViewId
from joinproto.join.lineage import Lineage
from joinproto.join.messages import Waiting
from joinproto.join.store import Ballot
from joinproto.join.view import Kind, Position, Seat, View
from joinproto.machine.vocabulary import Store
from joinproto.store.handle import open_store
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation
from tests.join.bus import Bus, Crashed, Host

NAMES = "abcd"
ELECTORS = frozenset("abc")

names = st.sampled_from(NAMES)
SIDES = [("ab", "cd"), ("acd", "b"), ("abc", "d"), ("a", "bcd"), ("ad", "bc"), ("a", "b", "c", "d")]


@define
class History:
    """The durable data of all members, and the broken claims.

    `votes`: which seats accepted a view in a ballot.  `chosen`: the successor of a view.
    `holders`: at which seats a frame is durable.  `ready`: which seats were ready in a view.
    """

    wait_for: int
    views: dict[ViewId, View] = Factory(dict)
    votes: dict[tuple[ViewId, Ballot], set[Seat]] = Factory(dict)
    chosen: dict[ViewId | None, ViewId] = Factory(dict)
    holders: dict[Position, set[Seat]] = Factory(dict)
    committed: dict[int, Position] = Factory(dict)
    ready: dict[ViewId, set[Seat]] = Factory(dict)
    broken: list[str] = Factory(list)

    def wrote(self, host: Host) -> None:
        """Note a record that is durable now."""
        record = host.disk.record
        seat = host.member.seat
        for view in record.lineage.views[-3:]:
            self.learned(view)
        if record.held is not None:
            self.ready.setdefault(record.held, set()).add(seat)
        if record.accepted is not None:
            ballot, view = record.accepted.ballot, record.accepted.view
            self.views[view.id] = view
            voters = self.votes.setdefault((view.id, ballot), set())
            voters.add(seat)
            electors = view.electors if view.parent is None else self.views[view.parent].electors
            if 2 * len(voters & electors) > len(electors):
                self.learned(view)

    def learned(self, view: View) -> None:
        """Note that a view is the successor of its parent."""
        self.views[view.id] = view
        if self.chosen.setdefault(view.parent, view.id) != view.id:
            self.broken.append(f"one_successor: {view} is another one")

    def kept(self, host: Host, frame: Position) -> None:
        """Note that a frame is durable."""
        holders = self.holders.setdefault(frame, set())
        holders.add(host.member.seat)
        if not self.views[frame.view].members <= holders:
            return
        if self.committed.setdefault(frame.seq, frame) != frame:
            self.broken.append(f"no_split_brain: frame {frame.seq} is committed in two views")

    def opened(self, host: Host, view: View) -> None:
        """Check the claims for a member that serves clients from now on."""
        era = self.era(view)
        counts = [len(seats) for one, seats in self.ready.items() if self.era_of(one) == era]
        if max(counts, default=0) < self.wait_for:
            self.broken.append(f"waits_for_n: {host.name} serves in {view}")
        if not view.members <= self.ready.get(view.id, set()):
            self.broken.append(f"all_ready: {host.name} serves in {view}")

    def era_of(self, view_id: ViewId) -> ViewId | None:
        return self.era(self.views[view_id]) if view_id in self.views else None

    def era(self, view: View) -> ViewId:
        """Return the id of the last FOUND or RESTART, from which N counts."""
        while view.kind not in (Kind.FOUND, Kind.RESTART) and view.parent is not None:
            view = self.views[view.parent]
        return view.id


def frames_at(position: Position | None, lineage: Lineage) -> tuple[Position, ...]:
    """Return the frames that a store with this position must have."""
    frames: tuple[Position, ...] = ()
    while position is not None:
        view = lineage.find(position.view)
        assert view is not None
        first = 1 if view.position is None else view.position.seq + 1
        here = [Position(view.id, seq) for seq in range(first, position.seq + 1)]
        frames = (*here, *frames)
        position = view.position
    return frames


class Cluster(RuleBasedStateMachine):
    """Up to four members, with an N of 2; a, b and c vote, or a register chooses."""

    is_careless = False  # whether a rule is left out, so that members need not come back

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(mkdtemp(prefix="joinproto-"))
        self.bus = Bus(top=self.top)
        self.armed: dict[str, int] = {}
        self.wiped = False
        self.history = History(2)
        self.bus.kept = self.history.kept
        self.bus.opened = self.history.opened
        self.bus.wrote = self._wrote
        self.bus.before_sending = self._count
        self.options: dict[str, Any] = {}

    def teardown(self) -> None:
        try:
            is_whole = not (self.wiped or self.history.broken or self.is_careless)
            if self.options and is_whole:
                self._all_members_come_back()
        finally:
            for host in self.bus.hosts.values():
                host.disk.close()
            shutil.rmtree(self.top)

    def _all_members_come_back(self) -> None:
        """P1 to P4: if no disk is lost and faults end, all members become active."""
        self.armed.clear()
        self.options["total_failure"] = TotalFailure.AUTOMATIC
        for name in self.bus.up():
            self.bus.crash(name)
        self.bus.partition()
        for name in sorted(self.bus.hosts):
            self.bus.start(self._config(name))
        self.heal()
        self.bus.wait(30)
        self.no_committed_frame_is_lost()
        assert {"active"} == {host.member.phase.value for host in self.bus.hosts.values()}

    # -- how it begins -----------------------------------------------------------------------

    @initialize(
        outside=st.booleans(),
        automatic=st.booleans(),
        is_fresh=st.sampled_from([False] * 4 + [True]),
    )
    def begin(self, outside: bool, automatic: bool, is_fresh: bool) -> None:
        kind = TotalFailure.AUTOMATIC if automatic else TotalFailure.MANUAL
        self.options = {"outside": outside, "total_failure": kind}
        for name in "abc":
            self.bus.start(self._config(name))
        if not is_fresh:
            self.bus.wait(4)
            self.write()
            self.bus.settle()

    # -- the network -------------------------------------------------------------------------

    @precondition(lambda self: self.bus.wire)
    @rule(at=st.integers(0, 1_000), fate=st.sampled_from(["arrive", "arrive", "twice", "lose"]))
    def deliver(self, at: int, fate: str) -> None:
        """A message under way arrives, arrives twice, or is lost; messages arrive in any order."""
        at %= len(self.bus.wire)
        if fate == "lose":
            del self.bus.wire[at]
        else:
            self.bus.deliver(at, again=fate == "twice")

    @precondition(lambda self: self.bus.wire)
    @rule(count=st.integers(2, 12))
    def deliver_some(self, count: int) -> None:
        for _ in range(min(count, len(self.bus.wire))):
            if self.bus.wire:
                self.bus.deliver()

    @precondition(lambda self: self.bus.wire)
    @rule()
    def settle(self) -> None:
        self.bus.settle()

    @rule(sides=st.sampled_from(SIDES))
    def partition(self, sides: tuple[str, ...]) -> None:
        self.bus.partition(*sides)

    @rule()
    def heal(self) -> None:
        """All connections are new, so that members notice losses on old connections."""
        self.bus.partition()
        for name in self.bus.up():
            for other in self.bus.up():
                if name != other:
                    self.bus.tell(name, lambda m, other=other: m.peer_down(self.bus.now, other))  # type: ignore[misc]
                    self.bus.tell(name, lambda m, other=other: m.peer_up(self.bus.now, other))  # type: ignore[misc]

    # -- time --------------------------------------------------------------------------------

    @rule()
    def deadline(self) -> None:
        due = self.bus.next_deadline()
        if due is not None:
            self.bus.now = max(due, self.bus.now)
            self.bus.tick()

    @rule(seconds=st.sampled_from([1, 3, 9]))
    def wait(self, seconds: int) -> None:
        self.bus.wait(seconds)

    @rule(absent=st.sampled_from(["", "", "a", "b", "c", "d"]))
    def calm(self, absent: str) -> None:
        """All connections are new, and all members that are down start, except perhaps `absent`."""
        self.armed.clear()
        self.heal()
        for name in sorted(set("abcd" if "d" in self.bus.hosts else "abc") - set(absent)):
            self.start(name)
        self.bus.wait(9)
        self.write()

    # -- processes and disks -----------------------------------------------------------------

    @rule(name=names)
    def start(self, name: str) -> None:
        self.armed.pop(name, None)
        if name not in self.bus.up():
            self.bus.start(self._config(name))

    @rule(name=names)
    def crash(self, name: str) -> None:
        if name in self.bus.up():
            self.bus.crash(name)

    @rule(name=names, after=st.integers(0, 4))
    def crash_soon(self, name: str, after: int) -> None:
        """The process will end right after a write, or before it sends a message."""
        if name in self.bus.up():
            self.armed[name] = after

    @precondition(lambda self: not self.wiped)
    @rule(name=names)
    def wipe(self, name: str) -> None:
        """At most one disk is lost in a run, and not before the cluster is founded."""
        is_founded = None in self.history.chosen
        if is_founded and name in self.bus.disks and name not in self.bus.up():
            self.bus.wipe(name)
            self.wiped = True

    # -- people ------------------------------------------------------------------------------

    @rule()
    def write(self) -> None:
        for name in self.bus.up():
            self.bus.write(name)

    @rule(name=names, action=st.sampled_from(["leave", "close", "end"]))
    def end(self, name: str, action: str) -> None:
        """A member must leave, a member must stop the whole cluster, or all processes crash."""
        if action == "end":
            for one in self.bus.up():
                self.bus.crash(one)
        elif name in self.bus.up() and action == "leave":
            self.bus.tell(name, lambda member: member.leave(self.bus.now))
            self.bus.tick()
        elif name in self.bus.up():
            self.bus.tell(name, lambda member: member.shutdown_cluster(self.bus.now))
            self.bus.tick()

    @rule(name=names)
    def permit(self, name: str) -> None:
        """The operator marks a store whose member is down."""
        disk = self.bus.disks.get(name)
        if disk is None or disk.path is None or name in self.bus.up() or disk.record.tip is None:
            return
        with open_store(disk.path) as store:
            assert store.record.tip is not None
            store.write(evolve(store.record, mark=store.record.tip.id))

    # -- claims ------------------------------------------------------------------------------

    @invariant()
    def the_history_has_no_broken_claim(self) -> None:
        assert [] == self.history.broken

    @invariant()
    def no_committed_frame_is_lost(self) -> None:
        for host in self._serving():
            view = host.serves
            assert view is not None
            for frame in self.history.committed.values():
                if self.history.views[frame.view].number <= view.number:
                    assert frame in host.disk.frames, f"{host.name} lacks {frame}"

    @invariant()
    def acknowledged_frames_are_committed(self) -> None:
        for host in self._serving():
            for frame in host.kept_by:
                if host.is_acknowledged(frame):
                    assert frame == self.history.committed.get(frame.seq)

    @invariant()
    def positions_are_data(self) -> None:
        for host in self.bus.hosts.values():
            record = host.member.record
            if host.runs and not record.update_unfinished and record.lineage.views:
                assert frames_at(record.position, record.lineage) == host.disk.frames

    @invariant()
    def no_store_is_clean_while_it_serves(self) -> None:
        for host in self._serving():
            assert host.disk.record.state is not Store.CLEAN
            assert host.serves is not None
            assert host.member.seat in host.serves.members
            assert host.disk.record.held == host.serves.id

    @invariant()
    def no_member_reports_an_impossible_set_of_answers(self) -> None:
        for host in self.bus.hosts.values():
            said = [item for item in host.seen if isinstance(item, Waiting)]
            assert not [item for item in said if item.case == IMPOSSIBLE]

    # -- small parts -------------------------------------------------------------------------

    def _config(self, name: str) -> Config:
        return Config(
            member=name, electors=ELECTORS, wait_for=2, heartbeat=1.0, patience=1.5, **self.options
        )

    def _serving(self) -> list[Host]:
        return [host for host in self.bus.hosts.values() if host.serves is not None]

    def _wrote(self, host: Host) -> None:
        self.history.wrote(host)
        self._count(host.name)

    def _count(self, name: str) -> None:
        left = self.armed.get(name)
        if left == 0:
            del self.armed[name]
            raise Crashed(name)
        if left is not None:
            self.armed[name] = left - 1


def run(machine: type[Cluster], *, runs: int, steps: int) -> None:
    # The runs are the same each time, so that a failure can be repeated.
    limits = settings(max_examples=runs, stateful_step_count=steps, derandomize=True)
    run_state_machine_as_test(machine, settings=limits)


def test_random_runs_keep_every_claim() -> None:
    """`test_long_random_runs_keep_every_claim` plays longer runs."""
    run(Cluster, runs=15, steps=40)


@pytest.mark.soak("swarm-rules")
def test_long_random_runs_keep_every_claim() -> None:
    run(Cluster, runs=60, steps=100)


@pytest.mark.parametrize("rule", ["active-before-all-are-ready", "held-not-persisted"])
def test_members_without_a_rule_break_a_claim(rule: str) -> None:
    """So the claims can fail."""

    class Careless(Cluster):
        is_careless = True

    limits = settings(
        max_examples=20, phases=[HypothesisPhase.generate], database=None, derandomize=True
    )
    with applied(mutation(rule)), pytest.raises(AssertionError):
        run_state_machine_as_test(Careless, settings=limits)
