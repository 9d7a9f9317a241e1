"""The ledger of the join worlds: the views that are chosen and the frames that are committed.

No single member knows them.  The ledger hears of each action when the action is durable, so the
claims are about actions and not about members' beliefs.
"""

from __future__ import annotations

from attrs import define, frozen

from joinproto.join.ids import Name
from joinproto.join.view import Kind, Position, Seat
from joinproto_worlds.join import words
from joinproto_worlds.join.expiry import name_of


@frozen(cache_hash=True)
class History:
    """The observation of the ledger.  `chosen`: views, by vote or by the register; `committed`:
    frames that every member of their view has held; `wrong`: the first claim that broke, or ""."""

    chosen: frozenset[Name]
    committed: frozenset[Position]
    wrong: str


@define
class Ledger:
    """The monitor of the join worlds.

    `half_is_enough`: hosts acknowledge frames that half of the members hold.  `holders`: which
    members keep which frame that is not committed yet.  `eras`: the FOUND and RESTART views since
    which N members were ready in one view; `ready`: which members were ready in which view of the
    other eras.  `served`: the latest view in which clients were served; `returned`: which of its
    members were stopped since.  `stale`: members at which a read began that lacks a committed
    frame.  `left`: members that were cut off, and whose view had a successor when they were
    connected again.  `knew`: members, each with a view, of which the register has told their
    present process that no view follows it.
    """

    wait_for: int
    half_is_enough: bool = False
    chosen: frozenset[Name] = frozenset()
    votes: frozenset[words.Vote] = frozenset()
    holders: frozenset[words.Kept] = frozenset()
    committed: frozenset[Position] = frozenset()
    ready: frozenset[words.ReadyIn] = frozenset()
    eras: frozenset[Name] = frozenset()
    served: Name | None = None
    returned: frozenset[Seat] = frozenset()
    stale: frozenset[Seat] = frozenset()
    left: frozenset[tuple[Seat, Name]] = frozenset()
    knew: frozenset[tuple[Seat, Name]] = frozenset()
    wrong: str = ""

    def receive(self, heard: object) -> None:
        match heard:
            case words.ChosenView(view):
                self._choose(name_of(view))
            case words.Vote():
                self._vote(heard)
            case words.Kept():
                self._keep(heard)
            case words.ReadyIn():
                self._note_ready(heard)
            case words.Returned(seat, tip):
                # A transient member has lost all its memory, so its tip is None.
                is_there = self.served is not None and tip in (None, self.served)
                if self.served is not None and is_there and seat in self.served.members:
                    self.returned |= {seat}
                self.knew = frozenset(item for item in self.knew if item[0] != seat)
            case words.Stands(seat, view):
                self.knew |= {(seat, name_of(view))}
            case words.ReadBegan(seat, frames):
                if not self.committed <= set(frames):
                    self.stale |= {seat}
            case words.Reached(seat, view):
                if any(item.parent == view for item in self.chosen):
                    self.left |= {(seat, name_of(view))}
            case words.Reopened(seat, view):
                if (seat, name_of(view)) in self.left:
                    self.wrong = self.wrong or "opens_where_it_stands: in a view that was left"
            case words.ReadEnded(seat):
                if seat in self.stale:
                    self.wrong = self.wrong or "reads_see_acknowledged: a read lacks a frame"
            case words.Proposed(view):
                self._propose(name_of(view))
            case words.Opened(view):
                self._serve(name_of(view))
                if era_of(name_of(view)) not in self.eras:
                    self.wrong = self.wrong or "waits_for_n: served before N were ready"

    def shows(self) -> History:
        return History(self.chosen, self.committed, self.wrong)

    def _choose(self, view: Name) -> None:
        if any(item.parent == view.parent and item != view for item in self.chosen):
            self.wrong = self.wrong or "one_successor: a view has two"
        self.chosen |= {view}
        closed = view.parent.parent if view.kind is Kind.RESTART and view.parent else None
        if closed is not None and any((seat, closed) in self.knew for seat in view.members):
            self.wrong = self.wrong or "close_ends: restarted by one that ran"

    def _vote(self, heard: words.Vote) -> None:
        self.votes |= {heard}
        view = heard.accepted.view
        name = name_of(view.id)
        voters = {vote.seat for vote in self.votes if vote.accepted == heard.accepted}
        electors = name.electors if name.parent is None else name.parent.electors
        if 2 * len(voters & electors) > len(electors):
            self._choose(name)
            # Once a successor is chosen, the votes for successors of the same parent are dropped.
            self.votes = frozenset(
                vote for vote in self.votes if vote.accepted.view.parent != view.parent
            )

    def _keep(self, heard: words.Kept) -> None:
        frame = heard.frame
        if frame in self.committed:
            return
        self.holders |= {heard}
        holders = {item.seat for item in self.holders if item.frame == frame}
        members = name_of(frame.view).members
        if self.half_is_enough:
            if 2 * len(members & holders) <= len(members) - 1:
                return
        elif not members <= holders:
            return
        self.holders = frozenset(item for item in self.holders if item.frame != frame)
        if any(item.seq == frame.seq for item in self.committed):
            self.wrong = self.wrong or "no_split_brain: a frame is committed in two views"
        later = [name_of(item.view) for item in self.committed]
        if any(_goes_on_without(view, frame) for view in later):
            self.wrong = self.wrong or "no_split_brain: committed in a view after its successor"
        self.committed |= {frame}

    def _serve(self, view: Name) -> None:
        # A member that does not know the newest view yet may serve in an older one, but commits
        # no frame there.
        if self.served is None or view.number > self.served.number:
            self.served, self.returned = view, frozenset()

    def _propose(self, view: Name) -> None:
        before = self.served
        if view.kind is not Kind.CHANGE or before is None or before != view.parent:
            return
        if before.members <= self.returned:
            self.wrong = self.wrong or "permitted_after_total_failure: a CHANGE goes on"

    def _note_ready(self, heard: words.ReadyIn) -> None:
        era = era_of(name_of(heard.view))
        if era in self.eras:
            return
        self.ready |= {heard}
        if len({item.seat for item in self.ready if item.view == heard.view}) >= self.wait_for:
            self.eras |= {era}
            self.ready = frozenset(item for item in self.ready if era_of(name_of(item.view)) != era)


def _goes_on_without(later: Name, frame: Position) -> bool:
    """Return whether `later` comes after the frame's view, and its data lacks the frame."""
    before = name_of(frame.view)
    while later.parent is not None and later.number > before.number + 1:
        later = later.parent
    if later.parent != before:
        return False
    start = later.position
    return start is None or start < (before.number, frame.seq)


def era_of(view: Name) -> Name:
    """Return the latest FOUND or RESTART up to this view: N members are counted from there on."""
    while view.kind not in (Kind.FOUND, Kind.RESTART) and view.parent is not None:
        view = view.parent
    return view
