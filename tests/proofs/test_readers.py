"""Three readers of the same formulas: Z3 with quantifiers, Z3 with few elements, plain Python."""

from __future__ import annotations

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.errors import MisuseError
from joinproto.prove.finite import Finite
from joinproto.prove.layer import Guard, Layer, Step, Update
from joinproto.prove.logic import (
    TRUE,
    And,
    Application,
    Every,
    Formula,
    Function,
    Not,
    Or,
    Relation,
    Same,
    Some,
    Sort,
    Var,
    every,
    same,
    some,
)
from joinproto.prove.structure import Structure
from joinproto.prove.to_z3 import Reader

A, B = Sort("a"), Sort("b")
x, y, z = Var("x", A), Var("y", A), Var("z", B)
near = Relation("near", (A, A), "{0} is near {1}", rigid=True)
owns = Relation("owns", (A, B), "{0} owns {1}")
home = Function("home", A, B)

TAKE = Step(
    "take",
    "x takes z, which has no owner",
    (x, z),
    (Guard("it is free", every(y, ~owns(y, z))),),
    {owns: Update((y, z1 := Var("z1", B)), owns(y, z1) | (same(y, x) & same(z1, z)))},
)
TOY = Layer(
    name="toy",
    about="",
    sorts=(A, B),
    relations=(near, owns),
    functions=(home,),
    axioms={},
    steps=(TAKE,),
    conjuncts=(),
    claims=(),
    lively=TRUE,
)


def _terms() -> st.SearchStrategy[tuple[Var, Var, Var | Application]]:
    return st.tuples(
        st.sampled_from([x, y]), st.sampled_from([x, y]), st.sampled_from([z, home(x), home(y)])
    )


def formulas() -> st.SearchStrategy[Formula]:
    """Return closed formulas over a small language."""
    atoms: st.SearchStrategy[Formula] = _terms().flatmap(
        lambda terms: st.sampled_from(
            [near(terms[0], terms[1]), owns(terms[0], terms[2]), Same(terms[0], terms[1])]
        )
    )
    inner = st.recursive(
        atoms,
        lambda part: st.one_of(
            part.map(Not),
            st.tuples(part, part).map(And),
            st.tuples(part, part).map(Or),
            st.tuples(st.sampled_from([x, y, z]), part).map(lambda pair: Every(*pair)),
            st.tuples(st.sampled_from([x, y, z]), part).map(lambda pair: Some(*pair)),
        ),
        max_leaves=6,
    )
    return inner.map(lambda body: every(x, some(y, every(z, body))))


@st.composite
def states(draw: st.DrawFn) -> Structure:
    """Return a state of two elements of each sort."""
    elements: dict[Sort, tuple[str, ...]] = {A: ("a0", "a1"), B: ("b0", "b1")}
    pairs = [(one, other) for one in elements[A] for other in elements[A]]
    owned = [(one, other) for one in elements[A] for other in elements[B]]
    return Structure(
        dict(elements),
        {
            near: frozenset(draw(st.sets(st.sampled_from(pairs)))),
            owns: frozenset(draw(st.sets(st.sampled_from(owned)))),
        },
        {home: {one: draw(st.sampled_from(elements[B])) for one in elements[A]}},
    )


def _by_quantifiers(formula: Formula, state: Structure) -> bool:
    reader = Reader()
    solver = z3.Solver(ctx=reader.context)
    names = {
        element: z3.Const(str(element), reader.sort(sort))
        for sort in TOY.sorts
        for element in state.elements[sort]
    }
    for sort in TOY.sorts:
        there = [names[element] for element in state.elements[sort]]
        solver.add(z3.Distinct(*there))
        any_one = reader.constant(Var("any", sort))
        solver.add(z3.ForAll([any_one], z3.Or(*[any_one == one for one in there])))
    for relation in TOY.relations:
        for one in state.elements[relation.sorts[0]]:
            for other in state.elements[relation.sorts[1]]:
                cell = reader.relation(relation)(names[one], names[other])
                solver.add(cell == ((one, other) in state.rows[relation]))
    for element, value in state.values[home].items():
        solver.add(reader.function(home)(names[element]) == names[value])
    solver.add(reader.read(formula, {}))
    return bool(solver.check() == z3.sat)


def _with_few_elements(formula: Formula, state: Structure) -> bool:
    finite = Finite(TOY, {A: 2, B: 2}, {near: state.rows[near]})
    for element, value in state.values[home].items():
        finite.solver.add(*[bit for one, bit in finite.values[home][element] if one == value])
    cells = {(owns, row): finite.constant(row in state.rows[owns]) for row in finite.rows_of(owns)}
    finite.solver.add(finite.read(formula, cells, {}))
    return bool(finite.solver.check() == z3.sat)


@settings(max_examples=60, deadline=None)
@given(formulas(), states())
def test_the_three_readers_agree(formula: Formula, state: Structure) -> None:
    """Another reader checks a counterexample of Z3, so all must give formulas the same meaning."""
    expected = state.holds(formula)

    assert expected == _by_quantifiers(formula, state)
    assert expected == _with_few_elements(formula, state)


@settings(max_examples=60, deadline=None)
@given(formulas(), states())
def test_both_readings_of_the_state_after_a_step_agree(formula: Formula, state: Structure) -> None:
    """`Structure` computes the state after a step, and `Finite` reads the step's changes."""
    env = {x: "a0", z: "b1"}
    finite = Finite(TOY, {A: 2, B: 2}, {near: state.rows[near]})
    for element, value in state.values[home].items():
        finite.solver.add(*[bit for one, bit in finite.values[home][element] if one == value])
    cells = {(owns, row): finite.constant(row in state.rows[owns]) for row in finite.rows_of(owns)}
    chosen = {var: ((element, finite.constant(True)),) for var, element in env.items()}

    after = finite.after(TAKE, cells, chosen)
    finite.solver.add(finite.read(formula, after, {}))

    assert state.after(TAKE, dict(env)).holds(formula) == (finite.solver.check() == z3.sat)


def test_a_formula_has_no_truth_value() -> None:
    """`and` between formulas would silently drop one of them, so it is refused."""
    with pytest.raises(MisuseError, match="not true or false by itself"):
        bool(near(x, y))


def test_a_relation_refuses_arguments_of_other_sorts() -> None:
    with pytest.raises(MisuseError, match="owns"):
        owns(z, x)
