"""The sequencer orders the frames of its view, and knows which members have them.

A frame is committed once every member of the view has it on its disk, even if some members are not
connected.  A peer is sent a few pieces more than it has reported; after a new connection or a gap
the sequencer sends again from the reported position on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from attrs import define, field

from joinproto.durable.journal.journal import Frame, Journal
from joinproto.join.ids import ViewId
from joinproto.join.view import Seat, View
from joinproto.log.entry import packed
from joinproto.log.messages import Frames, Message

PIECES_AHEAD = 8
BATCH_BYTES = 2**20
BATCH_FRAMES = 1_000


@define
class Intake:
    """The frames submitted to the sequencer of one view, each once.

    The intake outlives the sequencer.  A member that hears no majority serves no client for a
    while, and may then continue in the same view; other members then repeat their unanswered
    submissions.
    """

    view: ViewId
    queue: deque[bytes] = field(factory=deque)
    size: int = 0  # bytes in the queue
    is_shut: bool = False  # no more frames are ordered: the cluster shuts down
    askers: set[str] = field(factory=set)  # members that wait until all have the same frames
    _seen: dict[str, set[int]] = field(factory=dict)
    _settled: dict[str, int] = field(factory=dict)

    def submit(self, origin: str, number: int, oldest: int, body: bytes) -> None:
        """Queue a frame, once; frames of `origin` with a number below `oldest` are settled."""
        seen = self._seen.setdefault(origin, set())
        if oldest > self._settled.get(origin, 1):
            self._settled[origin] = oldest
            seen.difference_update([one for one in seen if one < oldest])
        if number >= self._settled.get(origin, 1) and number not in seen:
            seen.add(number)
            self.queue.append(packed(origin, number, body))
            self.size += len(self.queue[-1])

    def ask_for_rest(self, name: str) -> None:
        """Stop ordering in this view; `name` waits until all members have the same frames."""
        self.is_shut = True
        self.askers.add(name)

    def take(self) -> list[bytes]:
        """Return the frames to write next, and remove them from the queue."""
        taken: list[bytes] = []
        size = 0
        while self.queue and size < BATCH_BYTES and len(taken) < BATCH_FRAMES:
            taken.append(self.queue.popleft())
            size += len(taken[-1])
        self.size -= size
        return taken


@define
class _Peer:
    seat: Seat
    next: int
    kept: int = 0
    ahead: deque[int] = field(factory=deque)  # last frames of the pieces on their way


class Sequencer:
    """The sequencer of one view, from its opening to its end.

    `committed`: the last frame that all members have.
    """

    def __init__(
        self,
        view: View,
        me: Seat,
        journal: Journal,
        send: Callable[[str, Message], None],
    ) -> None:
        self.view = view
        self.committed = 0 if view.position is None else view.position.seq
        self._journal = journal
        self._send = send
        self._enough = len(view.members)
        # The peers' positions are not known yet; peers answer the last frame with their positions.
        self._peers = {
            seat.member: _Peer(seat, max(journal.last_seq, 1))
            for seat in sorted(view.members)
            if seat != me
        }
        for peer in self._peers.values():
            self._pump(peer)
        self._count()

    def offer(self, frames: Sequence[Frame]) -> None:
        """Send frames that will be written here next, so that all disks write at the same time.

        This is safe: a frame is committed only when it is on this disk as well.  No other frame
        ever has its number in this view, because a process that crashes before the write does not
        serve again before a later view.
        """
        message = Frames(str(self.view.id), frames[0].seq, tuple(frame.data for frame in frames))
        for peer in self._peers.values():
            if peer.next == frames[0].seq and len(peer.ahead) < PIECES_AHEAD:
                self._send(peer.seat.member, message)
                peer.ahead.append(frames[-1].seq)
                peer.next = frames[-1].seq + 1

    def wrote(self) -> None:
        """Send the peers the frames that are on this disk now, and update `committed`."""
        for peer in self._peers.values():
            self._pump(peer)
        self._count()

    def kept(self, peer: str, store_id: str, seq: int, *, is_gap: bool) -> None:
        """Note that `peer` has all frames up to `seq`, if its store is the one in the view."""
        known = self._peers.get(peer)
        if known is None or known.seat.store_id != store_id or seq > self._journal.last_seq:
            return
        known.kept = max(known.kept, seq)
        while known.ahead and known.ahead[0] <= seq:
            known.ahead.popleft()
        if is_gap:
            known.ahead.clear()
            known.next = seq + 1
        self._pump(known)
        self._count()

    @property
    def is_level(self) -> bool:
        """Return whether every member of the view is known to have all frames."""
        start = 0 if self.view.position is None else self.view.position.seq
        last = self._journal.last_seq
        return all(max(peer.kept, start) == last for peer in self._peers.values())

    def peer_up(self, peer: str) -> None:
        """Send again after a new connection, because frames under way may be lost."""
        known = self._peers.get(peer)
        if known is not None:
            known.ahead.clear()
            known.next = known.kept + 1 if known.kept else max(self._journal.last_seq, 1)
            self._pump(known)

    def _pump(self, peer: _Peer) -> None:
        # A dropped frame was committed, so every member of the view has it.
        peer.next = max(peer.next, self._journal.first_seq)
        while len(peer.ahead) < PIECES_AHEAD and peer.next <= self._journal.last_seq:
            frames = self._journal.read(peer.next)
            run = [frame for frame in frames if frame.view == frames[0].view]
            # Every member of this view has the frames of earlier views already.
            if run[0].view == self.view.id:
                bodies = tuple(frame.data for frame in run)
                self._send(peer.seat.member, Frames(run[0].view, run[0].seq, bodies))
                peer.ahead.append(run[-1].seq)
            peer.next = run[-1].seq + 1

    def _count(self) -> None:
        kept = [*(peer.kept for peer in self._peers.values()), self._journal.last_seq]
        kept.sort(reverse=True)
        self.committed = max(self.committed, kept[self._enough - 1])
