"""Waiting reads of clients: they wait until the view is confirmed and their frames are committed.

A member may serve in a view that the others have left, without knowing it yet.  So reads that came
together are given to the member (`joinproto/join/reading.py`), which asks a majority to confirm the
view, in one round for all these reads.  At that moment the journal has every frame acknowledged
before.  The reads are answered when the journal's frames up to that moment are committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from attrs import define, frozen

from joinproto.durable.journal.journal import Journal
from joinproto.host.ports import EventLoop


@frozen(eq=False)
class _Read:
    done: Callable[[int], None]
    refused: Callable[[str], None]


@define(eq=False)
class _Group:
    """Reads that came together.  `number`: the member's number for them, 0 for local reads.

    `seq`: the last frame in the journal when they came; they are answered once it is committed.
    """

    number: int
    seq: int
    reads: list[_Read]


class Reads:
    """The waiting reads of one log while it is open; `void` ends all of them."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._new: list[_Read] = []
        self._asked: deque[_Group] = deque()
        self._waiting: deque[_Group] = deque()
        self._local: deque[_Group] = deque()

    @property
    def has_new(self) -> bool:
        return bool(self._new)

    def add(self, done: Callable[[int], None], refused: Callable[[str], None]) -> None:
        self._new.append(_Read(done, refused))

    def add_local(self, done: Callable[[int], None], refused: Callable[[str], None]) -> None:
        """Add a read that is answered without a confirmation of the view."""
        self._local.append(_Group(0, self._journal.last_seq, [_Read(done, refused)]))

    def hand_in(self, loop: EventLoop) -> None:
        """Ask the member to confirm the reads that came since the last call, all together."""
        new, self._new = self._new, []
        number = loop.read()
        if number:
            self._asked.append(_Group(number, self._journal.last_seq, new))
            return
        older = ", ".join(sorted(loop.older_electors))
        why = f"unconfirmed: {older} cannot confirm reads yet" if older else "not active"
        for read in new:
            read.refused(why)

    def confirmed(self, upto: int) -> None:
        """Let the reads with numbers up to `upto` wait for commits; the member confirmed them."""
        while self._asked and self._asked[0].number <= upto:
            self._waiting.append(self._asked.popleft())

    def release(self, committed: int, loop: EventLoop) -> None:
        """Answer the reads that see no frames after `committed`."""
        for groups in (self._local, self._waiting):
            while groups and groups[0].seq <= committed:
                group = groups.popleft()
                if group.number:
                    loop.note("answered", read=group.number, seq=committed)
                for read in group.reads:
                    read.done(committed)

    def void(self, why: str) -> None:
        """Refuse all waiting reads, because the log is closed."""
        groups = (*self._asked, *self._waiting, *self._local)
        reads = [*self._new, *(read for group in groups for read in group.reads)]
        self._new = []
        for queue in (self._asked, self._waiting, self._local):
            queue.clear()
        for read in reads:
            read.refused(why)
