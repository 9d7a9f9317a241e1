"""The claims of the protocol, asked about a real run: each yields the errors in the history."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator

from joinproto.cli.validate.frames import holds
from joinproto.cli.validate.history import History
from joinproto.join.ids import ViewId, short
from joinproto.join.view import Kind, Seat, View

Property = Callable[[History], Iterator[str]]


def one_successor(history: History) -> Iterator[str]:
    """No view has two successors, and no two FOUNDs have one set of electors."""
    successors_of: dict[object, set[ViewId]] = defaultdict(set)
    for view in history.views.values():
        if view.kind is Kind.FOUND:
            names = frozenset(seat.member for seat in view.electors)
            successors_of[view.cluster_name, names].add(view.id)
        else:
            successors_of[view.parent].add(view.id)
    for successors in successors_of.values():
        if len(successors) > 1:
            yield " and ".join(str(history.views[one]) for one in sorted(successors, key=str))


def no_split_brain(history: History) -> Iterator[str]:
    """A frame is committed in one view only, and not after the start of the next view."""
    committed = history.committed()
    former: tuple[int, int, ViewId] | None = None
    for first, last, view_id in sorted(
        ((first, last, one) for one, frames in committed.items() for first, last in frames),
        key=lambda item: item[:2],
    ):
        if former is not None and first <= former[1]:
            both = sorted({str(history.views[one]) for one in (former[2], view_id)})
            for seq in range(first, min(last, former[1]) + 1):
                yield f"frame {seq} is committed in {' and in '.join(both)}"
        if former is None or last > former[1]:
            former = (first, last, view_id)
    for view in history.views.values():
        if view.parent is None or view.parent not in history.views:
            continue
        end = 0 if view.position is None else view.position.seq
        if view.parent not in committed or view.position is None:
            continue
        beyond = committed[view.parent].beyond(end)
        if beyond is not None and view.position.view == view.parent:
            yield f"{view} starts after frame {end}, but frame {beyond} is committed before it"


def no_wrong_store(history: History) -> Iterator[str]:
    """A member that serves is in the view, and all that serve have one initial signature."""
    initial: dict[str, set[ViewId | None]] = defaultdict(set)
    for opening in history.openings:
        if opening.seat not in opening.view.members:
            yield f"{opening.seat.member} serves in {opening.view}, of which it is not a member"
        initial[opening.view.cluster_name].add(opening.initial)
    for name, signatures in initial.items():
        if len(signatures) > 1:
            yield f"cluster {name} is served with {', '.join(map(short, signatures))}"


def no_stale_source(history: History) -> Iterator[str]:
    """A ready member has every frame that was committed before its view starts."""
    yield from _missing(
        history, [(view, history.held.get(view.id, set())) for view in _views(history)]
    )


def nothing_lost(history: History) -> Iterator[str]:
    """A committed frame is held by every active member of every later view."""
    serving: dict[ViewId, set[Seat]] = defaultdict(set)
    for opening in history.openings:
        serving[opening.view.id].add(opening.seat)
        if not opening.is_known:
            continue
        # The frames that the view starts from must exist, one by one.
        for view_id, last in history.chain_at(opening.view.position).items():
            view = history.views.get(view_id)
            start = 0 if view is None or view.position is None else view.position.seq
            if view is not None and not holds(opening.journal, view_id, start + 1, last):
                yield f"{opening.seat.member} opens {opening.view} without frames of {view}"
    yield from _missing(history, [(view, serving.get(view.id, set())) for view in _views(history)])


def acknowledged_is_committed(history: History) -> Iterator[str]:
    """A frame that a sequencer counts as committed is on the disks of all members of its view."""
    for last in history.frames.acknowledged:
        view = history.views.get(last.view)
        start = 0 if view is None or view.position is None else view.position.seq
        if view is None or last.seq <= start:
            continue
        for seat in sorted(filter(history.is_logged, view.members), key=lambda one: one.member):
            at = history.frames.of(last.view, seat).since(last.seq)
            if at is None and history.is_early(seat, last.seq):
                continue
            if at is None or at > last.at:
                yield f"frame {last.seq} of {view} is acknowledged before {seat.member} has it"
                break


def reads_see_acknowledged(history: History) -> Iterator[str]:
    """A read that begins after an acknowledgement sees it, on any member (3.8)."""
    times: list[int] = []
    newest: list[int] = []  # the last frame that was acknowledged up to that time
    for last in sorted(history.frames.acknowledged, key=lambda one: one.at):
        if not newest or last.seq > newest[-1]:
            times.append(last.at)
            newest.append(last.seq)
    for read in history.frames.reads:
        before = bisect_left(times, read.began)
        if before and newest[before - 1] > read.seq:
            yield (
                f"{history.paths[read.run]}: a read is answered up to frame {read.seq}, but frame"
                f" {newest[before - 1]} was acknowledged before the read began"
            )


def position_is_data(history: History) -> Iterator[str]:
    """A frame has the same data in every log."""
    for (view, seq), runs in history.frames.different.items():
        logs = ", ".join(sorted({history.paths[run] for run in runs}))
        yield f"frame {seq} of {short(view)} has different data in {logs}"


def waits_for_n(history: History) -> Iterator[str]:
    """No member serves before N members of one view, and all of its own, were ready (W1, I8)."""
    ready: dict[ViewId, int] = defaultdict(int)
    for view in _views(history):
        era = history.era(view)
        ready[era] = max(ready[era], len(history.ready_in(view)))
    for opening in history.openings:
        view = opening.view
        if ready[history.era(view)] < view.wait_for:
            name, needed = opening.seat.member, view.wait_for
            yield f"{name} serves in {view} before {needed} members were ready"
        if not view.members <= history.ready_in(view):
            yield f"{opening.seat.member} serves in {view} before all its members were ready"


def options_agree(history: History) -> Iterator[str]:
    """Active members have the same options (I2)."""
    for opening in history.openings:
        if opening.digest != opening.view.options_digest:
            yield f"{opening.seat.member} serves in {opening.view} with {opening.digest}"


def dirty_before_serving(history: History) -> Iterator[str]:
    """The store of an active member is not clean (S2)."""
    for opening in history.openings:
        if not opening.is_dirty:
            yield f"{opening.seat.member} serves in {opening.view}, but its disk does not say so"


def signature_never_changes(history: History) -> Iterator[str]:
    """A store keeps its initial signature (S1)."""
    for store, signatures in history.signatures.items():
        if len(signatures) > 1:
            yield f"store {store} has had {', '.join(map(short, sorted(signatures, key=str)))}"


def disk_keeps_what_was_written(history: History) -> Iterator[str]:
    """Duty 5: a member starts from its last record."""
    yield from history.problems


PROPERTIES: dict[str, Property] = {
    one.__name__: one
    for one in (
        one_successor,
        no_split_brain,
        no_wrong_store,
        no_stale_source,
        nothing_lost,
        acknowledged_is_committed,
        reads_see_acknowledged,
        position_is_data,
        waits_for_n,
        options_agree,
        dirty_before_serving,
        signature_never_changes,
        disk_keeps_what_was_written,
    )
}


def _views(history: History) -> list[View]:
    return sorted(history.views.values(), key=lambda view: (view.number, str(view.id)))


def _missing(history: History, ready: list[tuple[View, set[Seat]]]) -> Iterator[str]:
    by_view = {view_id: frames.last for view_id, frames in history.committed().items()}
    for view, seats in ready:
        if not seats:
            continue
        chain = history.chain_at(view.position)
        for view_id, last in by_view.items():
            before = history.views[view_id]
            if before.number < view.number and chain.get(view_id, 0) < last:
                start = 0 if before.position is None else before.position.seq
                lost = max(chain.get(view_id, 0), start) + 1
                names = ", ".join(sorted(seat.member for seat in seats))
                yield f"frame {lost} of {before} is committed, but {names} in {view} lack it"
