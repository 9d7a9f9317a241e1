"""Reads of clients that wait: until the view is confirmed, and their frames are committed.

A member may serve in a view that the others have left, and not know of it yet.  So reads that
came together are handed to the member (`joinproto/join/reading.py`), which has a majority
confirm the view, one round for all of them.  Up to where the journal went when they were handed
in, they see all that was acknowledged before; they are answered when that is committed.
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
    """Reads that came together.  `number`: under which the member knows them, 0: local ones.

    `seq`: the last frame that they see.
    """

    number: int
    seq: int
    reads: list[_Read]


class Reads:
    """Reads of one log, only while it is open: `void` ends all that wait."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._new: list[_Read] = []
        self._asked: deque[_Group] = deque()
        self._waiting: deque[_Group] = deque()
        self._local: deque[_Group] = deque()

    @property
    def are_new(self) -> bool:
        return bool(self._new)

    def add(self, done: Callable[[int], None], refused: Callable[[str], None]) -> None:
        self._new.append(_Read(done, refused))

    def add_local(self, done: Callable[[int], None], refused: Callable[[str], None]) -> None:
        """Add one that is not confirmed."""
        self._local.append(_Group(0, self._journal.last_seq, [_Read(done, refused)]))

    def hand_in(self, loop: EventLoop) -> None:
        """Confirm the reads that came since the last time, all together."""
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
        """The member has had those with numbers up to `upto` confirmed."""
        while self._asked and self._asked[0].number <= upto:
            self._waiting.append(self._asked.popleft())

    def release(self, committed: int, loop: EventLoop) -> None:
        """Answer those that see no more than `committed`."""
        for groups in (self._local, self._waiting):
            while groups and groups[0].seq <= committed:
                group = groups.popleft()
                if group.number:
                    loop.note("answered", read=group.number, seq=committed)
                for read in group.reads:
                    read.done(committed)

    def void(self, why: str) -> None:
        """Refuse all that wait: the log is closed."""
        groups = (*self._asked, *self._waiting, *self._local)
        reads = [*self._new, *(read for group in groups for read in group.reads)]
        self._new = []
        for queue in (self._asked, self._waiting, self._local):
            queue.clear()
        for read in reads:
            read.refused(why)
