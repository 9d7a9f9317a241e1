"""Two-phase commit has closed forms: whoever miscounts is found out.

N is the number of resource managers; messages are a set that only grows, and reading one
again is a step that leads back to the same state.
"""

from attrs import frozen


@frozen
class Counts:
    """`generated`: steps found, plus one for the initial state.  `depth`: in states."""

    distinct: int
    generated: int
    depth: int


def two_phase_commit(members: int) -> Counts:
    """Return the exact counts for `members` resource managers, at least one.

    The terms of `distinct` are the states in which the transaction manager has committed,
    is undecided, and has aborted.
    """
    n = members
    return Counts(
        distinct=2**n + 4**n + 6**n,
        generated=2 + 4**n + n * 4**n + n * 2**n + 8 * n * 6 ** (n - 1),
        depth=3 * n + 2,
    )
