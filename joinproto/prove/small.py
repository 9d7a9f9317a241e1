"""Small counterexamples: a state with few elements, and a step that breaks a formula there.

The same question as in `obligations.py`, about this many elements and no more, without
quantifiers.  Where Z3 gives up on the one with any number of elements, this one still finds a
state; where it finds none, nothing follows from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from joinproto.prove.counterexample import Counterexample
from joinproto.prove.finite import Finite
from joinproto.prove.layer import Claim, Conjunct, Layer, Step
from joinproto.prove.logic import TRUE, Sort

THINGS_MAX = 3
"""Elements of each sort, at most."""


def smallest(
    layer: Layer, step: Step | None, subject: Conjunct | Claim | None, *, begins: bool
) -> Counterexample | None:
    """Return a state that obeys the invariant, and breaks `subject` after `step` or at once.

    All sorts grow together until there is one; then each one shrinks as far as it can. No
    `subject`: a state in which the step can be taken, or one that is lively.  `begins`: `step` sets
    the initial state, and the state before may be anything.
    """
    for size in range(1, THINGS_MAX + 1):
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

    def say(formula: Any, **more: Any) -> Any:
        return finite.read(formula, cells, **{"env": {}, **more})

    finite.solver.add(*[say(axiom) for axiom in layer.axioms.values()])
    if not begins:
        finite.solver.add(*[say(conjunct.formula) for conjunct in layer.conjuncts])
    env = finite.choices(() if step is None else step.params)
    after = cells
    if step is not None:
        finite.solver.add(*[say(guard.formula, env=env) for guard in step.guards])
        after = finite.after(step, cells, env)
    if subject is None:
        finite.solver.add(say(layer.lively if step is None else TRUE))
    elif isinstance(subject, Claim) and subject.is_step:
        finite.solver.add(z3.Not(say(subject.formula, after=after)))
    else:
        finite.solver.add(z3.Not(finite.read(subject.formula, after, {})))
    if finite.solver.check() != z3.sat:
        return None
    model = finite.solver.model()
    params = tuple((var, finite.chosen(model, one)) for var, one in env.items())
    return Counterexample(finite.structure(model, cells), step, params)
