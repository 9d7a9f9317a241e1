"""The history: what the replayed members show of the views, the frames and who served when."""

from __future__ import annotations

from collections import defaultdict

from attrs import Factory, define, frozen

from joinproto.join.ids import ViewId
from joinproto.join.messages import OpenForClients
from joinproto.join.store import StoreRecord
from joinproto.join.view import Kind, Position, Seat, View
from tools.validate.logs import Run
from tools.validate.replay import Seen

Frame = tuple[ViewId, int]


@frozen
class Opening:
    """A member began to serve: in which view, with what on its disk, and at which `t`."""

    seat: Seat
    view: View
    record: StoreRecord
    digest: str
    data: tuple[Frame, ...] | None
    at: int


@frozen
class Claim:
    """The sequencer counted this frame, and all before it, as committed, at `t`."""

    view: View
    seq: int
    at: int
    run: str


@define
class Data:
    """What one store's journal holds; `frames` is None if its beginning is not in the logs."""

    frames: list[Frame] | None = None
    attempted: list[Frame] = Factory(list)


@define
class History:
    """All runs together."""

    views: dict[ViewId, View] = Factory(dict)
    learned_by: dict[ViewId, set[str]] = Factory(lambda: defaultdict(set))
    held: dict[ViewId, set[Seat]] = Factory(lambda: defaultdict(set))
    holders: dict[Frame, dict[Seat, int]] = Factory(lambda: defaultdict(dict))
    digests: dict[Frame, dict[str, str]] = Factory(lambda: defaultdict(dict))
    openings: list[Opening] = Factory(list)
    claims: list[Claim] = Factory(list)
    signatures: dict[str, set[ViewId]] = Factory(lambda: defaultdict(set))
    data: dict[str, Data] = Factory(dict)
    records: dict[str, list[StoreRecord]] = Factory(dict)
    problems: list[tuple[str, str]] = Factory(list)
    lines: int = 0

    def look(self, seen: Seen) -> None:
        """Note what this line shows."""
        self.lines += 1
        kind = seen.line["kind"]
        member = seen.member
        store = seen.run.store_id
        match kind:
            case "start":
                self._start(seen)
            case "batch":
                self._batch(seen)
            case "appended" | "fetched":
                frame = (seen.line["view"], seen.line["seq"])
                data = self.data[store]
                # A fetched frame is noted before it is durable, an appended one after.
                if data.frames is not None:
                    del data.frames[frame[1] - 1 :]
                    data.frames.append(frame)
                self.holders[frame].setdefault(member.seat, seen.line["t"])
                self.digests[frame][str(seen.run.path)] = seen.line["digest"]
            case "cut":
                frames = self.data[store].frames
                if frames is not None:
                    del frames[seen.line["last"] :]
            case "based":
                # Dropped frames that came in one piece: what is in them, nobody can tell apart.
                based = [
                    (view, at)
                    for view, first, last in seen.line["runs"]
                    for at in range(first, last + 1)
                ]
                self.data[store].frames = based
                for frame in based:
                    self.holders[frame].setdefault(member.seat, seen.line["t"])
            case "committed":
                view = self.views[seen.line["view"]]
                claim = Claim(view, seen.line["seq"], seen.line["t"], str(seen.run.path))
                self.claims.append(claim)

    def _start(self, seen: Seen) -> None:
        record, store = seen.member.record, seen.run.store_id
        self._know(record, seen.run)
        former = self.records.get(store)
        if former is not None:
            self._same_disk(seen.run, former, record)
        elif record.tip is None and record.position is None:
            self.data[store] = Data([])
        data = self.data.setdefault(store, Data())
        if data.frames is not None and not record.update_unfinished:
            seq = 0 if record.position is None else record.position.seq
            if seq > len(data.frames):
                # Frames that were durable when the process was killed, before it could say so.
                where = record.position
                assert where is not None
                new = [(where.view, at) for at in range(len(data.frames) + 1, seq + 1)]
                data.frames += new
                for frame in new:
                    self.holders[frame].setdefault(seen.member.seat, seen.line["t"])
            del data.frames[seq:]
        self.records[store] = [record]

    def _same_disk(self, run: Run, former: list[StoreRecord], found: StoreRecord) -> None:
        """The disk holds what was written last, or what was being written when it ended."""
        # A log takes the mark of a cut back when it starts: its data is whole on both sides.
        may = [
            (one.lineage.length, one.held, one.promised, one.accepted, is_unfinished)
            for one in former
            for is_unfinished in (one.update_unfinished, False)
        ]
        shown = (
            found.lineage.length,
            found.held,
            found.promised,
            found.accepted,
            found.update_unfinished,
        )
        if shown not in may:
            self.problems.append(
                (
                    "disk_keeps_what_was_written",
                    f"{run.path}: starts with another record than the run before wrote last",
                )
            )
        before, now = former[-1].position, found.position
        was_unfinished = found.update_unfinished or former[-1].update_unfinished
        if before is not None and now is not None and not was_unfinished and now.seq < before.seq:
            what = f"{run.path}: starts at frame {now.seq}, and had {before.seq}"
            self.problems.append(("disk_keeps_what_was_written", what))

    def _batch(self, seen: Seen) -> None:
        member, store = seen.member, seen.run.store_id
        batch = member.poll()
        if batch.persist is not None:
            self._know(batch.persist, seen.run)
            # Until the next write returns, either may be on the disk.
            self.records[store] = [*self.records[store][-1:], batch.persist]
            if batch.persist.held is not None:
                self.held[batch.persist.held].add(member.seat)
        for action in batch.actions:
            if isinstance(action, OpenForClients):
                frames = self.data[store].frames
                data = None if frames is None else tuple(frames)
                self.openings.append(
                    Opening(
                        member.seat,
                        action.view,
                        member.record,
                        member.config.digest,
                        data,
                        seen.line["t"],
                    )
                )

    def _know(self, record: StoreRecord, run: Run) -> None:
        for view in record.lineage.views[-50:]:
            self.views[view.id] = view
            self.learned_by[view.id].add(str(run.path))
        if record.lineage.initial is not None:
            self.signatures[record.store_id].add(record.lineage.initial)

    # -- what follows --------------------------------------------------------------------------

    def committed(self) -> dict[Frame, View]:
        """Return the frames that every member of their view has had durably."""
        found = {}
        for frame, seats in self.holders.items():
            view = self.views.get(frame[0])
            if view is not None and view.members <= seats.keys():
                found[frame] = view
        return found

    def era(self, view: View) -> ViewId:
        """Return the FOUND or RESTART since which N counts."""
        while view.kind not in (Kind.FOUND, Kind.RESTART) and view.parent in self.views:
            view = self.views[view.parent]
        return view.id

    def chain_at(self, position: Position | None) -> dict[ViewId, int]:
        """Return, for each view on the way to a position, its last frame there."""
        last: dict[ViewId, int] = {}
        while position is not None:
            view = self.views.get(position.view)
            last[position.view] = position.seq
            position = None if view is None else view.position
        return last
