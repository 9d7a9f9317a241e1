"""The replicated log: what clients write is acknowledged once all of the view have it.

    log.submit(data, done)     done(position) when it is committed, exactly once
    log.barrier(done)          done(seq): all that was committed before is committed up to here

A client may write at any active member; it hands the frame to the sequencer.  What was not
committed when a view ended is looked for in the journal when the next one opens: there it is
committed, or it never will be, and is submitted again.  So a frame is in the log once, however
often the view changes, as long as the member that took it lives.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from secrets import token_hex
from typing import Protocol

from attrs import define

from joinproto.drivers.ports import Brief, Strand, Work
from joinproto.join.frames import Frame as May
from joinproto.join.ids import ViewId
from joinproto.join.messages import Closing, ServeUpdate, StartUpdate
from joinproto.join.view import Position, View
from joinproto.log.entry import Entry, digest_of
from joinproto.log.journal import Frame, Journal
from joinproto.log.keeper import Keeping, keeper_of, kind_of
from joinproto.log.letters import (
    SECOND,
    Ask,
    AtRest,
    BasePiece,
    Committed,
    Fetch,
    FetchBase,
    Frames,
    Have,
    HaveFrom,
    Kept,
    Letter,
    Piece,
    Rest,
    Submit,
    Submits,
    read,
    write,
)
from joinproto.log.sequencer import BATCH_BYTES, BATCH_FRAMES, Intake, Sequencer
from joinproto.log.updates import Updates

log = logging.getLogger(__name__)

EARLY_MAX = 10_000
"""Frames that are submitted to a sequencer which has not opened yet."""

LOAD_BYTES = 2**20

SMALL_BYTES = 64 * 2**10
"""What is written in about the time of its fsync."""

GATHER_SECONDS = 0.05
"""Where frames are committed within this time, those that come meanwhile wait for it."""

REST_SECONDS = 5.0
"""So long a close waits for the frames to come to rest; then it is asked for all the same."""


class Application(Protocol):
    """What is made of the log.  Called on the strand; `apply` in order, committed frames only."""

    def apply(self, frame: Frame) -> None: ...
    def opened(self, view: View) -> None:
        """All that was committed before this view is applied: serve."""

    def closed(self, why: Closing) -> None: ...


@define
class _Pending:
    body: bytes
    done: Callable[[Position], None]
    lost: Callable[[], None]
    seq: int | None = None


def _forget() -> None:
    pass


class ReplicatedLog:
    """A `Service` and a `StateTransfer` over a journal."""

    def __init__(
        self,
        journal: Journal,
        application: Application,
        *,
        keeping: Keeping | None = None,
    ) -> None:
        """`keeping`: when snapshots are made, of an application that is `Remembering`.  `origin`:
        stands in the entries that are submitted here, in this run.  Raises `StoreForeign` where
        the journal begins with the state of another application.
        """
        self.journal = journal
        self.application = application
        self.view: View | None = None
        self.committed = 0
        self.applied = 0  # the last frame in the application's state
        self._keeping = Keeping() if keeping is None else keeping
        self._keeper = keeper_of(journal, application, self._keeping)
        if self._keeper is not None:
            self.applied = self._keeper.begin()
        self.origin = token_hex(8)
        self._number = 0
        self._strand: Strand | None = None
        self._updates: Updates | None = None
        self._sequencer: Sequencer | None = None
        self._intake = Intake("")
        self._leader = ""
        self._told = 0
        self._round: tuple[int, float] | None = None  # a frame that is under way, and since when
        self._round_seconds = 0.0  # so long it took the last time
        self._is_opening = False
        self._pending: dict[int, _Pending] = {}
        self._written: deque[tuple[int, int]] = deque()  # seq and number of those in the journal
        self._heard: Committed | None = None
        self._barriers: deque[tuple[int, Callable[[int], None]]] = deque()
        self._incoming: deque[tuple[str, Frames]] = deque()
        self._early: list[Submit | Submits] = []
        self._outgoing: list[int] = []  # numbers that are to be handed in
        self._at_rest: Callable[[], None] | None = None
        self._rests_by: float | None = None

    # -- clients -------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Return whether clients may be served now."""
        return self.view is not None and not self._is_opening

    @property
    def pending(self) -> int:
        """Return how many frames wait to be committed."""
        return len(self._pending)

    def submit(
        self, body: bytes, done: Callable[[Position], None], lost: Callable[[], None] = _forget
    ) -> None:
        """Write a frame for a client; only while open.

        It is on its way with the next `work`, together with all others that came until then.
        `lost`: is called in the place of `done` where nobody can tell any more whether the frame
        is in the log: the others went on without this member, and dropped their frames.
        """
        self._number += 1
        self._pending[self._number] = _Pending(body, done, lost)
        self._hand_in(self._number)

    def barrier(self, done: Callable[[int], None]) -> None:
        """Call back when everything that is in the journal now is committed.

        Whatever was acknowledged to any client before is in it: then read up to there.
        """
        self._barriers.append((self.journal.last_seq, done))
        self._release()

    def _hand_in(self, number: int) -> None:
        if self._sequencer is not None:
            body, oldest = self._pending[number].body, next(iter(self._pending))
            self._intake.submit(self.origin, number, oldest, body)
        elif self.view is not None:
            self._outgoing.append(number)

    def _send_outgoing(self) -> None:
        """Hand in what has come together, in letters that are not too long."""
        if self.view is None or not self._outgoing:
            return
        view, oldest = str(self.view.id), next(iter(self._pending), 1)
        waiting = [(number, self._pending.get(number)) for number in self._outgoing]
        self._outgoing.clear()
        several = self.strand.speaks(self._leader) >= SECOND
        numbers: list[int] = []
        bodies: list[bytes] = []
        size = 0
        for number, one in waiting:
            if one is None or one.seq is not None:
                continue
            if not several:
                self._send(self._leader, Submit(view, self.origin, number, oldest, one.body))
                continue
            numbers.append(number)
            bodies.append(one.body)
            size += len(one.body)
            if size >= BATCH_BYTES or len(numbers) >= BATCH_FRAMES:
                self._send_several(view, oldest, numbers, bodies)
                numbers, bodies, size = [], [], 0
        self._send_several(view, oldest, numbers, bodies)

    def _send_several(
        self, view: str, oldest: int, numbers: list[int], bodies: list[bytes]
    ) -> None:
        if numbers:
            letter = Submits(view, self.origin, oldest, tuple(numbers), tuple(bodies))
            self._send(self._leader, letter)

    # -- before the cluster is closed ----------------------------------------------------------

    def rest(self, then: Callable[[], None]) -> None:
        """Have nothing more ordered, and call `then` when all members have the same frames.

        What was not ordered yet is nowhere.  Calls after `REST_SECONDS` in any case.
        """
        self._at_rest = then
        self._rests_by = self.strand.now() + REST_SECONDS
        self._ask_for_rest()

    def _ask_for_rest(self) -> None:
        if self._at_rest is None or self.view is None:
            return
        if self._sequencer is not None:
            self._intake.ask_for_rest(self.strand.seat.member)
        elif self.strand.speaks(self._leader) >= SECOND:
            self._send(self._leader, Rest(str(self.view.id)))
        else:
            self._has_come_to_rest()

    def _has_come_to_rest(self) -> None:
        then, self._at_rest, self._rests_by = self._at_rest, None, None
        if then is not None:
            then()

    def _tell_of_rest(self, sequencer: Sequencer) -> None:
        if not self._intake.askers or not sequencer.is_level:
            return
        asked, self._intake.askers = self._intake.askers, set()
        for name in sorted(asked):
            if name == self.strand.seat.member:
                self._has_come_to_rest()
            else:
                self._send(name, AtRest(str(sequencer.view.id), self.journal.last_seq))

    # -- the service ---------------------------------------------------------------------------

    @property
    def strand(self) -> Strand:
        assert self._strand is not None
        return self._strand

    @property
    def updates(self) -> Updates:
        assert self._updates is not None
        return self._updates

    def attach(self, strand: Strand) -> None:
        self._strand = strand
        self._updates = Updates(
            strand,
            self.journal,
            cut=self._was_cut,
            took=self._took,
            based=self._was_based,
            kind=kind_of(self.application),
            before_base=self._keeping.before_dropping,
        )

    def open(self, view: View, *, is_sequencer: bool) -> None:
        self.view = view
        self._is_opening = True
        self._leader = min(seat.member for seat in view.members)
        # All members were ready where the view starts, so they have all that is before.
        self._commit(0 if view.position is None else view.position.seq)
        if is_sequencer:
            self._sequencer = Sequencer(view, self.strand.seat, self.journal, self._send)
            self._told = 0
            self._round = None
            if self._intake.view != view.id:
                self._intake = Intake(view.id)
            for letter in self._early:
                self._put(letter)
        elif self._heard is not None and self._heard.view == view.id:
            self._commit(min(self._heard.seq, self.journal.last_seq))
        self._early.clear()
        self._hand_in_all()
        self._ask_for_rest()

    def close(self, why: Closing) -> None:
        self.view = None
        self._outgoing.clear()
        self._sequencer = None
        self._is_opening = False
        self.application.closed(why)

    def learned(self, view: View) -> None:
        self._incoming.clear()
        self._early.clear()
        self.updates.void()

    def peer_up(self, peer: str) -> None:
        if self._sequencer is not None:
            self._sequencer.peer_up(peer)
            self._send(peer, Committed(str(self._sequencer.view.id), self._told))
        elif self.view is not None and peer == self._leader:
            self._hand_in_all()  # what was on its way is lost; it takes each number once
            self._ask_for_rest()

    def peer_down(self, peer: str) -> None:
        self.updates.peer_down(peer)

    def hear(self, peer: str, data: bytes) -> None:
        letter = read(data)
        match letter:
            case Frames():
                self._incoming.append((peer, letter))
            case Kept(view, seq, store_id, is_gap):
                if self._sequencer is not None and self._sequencer.view.id == view:
                    self._sequencer.kept(peer, store_id, seq, is_gap=is_gap)
            case Committed(view, seq):
                if self.view is None:
                    self._heard = letter  # it has opened before us
                elif self.view.id == view and peer == self._leader:
                    self._commit(min(seq, self.journal.last_seq))
            case Submit() | Submits():
                self._order(letter)
            case Rest(view):
                self._order_no_more(peer, view)
            case AtRest(view):
                if self.view is not None and self.view.id == view and peer == self._leader:
                    self._has_come_to_rest()
            case Ask() | Fetch() | FetchBase():
                self.updates.answer(peer, letter)
            case Have() | HaveFrom() | Piece() | BasePiece():
                self.updates.hear(peer, letter)

    def start_update(self, update: StartUpdate) -> None:
        self.updates.start(update)

    def serve_update(self, update: ServeUpdate) -> None:
        self.updates.serve(update)

    @property
    def deadline(self) -> float | None:
        due = None if self._updates is None else self.updates.deadline
        busy = self.strand.now() if self._keeper is not None and self._keeper.is_busy else None
        return min((at for at in (due, self._rests_by, busy) if at is not None), default=None)

    def work(self) -> Iterator[Work]:
        yield from self.updates.work()
        self._send_outgoing()
        yield from self._take()
        yield from self._sequence()
        yield from self._apply()
        if self._keeper is not None:
            yield from self._keeper.work(self.applied)
        if self._rests_by is not None and self.strand.now() >= self._rests_by:
            log.warning("frames have not come to rest within %g s: closes as it is", REST_SECONDS)
            self._has_come_to_rest()

    # -- frames --------------------------------------------------------------------------------

    def _order_no_more(self, peer: str, view: ViewId) -> None:
        tip = self.strand.view
        if tip is None or tip.id != view:
            return
        if self._intake.view != view:
            self._intake = Intake(view)  # it asks before this member has opened
        self._intake.ask_for_rest(peer)

    def _order(self, letter: Submit | Submits) -> None:
        if self._sequencer is not None and self._sequencer.view.id == letter.view:
            self._put(letter)
        elif self.view is None and len(self._early) < EARLY_MAX:
            # It has opened before us; it submits again only when something changes.
            tip = self.strand.view
            if tip is not None and tip.id == letter.view:
                self._early.append(letter)

    def _put(self, letter: Submit | Submits) -> None:
        if isinstance(letter, Submit):
            self._intake.submit(letter.origin, letter.number, letter.oldest, letter.body)
            return
        for number, body in zip(letter.numbers, letter.bodies, strict=True):
            self._intake.submit(letter.origin, number, letter.oldest, body)

    def _sequence(self) -> Iterator[Work]:
        """Write what clients want written, and send it."""
        while self._sequencer is not None and self._intake.queue and not self._intake.is_shut:
            sequencer = self._sequencer
            self._count(sequencer)  # who waits for an answer does not wait for the next fsync, too
            if self._gathers(sequencer):
                return
            view = str(sequencer.view.id)
            first = self.journal.last_seq + 1
            if self.strand.may_append(view, first) is not May.TAKE:
                return
            frames = [Frame(view, seq, data) for seq, data in enumerate(self._intake.take(), first)]
            if self._round is None:
                self._round = frames[-1].seq, self.strand.now()
            sequencer.offer(frames)
            yield from self._write(frames)
            sequencer.wrote()
            self._count(sequencer)
        if self._sequencer is not None:
            self._count(self._sequencer)
            self._tell_of_rest(self._sequencer)

    def _gathers(self, sequencer: Sequencer) -> bool:
        """Return whether a few frames wait for more, as those under way are soon committed.

        Each letter and each fsync costs the same for one frame as for a hundred.
        """
        is_under_way = sequencer.committed < self.journal.last_seq
        is_little = len(self._intake.queue) < BATCH_FRAMES and self._intake.size < SMALL_BYTES
        return is_under_way and is_little and self._round_seconds < GATHER_SECONDS

    def _count(self, sequencer: Sequencer) -> None:
        """Acknowledge what all members of the view have; never while closed."""
        if self._sequencer is not sequencer:
            return
        self._commit(sequencer.committed)
        if sequencer.committed > self._told:
            self._told = sequencer.committed
            if self._round is not None and self._told >= self._round[0]:
                self._round_seconds = self.strand.now() - self._round[1]
                self._round = None
            view = sequencer.view
            self.strand.note("committed", view=view.id, seq=sequencer.committed)
            for seat in view.members - {self.strand.seat}:
                self._send(seat.member, Committed(str(view.id), sequencer.committed))

    def _take(self) -> Iterator[Work]:
        """Write what the sequencer sent, as much as there is in one fsync, and say so."""
        while self._incoming:
            peer, letter = self._incoming.popleft()
            answer = self.strand.may_append(letter.view, letter.first)
            behind = self.journal.last_seq - letter.first + 1  # of its frames, those that are here
            if answer is May.ALREADY_THERE and behind < len(letter.bodies):
                letter = Frames(
                    letter.view, self.journal.last_seq + 1, letter.bodies[max(0, behind) :]
                )
                answer = self.strand.may_append(letter.view, letter.first)
            if answer in (May.OTHER_VIEW, May.FROZEN, May.NOT_READY):
                continue
            if answer is May.TAKE:
                bodies = list(letter.bodies)
                while self._incoming and self._continues(letter, len(bodies)):
                    bodies += self._incoming.popleft()[1].bodies
                numbered = enumerate(bodies, letter.first)
                yield from self._write([Frame(letter.view, seq, data) for seq, data in numbered])
            is_gap = answer is May.GAP
            kept = Kept(letter.view, self.journal.last_seq, self.strand.seat.store_id, is_gap)
            self._send(peer, kept)

    def _continues(self, letter: Frames, count: int) -> bool:
        following = self._incoming[0][1]
        return following.view == letter.view and following.first == letter.first + count

    def _write(self, frames: list[Frame]) -> Iterator[Work]:
        is_small = sum(len(frame.data) for frame in frames) <= SMALL_BYTES
        work = partial(self.journal.append, frames)
        yield Brief(work) if is_small else work
        # The member was told nothing in between, so what it permitted it still permits.
        first = frames[0].seq
        self.strand.appended(
            frames[0].view, first, frames[-1].seq, lambda seq: digest_of(frames[seq - first].data)
        )
        for frame in frames:
            self._took(frame)

    def _took(self, frame: Frame) -> None:
        """Recognize what a client of ours wrote, whichever way the frame came here."""
        entry = Entry.of(frame.data)
        pending = self._pending.get(entry.number) if entry.origin == self.origin else None
        if pending is not None and pending.seq is None:
            pending.seq = frame.seq
            self._written.append((frame.seq, entry.number))

    # -- what is committed ---------------------------------------------------------------------

    def _commit(self, seq: int) -> None:
        self.committed = max(self.committed, seq)
        if self.view is not None:
            self._release()

    def _release(self) -> None:
        """Tell clients; only ever called while the view is served."""
        while self._written and self._written[0][0] <= self.committed:
            seq, number = self._written.popleft()
            self._pending.pop(number).done(Position(self._view_of(seq), seq))
        while self._barriers and self._barriers[0][0] <= self.committed:
            self._barriers.popleft()[1](self.committed)

    def _view_of(self, seq: int) -> str:
        return next(run.view for run in reversed(self.journal.runs) if run.first <= seq)

    def _hand_in_all(self) -> None:
        """Submit again what is not in the journal; in order, so that each is taken once."""
        self._release()
        self._outgoing.clear()
        for number, one in sorted(self._pending.items()):
            if one.seq is None:
                self._hand_in(number)

    def _was_cut(self, last: int) -> None:
        while self._written and self._written[-1][0] > last:
            self._pending[self._written.pop()[1]].seq = None

    def _was_based(self, common: int) -> None:
        """The journal has another base: the state goes on from there."""
        if self._keeper is not None:
            self.applied = self._keeper.take_base()
        self._was_cut(common)
        # Perhaps it is among the dropped frames; submitted again it could be in the log twice.
        unknown = [number for number, one in self._pending.items() if one.seq is None]
        for number in unknown:
            self._pending.pop(number).lost()

    @property
    def snapshot(self) -> int:
        """Return the last frame in a snapshot, 0: there is none."""
        return 0 if self._keeper is None else self._keeper.snapshot

    @property
    def is_settled(self) -> bool:
        """Return whether no snapshot is being made, and no frame dropped."""
        return self._keeper is None or not self._keeper.is_busy

    def _apply(self) -> Iterator[Work]:
        """Bring the application to where the log is committed; then it may open."""
        while self.applied < self.committed and self.view is not None:
            first = self.applied + 1
            frames = self.journal.recent(first, bytes_max=LOAD_BYTES)
            if not frames:
                yield lambda first=first, frames=frames: frames.extend(  # type: ignore[misc]
                    self.journal.read(first, bytes_max=LOAD_BYTES)
                )
            for frame in frames:
                if frame.seq <= self.committed:
                    self.application.apply(frame)
                    self.applied = frame.seq
        if self._is_opening and self.view is not None:
            self._is_opening = False
            self.application.opened(self.view)

    def _send(self, to: str, letter: Letter) -> None:
        self.strand.send(to, write(letter))
