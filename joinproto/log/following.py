"""The frames that the sequencer sends: written, as many as there are in one fsync, and answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from joinproto.durable.journal.journal import Frame, Journal
from joinproto.host.ports import Strand, Work
from joinproto.join.frames import Frame as May
from joinproto.log.letters import Frames, Kept, write


class Following:
    """Of one log.  `append`: writes frames to the journal."""

    def __init__(
        self, strand: Strand, journal: Journal, append: Callable[[list[Frame]], Iterator[Work]]
    ) -> None:
        self._strand = strand
        self._journal = journal
        self._append = append
        self._incoming: deque[tuple[str, Frames]] = deque()

    def hear(self, peer: str, letter: Frames) -> None:
        self._incoming.append((peer, letter))

    @property
    def has_work(self) -> bool:
        return bool(self._incoming)

    def void(self) -> None:
        """Forget what was not written: its view is over."""
        self._incoming.clear()

    def work(self) -> Iterator[Work]:
        while self._incoming:
            peer, letter = self._incoming.popleft()
            answer = self._strand.may_append(letter.view, letter.first)
            last = self._journal.last_seq
            behind = last - letter.first + 1  # of its frames, those that are here
            if answer is May.ALREADY_THERE and behind < len(letter.bodies):
                letter = Frames(letter.view, last + 1, letter.bodies[max(0, behind) :])
                answer = self._strand.may_append(letter.view, letter.first)
            if answer in (May.OTHER_VIEW, May.FROZEN, May.NOT_READY):
                continue
            if answer is May.TAKE:
                bodies = list(letter.bodies)
                while self._incoming and self._continues(letter, len(bodies)):
                    bodies += self._incoming.popleft()[1].bodies
                numbered = enumerate(bodies, letter.first)
                yield from self._append([Frame(letter.view, seq, data) for seq, data in numbered])
            is_gap = answer is May.GAP
            kept = Kept(letter.view, self._journal.last_seq, self._strand.seat.store_id, is_gap)
            self._strand.send(peer, write(kept))

    def _continues(self, letter: Frames, count: int) -> bool:
        following = self._incoming[0][1]
        return following.view == letter.view and following.first == letter.first + count
