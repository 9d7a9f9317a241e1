"""The oracle: the claims about every run, checked from outside.

The oracle reads durable records, and is told when members serve and acknowledge; it shares no rule
with the member.  The claims are in section 4 of the join protocol; `CLAIMS` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import define, field

from joinproto.join.balloting import IMPOSSIBLE
from joinproto.join.ids import ViewId
from joinproto.join.messages import Abort, Learned, Waiting
from joinproto.join.store import Ballot, StoreRecord
from joinproto.join.view import Kind, Position, Seat, View, names_of
from joinproto.machine.vocabulary import Reason, Store
from joinproto.swarm.host import Process
from joinproto.swarm.scenario import Scenario

CLAIMS = {
    "one_successor": "no view has two chosen successors, and nothing is founded twice",
    "no_split_brain": "all that is served at one time is one branch; a number is committed once",
    "nothing_lost": "what was committed is in every active member of every later view",
    "is_durable": "what a member has said is on its disk, is there after any loss of power",
    "acked_is_held": "what is acknowledged is durable at all members of its view",
    "reads_see_acked": "a read that begins after an acknowledgement sees it",
    "position_is_data": "two stores at one position hold the same frames",
    "log_agrees": "all members apply the same frames in the same order",
    "once": "what a client wrote once stands in the log once",
    "waits_for_n": "no member serves before N members of one view were ready",
    "options_agree": "active members have the options of their view",
    "dirty_before_serving": "the store of an active member is not clean",
    "signature_never_changes": "a store stays with its cluster",
    "view_has_store": "where members have stores, one of them is in each view",
    "leave_keeps_majority": "a leave hands no majority to members that are not there",
    "close_ends": "a closed cluster is not restarted by those that ran when it closed",
    "makes_sense": "no store says what cannot be",
    "no_error": "no correct run ends in an exception",
    "opens_where_it_stands": "a member that was cut off, or knows who left, opens in no left view",
    "stops_rightly": "a member that ends over its options has these options",
    "serves_again": "once faults stop, a majority that has the data serves, and rests",
    "says_why": "a member that may not serve says which members it waits for",
    "all_end": "an orderly shutdown ends all members that run",
}
"""The texts of all claims, by name; `Tally.stuck` counts the last three."""

STUCK = {"serves_again", "says_why", "all_end"}

STILL_HOLD = {"options_agree", "dirty_before_serving", "no_error"}
"""The claims that hold even if a disk forgot its promises."""


class Violation(Exception):
    """A claim does not hold.  `claim`: its name; `what`: the evidence."""

    def __init__(self, claim: str, what: str) -> None:
        super().__init__(claim, what)
        self.claim, self.what = claim, what


@define(eq=False)
class Oracle:
    """The oracle of a run.  `running`: yields all processes; `records`: returns their records."""

    scenario: Scenario
    running: Callable[[], Iterator[Process]]
    records: Callable[[], dict[str, StoreRecord]]
    views: dict[ViewId, View] = field(factory=dict)
    successor: dict[ViewId | None, View] = field(factory=dict)
    wiped: set[Seat] = field(factory=set)
    starts: int = 0
    served: int = 0
    acked: int = 0
    _closed_at: dict[ViewId, int] = field(factory=dict)  # for each view, the starts before it
    _closed_running: set[ViewId] = field(factory=set)  # chosen while a member that was ready ran
    _votes: dict[tuple[ViewId, Ballot], set[str]] = field(factory=dict)
    ready: dict[ViewId, set[Seat]] = field(factory=dict)
    _initial: dict[Seat, ViewId] = field(factory=dict)
    _digests: dict[Position, str] = field(factory=dict)
    _holders: dict[Position, set[Seat]] = field(factory=dict)
    committed: dict[int, ViewId] = field(factory=dict)
    newest_acked: int = 0  # the last frame that is acknowledged to a client
    read: int = 0
    _applied: dict[int, bytes] = field(factory=dict)
    _is_founded_twice: bool = False

    @property
    def forgets(self) -> bool:
        """Return whether a disk has forgotten its promises, which voids most claims."""
        return self.scenario.restores_old_disk or self._is_founded_twice

    def require(self, claim: str, holds: bool, what: object) -> None:
        """Raise `Violation` unless the claim holds, or is void in such a run."""
        if not holds and (claim in STILL_HOLD or not self.forgets):
            raise Violation(claim, str(what))

    # -- views ---------------------------------------------------------------------------------

    def wrote(self, process: Process) -> None:
        """Note that a process's record is durable."""
        record, seat = process.place.record, process.seat
        if record is None:
            return
        first = record.lineage.initial
        if first is not None:
            before = self._initial.setdefault(seat, first)
            self.require("signature_never_changes", before == first, f"{seat}: {first}")
        unknown: list[View] = []
        for view in reversed(record.lineage.views):
            known = self.successor.get(view.parent)
            if known is not None and known.id == view.id:
                break
            unknown.append(view)
        for view in reversed(unknown):
            self.chosen(view)
        if record.held is not None:
            ready = self.ready.setdefault(record.held, set())
            if seat not in ready:
                ready.add(seat)
                process.was_ready = True
                for one in self.running():
                    one.saw_it_run = True
        if record.accepted is not None:
            view = record.accepted.view
            votes = self._votes.setdefault((view.id, record.accepted.ballot), set())
            votes.add(seat.member if view.parent is None else f"{seat.member}/{seat.store_id}")
            if self._is_majority(view, votes):
                self.chosen(view)

    def _is_majority(self, view: View, votes: set[str]) -> bool:
        if self.scenario.outside:
            return False
        if view.parent is None:
            electors = set(self.scenario.electors)
        else:
            parent = self.views.get(view.parent)
            if parent is None:
                return False
            electors = {f"{seat.member}/{seat.store_id}" for seat in parent.electors}
        return 2 * len(votes & electors) > len(electors)

    def chosen(self, view: View) -> None:
        """Note that a view was chosen, by a majority or the register, or by a member's word."""
        known = self.successor.get(view.parent)
        if known is not None and known.id == view.id:
            return
        if known is not None and view.parent is None and known.is_majority(self.wiped):
            # The stores that chose the first FOUND are wiped, so this is a new cluster.
            for about in (self.successor, self.committed, self._applied):
                about.clear()
            self.newest_acked = 0
            known = None
        if known is not None and view.parent is None and self._may_found_twice(known):
            self._is_founded_twice = True
        self.require("one_successor", known is None, f"{view} next to {known}")
        self.successor[view.parent] = self.views[view.id] = view
        self._closed_at[view.id] = self.starts
        if any(one.was_ready for one in self.running()):
            self._closed_running.add(view.id)
        parent = self.views.get(view.parent) if view.parent is not None else None
        if parent is None:
            return
        if view.kind is Kind.RESTART and not parent.is_open:
            self._look_at_restart(parent, view)
        if view.kind is Kind.CHANGE:
            self._look_at_change(parent, view)

    def _look_at_restart(self, closed: View, view: View) -> None:
        if self.scenario.outside:
            # A process that hears no member, and asks the register too late, cannot tell whether
            # the CLOSE was chosen before it was started.
            there = (one for one in self.running() if one.seat in view.members)
            ran = [one.name for one in there if closed.parent in one.stood]
            is_anew = not ran
        else:
            # If all died in the middle of a shutdown, later processes choose its CLOSE.  One of
            # them may have run alongside a process that died, and not have heard of the CLOSE.
            ran = [one.name for one in self.running() if one.saw_it_run]
            was_over = not ran or closed.id not in self._closed_running
            is_anew = self.starts > self._closed_at.get(closed.id, 0) or was_over
        told = f"{view} after {closed}, before which {' '.join(ran)} ran"
        self.require("close_ends", is_anew, told)

    def _may_found_twice(self, first: View) -> bool:
        """Return whether `found_with` electors may be there without a vote for the first FOUND.

        This is the price of that option (3.3), once an elector that voted has lost its disk.
        """
        few = self.scenario.found_with
        if few is None or not first.electors & self.wiped:
            return False
        voted = {name for (id_, _), some in self._votes.items() if id_ == first.id for name in some}
        know = {seat for seat in first.electors - self.wiped if seat.member in voted}
        return len(self.scenario.electors) - len(know) >= few

    def _look_at_change(self, parent: View, view: View) -> None:
        first = self.successor.get(None)
        if first is not None and self._names_with_stores(first.electors):
            is_kept = bool(self._names_with_stores(view.members))
            self.require("view_has_store", is_kept, f"{view}, after {parent}")
        if self.scenario.outside or not parent.electors - view.electors:
            return
        there = {
            seat
            for name, record in self.records().items()
            for seat in (Seat(name, record.store_id),)
            if record.lineage.length > parent.number
            or (record.promised is not None and record.lineage.length == parent.number)
        }
        electors = " ".join(sorted(names_of(view.electors)))
        self.require(
            "leave_keeps_majority",
            view.is_majority(there),
            f"{view}: its electors are {electors}; those that are there:"
            f" {' '.join(sorted(names_of(there & view.electors))) or 'none'}",
        )

    def _names_with_stores(self, seats: frozenset[Seat]) -> frozenset[str]:
        return names_of(seats) - frozenset(self.scenario.transients)

    def saw(self, process: Process, event: object) -> None:
        """Note an event that a member reports."""
        if isinstance(event, Learned):
            self.chosen(event.view)
        if isinstance(event, Waiting) and event.case == IMPOSSIBLE:
            self.require("makes_sense", False, f"{process.name}: {event.detail}")

    # -- serving -------------------------------------------------------------------------------

    def opens(self, process: Process, view: View) -> None:
        """Check a member that begins to serve clients."""
        self.served += 1
        record = process.member.record
        on_disk = process.place.record
        is_clean = on_disk is not None and on_disk.state is Store.CLEAN
        self.require("dirty_before_serving", not is_clean, f"{process.name} serves {view}")
        same = process.member.config.digest == view.options_digest
        self.require("options_agree", same, f"{process.name} serves {view}")
        most = max(len(self.ready.get(item.id, ())) for item in self._era(view))
        reached = most >= min(view.wait_for, self.scenario.wait_for)
        self.require("waits_for_n", reached, f"{process.name} serves {view}, {most} were ready")
        self.require(
            "position_is_data",
            record.position == process.disk.journal.last,
            f"{process.name}: {record.position}, its journal ends at {process.disk.journal.last}",
        )
        self._look_for_left(process, view)
        self._look_for_lost(process, view)
        self._commit_before(process, view)
        self._look_for_branches(process, view)

    def _era(self, view: View) -> Iterator[View]:
        """Yield the views from this one back to the last FOUND or RESTART."""
        at: View | None = view
        while at is not None:
            yield at
            if at.parent is None or at.kind is Kind.RESTART:
                return
            at = self.views.get(at.parent)

    def connected(self, process: Process) -> None:
        """Note whether a member that was cut off is connected again in a view with a successor."""
        tip = process.member.view
        process.left = None
        if tip is not None and tip.id in self.successor and process.is_ready:
            process.left = tip.id

    def _look_for_left(self, process: Process, view: View) -> None:
        if self.scenario.outside:
            return
        told = f"{process.name} serves {view} again"
        self.require("opens_where_it_stands", process.left != view.id, told)
        gone = process.gone & view.electors
        self.require("opens_where_it_stands", view.is_majority(view.electors - gone), told)

    def ended(self, process: Process) -> None:
        """Check a process that has ended by itself."""
        ended = process.ended
        if not isinstance(ended, Abort) or ended.reason is not Reason.OPTIONS_DIFFER:
            return
        digest = process.member.config.digest
        told = f"{process.name} with {digest}: {ended.found}, expected {ended.expected}"
        self.require("stops_rightly", digest in ended.found, told)

    def _look_for_lost(self, process: Process, view: View) -> None:
        runs = process.disk.journal.runs
        for seq, committed_in in self.committed.items():
            if self.views[committed_in].number >= view.number:
                continue
            if any(run.view == committed_in and run.first <= seq <= run.last for run in runs):
                continue
            told = f"{process.name} serves {view} without frame {seq} of {self.views[committed_in]}"
            self.require("nothing_lost", False, told)

    def _commit_before(self, process: Process, view: View) -> None:
        """Note as committed the frames before the view's start, where all members were ready."""
        end = 0 if view.position is None else view.position.seq
        for run in process.disk.journal.runs:
            for seq in range(run.first, min(run.last, end) + 1):
                self._commit(seq, run.view)

    def _commit(self, seq: int, view: ViewId) -> None:
        before = self.committed.setdefault(seq, view)
        if before != view:
            told = f"frame {seq} in {self.views.get(view)} and in {self.views.get(before)}"
            self.require("no_split_brain", False, told)

    def _look_for_branches(self, process: Process, view: View) -> None:
        others = {it.opened.id: it for it in self.running() if it.opened is not None}
        for other in others.values():
            if other.opened is None or other.opened.id == view.id:
                continue
            one, two = sorted((view, other.opened), key=lambda item: item.number)
            both = f"{process.name} serves {view}, {other.name} serves {other.opened}"
            self.require("no_split_brain", self._descends(two, one), both)
            if not self.scenario.outside:
                backed = all(_is_backed(it, self.records()) for it in (one, two))
                self.require("no_split_brain", not backed, f"{both}, both with a majority")

    def _descends(self, view: View, ancestor: View) -> bool:
        at: View | None = view
        while at is not None and at.number > ancestor.number:
            at = None if at.parent is None else self.views.get(at.parent)
        return at is not None and at.id == ancestor.id

    # -- frames --------------------------------------------------------------------------------

    def has(self, process: Process, view: str, seq: int, digest: str) -> None:
        """Note that a frame is durable in this process."""
        at = Position(view, seq)
        known = self._digests.setdefault(at, digest)
        if known != digest:
            self.require("position_is_data", False, f"{process.name}: {at}, two contents")
        holders = self._holders.setdefault(at, set())
        holders.add(process.seat)
        if view in self.views and self.views[view].members <= holders:
            self._commit(seq, view)

    def acknowledged(self, body: bytes, at: Position) -> None:
        """Check that a frame that was acknowledged to a client is committed."""
        self.acked += 1
        self.newest_acked = max(self.newest_acked, at.seq)
        is_held = self.committed.get(at.seq) == at.view
        self.require("acked_is_held", is_held, f"{body.decode()}, {at}")

    def answered(self, process: Process, seq: int, acked: int) -> None:
        """Check a read up to `seq`, which began when the frames up to `acked` were acknowledged."""
        self.read += 1
        told = f"{process.name} in {process.member.view} answers up to {seq}, acknowledged: {acked}"
        self.require("reads_see_acked", seq >= min(acked, self.newest_acked), told)

    def applied(self, process: Process, seq: int, body: bytes) -> None:
        """Check a frame that is applied; each process applies all frames from the first on."""
        known = self._applied.setdefault(seq, body)
        if known != body or body in process.bodies:
            told = f"{process.name} applies {body.decode()} as frame {seq}"
            self.require("log_agrees", known == body, f"{told}, others {known.decode()}")
            self.require("once", body not in process.bodies, f"{told}, and before")
        process.bodies.add(body)


def _is_backed(view: View, records: dict[str, StoreRecord]) -> bool:
    """Return whether a majority has neither promised a successor nor learned a later view."""
    behind = {
        Seat(name, record.store_id)
        for name, record in records.items()
        if record.lineage.length <= view.number
        and (record.promised is None or record.lineage.length < view.number)
    }
    return view.is_majority(behind)
