"""The rows of a round: each row is handed out once, or left for the next round."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from joinproto.check.engine.expansion.work_queue import ROWS_MAX, WorkQueue
from joinproto.check.engine.rows.threads import Workers


def take_all(rows: WorkQueue) -> list[tuple[int, int]]:
    """Return all pieces that one worker takes."""
    found = []
    while (piece := rows.take()) != (0, 0):
        found.append(piece)
    return found


def rows_in(pieces: list[tuple[int, int]]) -> list[int]:
    return sorted(row for begin, end in pieces for row in range(begin, end))


def test_all_rows_are_handed_out_once_whichever_worker_comes_first() -> None:
    crew, rows = Workers(4), WorkQueue(7, 100_007, 1, 4)

    pieces = [piece for found in crew.each(lambda _: take_all(rows)) for piece in found]

    assert list(range(7, 100_007)) == rows_in(pieces)
    assert [] == rows.left()
    crew.close()


@given(st.integers(0, 5_000), st.integers(1, 9_000), st.integers(1, 9_000), st.integers(1, 5))
def test_a_round_ends_after_the_least_number_of_rows_if_rows_lack_answers(
    at: int, many: int, least: int, workers: int
) -> None:
    """At least `least` rows are handed out, and all other rows stay for the next round."""
    rows = WorkQueue(at, at + many, least, workers)
    rows.is_answered = rows.lacks = True

    pieces = take_all(rows)

    assert sum(end - begin for begin, end in pieces) >= min(least, many)
    assert list(range(at, at + many)) == rows_in([*pieces, *rows.left()])


def test_a_round_of_many_workers_hands_out_about_the_maximum_of_rows() -> None:
    rows = WorkQueue(0, 1 << 24, 1, 64)

    pieces = take_all(rows)

    assert ROWS_MAX // 2 < sum(end - begin for begin, end in pieces) <= ROWS_MAX
    assert [(0, 1 << 24)] == joined([*pieces, *rows.left()])


def joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pieces in order, with neighbours joined."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(pieces):
        if found and found[-1][1] == begin:
            found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
    return found


def test_a_round_continues_while_questions_are_being_answered() -> None:
    rows = WorkQueue(0, 10_000, 1, 2)
    rows.is_asked = rows.lacks = True

    assert list(range(10_000)) == rows_in(take_all(rows))


def test_after_rows_are_given_back_no_rows_are_handed_out() -> None:
    rows = WorkQueue(0, 10_000, 1, 2)
    first, second = rows.take(), rows.take()
    rows.give_back(second[0] + 3, second[1])
    rows.give_back(*first)

    assert (0, 0) == rows.take()
    assert [(second[1], 10_000), (second[0] + 3, second[1]), first] == rows.left()
