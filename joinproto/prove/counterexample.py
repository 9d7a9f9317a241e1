"""Translation of a Z3 model to a state that the independent reader (`structure.py`) can judge.

The name of an element is the name of its sort with a number.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import z3
from attrs import frozen

from joinproto.prove.layer import Layer, Step
from joinproto.prove.logic import Function, Sort, Var
from joinproto.prove.structure import Element, Env, Structure
from joinproto.prove.to_z3 import Reader


@frozen
class Counterexample:
    """The state `before`, and the step that is taken in it; `step` is None if the state itself is
    wrong.
    """

    before: Structure
    step: Step | None = None
    params: tuple[tuple[Var, Any], ...] = ()

    @property
    def env(self) -> Env:
        return dict(self.params)

    @property
    def after(self) -> Structure | None:
        return None if self.step is None else self.before.after(self.step, self.env)


def to_structure(model: Any, reader: Reader, layer: Layer) -> Structure:
    """Return the state that a Z3 model describes."""
    universe = {
        sort: tuple(model.get_universe(reader.sort(sort)) or [_any_element(model, reader, sort)])
        for sort in layer.sorts
    }
    names = {
        sort: {str(element): f"{sort.name}{number}" for number, element in enumerate(elements)}
        for sort, elements in universe.items()
    }

    def is_true(expression: Any) -> bool:
        return bool(z3.is_true(model.eval(expression, model_completion=True)))

    rows = {
        relation: frozenset(
            tuple(names[sort][str(one)] for sort, one in zip(relation.sorts, row, strict=True))
            for row in product(*(universe[sort] for sort in relation.sorts))
            if is_true(reader.relation(relation)(*row))
        )
        for relation in layer.relations
    }
    values: dict[Function, dict[Element, Element]] = {
        function: {
            names[function.of][str(one)]: names[function.gives][
                str(model.eval(reader.function(function)(one), model_completion=True))
            ]
            for one in universe[function.of]
        }
        for function in layer.functions
    }
    elements = {sort: tuple(names[sort].values()) for sort in layer.sorts}
    return Structure(elements, rows, values)


def values_of(model: Any, reader: Reader, layer: Layer, constants: dict[Var, Any]) -> Env:
    """Return the values of these constants, named as in `to_structure`."""
    found: Env = {}
    for var, constant in constants.items():
        universe = tuple(model.get_universe(reader.sort(var.sort)) or [])
        value = str(model.eval(constant, model_completion=True))
        place = [str(one) for one in universe].index(value) if universe else 0
        found[var] = f"{var.sort.name}{place}"
    return found


def _any_element(model: Any, reader: Reader, sort: Sort) -> Any:
    return model.eval(z3.Const(f"some!{sort.name}", reader.sort(sort)), model_completion=True)
