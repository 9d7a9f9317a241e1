"""A counterexample in words: the state before, the step and its changes, and the broken formula.

Only relevant facts are shown: the true facts of the relations in the step's guards, in its changes
and in the broken formula.
"""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.prove import printed
from joinproto.prove.counterexample import Counterexample
from joinproto.prove.layer import Claim, Conjunct, Layer
from joinproto.prove.logic import Every, Formula, Relation, functions_in, relations_in
from joinproto.prove.obligations import Kind, Obligation
from joinproto.prove.structure import Env, Structure


def lines(obligation: Obligation, against: Counterexample) -> Iterator[str]:
    """Yield the counterexample as lines for a terminal."""
    shown = as_printed(obligation, against)
    step = against.step
    if step is None:
        yield "in this state:"
        yield from (f"  {fact}" for fact in shown.before)
    else:
        named = ", ".join(f"{name} = {value}" for name, value in shown.params.items())
        if shown.before:
            yield "before:"
            yield from (f"  {fact}" for fact in shown.before)
        yield f"step “{step.name}”" + (f" with {named}" if named else "")
        yield f"  {step.about}"
        yield "afterwards:"
        yield from (f"  {fact}" for fact in shown.changed)
    if obligation.subject is not None:
        yield f"then {obligation.subject.name} is broken"
        yield from (f"  with {name} = {value}" for name, value in shown.broken_by.items())
        if isinstance(obligation.subject, Conjunct):
            yield f"  without it: {obligation.subject.why}"


def as_printed(obligation: Obligation, against: Counterexample) -> printed.Against:
    """Return the counterexample as the command prints it."""
    layer, after = obligation.layer, against.after
    shown = relevant_relations(obligation, against)
    before: list[str] = []
    if obligation.kind is not Kind.BEGINS:
        before = [
            *facts(against.before, layer, shown),
            *_values(obligation, against),
        ]
    return printed.Against(
        step=None if against.step is None else against.step.name,
        params={str(var): value for var, value in against.params},
        before=tuple(before),
        changed=() if after is None else tuple(changes(against.before, after, layer)),
        broken_by={str(var): str(value) for var, value in broken_by(obligation, against).items()},
        confirmed=is_confirmed(obligation, against),
    )


def is_confirmed(obligation: Obligation, against: Counterexample) -> bool:
    """Return whether the independent reader agrees with Z3 about the counterexample."""
    layer, before = obligation.layer, against.before
    if not all(before.holds(axiom) for axiom in layer.axioms.values()):
        return False
    is_anywhere = obligation.kind is Kind.BEGINS
    if not is_anywhere and not all(before.holds(one.formula) for one in layer.conjuncts):
        return False
    if against.step is not None and not before.allows(against.step, against.env):
        return False
    return is_broken(obligation, against)


def is_broken(obligation: Obligation, against: Counterexample) -> bool:
    """Return whether the independent reader finds the subject's formula broken."""
    subject, before, after = obligation.subject, against.before, against.after
    if subject is None:
        return True
    if after is None:
        return not before.holds(subject.formula)
    if isinstance(subject, Claim):
        return not before.holds_for_step(subject.formula, after)
    return not after.holds(subject.formula)


def broken_by(obligation: Obligation, against: Counterexample) -> Env:
    """Return elements for which the broken formula is false: values of its outermost variables."""
    subject, state = obligation.subject, against.after or against.before
    if subject is None or (isinstance(subject, Claim) and subject.is_step):
        return {}
    found: Env = {}
    formula: Formula = subject.formula
    while isinstance(formula, Every):
        var, formula = formula.var, formula.body
        found[var] = next(
            (
                one
                for one in state.elements[var.sort]
                if not state.holds(formula, {**found, var: one})
            ),
            state.elements[var.sort][0],
        )
    return found


def facts(state: Structure, layer: Layer, shown: frozenset[Relation]) -> list[str]:
    """Return the true facts of these relations in words, without reflexive facts of orders."""
    found = []
    for relation in layer.relations:
        if relation in shown:
            rows = sorted(state.rows[relation], key=str)
            found += [
                relation.about.format(*row)
                for row in rows
                if not (_is_order(relation) and row[0] == row[1])
            ]
    return found


def changes(before: Structure, after: Structure, layer: Layer) -> list[str]:
    """Return the facts that are true only before, and the facts that are true only afterwards."""
    found = []
    for relation in layer.changing:
        gone = sorted(before.rows[relation] - after.rows[relation], key=str)
        new = sorted(after.rows[relation] - before.rows[relation], key=str)
        found += [f"no longer: {relation.about.format(*row)}" for row in gone]
        found += [relation.about.format(*row) for row in new]
    return found or ["no fact has changed"]


def _is_order(relation: Relation) -> bool:
    return relation.rigid and len(set(relation.sorts)) == 1 and len(relation.sorts) == 2


def _formulas(obligation: Obligation, against: Counterexample) -> Iterator[Formula]:
    if obligation.subject is not None:
        yield obligation.subject.formula
    if against.step is not None:
        yield from (guard.formula for guard in against.step.guards)


def relevant_relations(obligation: Obligation, against: Counterexample) -> frozenset[Relation]:
    """Return the relations of the step and of the broken formula, and all orders."""
    found = frozenset().union(*map(relations_in, _formulas(obligation, against)))
    changed = frozenset(against.step.updates) if against.step is not None else frozenset()
    orders = frozenset(filter(_is_order, obligation.layer.relations))
    return found | changed | orders


def _values(obligation: Obligation, against: Counterexample) -> list[str]:
    shown = frozenset().union(*map(functions_in, _formulas(obligation, against)))
    return [
        f"{function.name} of {one} is {value}"
        for function in obligation.layer.functions
        if function in shown
        for one, value in against.before.values[function].items()
    ]
