"""Writes of this member's clients, from submission until the answer.

When the next view opens, a frame that was not committed yet is looked up in the journal.  If it is
there, it is committed.  If not, it can never be committed, and is submitted again.  So a frame is
in the log once, however often the view changes, as long as the process that accepted it runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from secrets import token_hex

from attrs import define

from joinproto.durable.journal.journal import Frame, Journal
from joinproto.join.view import Position
from joinproto.log.entry import Entry
from joinproto.log.messages import Submit, Submits
from joinproto.log.sequencer import BATCH_BYTES, BATCH_FRAMES


@define
class _Pending:
    body: bytes
    done: Callable[[Position], None]
    lost: Callable[[], None]
    seq: int | None = None


class Submissions:
    """The frames of this member's clients that are not answered.

    `origin`: the origin in all entries that this run of the member submits.
    """

    def __init__(self, journal: Journal) -> None:
        self.origin = token_hex(8)
        self._journal = journal
        self._number = 0
        self._pending: dict[int, _Pending] = {}
        self._written: deque[tuple[int, int]] = deque()  # seq and number of frames in the journal
        self._outgoing: list[int] = []  # numbers of the frames to send next

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, body: bytes, done: Callable[[Position], None], lost: Callable[[], None]) -> int:
        """Add a frame, and return its number; later `done` or `lost` is called, once.

        Neither is called if the process ends before.
        """
        self._number += 1
        self._pending[self._number] = _Pending(body, done, lost)
        return self._number

    # -- on their way to the sequencer ---------------------------------------------------------

    def unwritten(self) -> list[int]:
        """Return the numbers of the frames that are not in the journal, in order."""
        return sorted(number for number, one in self._pending.items() if one.seq is None)

    def message(self, view: str, number: int) -> Submit:
        oldest = next(iter(self._pending))
        return Submit(view, self.origin, number, oldest, self._pending[number].body)

    def queue(self, number: int) -> None:
        """Put the frame into the messages of the next `outgoing`."""
        self._outgoing.append(number)

    def unqueue(self) -> None:
        self._outgoing.clear()

    @property
    def has_outgoing(self) -> bool:
        return bool(self._outgoing)

    def outgoing(self, view: str, *, several: bool) -> Iterator[Submit | Submits]:
        """Yield the queued frames, in messages of limited length.

        `several`: whether the sequencer understands messages with several frames.
        """
        queued, self._outgoing = self._outgoing, []
        waiting = [
            number
            for number in queued
            if (one := self._pending.get(number)) is not None and one.seq is None
        ]
        if not several:
            yield from (self.message(view, number) for number in waiting)
            return
        oldest = next(iter(self._pending), 1)
        numbers: list[int] = []
        bodies: list[bytes] = []
        size = 0
        for number in waiting:
            numbers.append(number)
            bodies.append(self._pending[number].body)
            size += len(bodies[-1])
            if size >= BATCH_BYTES or len(numbers) >= BATCH_FRAMES or number == waiting[-1]:
                yield Submits(view, self.origin, oldest, tuple(numbers), tuple(bodies))
                numbers, bodies, size = [], [], 0

    # -- in the journal ------------------------------------------------------------------------

    def note_written(self, frame: Frame) -> None:
        """Note that a frame is in the journal, if it is of one of this member's clients."""
        entry = Entry.of(frame.data)
        pending = self._pending.get(entry.number) if entry.origin == self.origin else None
        if pending is not None and pending.seq is None:
            pending.seq = frame.seq
            self._written.append((frame.seq, entry.number))

    def note_cut(self, last: int) -> None:
        """Note that the journal was cut after frame `last`: later frames are unwritten again."""
        while self._written and self._written[-1][0] > last:
            self._pending[self._written.pop()[1]].seq = None

    def give_up(self) -> None:
        """Report unwritten frames as lost: it is unknown whether they are in the log.

        They may be among the dropped frames, so submitting them again could put them there twice.
        """
        for number in self.unwritten():
            self._pending.pop(number).lost()

    def release(self, committed: int) -> None:
        """Answer the clients of frames up to `committed`; call this only while a view is served."""
        while self._written and self._written[0][0] <= committed:
            seq, number = self._written.popleft()
            self._pending.pop(number).done(Position(self._view_of(seq), seq))

    def _view_of(self, seq: int) -> str:
        return next(run.view for run in reversed(self._journal.runs) if run.first <= seq)
