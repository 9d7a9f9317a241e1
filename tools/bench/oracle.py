"""The known counts of a search; any other count is an error."""

from attrs import frozen


@frozen
class Counts:
    """Counts.  `generated`: steps, plus one for the initial state; `depth`: in states."""

    distinct: int
    generated: int
    depth: int


def two_phase_commit(members: int) -> Counts:
    """Return the exact counts for `members` resource managers, at least one.

    The set of messages only grows, and reading a message again is a step to the same state.  The
    terms of `distinct` count the states in which the transaction manager has committed, is
    undecided, and has aborted.
    """
    n = members
    return Counts(
        distinct=2**n + 4**n + 6**n,
        generated=2 + 4**n + n * 4**n + n * 2**n + 8 * n * 6 ** (n - 1),
        depth=3 * n + 2,
    )


# There is no formula.  Three programs found these counts, each with its own model: joinproto, a
# search in C++ (tests/models/test_counts.py) and SPIN.
PAXOS_FOUNDING = {2: Counts(678, 1_475, 21), 3: Counts(6_826_456, 30_258_141, 37)}


def counts(world: str, members: int) -> Counts | None:
    """Return the exact counts of `world`; None if they are unknown."""
    match world:
        case "two-phase-commit":
            return two_phase_commit(members)
        case "paxos-founding":
            return PAXOS_FOUNDING.get(members)
    return None
