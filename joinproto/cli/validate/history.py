"""The history: the replayed members' views, frames and times of serving.

Its size grows with the views, and with the times that a member began to serve, not with the events.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from attrs import Factory, define, frozen

from joinproto.cli.validate.frames import Frames, Journal, JournalRange, cut, put
from joinproto.cli.validate.logs import Run
from joinproto.cli.validate.replay import ReplayedLine
from joinproto.cli.validate.spill import Ranges
from joinproto.join.ids import ViewId
from joinproto.join.messages import Batch, OpenForClients
from joinproto.join.store import StoreRecord
from joinproto.join.view import Kind, Position, Seat, View
from joinproto.machine.vocabulary import Store

VIEWS_MAX = 50
"""The most views of a record that are noted, from the newest on."""


@frozen
class Opening:
    """The state of a member when it began to serve: the view, and the contents of its disk.

    `is_dirty`: on its disk the store was dirty, and the member ready in that view.  `is_known`: the
    member's logs show its frames from the first frame on.  `journal`: these frames; None without
    `is_known`.
    """

    seat: Seat
    view: View
    initial: ViewId | None
    is_dirty: bool
    digest: str
    is_known: bool
    journal: JournalRange | None


@define
class History:
    """All runs together.  `logged`: the names of the members that have a log.

    `paths`: the file of each run, by its number.  `problems`: disks that did not keep the last
    record, in words.
    """

    logged: set[str] = Factory(set)
    views: dict[ViewId, View] = Factory(dict)
    held: dict[ViewId, set[Seat]] = Factory(lambda: defaultdict(set))
    frames: Frames = Factory(Frames)
    openings: list[Opening] = Factory(list)
    signatures: dict[str, set[ViewId]] = Factory(lambda: defaultdict(set))
    journals: dict[str, Journal] = Factory(dict)
    records: dict[str, list[StoreRecord]] = Factory(dict)
    problems: list[str] = Factory(list)
    paths: list[str] = Factory(list)
    assumed: Counter[str] = Factory(Counter)
    lines: int = 0
    _reads: dict[int, int] = Factory(dict)  # when waiting reads of this run began, by number

    def record(self, seen: ReplayedLine) -> None:
        """Note the facts in this line."""
        self.lines += 1
        line = seen.line
        match line["kind"]:
            case "appended" | "fetched":
                self._frame(seen, line)
            case "committed":
                self.frames.acknowledge(line["view"], line["seq"], self._time(line))
            case "read" if "t" in line:
                # A read that was refused has no number of its own.
                self._reads.setdefault(seen.member.state.reads.called, line["t"])
            case "answered" if (began := self._reads.pop(line["read"], None)) is not None:
                self.frames.reads.add(began, line["seq"], len(self.paths) - 1)
            case "batch":
                self._batch(seen)
            case "start":
                self._start(seen)
            case "cut":
                journal = self.journals[seen.run.store_id]
                journal.frames = cut(journal.frames, line["last"])
            case "based":
                # Dropped frames came in one piece, so their contents are not in the log.
                journal = self.journals[seen.run.store_id]
                journal.is_whole, journal.frames = True, None
                for view, first, last in line["runs"]:
                    journal.frames = put(journal.frames, view, first, last)
                    held = self.frames.of(view, seen.member.seat)
                    held.add_range(first, last, self._time(line))

    def _frame(self, seen: ReplayedLine, line: dict[str, Any]) -> None:
        view, seq = line["view"], line["seq"]
        journal = self.journals[seen.run.store_id]
        # A fetched frame is logged before it is durable, and an appended frame after it.
        if journal.is_whole:
            journal.frames = put(journal.frames, view, seq, seq)
        self.frames.of(view, seen.member.seat).add(seq, self._time(line))
        digest = line.get("digest")
        if digest is None:
            self.assumed["digest: frames without a digest are the same on all members"] += 1
        else:
            self.frames.add_digest(view, seq, digest, len(self.paths) - 1)

    def _time(self, line: dict[str, Any]) -> int:
        at = line.get("t")
        if at is None:
            self.assumed["t: events without a time came early enough"] += 1
            return 2**62 if line["kind"] == "committed" else 0
        return int(at)

    def _start(self, seen: ReplayedLine) -> None:
        record, store = seen.member.record, seen.run.store_id
        self.logged.add(seen.run.member)
        self._reads.clear()
        self.paths.append(str(seen.run.path))
        for view in record.lineage.views[-VIEWS_MAX:]:
            self.views[view.id] = view
        self._add_views(record)
        former = self.records.get(store)
        seq = 0 if record.position is None else record.position.seq
        if former is not None:
            self._check_disk(seen.run, former, record)
        elif record.tip is None and record.position is None:
            self.journals[store] = Journal(is_whole=True)
        else:
            self.journals[store] = Journal(assumed=seq)
            about = f"store {store} of {seen.run.member} is older than its first log here"
            self.assumed[f"{about}: it had the frames that its record names"] += 1
        journal = self.journals[store]
        if journal.is_whole and not record.update_unfinished:
            last = 0 if journal.frames is None else journal.frames.last
            if seq > last:
                # Frames that were durable when the process was killed, before it could log them.
                where = record.position
                assert where is not None
                journal.frames = put(journal.frames, where.view, last + 1, seq)
                held = self.frames.of(where.view, seen.member.seat)
                held.add_range(last + 1, seq, self._time(seen.line))
            journal.frames = cut(journal.frames, seq)
        self.records[store] = [record]

    def _check_disk(self, run: Run, former: list[StoreRecord], found: StoreRecord) -> None:
        """Note a problem unless the disk has the last record that was written or being written."""
        # A log that starts takes back the mark that a cut has set: its data are whole.
        allowed = [
            (_compared(one), is_unfinished)
            for one in former
            for is_unfinished in (one.update_unfinished, False)
        ]
        if (_compared(found), found.update_unfinished) not in allowed:
            self.problems.append(
                f"{run.path}: starts with another record than the former run wrote last"
            )
        before, now = former[-1].position, found.position
        was_unfinished = found.update_unfinished or former[-1].update_unfinished
        if before is not None and now is not None and not was_unfinished and now.seq < before.seq:
            self.problems.append(
                f"{run.path}: starts at frame {now.seq}, but the former run had frame {before.seq}"
            )

    def _batch(self, seen: ReplayedLine) -> None:
        member, store = seen.member, seen.run.store_id
        batch: Batch = member.poll()
        if batch.persist is not None:
            self._add_views(batch.persist)
            # Until the next write returns, the disk may have this record or the record before it.
            self.records[store] = [*self.records[store][-1:], batch.persist]
            if batch.persist.held is not None:
                self.held[batch.persist.held].add(member.seat)
        for action in batch.actions:
            if isinstance(action, OpenForClients):
                record, journal = member.record, self.journals[store]
                self.openings.append(
                    Opening(
                        member.seat,
                        self.views.get(action.view.id, action.view),
                        record.lineage.initial,
                        record.state is not Store.CLEAN and record.held == action.view.id,
                        member.config.digest,
                        journal.is_whole,
                        journal.frames,
                    )
                )

    def _add_views(self, record: StoreRecord) -> None:
        for view in reversed(record.lineage.views[-VIEWS_MAX:]):
            if view.id in self.views:
                break  # then all views before it are known as well
            self.views[view.id] = view
        if record.lineage.initial is not None:
            self.signatures[record.store_id].add(record.lineage.initial)

    # -- conclusions ----------------------------------------------------------------------------

    def is_logged(self, seat: Seat) -> bool:
        """Return whether there is a log of this member."""
        return seat.member in self.logged

    def is_early(self, seat: Seat, seq: int) -> bool:
        """Return whether the frame may be from before the first log of this store."""
        journal = self.journals.get(seat.store_id)
        return journal is not None and seq <= journal.assumed

    def ready_in(self, view: View) -> set[Seat]:
        """Return the members that were ready in the view, and its members without a log."""
        unknown = {seat for seat in view.members if not self.is_logged(seat)}
        return (self.held.get(view.id, set()) | unknown) & view.members

    def committed(self) -> dict[ViewId, Ranges]:
        """Return, by view, the frames that each member of the view has had durably.

        If some members have no log, these are the frames that all other members had and that a
        sequencer counted as committed.
        """
        found = {}
        for view_id, seats in self.frames.held.items():
            view = self.views.get(view_id)
            if view is None:
                continue
            logged = [seat for seat in view.members if self.is_logged(seat)]
            frames: Ranges | None = None
            if len(logged) < len(view.members):
                frames = Ranges()
                frames.add(1, self.frames.acknowledged_last.get(view_id, 0))
            for seat in logged:
                of_one = seats[seat].frames if seat in seats else Ranges()
                frames = of_one if frames is None else frames.intersection(of_one)
            if frames:
                found[view_id] = frames
        return found

    def era(self, view: View) -> ViewId:
        """Return the id of the FOUND or RESTART since which members count towards N."""
        while view.kind not in (Kind.FOUND, Kind.RESTART) and view.parent in self.views:
            view = self.views[view.parent]
        return view.id

    def chain_at(self, position: Position | None) -> dict[ViewId, int]:
        """Return the last frame of each view on the chain that ends at a position."""
        last: dict[ViewId, int] = {}
        while position is not None:
            view = self.views.get(position.view)
            last[position.view] = position.seq
            position = None if view is None else view.position
        return last


def _compared(record: StoreRecord) -> tuple[object, ...]:
    return record.lineage.length, record.held, record.promised, record.accepted
