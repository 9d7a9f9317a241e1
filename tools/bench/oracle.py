"""The expected counts of a search: a wrong count is an error."""

from attrs import frozen


@frozen
class Counts:
    """`generated`: steps found, plus one for the initial state.  `depth`: in states."""

    distinct: int
    generated: int
    depth: int


def two_phase_commit(members: int) -> Counts:
    """Return the exact counts for `members` resource managers, at least one.

    Messages are a set that only grows, and reading one again is a step that leads back to the
    same state.  The terms of `distinct` are the states in which the transaction manager has
    committed, is undecided, and has aborted.
    """
    n = members
    return Counts(
        distinct=2**n + 4**n + 6**n,
        generated=2 + 4**n + n * 4**n + n * 2**n + 8 * n * 6 ** (n - 1),
        depth=3 * n + 2,
    )


# No closed form: three programs agree on it, joinproto, a search in C++ (tests/models/
# test_counts.py) and SPIN, each with the protocol written again.
PAXOS_FOUNDING = {2: Counts(678, 1_475, 21), 3: Counts(6_826_456, 30_258_141, 37)}


def counts(world: str, members: int) -> Counts | None:
    """Return the exact counts of `world`; None where they are unknown."""
    match world:
        case "two-phase-commit":
            return two_phase_commit(members)
        case "paxos-founding":
            return PAXOS_FOUNDING.get(members)
    return None
