"""The searched graph as a Markov chain: the probability that a run reaches a state or takes a step.

The chain has discrete time (a DTMC).  In each state, one of the steps that change the state is
drawn, in proportion to their weights; a state without such a step is absorbing.  The probability of
reaching a set of states solves linear equations, one for each state that can reach the set:

    p(s) = 1 in the set, otherwise the sum of P(s, t) p(t) over all t
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, identity
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.liveness.graph import Graph
from joinproto.check.engine.shapes import Flags, Floats, Ints
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import Move

SMALL_PART = 2_000
"""Equations are solved in the given order unless more states than this lead to each other."""


class Chain:
    """The steps of a graph that change the state, each with its probability.

    `weight_of`: returns the weight of a step, not negative; called once for each kind of step.
    `source`, `target`, `edge`: int64, the states and the place in the graph of each step with a
    positive weight.
    """

    def __init__(self, graph: Graph, weight_of: Callable[[Move], float]) -> None:
        self.graph = graph
        _, first, of = np.unique(graph.info, return_index=True, return_inverse=True)
        weights = np.array([weight_of(graph.move(edge)) for edge in first.tolist()], np.float64)
        weight = weights[of]
        # A step that a member offers twice is one step.
        once = np.zeros(len(weight), np.bool_)
        order = np.lexsort((of, graph.source))
        pairs = np.column_stack([graph.source, of])[order]
        once[order] = np.diff(pairs, axis=0, prepend=-1).any(axis=1)
        self.edge = np.flatnonzero(once & (graph.source != graph.target) & (weight > 0))
        self.source, self.target = graph.source[self.edge], graph.target[self.edge]
        weight = weight[self.edge]
        total = np.bincount(self.source, weight, graph.count)
        self.probability: Floats = weight / total[self.source]

    def reach(
        self, states: Flags, steps: Flags | None = None, initial: Flags | None = None
    ) -> float:
        """Return the probability that a run reaches one of `states`, takes one of `steps`, or
        begins in one of `initial`.

        A run begins in each of the world's initial states with the same probability.
        """
        leaves = ~states[self.source]
        source, target = self.source[leaves], self.target[leaves]
        probability = self.probability[leaves]
        ends = states[target]
        if steps is not None:
            ends |= steps[self.edge[leaves]]
        found = states.astype(np.float64)
        able = _able(source, target, ends, self.graph.count)
        places = np.flatnonzero(able)
        if len(places):
            at = np.full(self.graph.count, -1)
            at[places] = np.arange(len(places))
            inner = ~ends & able[source] & able[target]
            shape = (len(places), len(places))
            indices = at[source[inner]], at[target[inner]]
            within = csr_matrix((probability[inner], indices), shape)
            at_once = np.bincount(source[ends], probability[ends], self.graph.count).astype(
                np.float64
            )
            found[places] = _solved(within, at_once[places])
        begun = found[: self.graph.begins]
        if initial is not None:
            begun[initial] = 1.0
        return float(np.clip(begun.mean(), 0.0, 1.0))

    def judge(self, claims: Sequence[Claim], chances: dict[str, float | None]) -> float:
        """Return the probability that a run breaks any of the claims, and fill `chances`.

        `chances` gets the probability that a run breaks each claim, or for a `sometimes`, that it
        comes true.  A claim about fair runs and an `always possible` get none.
        """
        graph, anywhere = self.graph, np.zeros(self.graph.count, np.bool_)
        any_step = np.zeros(len(graph.source), np.bool_)
        any_initial = np.zeros(graph.begins, np.bool_)
        for claim in claims:
            item = claim.property
            states, steps, initial = np.zeros_like(anywhere), None, None
            if item.kind in ("always step", "implements"):
                asked = claim.asked or StepClaim(item)
                steps = np.zeros_like(any_step)
                steps[graph.bad_steps(asked)] = True
                initial = np.zeros_like(any_initial)
                initial[graph.bad_beginnings(asked)] = True
                any_step |= steps
                any_initial |= initial
            elif item.kind == "no deadlock":
                states[graph.deadlocks(claim)] = True
            elif item.kind in ("always", "sometimes"):
                states = graph.states_of(claim)
            else:
                continue
            chances[item.name] = self.reach(states, steps, initial)
            if item.kind != "sometimes":
                anywhere |= states
        return self.reach(anywhere, any_step, any_initial)


def _able(source: Ints, target: Ints, ends: Flags, count: int) -> Flags:
    """Return the states from which some steps lead to a step that `ends` the run."""
    able = np.zeros(count, np.bool_)
    able[source[ends]] = True
    while True:
        more = able[target] & ~able[source] & ~ends
        if not more.any():
            return able
        able[source[more]] = True


def _solved(within: csr_matrix, at_once: Floats) -> Floats:
    """Return x for which x = within x + at_once.  `within`: square, each row's sum at most 1.

    States that lead to each other are put side by side, after the states that they lead to, so
    that the equations can be solved group by group.
    """
    _, part = connected_components(within, directed=True, connection="strong")
    source, target = within.nonzero()
    order = np.argsort(part, kind="stable")
    matrix = csc_matrix(identity(len(order)) - within[order][:, order])
    in_order = bool((part[source] >= part[target]).all()) and np.bincount(part).max() <= SMALL_PART
    factors = splu(
        matrix,
        permc_spec="NATURAL" if in_order else "COLAMD",
        diag_pivot_thresh=0.0 if in_order else 1.0,
    )
    found: Floats = np.empty(len(order))
    found[order] = factors.solve(at_once[order])
    return found
