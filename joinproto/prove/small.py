"""Small counterexamples: a state with few elements, and a step that breaks a formula there.

The question is that of `obligations.py` for a fixed number of elements, without quantifiers.  Z3
often answers it with a state after giving up on the question about any number of elements.  If
there is no small state, the obligation may still fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from joinproto.prove.counterexample import Counterexample
from joinproto.prove.finite import Finite
from joinproto.prove.layer import Claim, Conjunct, Layer, Step
from joinproto.prove.logic import TRUE, Sort

ELEMENTS_MAX = 3
"""The most elements of each sort."""


def smallest(
    layer: Layer, step: Step | None, subject: Conjunct | Claim | None, *, begins: bool
) -> Counterexample | None:
    """Return a state in which the invariant holds and `subject` breaks after `step`.

    If `step` is None, `subject` breaks in the state itself.  The numbers of elements of all sorts
    grow together until a state is found; then each number is made as small as possible.  Without
    `subject`, return a state in which the step can be taken, or a lively state.  `begins`: `step`
    leads to the initial state, from any state of the axioms.
    """
    for size in range(1, ELEMENTS_MAX + 1):
        sizes = dict.fromkeys(layer.sorts, size)
        found = _of_sizes(layer, step, subject, sizes, begins)
        if found is None:
            continue
        for sort in layer.sorts:
            while sizes[sort] > 1:
                fewer = {**sizes, sort: sizes[sort] - 1}
                smaller = _of_sizes(layer, step, subject, fewer, begins)
                if smaller is None:
                    break
                found, sizes = smaller, fewer
        return found
    return None


def _of_sizes(
    layer: Layer,
    step: Step | None,
    subject: Conjunct | Claim | None,
    sizes: Mapping[Sort, int],
    begins: bool,
) -> Counterexample | None:
    finite = Finite(layer, sizes)
    cells = finite.cells(layer.changing)

    def read(formula: Any, **more: Any) -> Any:
        return finite.read(formula, cells, **{"env": {}, **more})

    finite.solver.add(*[read(axiom) for axiom in layer.axioms.values()])
    if not begins:
        finite.solver.add(*[read(conjunct.formula) for conjunct in layer.conjuncts])
    env = finite.choices(() if step is None else step.params)
    after = cells
    if step is not None:
        finite.solver.add(*[read(guard.formula, env=env) for guard in step.guards])
        after = finite.after(step, cells, env)
    if subject is None:
        finite.solver.add(read(layer.lively if step is None else TRUE))
    elif isinstance(subject, Claim) and subject.is_step:
        finite.solver.add(z3.Not(read(subject.formula, after=after)))
    else:
        finite.solver.add(z3.Not(finite.read(subject.formula, after, {})))
    if finite.solver.check() != z3.sat:
        return None
    model = finite.solver.model()
    params = tuple((var, finite.chosen(model, one)) for var, one in env.items())
    return Counterexample(finite.structure(model, cells), step, params)
