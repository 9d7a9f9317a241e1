"""The closed forms give the counts on which several checkers agree."""

import pytest

from tools.bench.oracle import PAXOS_FOUNDING, Counts, counts, two_phase_commit


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (3, Counts(288, 1_146, 11)),
        (5, Counts(8_832, 58_146, 17)),
        (7, Counts(296_448, 2_744_706, 23)),
        (8, Counts(1_745_408, 18_507_778, 26)),
        (9, Counts(10_340_352, 123_558_402, 29)),
        (10, Counts(61_515_776, 817_760_258, 32)),
    ],
)
def test_the_closed_forms_give_the_known_counts(members: int, expected: Counts) -> None:
    """2^N + 4^N + 6^N states; 2 + 4^N + N 4^N + N 2^N + 8N 6^(N-1) generated; depth 3N + 2."""
    assert expected == two_phase_commit(members)


def test_only_two_worlds_have_known_counts() -> None:
    """For other worlds and sizes the answer is None, so their counts are not compared."""
    assert two_phase_commit(4) == counts("two-phase-commit", 4)
    assert PAXOS_FOUNDING[3] == counts("paxos-founding", 3)
    assert counts("paxos-founding", 4) is None
    assert counts("join", 3) is None
