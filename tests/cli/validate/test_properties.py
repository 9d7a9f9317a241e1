"""Each claim can be broken: by the history of a forbidden run, and not by an allowed one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.cli.validate.frames import (
    Frames,
    Journal,
    JournalRange,
    cut,
    holds,
    put,
)
from joinproto.cli.validate.history import History, Opening
from joinproto.cli.validate.properties import PROPERTIES
from joinproto.cli.validate.spill import CHUNK, CHUNKS_KEPT, Ranges
from joinproto.join.view import Position, Seat, View, change, found

A, B, C = (Seat(name, f"store of {name}") for name in "abc")


def founding(nonce: str = "-", cluster: str = "cluster") -> View:
    return found(
        members=[A, B, C],
        electors=[A, B, C],
        wait_for=2,
        options_digest="options",
        cluster_name=cluster,
        nonce=nonce,
        time=0,
    )


FIRST = founding()
TWO = Position(FIRST.id, 2)


def successor(nonce: str, position: Position | None, *members: Seat) -> View:
    return change(FIRST, members=members, position=position, activated=True, nonce=nonce, time=0)


SECOND = successor("-", TWO, A, B)


def history(*views: View) -> History:
    """Return a run in which all members were ready in each view, with committed frames 1 and 2."""
    made = History(logged={"a", "b", "c"})
    for view in views or (FIRST, SECOND):
        made.views[view.id] = view
        made.held[view.id] = set(view.members)
    for seq in (1, 2):
        keep(made, FIRST, seq)
    return made


def keep(made: History, view: View, seq: int, *seats: Seat, at: int = 10) -> None:
    for seat in seats or view.members:
        made.frames.of(view.id, seat).add(seq, at)


def opening(view: View, seat: Seat = A, **more: Any) -> Opening:
    facts: dict[str, Any] = {
        "initial": FIRST.id,
        "is_dirty": True,
        "digest": "options",
        "is_known": True,
        "journal": JournalRange(FIRST.id, 1, 2),
    }
    return Opening(seat=seat, view=view, **(facts | more))


def broken(made: History) -> set[str]:
    return {name for name, claim in PROPERTIES.items() if list(claim(made))}


def test_an_allowed_run_breaks_no_claim() -> None:
    made = history()
    made.openings += [opening(FIRST, journal=None), opening(SECOND)]
    made.frames.acknowledge(FIRST.id, 2, 11)

    assert set() == broken(made)


def two_successors() -> History:
    return history(FIRST, SECOND, successor("other", TWO, A, B))


def two_foundings() -> History:
    return history(FIRST, founding("other"))


def committed_after_the_next_view_began() -> History:
    made = history()
    keep(made, FIRST, 3)
    return made


def committed_twice() -> History:
    made = history()
    keep(made, FIRST, 3)
    keep(made, SECOND, 3)
    return made


def frame_lost_by_ready_members() -> History:
    return history(FIRST, successor("-", Position(FIRST.id, 1), A, B))


def opened_with_a_frame_missing() -> History:
    made = history()
    made.openings.append(opening(SECOND, journal=JournalRange(FIRST.id, 1, 1)))
    return made


def opened_by_a_store_outside_the_view() -> History:
    made = history()
    made.openings.append(opening(SECOND, C))
    return made


def acknowledged_too_early() -> History:
    made = history()
    keep(made, SECOND, 3, A, at=30)
    keep(made, SECOND, 3, B, at=40)
    made.frames.acknowledge(SECOND.id, 3, 35)
    return made


def read_without_an_acknowledged_frame(began: int = 12, seq: int = 1) -> History:
    made = history()
    made.paths.append("log of c")
    made.frames.acknowledge(FIRST.id, 2, 11)
    made.frames.reads.add(began, seq, 0)
    return made


def different_data() -> History:
    made = history()
    made.paths += ["log of a", "log of b"]
    for run, digest in enumerate("xy"):
        made.frames.add_digest(FIRST.id, 1, digest, run)
    return made


def served_before_all_were_ready() -> History:
    made = history()
    made.held[SECOND.id] = {A}
    made.openings.append(opening(SECOND))
    return made


def served_with_other_options() -> History:
    made = history()
    made.openings.append(opening(SECOND, digest="others"))
    return made


def served_with_a_clean_mark() -> History:
    made = history()
    made.openings.append(opening(SECOND, is_dirty=False))
    return made


def two_initial_signatures() -> History:
    made = history()
    made.signatures["store of a"] = {FIRST.id, founding("other").id}
    return made


def disk_forgot_a_write() -> History:
    made = history()
    made.problems.append("log")
    return made


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (two_successors(), "one_successor"),
        (two_foundings(), "one_successor"),
        (committed_after_the_next_view_began(), "no_split_brain"),
        (committed_twice(), "no_split_brain"),
        (frame_lost_by_ready_members(), "no_stale_source"),
        (opened_with_a_frame_missing(), "nothing_lost"),
        (opened_by_a_store_outside_the_view(), "no_wrong_store"),
        (acknowledged_too_early(), "acknowledged_is_committed"),
        (read_without_an_acknowledged_frame(), "reads_see_acknowledged"),
        (different_data(), "position_is_data"),
        (served_before_all_were_ready(), "waits_for_n"),
        (served_with_other_options(), "options_agree"),
        (served_with_a_clean_mark(), "dirty_before_serving"),
        (two_initial_signatures(), "signature_never_changes"),
        (disk_forgot_a_write(), "disk_keeps_what_was_written"),
    ],
)
def test_a_forbidden_run_breaks_its_claim(made: History, name: str) -> None:
    assert name in broken(made)


@pytest.mark.parametrize(("began", "seq"), [(12, 2), (11, 1), (10, 0)])
def test_a_read_need_not_see_frames_acknowledged_after_it_began(began: int, seq: int) -> None:
    assert set() == broken(read_without_an_acknowledged_frame(began, seq))


def test_a_frame_is_reported_by_the_logs_that_differ() -> None:
    (message,) = PROPERTIES["position_is_data"](different_data())

    assert message.endswith("has different data in log of a, log of b")


def test_members_without_a_log_are_assumed_to_have_been_ready() -> None:
    """A missing log is no violation: c is assumed to have been ready and to have the frame."""
    made = History(logged={"a", "b"})
    made.views[FIRST.id], made.held[FIRST.id] = FIRST, {A, B}
    keep(made, FIRST, 1, A, B)
    made.frames.acknowledge(FIRST.id, 1, 11)
    made.openings.append(opening(FIRST, journal=None))

    assert set() == broken(made)
    assert 1 == made.committed()[FIRST.id].last
    made.logged.add("c")
    assert {"waits_for_n", "acknowledged_is_committed"} <= broken(made)


def test_frames_from_before_the_first_log_of_a_store_are_assumed() -> None:
    made = history()
    keep(made, SECOND, 3, A, B)
    keep(made, SECOND, 4, A)
    made.journals["store of b"] = Journal(assumed=4)
    for seq in (3, 4):
        made.frames.acknowledge(SECOND.id, seq, 11)

    assert set() == broken(made)
    made.frames.acknowledge(SECOND.id, 5, 11)
    assert {"acknowledged_is_committed"} == broken(made)


def test_a_journal_holds_the_frames_that_were_put_and_not_cut() -> None:
    journal = put(put(None, FIRST.id, 1, 2), FIRST.id, 3, 3)
    assert JournalRange(FIRST.id, 1, 3) == journal

    journal = put(journal, SECOND.id, 3, 5)
    assert JournalRange(SECOND.id, 3, 5, JournalRange(FIRST.id, 1, 2)) == journal
    assert (True, False) == (
        holds(journal, SECOND.id, 3, 5),
        holds(journal, FIRST.id, 1, 3),
    )
    assert JournalRange(FIRST.id, 1, 1) == cut(journal, 1)


def test_the_times_of_frames_are_kept_in_a_file() -> None:
    """Only some chunks stay in memory; the others are read from the file again."""
    frames = Frames()
    seats = (A, B, C)
    count = 40 * CHUNK
    for seat in seats:
        held = frames.of(FIRST.id, seat)
        for seq in range(1, count, 7):
            held.add_range(seq, seq + 6, 5) if seq == 1 else held.add(seq, seq)
    assert len(frames.spill._kept) <= CHUNKS_KEPT < 3 * 40
    assert [1, 8, 4096 * 7 + 1] == [
        min(seq, frames.of(FIRST.id, A).since(seq) or 0) for seq in (1, 8, 4096 * 7 + 1)
    ]
    frames.spill.close()


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 6)), max_size=12), st.data())
def test_ranges_are_sets_of_numbers(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    """`Ranges` is compared with plain sets, for any numbers in any order."""
    cut_at = data.draw(st.integers(0, len(pairs)))
    sets: list[set[int]] = []
    ranges: list[Ranges] = []
    for some in (pairs[:cut_at], pairs[cut_at:]):
        sets.append({number for first, more in some for number in range(first, first + more)})
        ranges.append(Ranges())
        for first, more in some:
            ranges[-1].add(first, first + more - 1)
    for numbers, made in zip(sets, ranges, strict=True):
        assert numbers == {n for first, last in made for n in range(first, last + 1)}
        assert len(numbers) == made.count
        assert max(numbers, default=0) == made.last
        assert all((number in made) is (number in numbers) for number in range(40))
        assert min((n for n in numbers if n > 9), default=None) == made.beyond(9)
        gaps = [later - last for last, later in zip(made.lasts, made.firsts[1:], strict=False)]
        assert all(gap > 1 for gap in gaps)
    both = ranges[0].intersection(ranges[1])
    assert sets[0] & sets[1] == {n for first, last in both for n in range(first, last + 1)}
