"""The reader of formulas over a few given elements, as a question to Z3 without quantifiers.

`bounded.py` uses it for runs from the initial state, `small.py` for small counterexamples.  A
variable stands for one element, or for a choice among all elements of its sort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import z3
from attrs import define, field

from joinproto.prove import logic
from joinproto.prove.layer import Layer, Step
from joinproto.prove.structure import Element, Rows, Structure

Choice: TypeAlias = tuple[tuple[Element, Any], ...]
"""Elements, each with the condition under which it is the chosen one."""

Env: TypeAlias = Mapping[logic.Var, Choice]
Cells: TypeAlias = dict[tuple[logic.Relation, tuple[Element, ...]], Any]
"""Whether each relation holds of each row, in one state."""


@define
class Finite:
    """A question to Z3.  `sizes`: the number of elements of each sort; `given`: the rows of known
    relations.
    """

    layer: Layer
    sizes: Mapping[logic.Sort, int]
    given: Mapping[logic.Relation, Rows] = field(factory=dict)
    context: Any = field(factory=z3.Context)
    true: Any = field(init=False)
    false: Any = field(init=False)
    elements: dict[logic.Sort, tuple[Element, ...]] = field(init=False)
    solver: Any = field(init=False)
    rigid: Cells = field(factory=dict, init=False)
    values: dict[logic.Function, dict[Element, Choice]] = field(factory=dict, init=False)
    _count: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.true, self.false = (z3.BoolVal(value, self.context) for value in (True, False))
        self.elements = {
            sort: tuple(f"{sort.name}{at}" for at in range(size))
            for sort, size in self.sizes.items()
        }
        self.solver = z3.Solver(ctx=self.context)
        for function in self.layer.functions:
            self.values[function] = {
                element: self.choice(function.gives) for element in self.elements[function.of]
            }
        self.rigid = self.cells([one for one in self.layer.relations if one.rigid])

    # -- unknowns -------------------------------------------------------------------------

    def bit(self) -> Any:
        self._count += 1
        return z3.Bool(f"bit{self._count}", self.context)

    def choice(self, sort: logic.Sort) -> Choice:
        """Return a choice of any one element of this sort."""
        found = tuple((element, self.bit()) for element in self.elements[sort])
        bits = [bit for _, bit in found]
        self.solver.add(z3.PbEq([(bit, 1) for bit in bits], 1))
        return found

    def choices(self, variables: Sequence[logic.Var]) -> dict[logic.Var, Choice]:
        return {var: self.choice(var.sort) for var in variables}

    def cells(self, relations: Sequence[logic.Relation]) -> Cells:
        """Return the cells of these relations: known for `given` relations, and bits for others."""
        found: Cells = {}
        for relation in relations:
            for row in self.rows_of(relation):
                if relation in self.given:
                    found[relation, row] = self.constant(row in self.given[relation])
                else:
                    found[relation, row] = self.bit()
        return found

    def rows_of(self, relation: logic.Relation) -> Iterator[tuple[Element, ...]]:
        return product(*(self.elements[sort] for sort in relation.sorts))

    def constant(self, value: bool) -> Any:
        return self.true if value else self.false

    # -- reading ---------------------------------------------------------------------------

    def read(
        self, formula: logic.Formula, cells: Cells, env: Env, after: Cells | None = None
    ) -> Any:
        """Return the formula for Z3, read in the state `cells`; `After` is read in `after`."""
        match formula:
            case logic.Atom(relation, terms):
                where = self.rigid if relation.rigid else cells
                ways = product(*(self._term(term, env) for term in terms))
                return self._or(
                    self._and(
                        [bit for _, bit in way] + [where[relation, tuple(one for one, _ in way)]]
                    )
                    for way in ways
                )
            case logic.Same(left, right):
                return self._or(
                    self._and([bit, other_bit])
                    for one, bit in self._term(left, env)
                    for other, other_bit in self._term(right, env)
                    if one == other
                )
            case logic.Not(inner):
                return self._not(self.read(inner, cells, env, after))
            case logic.And(parts):
                return self._and(self.read(part, cells, env, after) for part in parts)
            case logic.Or(parts):
                return self._or(self.read(part, cells, env, after) for part in parts)
            case logic.Every(var, body):
                return self._and(
                    self.read(body, cells, more, after) for more in self._all(var, env)
                )
            case logic.Some(var, body):
                return self._or(self.read(body, cells, more, after) for more in self._all(var, env))
            case logic.After(inner) if after is not None:
                return self.read(inner, after, env)
        raise TypeError(f"finite.py has no case for {formula!r}")

    def after(self, step: Step, cells: Cells, env: Env) -> Cells:
        """Return the cells of the state after the step."""
        found = dict(cells)
        for relation, update in step.updates.items():
            for row in self.rows_of(relation):
                inside = {**env, **dict(zip(update.of, map(self._fixed, row), strict=True))}
                found[relation, row] = self.read(update.formula, cells, inside)
        return found

    def initial(self) -> Cells:
        relations = self.layer.changing
        return {(one, row): self.false for one in relations for row in self.rows_of(one)}

    def _fixed(self, element: Element) -> Choice:
        return ((element, self.constant(True)),)

    def _all(self, var: logic.Var, env: Env) -> Iterator[Env]:
        for element in self.elements[var.sort]:
            yield {**env, var: self._fixed(element)}

    def _term(self, term: logic.Term, env: Env) -> Choice:
        if isinstance(term, logic.Var):
            return env[term]
        assert isinstance(term, logic.Application)
        return tuple(
            (value, self._and([bit, value_bit]))
            for element, bit in self._term(term.argument, env)
            for value, value_bit in self.values[term.function][element]
        )

    # Constants are compared by identity, because a question to Z3 for each took half of the time.

    def _not(self, part: Any) -> Any:
        if part is self.true or part is self.false:
            return self.constant(part is self.false)
        return z3.Not(part)

    def _and(self, parts: Iterable[Any]) -> Any:
        return self._joined(z3.And, parts, neutral=self.true, decisive=self.false)

    def _or(self, parts: Iterable[Any]) -> Any:
        return self._joined(z3.Or, parts, neutral=self.false, decisive=self.true)

    def _joined(
        self, join: Callable[..., Any], parts: Iterable[Any], *, neutral: Any, decisive: Any
    ) -> Any:
        kept = []
        for part in parts:
            if part is decisive:
                return decisive
            if part is not neutral:
                kept.append(part)
        return join(*kept) if len(kept) > 1 else kept[0] if kept else neutral

    # -- Z3's answers ----------------------------------------------------------------------

    def structure(self, model: Any, cells: Cells) -> Structure:
        """Return the state that the model gives to these cells."""
        every = {**self.rigid, **cells}
        rows: dict[logic.Relation, set[tuple[Element, ...]]] = {
            relation: set() for relation in self.layer.relations
        }
        for (relation, row), cell in every.items():
            if z3.is_true(model.eval(cell, model_completion=True)):
                rows[relation].add(row)
        return Structure(
            dict(self.elements),
            {relation: frozenset(found) for relation, found in rows.items()},
            {
                function: {element: self.chosen(model, one) for element, one in values.items()}
                for function, values in self.values.items()
            },
        )

    def chosen(self, model: Any, choice: Choice) -> Element:
        """Return the element that is chosen in the model."""
        return next(
            element for element, bit in choice if z3.is_true(model.eval(bit, model_completion=True))
        )
