"""Updates: a joiner cuts its tail, then fetches the missing frames of the chain, in order.

    joiner     what do you have?            ->    source
               runs of frames, by view     <-
    joiner     cuts after the last frame that both have, durably
               send what comes next         ->
               some frames                 <-     and so on, up to the end of the runs

The joiner asks for each piece when the piece before is on its disk, so messages do not pile up.
Its data is valid at each moment, and after a crash it continues where it was.

A source that dropped its first frames says so (`HaveFrom`).  A joiner that lacks some of these
fetches the base that replaces them into a separate file.  One rename replaces the joiner's journal
by that file.  The joiner's data then ends at the end of the base, and the update continues from
there as above.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from attrs import define, field

from joinproto.durable.journal.journal import Frame, Journal, Run
from joinproto.durable.journal.records import listed, until
from joinproto.durable.journal.survey import last_of
from joinproto.host.ports import EventLoop, Work
from joinproto.join.inputs import UpdateDone, UpdateProgress
from joinproto.join.messages import StartUpdate
from joinproto.log.entry import digest_of
from joinproto.log.messages import (
    BASES_VERSION,
    Ask,
    BasePiece,
    Fetch,
    FetchBase,
    Have,
    HaveFrom,
    Message,
    Piece,
    write,
)
from joinproto.log.rebasing import BasePieces

log = logging.getLogger(__name__)

STALL_SECONDS = 5.0
BASE_PIECE_BYTES = 1 << 20


@define
class Updates:
    """Both sides of an update.

    `when_cut`: called with the last frame that stays, after a tail was cut.  `note_written`: called
    with each written frame.  `when_based`: called with the last common frame, after the journal got
    a new base.  `kind`: the name of the application whose state a base must hold.  `before_base`:
    makes it durable that earlier versions must not read the journal.  `goal`: the frame with which
    the update ends.
    """

    loop: EventLoop
    journal: Journal
    when_cut: Callable[[int], None]
    note_written: Callable[[Frame], None]
    when_based: Callable[[int], None]
    kind: str = ""
    before_base: Callable[[], None] = lambda: None
    update: StartUpdate | None = None
    goal: int = 0
    _heard: deque[Have | HaveFrom | Piece | BasePiece] = field(factory=deque)
    _pieces: BasePieces | None = None
    _stalls_at: float | None = None

    # -- the joiner ----------------------------------------------------------------------------

    def start(self, update: StartUpdate) -> None:
        """Begin an update; it replaces the present update."""
        self.void()
        self.update = update
        self._tell(update.source, Ask(str(update.view.id)))

    def void(self) -> None:
        """Forget the present update."""
        self.update = None
        self._heard.clear()
        self._stalls_at = None
        self._pieces = None

    def peer_down(self, peer: str) -> None:
        if self.update is not None and self.update.source == peer:
            self.void()

    def hear(self, peer: str, message: Have | HaveFrom | Piece | BasePiece) -> None:
        """Take a message of the source; ignore messages of a former source or view."""
        update = self.update
        if update is not None and update.source == peer and update.view.id == message.view:
            self._heard.append(message)

    @property
    def deadline(self) -> float | None:
        return self._stalls_at

    def work(self) -> Iterator[Work]:
        """Write received frames, and ask for more."""
        # While an answer of this member in a ballot counts, its data must not change.
        while self._heard and self.update is not None and not self.loop.is_frozen:
            message = self._heard.popleft()
            if isinstance(message, Have | HaveFrom):
                if self._is_cut_short(self.update, message) and not self.loop.may_cut():
                    # After a crash, a cut that the record does not know of would look like a loss.
                    self._heard.appendleft(message)
                    return
                yield from self._begin(self.update, message)
            elif isinstance(message, BasePiece):
                yield from self._take_base(self.update, message)
            else:
                yield from self._append(self.update, message)
        update = self.update
        if update is None or self._stalls_at is None or self.loop.now() < self._stalls_at:
            return
        if self.loop.is_frozen:
            self._stalls_at = self.loop.now() + STALL_SECONDS
        else:
            self._give_up(update, f"it sent no part of the update for {STALL_SECONDS:g} s")

    def _is_cut_short(self, update: StartUpdate, have: Have | HaveFrom) -> bool:
        return common_seq(self.journal.runs, _wanted(update, have)) < self.journal.last_seq

    def _give_up(self, update: StartUpdate, why: str) -> None:
        self.void()
        self.loop.give_up_on(update.source, why)

    def _begin(self, update: StartUpdate, have: Have | HaveFrom) -> Iterator[Work]:
        theirs = _wanted(update, have)
        if not update.beside and last_of(theirs) != update.to:
            self._give_up(update, f"its frames do not reach the end of the update, {update.to}")
            return
        self.goal = theirs[-1].last if theirs else 0
        common = common_seq(self.journal.runs, theirs)
        dropped = have.dropped if isinstance(have, HaveFrom) else 0
        if dropped > self.goal:
            # The base cannot be taken in part, and it ends after the goal of this update.
            self._give_up(
                update, f"it dropped its frames up to {dropped}, the update ends at {self.goal}"
            )
            return
        if common < max(dropped, self.journal.first_seq - 1):
            if not dropped:
                why = "its frames are of another branch than the frames that were dropped here"
                self._give_up(update, why)
                return
            self._pieces = BasePieces(
                journal=self.journal, common=common, runs=until(theirs, dropped), kind=self.kind
            )
            self._fetch_base(update)
            return
        if common < self.journal.last_seq:
            yield lambda: self.journal.cut(common)
            self.when_cut(common)
            self.loop.note("cut", last=common)
        self._go_on(update)

    def _fetch_base(self, update: StartUpdate) -> None:
        assert self._pieces is not None
        fetch = FetchBase(str(update.view.id), self._pieces.last, self._pieces.size)
        self._tell(update.source, fetch)

    def _take_base(self, update: StartUpdate, piece: BasePiece) -> Iterator[Work]:
        pieces = self._pieces
        if pieces is None or (piece.dropped, piece.at) != (pieces.last, pieces.size):
            return
        if piece.data:
            yield lambda: pieces.take(piece.data)
        else:  # the base is complete
            yield lambda: pieces.finish(self.before_base)
        if pieces.problem:
            self._give_up(update, pieces.problem)
            return
        if piece.data:
            self._fetch_base(update)
            return
        self._pieces = None
        self.when_based(pieces.common)
        self.loop.note("based", runs=listed(self.journal.runs))
        self._go_on(update)

    def _append(self, update: StartUpdate, piece: Piece) -> Iterator[Work]:
        frames = [frame for frame in piece.frames if frame.seq <= self.goal]
        if piece.first != self.journal.last_seq + 1 or not frames:
            return
        for frame in frames:
            self.loop.note("fetched", view=frame.view, seq=frame.seq, digest=digest_of(frame.data))
        yield lambda: self.journal.append(frames)
        for frame in frames:
            self.note_written(frame)
        self._go_on(update)

    def _go_on(self, update: StartUpdate) -> None:
        if self.journal.last_seq == self.goal:
            self.void()
            self.loop.tell(UpdateDone(self.journal.last))
        else:
            self.loop.tell(UpdateProgress(self.journal.last))
            self._tell(update.source, Fetch(str(update.view.id), self.journal.last_seq + 1))

    def _tell(self, source: str, message: Message) -> None:
        self.loop.send(source, write(message))
        self._stalls_at = self.loop.now() + STALL_SECONDS

    # -- the source ----------------------------------------------------------------------------

    def answer(self, peer: str, message: Ask | Fetch | FetchBase) -> None:
        """Answer a joiner, if this member is ready in its newest view and the joiner has it."""
        view = self.loop.view
        if view is None or view.id != message.view or not self.loop.is_ready:
            return
        base = self.journal.base
        if isinstance(message, Ask) or (
            isinstance(message, Fetch) and message.first < self.journal.first_seq
        ):
            have: Message = Have(message.view, self.journal.runs)
            if base is not None:
                if self.loop.speaks(peer) < BASES_VERSION:
                    log.warning(
                        "%s is of an earlier version, which cannot be updated from here, because"
                        " frames were dropped",
                        peer,
                    )
                    return
                have = HaveFrom(message.view, base.last.seq, base.size, self.journal.runs)
            self.loop.send(peer, write(have))
        elif isinstance(message, FetchBase):
            if base is not None and base.last.seq == message.dropped:
                length = max(0, min(BASE_PIECE_BYTES, base.size - message.at))
                data = self.journal.read_bytes(message.at, length)
                piece = BasePiece(message.view, message.dropped, message.at, data)
                self.loop.send(peer, write(piece))
        elif message.first <= self.journal.last_seq:
            frames = tuple(self.journal.read(message.first))
            self.loop.send(peer, write(Piece(message.view, message.first, frames)))


def common_seq(ours: Sequence[Run], theirs: Sequence[Run]) -> int:
    """Return the last frame up to which both have the same frames; 0: none."""
    common = 0
    for one, other in zip(ours, theirs, strict=False):
        if (one.view, one.first) != (other.view, other.first):
            break
        common = min(one.last, other.last)
        if one.last != other.last:
            break
    return common


def _wanted(update: StartUpdate, have: Have | HaveFrom) -> tuple[Run, ...]:
    if update.beside:
        return tuple(have.runs)
    return until(have.runs, 0 if update.to is None else update.to.seq)
