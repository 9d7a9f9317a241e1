"""Ordering on the sequencer's member: submitted frames are written, sent and counted.

New frames wait for the commit of frames under way if this takes little time, because a message or
an fsync costs the same for one frame as for a hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from joinproto.durable.journal.journal import Frame, Journal
from joinproto.host.ports import EventLoop, Work
from joinproto.join.frames import FrameVerdict as May
from joinproto.join.ids import ViewId
from joinproto.join.view import View
from joinproto.log.messages import AtRest, Committed, Kept, Message, Submit, Submits, write
from joinproto.log.sequencer import BATCH_FRAMES, Intake, Sequencer

EARLY_MAX = 10_000
"""The most messages kept that reach this member before it opens as the sequencer."""

SMALL_BYTES = 64 * 2**10
"""Bytes whose write takes about as long as an fsync."""

GATHER_SECONDS = 0.05
"""If the last commit took less time than this, new frames wait for the end of the present one."""


class Ordering:
    """The part of a log that orders frames.

    `sequencer`: None unless this member orders the frames of its view.  `append`: writes frames to
    the journal.  `commit`: called with the last frame that all members have.  `rested`: called
    when all members have the same frames, if this member asked for that.
    """

    def __init__(
        self,
        loop: EventLoop,
        journal: Journal,
        *,
        append: Callable[[list[Frame]], Iterator[Work]],
        commit: Callable[[int], None],
        rested: Callable[[], None],
    ) -> None:
        self.sequencer: Sequencer | None = None
        self._loop = loop
        self._journal = journal
        self._append = append
        self._commit = commit
        self._rested = rested
        self._intake = Intake("")
        self._announced = 0
        self._round: tuple[int, float] | None = None  # a frame under way, and when it was written
        self._round_seconds = 0.0  # the time from the last such frame's write to its commit
        self._early: list[Submit | Submits] = []

    # -- the view ------------------------------------------------------------------------------

    def open(self, view: View, *, is_sequencer: bool) -> None:
        if is_sequencer:
            self.sequencer = Sequencer(view, self._loop.seat, self._journal, self._send)
            self._announced = 0
            self._round = None
            if self._intake.view != view.id:
                self._intake = Intake(view.id)
            for message in self._early:
                self.put(message)
        self._early.clear()

    def close(self) -> None:
        self.sequencer = None

    def learned(self) -> None:
        """Discard early frames, because there is a next view."""
        self._early.clear()

    def peer_up(self, peer: str) -> None:
        if self.sequencer is not None:
            self.sequencer.peer_up(peer)
            self._send(peer, Committed(str(self.sequencer.view.id), self._announced))

    # -- its input ----------------------------------------------------------------------------

    def kept(self, peer: str, message: Kept) -> None:
        if self.sequencer is not None and self.sequencer.view.id == message.view:
            self.sequencer.kept(peer, message.store_id, message.seq, is_gap=message.is_gap)

    def order(self, message: Submit | Submits, *, is_closed: bool) -> None:
        """Accept another member's submissions; `is_closed`: this member's log is closed."""
        if self.sequencer is not None and self.sequencer.view.id == message.view:
            self.put(message)
        elif is_closed and len(self._early) < EARLY_MAX:
            # The submitter has opened before this member, and submits again only after a change.
            tip = self._loop.view
            if tip is not None and tip.id == message.view:
                self._early.append(message)

    def put(self, message: Submit | Submits) -> None:
        if isinstance(message, Submit):
            self._intake.submit(message.origin, message.number, message.oldest, message.body)
            return
        for number, body in zip(message.numbers, message.bodies, strict=True):
            self._intake.submit(message.origin, number, message.oldest, body)

    def order_no_more(self, peer: str, view: ViewId) -> None:
        """Stop ordering in `view`, and tell `peer` when all members have the same frames."""
        tip = self._loop.view
        if tip is None or tip.id != view:
            return
        if self._intake.view != view:
            self._intake = Intake(view)  # `peer` asks before this member has opened
        self._intake.ask_for_rest(peer)

    def rest_here(self) -> None:
        """Stop ordering, and call `rested` when all members have the same frames."""
        self._intake.ask_for_rest(self._loop.seat.member)

    # -- frames --------------------------------------------------------------------------------

    def work(self) -> Iterator[Work]:
        """Write and send the submitted frames."""
        while self.sequencer is not None and self._intake.queue and not self._intake.is_shut:
            sequencer = self.sequencer
            self._count(sequencer)  # so that clients need not wait for the next fsync
            if self._gathers(sequencer):
                return
            view = str(sequencer.view.id)
            first = self._journal.last_seq + 1
            if self._loop.may_append(view, first) is not May.TAKE:
                return
            frames = [Frame(view, seq, data) for seq, data in enumerate(self._intake.take(), first)]
            if self._round is None:
                self._round = frames[-1].seq, self._loop.now()
            sequencer.offer(frames)
            yield from self._append(frames)
            sequencer.wrote()
            self._count(sequencer)
        if self.sequencer is not None:
            self._count(self.sequencer)
            self._tell_of_rest(self.sequencer)

    def _gathers(self, sequencer: Sequencer) -> bool:
        """Return whether the few queued frames wait, because others will soon be committed."""
        is_under_way = sequencer.committed < self._journal.last_seq
        is_little = len(self._intake.queue) < BATCH_FRAMES and self._intake.size < SMALL_BYTES
        return is_under_way and is_little and self._round_seconds < GATHER_SECONDS

    def _count(self, sequencer: Sequencer) -> None:
        """Commit the frames that all members have, and tell the members.

        Do nothing if the log no longer uses `sequencer`.
        """
        if self.sequencer is not sequencer:
            return
        self._commit(sequencer.committed)
        if sequencer.committed > self._announced:
            self._announced = sequencer.committed
            if self._round is not None and self._announced >= self._round[0]:
                self._round_seconds = self._loop.now() - self._round[1]
                self._round = None
            view = sequencer.view
            self._loop.note("committed", view=view.id, seq=sequencer.committed)
            for seat in sorted(view.members - {self._loop.seat}):
                self._send(seat.member, Committed(str(view.id), sequencer.committed))

    def _tell_of_rest(self, sequencer: Sequencer) -> None:
        if not self._intake.askers or not sequencer.is_level:
            return
        asked, self._intake.askers = self._intake.askers, set()
        for name in sorted(asked):
            if name == self._loop.seat.member:
                self._rested()
            else:
                self._send(name, AtRest(str(sequencer.view.id), self._journal.last_seq))

    def _send(self, to: str, message: Message) -> None:
        self._loop.send(to, write(message))
