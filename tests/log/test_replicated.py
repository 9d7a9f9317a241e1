"""The logs of three members; the test plays the network and the members."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import define, field

from joinproto.durable.journal.journal import Frame, Journal
from joinproto.join.frames import FrameVerdict as May
from joinproto.join.ids import ViewId
from joinproto.join.inputs import UpdateDone, UpdateProgress
from joinproto.join.messages import Closing, StartUpdate
from joinproto.join.view import Position, Seat, View, change, found
from joinproto.log.entry import Entry
from joinproto.log.replicated import ReplicatedLog
from joinproto.net.session import VERSIONS

SEATS = {name: Seat(name, f"store of {name}") for name in "abc"}


def first_view() -> View:
    return found(
        members=SEATS.values(),
        electors=SEATS.values(),
        wait_for=2,
        options_digest="-",
        cluster_name="cluster",
        nonce="-",
        time=0,
    )


def next_view(view: View, names: str, position: Position | None) -> View:
    return change(
        view,
        members=[SEATS[name] for name in names],
        position=position,
        activated=True,
        nonce="-",
        time=0,
    )


@define
class Applied:
    """An application that keeps the texts of its entries."""

    texts: list[str] = field(factory=list)
    is_open: bool = False

    def apply(self, frame: Frame) -> None:
        self.texts.append(Entry.of(frame.data).body.decode())

    def opened(self, view: View) -> None:
        self.is_open = True

    def closed(self, why: Closing) -> None:
        self.is_open = False


@define
class Bench:
    """One log and its `EventLoop`, whose member the test controls."""

    name: str
    wire: deque[tuple[str, str, bytes]]
    journal: Journal
    app: Applied = field(factory=Applied)
    view: View | None = None
    is_ready: bool = True
    is_frozen: bool = False
    updated: list[Position | None] = field(factory=list)
    done: list[int] = field(factory=list)
    given_up: list[str] = field(factory=list)
    spoken: int = VERSIONS[1]
    older: frozenset[str] = frozenset()
    asked: int = 0
    time: float = 0.0
    writes: int = 0
    log: ReplicatedLog = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.log = ReplicatedLog(self.journal, self.app)
        self.log.attach(self)

    @property
    def seat(self) -> Seat:
        return SEATS[self.name]

    @property
    def position(self) -> Position | None:
        return self.journal.last

    def now(self) -> float:
        return self.time

    def send(self, to: str, data: bytes) -> None:
        self.wire.append((self.name, to, data))

    def speaks(self, peer: str) -> int:
        return self.spoken

    def may_append(self, view: ViewId, seq: int) -> May:
        if self.view is None or self.view.id != view:
            return May.OTHER_VIEW
        if self.is_frozen:
            return May.FROZEN
        expected = self.journal.last_seq + 1
        return May.TAKE if seq == expected else May.GAP if seq > expected else May.ALREADY_THERE

    @property
    def older_electors(self) -> frozenset[str]:
        return self.older

    def read(self) -> int:
        self.asked += not self.older
        return 0 if self.older else self.asked

    def appended(self, view: ViewId, first: int, last: int, digest: Callable[[int], str]) -> None:
        self.writes += 1
        assert first <= last <= self.journal.last_seq, "durable first"

    def may_cut(self) -> bool:
        return True

    def tell(self, what: UpdateProgress | UpdateDone) -> None:
        if isinstance(what, UpdateDone):
            self.updated.append(what.position)
        else:
            assert what.position == self.journal.last

    def give_up_on(self, peer: str, why: str) -> None:
        self.given_up.append(peer)

    def note(self, what: str, **facts: object) -> None:
        pass

    # -- actions of the test ---------------------------------------------------------------------

    def work(self) -> None:
        for work in self.log.work():
            work()

    def learn(self, view: View) -> None:
        self.view = view
        self.log.learned(view)

    def open(self) -> None:
        assert self.view is not None
        self.log.open(self.view, is_sequencer=min(s.member for s in self.view.members) == self.name)
        self.work()

    def submit(self, text: str) -> None:
        self.log.submit(text.encode(), lambda position: self.done.append(position.seq))
        self.work()


@define
class Three:
    """The logs of three members in one view."""

    wire: deque[tuple[str, str, bytes]]
    logs: dict[str, Bench]
    lost: set[tuple[str, str]] = field(factory=set)

    def __getitem__(self, name: str) -> Bench:
        return self.logs[name]

    def settle(self) -> None:
        while self.wire:
            sender, to, data = self.wire.popleft()
            if (sender, to) not in self.lost:
                self.logs[to].log.hear(sender, data)
                self.logs[to].work()

    def hear_of(self, sender: str, to: str) -> None:
        """Deliver the messages to `sender`, and its answers to `to`, which does not react."""
        for one, other in ((to, sender), (sender, to)):
            for item in [item for item in self.wire if item[:2] == (one, other)]:
                self.wire.remove(item)
                self.logs[other].log.hear(one, item[2])
                if other == sender:
                    self.logs[other].work()

    @property
    def appends(self) -> dict[str, int]:
        """Return how often each disk was written to."""
        return {name: bench.writes for name, bench in self.logs.items()}

    def reconnect(self) -> None:
        self.lost.clear()
        for name, bench in self.logs.items():
            for other in self.logs.keys() - {name}:
                bench.log.peer_up(other)
                bench.work()
        self.settle()

    def change_view(self, names: str, position: Position | None) -> View:
        for bench in self.logs.values():
            bench.log.close(Closing.NEXT_VIEW)
        former = self.logs[names[0]].view
        assert former is not None
        view = next_view(former, names, position)
        for name in names:
            self.logs[name].learn(view)
        return view

    def texts(self, name: str) -> list[str]:
        return [Entry.of(frame.data).body.decode() for frame in self.logs[name].journal.read(1)]


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Three]:
    wire: deque[tuple[str, str, bytes]] = deque()
    logs = {}
    for name in "abc":
        (tmp_path / name).mkdir()
        logs[name] = Bench(name, wire, Journal.open(tmp_path / name))
    view = first_view()
    for bench in logs.values():
        bench.learn(view)
    for bench in logs.values():
        bench.open()
    made = Three(wire, logs)
    made.settle()
    yield made
    for bench in logs.values():
        bench.journal.close()


def test_a_write_is_acknowledged_when_all_members_have_it(three: Three) -> None:
    three.lost = {("a", "c")}

    three["b"].submit("one")
    three.settle()

    assert ["one"] == three.texts("a") == three.texts("b")
    assert [] == three["b"].done
    three.reconnect()
    assert [1] == three["b"].done
    assert ["one"] == three.texts("c") == three["c"].app.texts


def test_a_submission_lost_on_a_connection_is_repeated_once(three: Three) -> None:
    """The connection breaks, and later submissions overtake it; each is in the log once."""
    three.lost = {("b", "a")}
    three["b"].submit("one")
    three["b"].submit("two")
    three.settle()
    three.lost.clear()
    three["b"].submit("three")
    three.settle()

    three.reconnect()
    three.reconnect()

    assert sorted(["one", "two", "three"]) == sorted(three.texts("a"))
    assert [1, 2, 3] == sorted(three["b"].done)


def test_a_frozen_member_ends_all_commits(three: Three) -> None:
    three["c"].is_frozen = True

    three["a"].submit("one")
    three.settle()

    assert [] == three["a"].done
    assert 0 == three["b"].log.committed


def test_frames_from_before_the_next_view_are_acknowledged_when_it_opens(three: Three) -> None:
    """a orders a frame of b's client, only c gets it, and a dies; the next view has c's data."""
    three.lost = {("a", "b")}
    three["b"].submit("one")
    three.settle()
    position = three["c"].journal.last
    view = three.change_view("bc", position)
    three["b"].log.start_update(StartUpdate("c", view, position, False))

    three.settle()
    for name in "cb":
        three[name].open()
    three.settle()

    assert [position] == three["b"].updated
    assert ["one"] == three.texts("b") == three.texts("c")
    assert [1] == three["b"].done, "acknowledged, and not written a second time"


def test_a_tail_that_no_other_member_has_is_cut_and_written_again(three: Three) -> None:
    """Only the sequencer has the frame.  It comes back after the others' view; its client waits."""
    three.lost = {("a", "b"), ("a", "c")}
    three["a"].submit("one")
    three.settle()
    three.lost.clear()
    three.change_view("bc", None)
    for name in "bc":
        three[name].open()
    three["c"].submit("two")
    three.settle()
    last = three["b"].journal.last
    view = three.change_view("bc", last)
    again = next_view(view, "abc", last)
    for bench in three.logs.values():
        bench.learn(again)
    three["a"].log.start_update(StartUpdate("b", again, last, False))
    three.settle()

    assert ["two"] == three.texts("a")
    for name in "abc":
        three[name].open()
    three.settle()

    assert ["two", "one"] == three.texts("a") == three.texts("c")
    assert [2] == three["a"].done
    assert ["two", "one"] == three["a"].app.texts, "the cut frame was never applied"


def test_a_source_that_lacks_required_frames_is_given_up(three: Three) -> None:
    wanted = Position("9" * 64, 4)
    view = three.change_view("abc", None)

    three["a"].log.start_update(StartUpdate("b", view, wanted, False))
    three.settle()

    assert ["b"] == three["a"].given_up
    assert [] == three["a"].updated


def test_a_member_updated_by_a_source_without_frames_has_no_frame(three: Three) -> None:
    """The view starts before the first frame, so a tail that only one member has is cut."""
    three.lost = {("a", "b"), ("a", "c")}
    three["a"].submit("one")
    three.settle()
    assert 1 == three["a"].journal.last_seq
    three.lost.clear()
    view = three.change_view("abc", None)

    three["a"].log.start_update(StartUpdate("b", view, None, False))
    three.settle()

    assert ([], [None]) == (three["a"].given_up, three["a"].updated)
    assert 0 == three["a"].journal.last_seq


def test_the_deadline_is_the_earliest_time_that_the_log_waits_for(three: Three) -> None:
    """The update would stall before the wait for frames to come to rest would end."""
    one = three["a"]
    view = three.change_view("abc", None)
    one.log.start_update(StartUpdate("b", view, Position("9" * 64, 4), False))
    stalls = one.log.deadline
    assert stalls is not None
    one.time = stalls - 1.0

    one.log.rest(lambda: None)

    assert stalls == one.log.deadline


def test_data_does_not_change_while_an_answer_counts(three: Three) -> None:
    """3.3: a member that answers freezes, so the results of an update wait."""
    three["b"].submit("one")
    three.settle()
    view = three["a"].view
    assert view is not None
    newcomer = three["c"]
    newcomer.journal.cut(0)
    newcomer.is_frozen = True

    newcomer.log.start_update(StartUpdate("a", view, None, True))
    three.settle()

    assert 0 == newcomer.journal.last_seq
    newcomer.is_frozen = False
    newcomer.work()
    three.settle()
    assert ["one"] == three.texts("c")


def test_reads_wait_for_frames_that_are_not_committed_yet(three: Three) -> None:
    """Otherwise a client could read another client's write, and later miss it."""
    three.lost = {("c", "a")}
    three["a"].submit("one")
    three.settle()
    read: list[int] = []

    three["b"].log.barrier(read.append)
    three["b"].work()
    three["b"].log.confirmed(1)

    assert [] == read
    three.reconnect()
    assert [1] == read


def test_reads_wait_until_the_view_is_confirmed(three: Three) -> None:
    """3.8: the journal of a member that the others have left lacks frames that they acknowledge."""
    three["a"].submit("one")
    three.settle()
    read: list[int] = []
    b = three["b"]

    for _ in range(3):
        b.log.barrier(read.append)
    b.work()

    assert (1, []) == (b.asked, read), "they share one question"
    b.log.confirmed(1)
    assert [1, 1, 1] == read


def test_a_local_read_waits_for_no_member(three: Three) -> None:
    three["a"].submit("one")
    three.settle()
    read: list[int] = []

    three["b"].log.barrier(read.append, is_local=True)

    assert (0, [1]) == (three["b"].asked, read)


def test_reads_are_refused_when_the_log_closes(three: Three) -> None:
    """A later confirmation has no effect: the client must ask again, here or elsewhere."""
    told: list[str] = []
    b = three["b"]
    b.log.barrier(lambda seq: told.append("answered"), told.append)
    b.work()

    b.log.close(Closing.NO_MAJORITY)
    b.log.confirmed(1)
    b.log.barrier(lambda seq: told.append("answered"), told.append)

    assert [Closing.NO_MAJORITY.value, "not active"] == told


def test_reads_are_refused_if_too_many_electors_cannot_confirm_them(three: Three) -> None:
    """A rolling upgrade: the first member of the new version says which members it waits for."""
    told: list[str] = []
    b = three["b"]
    b.older = frozenset("ca")

    b.log.barrier(lambda seq: told.append("answered"), told.append)
    b.work()

    assert ["unconfirmed: a, c cannot confirm reads yet"] == told


def test_another_disk_does_not_count_as_the_disk_of_the_view(three: Three) -> None:
    """Commits count seats: a member whose disk was exchanged is another member."""
    three.lost = {("c", "a")}
    three["a"].submit("one")
    three.settle()
    sequencer = three["a"].log.ordering.sequencer
    assert sequencer is not None

    sequencer.kept("c", "another store", 1, is_gap=False)
    three["a"].work()

    assert [] == three["a"].done


def test_all_disks_are_written_at_the_same_time(three: Three) -> None:
    """The sequencer sends frames before it writes them; its own disk counts like the others'."""
    a = three["a"]
    a.log.submit(b"one", lambda position: a.done.append(position.seq))

    work = a.log.work()
    write = next(work)

    assert {"b", "c"} == {to for sender, to, _ in three.wire if sender == "a"}
    assert 0 == a.journal.last_seq
    write()
    list(work)
    assert [] == a.done
    three.settle()
    assert [1] == a.done


def test_a_frame_is_reported_once_it_is_on_the_disk(three: Three) -> None:
    """From then on the sequencer counts it as kept, even if this process dies."""
    a, b = three["a"], three["b"]
    a.submit("one")
    (data,) = [data for sender, to, data in three.wire if (sender, to) == ("a", "b")]
    three.wire.clear()
    b.log.hear("a", data)

    work = b.log.work()
    write = next(work)

    assert not three.wire
    assert 0 == b.journal.last_seq
    write()
    list(work)
    assert [("b", "a")] == [(sender, to) for sender, to, _ in three.wire]


@pytest.mark.parametrize("name", "ab")
def test_opening_again_commits_no_frame_that_only_some_disks_have(three: Three, name: str) -> None:
    """A member that heard no majority for a while continues in its view; c lacks the frame."""
    three.lost = {("a", "c")}
    three["a"].submit("one")
    three.settle()
    bench = three[name]
    assert 1 == bench.journal.last_seq

    bench.log.close(Closing.NO_MAJORITY)
    bench.open()

    assert (0, []) == (bench.log.committed, bench.app.texts)
    three.reconnect()
    assert (1, ["one"]) == (bench.log.committed, bench.app.texts)


def test_submissions_that_come_together_go_in_one_message(three: Three) -> None:
    for number in range(5):
        three["b"].log.submit(f"text {number}".encode(), lambda at: three["b"].done.append(at.seq))
    three["b"].work()

    assert 1 == len(three.wire)
    three.settle()
    assert [1, 2, 3, 4, 5] == three["b"].done
    assert [f"text {number}" for number in range(5)] == three.texts("c")


def test_frames_that_come_during_a_commit_go_together(three: Three) -> None:
    """All waiting frames take one message and one fsync on each disk."""
    a = three["a"]
    for number in range(6):
        a.submit(f"text {number}")

    assert [1] == [frame.seq for frame in a.journal.read(1)]
    assert 2 == len(three.wire)
    three.settle()
    assert [1, 2, 3, 4, 5, 6] == a.done
    assert {"a": 2, "b": 2, "c": 2} == three.appends
    assert [f"text {number}" for number in range(6)] == three.texts("c")


def test_frames_do_not_wait_for_a_commit_that_takes_long(three: Three) -> None:
    """Between distant sites a write takes one round, not two."""
    a = three["a"]
    a.submit("one")
    a.time += 0.1
    three.settle()
    a.submit("two")
    a.submit("three")

    assert [1, 2, 3] == [frame.seq for frame in a.journal.read(1)]
    a.time += 0.01
    three.settle()
    a.submit("four")
    a.submit("five")
    assert 4 == a.journal.last_seq
    three.settle()
    assert [1, 2, 3, 4, 5] == a.done


def test_many_frames_do_not_wait_for_a_commit(three: Three) -> None:
    a = three["a"]
    a.submit("one")

    a.submit("x" * 70_000)

    assert 2 == a.journal.last_seq
    three.settle()
    assert [1, 2] == a.done


def test_a_client_that_has_an_answer_does_not_wait_for_the_next_fsync(three: Three) -> None:
    a = three["a"]
    a.submit("one")
    a.submit("two")
    for sender in "bc":
        three.hear_of(sender, "a")

    work = a.log.work()
    next(work)()

    assert [1] == a.done
    list(work)
    three.settle()
    assert [1, 2] == a.done


def test_a_sequencer_of_the_former_version_gets_frames_one_by_one(three: Three) -> None:
    three["b"].spoken = 1
    for text in (b"one", b"two"):
        three["b"].log.submit(text, lambda at: three["b"].done.append(at.seq))
    three["b"].work()

    assert [True, True] == [b'["submit",' in data for _, _, data in three.wire]
    three.settle()
    assert [1, 2] == three["b"].done


def test_a_tail_that_is_cut_is_not_read_from_memory(three: Three) -> None:
    """Recently written frames are kept in memory, and removed from it when they are cut."""
    journal = three["a"].journal
    three["a"].submit("one")
    three["a"].submit("two")

    journal.cut(1)

    assert ["one"] == three.texts("a")
    assert [] == journal.read(2)
