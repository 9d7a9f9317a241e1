"""Following: a member writes the frames that the sequencer sends, and reports its last frame."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from joinproto.durable.journal.journal import Frame, Journal
from joinproto.host.ports import EventLoop, Work
from joinproto.join.frames import FrameVerdict as May
from joinproto.log.messages import Frames, Kept, write


class Following:
    """The part of a log that follows a sequencer.  `append`: writes frames to the journal."""

    def __init__(
        self, loop: EventLoop, journal: Journal, append: Callable[[list[Frame]], Iterator[Work]]
    ) -> None:
        self._loop = loop
        self._journal = journal
        self._append = append
        self._incoming: deque[tuple[str, Frames]] = deque()

    def hear(self, peer: str, message: Frames) -> None:
        self._incoming.append((peer, message))

    @property
    def has_work(self) -> bool:
        return bool(self._incoming)

    def void(self) -> None:
        """Discard frames that are not written yet, because their view is over."""
        self._incoming.clear()

    def work(self) -> Iterator[Work]:
        while self._incoming:
            peer, message = self._incoming.popleft()
            answer = self._loop.may_append(message.view, message.first)
            last = self._journal.last_seq
            present = last - message.first + 1  # how many frames of the message are here already
            if answer is May.ALREADY_THERE and present < len(message.bodies):
                message = Frames(message.view, last + 1, message.bodies[max(0, present) :])
                answer = self._loop.may_append(message.view, message.first)
            if answer in (May.OTHER_VIEW, May.FROZEN, May.NOT_READY):
                continue
            if answer is May.TAKE:
                bodies = list(message.bodies)
                while self._incoming and self._continues(message, len(bodies)):
                    bodies += self._incoming.popleft()[1].bodies
                numbered = enumerate(bodies, message.first)
                yield from self._append([Frame(message.view, seq, data) for seq, data in numbered])
            is_gap = answer is May.GAP
            kept = Kept(message.view, self._journal.last_seq, self._loop.seat.store_id, is_gap)
            self._loop.send(peer, write(kept))

    def _continues(self, message: Frames, count: int) -> bool:
        following = self._incoming[0][1]
        return following.view == message.view and following.first == message.first + count
