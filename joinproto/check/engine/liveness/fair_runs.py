"""Runs without end that fairness allows: the parts of a graph in which one can go round.

A part is a set of states that lead to one another.  A run can stay in it for ever, and be fair,
if each weak duty is fulfilled there or impossible somewhere there, and each strong duty is
fulfilled there or possible nowhere there.  A part that breaks a weak duty is of no use, and no
smaller one in it either.  Of one that breaks a strong duty the states are taken out in which that
is possible, and what is left falls into smaller parts: Emerson and Lei's, and Streett's, way.
A state alone is a part, too: a run may end where no duty is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from joinproto.check.engine.liveness.duties import Duties
from joinproto.check.engine.shapes import Flags, Ints


@frozen
class Family:
    """Duties with their numbers from 0 on.  `edges`: the steps that fulfil one."""

    strong: bool
    edges: Ints
    label: Ints
    count: int

    @classmethod
    def of(cls, duties: Duties) -> Family:
        edges = np.flatnonzero(duties.label >= 0)
        known, label = np.unique(duties.label[edges], return_inverse=True)
        return cls(duties.strong, edges, label.astype(np.int64), len(known))


def parts_of(source: Ints, target: Ints, count: int) -> Ints:
    """Return the strongly connected part of each of `count` states, by these steps."""
    matrix = csr_matrix((np.ones(len(source), np.int8), (source, target)), shape=(count, count))
    _, part = connected_components(matrix, directed=True, connection="strong")
    return np.asarray(part, np.int64)


def fair_parts(
    source: Ints,
    target: Ints,
    families: Sequence[Family],
    region: Flags,
    wanted: Flags | None = None,
) -> Ints:
    """Return the part of each state of `region` in which a fair run can stay, -1 elsewhere.

    `source`, `target`: of all steps, those that leave the region too: they say what is possible.
    `wanted`: a part without one of these states is none.
    """
    alive = region.copy()
    while True:
        inside = alive[source] & alive[target]
        part = parts_of(source[inside], target[inside], len(region))
        parts = int(part.max(initial=-1)) + 1
        size = np.bincount(part[alive], minlength=parts)
        bad = np.zeros(parts, np.bool_)
        if wanted is not None:
            bad |= np.bincount(part[alive & wanted], minlength=parts) == 0
        inside &= part[source] == part[target]
        cut = np.zeros(len(region), np.bool_)
        for family in families:
            _break(family, source, alive, inside, part, size, bad, cut)
        cut &= alive & ~bad[part]
        alive &= ~bad[part]
        if not cut.any():
            return np.where(alive, part, -1)
        alive &= ~cut


def _break(
    family: Family,
    source: Ints,
    alive: Flags,
    inside: Flags,
    part: Ints,
    size: Ints,
    bad: Flags,
    cut: Flags,
) -> None:
    """Mark parts that break a weak duty, and states to leave out for a strong one."""
    here = alive[source[family.edges]]
    edges, label = family.edges[here], family.label[here]
    pair = part[source[edges]] * family.count + label
    taken = np.unique(pair[inside[edges]])
    if family.strong:
        cut[source[edges[~np.isin(pair, taken)]]] = True
        return
    # (state, duty) where it is possible, each once; then in how many states of a part.
    states = np.unique(source[edges] * family.count + label) // family.count
    duty = np.unique(source[edges] * family.count + label) % family.count
    pairs, counts = np.unique(part[states] * family.count + duty, return_counts=True)
    lasting = pairs[counts == size[pairs // family.count]]
    broken = np.setdiff1d(lasting, taken, assume_unique=True) // family.count
    bad[broken] = True
