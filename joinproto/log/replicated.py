"""The replicated log: clients' writes are acknowledged once all members of the view have them.

    log.submit(data, done)     done(position) once the frame is committed
    log.barrier(done)          done(seq): no frame after seq was acknowledged before the call

A client may write at any active member (`submissions.py`).  This member sends the frame to the
sequencer (`ordering.py`), and the sequencer sends it to all members (`following.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol, TypeAlias

from joinproto.durable.journal.journal import Frame, Journal
from joinproto.host.ports import Brief, EventLoop, Work
from joinproto.join.messages import Closing, ServeUpdate, StartUpdate
from joinproto.join.view import Position, View
from joinproto.log.entry import digest_of
from joinproto.log.following import Following
from joinproto.log.keeper import Keeping, keeper_of, kind_of
from joinproto.log.messages import (
    RESTS_VERSION,
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
    Message,
    Piece,
    Rest,
    Submit,
    Submits,
    read,
    write,
)
from joinproto.log.ordering import SMALL_BYTES, Ordering
from joinproto.log.reads import Reads
from joinproto.log.submissions import Submissions
from joinproto.log.updates import Updates

log = logging.getLogger(__name__)

LOAD_BYTES = 2**20

JournalFrame: TypeAlias = Frame
"""A frame of the journal, with its view and its number."""

REST_SECONDS = 5.0
"""Seconds that a shutdown waits for all members to have the same frames; then it goes on anyway."""


class Application(Protocol):
    """The application that consumes the log.  Its methods are called on the event loop."""

    def apply(self, frame: JournalFrame) -> None:
        """Apply the next committed frame."""

    def opened(self, view: View) -> None:
        """All frames committed before this view are applied: serve clients."""

    def closed(self, why: Closing) -> None: ...


def _ignore(*_: str) -> None:
    pass


def appending(
    loop: EventLoop, journal: Journal, submissions: Submissions, frames: list[Frame]
) -> Iterator[Work]:
    """Write frames that the member permits; then tell the member and `submissions`."""
    is_small = sum(len(frame.data) for frame in frames) <= SMALL_BYTES
    work = partial(journal.append, frames)
    yield Brief(work) if is_small else work
    # The member got no input since it permitted this, so the permission still holds.
    first = frames[0].seq
    loop.appended(
        frames[0].view, first, frames[-1].seq, lambda seq: digest_of(frames[seq - first].data)
    )
    for frame in frames:
        submissions.note_written(frame)


class ReplicatedLog:
    """A `Service` and a `StateTransfer` over a journal: the log that all members write.

    `application`: gets each committed frame, in order.  `keeping`: None means its defaults.
    Raises `StoreForeign` if the journal begins with the state of another application.
    """

    # Set by `attach`.
    loop: EventLoop
    ordering: Ordering
    following: Following
    updates: Updates

    def __init__(
        self,
        journal: Journal,
        application: Application,
        *,
        keeping: Keeping | None = None,
    ) -> None:
        self.journal = journal
        self.application = application
        self.view: View | None = None
        self.committed = 0
        self.applied = 0  # the last frame that the application has applied
        self._keeping = Keeping() if keeping is None else keeping
        self._keeper = keeper_of(journal, application, self._keeping)
        if self._keeper is not None:
            self.applied = self._keeper.begin()
        self.submissions = Submissions(journal)
        self.reads = Reads(journal)
        self._leader = ""
        self._is_opening = False
        self._heard: Committed | None = None
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
        return len(self.submissions)

    @property
    def origin(self) -> str:
        """Return the origin in the entries that are submitted here, in this run."""
        return self.submissions.origin

    @origin.setter
    def origin(self, origin: str) -> None:
        self.submissions.origin = origin

    def submit(
        self, body: bytes, done: Callable[[Position], None], lost: Callable[[], None] = _ignore
    ) -> None:
        """Write a frame for a client, if the log is open; the next `work` sends it.

        `lost`: called in place of `done` if no member can tell any more whether the frame is in the
        log: the others continued without this member, and dropped their frames.
        """
        self._hand_in(self.submissions.add(body, done, lost))

    def barrier(
        self,
        done: Callable[[int], None],
        refused: Callable[[str], None] = _ignore,
        *,
        is_local: bool = False,
    ) -> None:
        """Call `done` with the number of a frame; no later frame was acknowledged before this call.

        For this, a majority of the electors (or the outside register) confirms the view.
        `refused`: called with a reason instead, if the log is not open or closes before, or too
        many electors are of an earlier version.  `is_local`: ask no member.  Then the read may miss
        the frames that others acknowledged since the driver last heard them, or while this process
        was paused.
        """
        if not self.is_open:
            refused("not active")
            return
        (self.reads.add_local if is_local else self.reads.add)(done, refused)
        self._release()

    def _hand_in(self, number: int) -> None:
        if self.view is not None and self.ordering.sequencer is not None:
            self.ordering.put(self.submissions.message(str(self.view.id), number))
        elif self.view is not None:
            self.submissions.queue(number)

    def _hand_in_all(self) -> None:
        """Submit the frames that are not in the journal again, in order."""
        self._release()
        self.submissions.unqueue()
        for number in self.submissions.unwritten():
            self._hand_in(number)

    def _send_outgoing(self) -> None:
        if self.view is not None:
            several = self.loop.speaks(self._leader) >= RESTS_VERSION
            for message in self.submissions.outgoing(str(self.view.id), several=several):
                self._send(self._leader, message)

    # -- before the cluster is closed ----------------------------------------------------------

    def confirmed(self, upto: int) -> None:
        self.reads.confirmed(upto)
        self._release()

    def rest(self, then: Callable[[], None]) -> None:
        """Stop ordering, and call `then` when all members have the same frames.

        A write that was not ordered yet is not in the log.  `then` is called after `REST_SECONDS`
        in any case.
        """
        self._at_rest = then
        self._rests_by = self.loop.now() + REST_SECONDS
        self._ask_for_rest()

    def _ask_for_rest(self) -> None:
        if self._at_rest is None or self.view is None:
            return
        if self.ordering.sequencer is not None:
            self.ordering.rest_here()
        elif self.loop.speaks(self._leader) >= RESTS_VERSION:
            self._send(self._leader, Rest(str(self.view.id)))
        else:
            self._has_come_to_rest()

    def _has_come_to_rest(self) -> None:
        then, self._at_rest, self._rests_by = self._at_rest, None, None
        if then is not None:
            then()

    # -- the service ---------------------------------------------------------------------------

    def attach(self, loop: EventLoop) -> None:
        self.loop = loop
        append = partial(appending, loop, self.journal, self.submissions)
        self.following = Following(loop, self.journal, append)
        self.ordering = Ordering(
            loop,
            self.journal,
            append=append,
            commit=self._commit,
            rested=self._has_come_to_rest,
        )
        self.updates = Updates(
            loop,
            self.journal,
            when_cut=self.submissions.note_cut,
            note_written=self.submissions.note_written,
            when_based=self._use_new_base,
            kind=kind_of(self.application),
            before_base=self._keeping.before_dropping,
        )

    def open(self, view: View, *, is_sequencer: bool) -> None:
        self.view = view
        self._is_opening = True
        self._leader = min(seat.member for seat in view.members)
        # All members were ready at the view's start, so they have all frames before it.
        self._commit(0 if view.position is None else view.position.seq)
        self.ordering.open(view, is_sequencer=is_sequencer)
        if not is_sequencer and self._heard is not None and self._heard.view == view.id:
            self._commit(min(self._heard.seq, self.journal.last_seq))
        self._hand_in_all()
        self._ask_for_rest()

    def close(self, why: Closing) -> None:
        self.view = None
        self.submissions.unqueue()
        self.ordering.close()
        self._is_opening = False
        self.application.closed(why)
        self.reads.void(why.value)

    def learned(self, view: View) -> None:
        self.following.void()
        self.ordering.learned()
        self.updates.void()

    def peer_up(self, peer: str) -> None:
        if self.ordering.sequencer is not None:
            self.ordering.peer_up(peer)
        elif self.view is not None and peer == self._leader:
            self._hand_in_all()  # frames under way may be lost; the leader takes each number once
            self._ask_for_rest()

    def peer_down(self, peer: str) -> None:
        self.updates.peer_down(peer)

    def hear(self, peer: str, data: bytes) -> None:
        match message := read(data):
            case Frames():
                self.following.hear(peer, message)
            case Kept():
                self.ordering.kept(peer, message)
            case Committed(view, seq):
                if self.view is None:
                    self._heard = message  # the sequencer has opened before this member
                elif self.view.id == view and peer == self._leader:
                    self._commit(min(seq, self.journal.last_seq))
            case Submit() | Submits():
                self.ordering.order(message, is_closed=self.view is None)
            case Rest(view):
                self.ordering.order_no_more(peer, view)
            case AtRest(view):
                if self.view is not None and self.view.id == view and peer == self._leader:
                    self._has_come_to_rest()
            case Ask() | Fetch() | FetchBase():
                self.updates.answer(peer, message)
            case Have() | HaveFrom() | Piece() | BasePiece():
                self.updates.hear(peer, message)

    def start_update(self, update: StartUpdate) -> None:
        self.updates.start(update)

    def serve_update(self, update: ServeUpdate) -> None:
        """Do nothing: the joiner's requests are answered when they come."""

    @property
    def deadline(self) -> float | None:
        due = self.updates.deadline
        busy = self.loop.now() if self._keeper is not None and self._keeper.is_busy else None
        return min((at for at in (due, self._rests_by, busy) if at is not None), default=None)

    def work(self) -> Iterator[Work]:
        # Called after each step, mostly without work; so inner generators are made for work only.
        if self.reads.has_new:
            self.reads.hand_in(self.loop)
        if self.updates.update is not None:
            yield from self.updates.work()
        if self.submissions.has_outgoing:
            self._send_outgoing()
        if self.following.has_work:
            yield from self.following.work()
        if self.ordering.sequencer is not None:
            yield from self.ordering.work()
        if self.view is not None and (self._is_opening or self.applied < self.committed):
            yield from self._apply()
        if self._keeper is not None:
            yield from self._keeper.work(self.applied)
        if self._rests_by is not None and self.loop.now() >= self._rests_by:
            log.warning("frames still differ after %g s: the shutdown goes on anyway", REST_SECONDS)
            self._has_come_to_rest()

    # -- commits ------------------------------------------------------------------------------

    def _commit(self, seq: int) -> None:
        self.committed = max(self.committed, seq)
        if self.view is not None:
            self._release()

    def _release(self) -> None:
        # Only called while a view is served.
        self.submissions.release(self.committed)
        self.reads.release(self.committed, self.loop)

    def _use_new_base(self, common: int) -> None:
        """Continue from a new base; `common`: the last frame that the base's source had, too."""
        if self._keeper is not None:
            self.applied = self._keeper.take_base()
        self.submissions.note_cut(common)
        self.submissions.give_up()

    @property
    def snapshot(self) -> int:
        """Return the last frame in a snapshot, 0 if there is none."""
        return 0 if self._keeper is None else self._keeper.snapshot

    @property
    def is_settled(self) -> bool:
        """Return whether no snapshot is being made, and no frame dropped."""
        return self._keeper is None or not self._keeper.is_busy

    def _apply(self) -> Iterator[Work]:
        """Apply all committed frames to the application; then it may open."""
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

    def _send(self, to: str, message: Message) -> None:
        self.loop.send(to, write(message))
