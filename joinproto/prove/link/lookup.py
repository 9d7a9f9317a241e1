"""Looks for a state that Z3 gives among the explored states, and for lemmas that would exclude it.

The state counts as a list of true and false facts about elements without names.  It is reached if
some elements in an explored state have all these facts, and the step from there breaks the same
formula.  If the facts occur in no explored state, facts are left out as long as the remaining facts
occur in none.  The lemma is that the remaining facts never hold together: it excludes the state,
and every explored state obeys it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from attrs import evolve, frozen

from joinproto.prove.counterexample import Counterexample
from joinproto.prove.layer import Conjunct, Layer
from joinproto.prove.link.run import Found
from joinproto.prove.logic import Every, Formula, Function, Not, Or, Relation, Same, Sort, Var, same
from joinproto.prove.obligations import Obligation, discharge
from joinproto.prove.show import is_broken, relevant_relations
from joinproto.prove.structure import Element, Rows, Structure

Embedding = dict[tuple[Sort, Element], Element]
"""The element of an explored state that stands for each element of the counterexample."""


@frozen
class Fact:
    """A row of a relation that is true or false in a state."""

    relation: Relation
    row: tuple[Element, ...]
    holds: bool

    @property
    def keys(self) -> tuple[tuple[Sort, Element], ...]:
        """Return the elements of the row, each with its sort."""
        return tuple(zip(self.relation.sorts, self.row, strict=True))

    def __str__(self) -> str:
        text = self.relation.about.format(*self.row)
        return text if self.holds else f"not: {text}"


@frozen
class Lemma:
    """A lemma.  `never`: facts that hold together in no explored state.

    `settles`: whether the obligation that failed is proved if the lemma is assumed.
    """

    never: tuple[Fact, ...]
    settles: bool


@frozen
class Lookup:
    """The result.  `reached`: the world in which the state occurs and the number of steps to it, or
    None.  `states`: how many explored states were examined.
    """

    reached: tuple[str, int] | None
    states: int
    lemmas: tuple[Lemma, ...] = ()


def look_up(obligation: Obligation, against: Counterexample, found: Sequence[Found]) -> Lookup:
    """Look for the counterexample's state in all explored states of its layer."""
    layer = obligation.layer
    explored = [
        (structure, one.world, level)
        for one in found
        if one.layer.name == layer.name
        for structure, level in one.structures()
    ]
    facts = list(facts_of(against.before, layer, relevant_relations(obligation, against)))
    for structure, world, level in explored:
        found_here = embeddings(facts, structure)
        if any(_breaks(obligation, against, structure, taken) for taken in found_here):
            return Lookup((world, level), len(explored))
    states = [structure for structure, _, _ in explored]
    if any(occurs(facts, state) for state in states):
        # The facts occur, but the formula does not break there: no lemma about these elements alone
        # excludes the state.
        return Lookup(None, len(explored))
    lemmas: dict[frozenset[Fact], Lemma] = {}
    # The order in which facts are left out decides which lemma is found: false facts first, or
    # true facts first.
    for order in (lambda fact: fact.holds, lambda fact: not fact.holds):
        kept = _fewest(sorted(facts, key=order), states)
        lemmas.setdefault(frozenset(kept), _lemma(tuple(kept), obligation))
    return Lookup(None, len(explored), tuple(lemmas.values()))


def facts_of(state: Structure, layer: Layer, relations: frozenset[Relation]) -> Iterator[Fact]:
    """Yield all true and false facts of these relations, and the functions' values."""
    for relation in layer.relations:
        if relation in relations:
            for row in product(*(state.elements[sort] for sort in relation.sorts)):
                yield Fact(relation, row, row in state.rows[relation])
    for function in layer.functions:
        for element, value in state.values[function].items():
            yield Fact(graph_of(function), (element, value), True)


def graph_of(function: Function) -> Relation:
    """Return the function as a relation between arguments and values."""
    about = f"{function.name} of {{0}} is {{1}}"
    return Relation(function.name, (function.of, function.gives), about, rigid=True)


def _rows(state: Structure, relation: Relation) -> Rows:
    if relation in state.rows:
        return state.rows[relation]
    (function,) = (one for one in state.values if graph_of(one) == relation)
    return frozenset(state.values[function].items())


def occurs(facts: Sequence[Fact], state: Structure) -> bool:
    """Return whether some elements of `state`, all different, have all these facts."""
    return next(embeddings(facts, state), None) is not None


def embeddings(facts: Sequence[Fact], state: Structure) -> Iterator[Embedding]:
    """Yield each choice of different elements of `state` that have all these facts."""
    true = [fact for fact in facts if fact.holds]
    true.sort(key=lambda fact: len(_rows(state, fact.relation)))
    false = [fact for fact in facts if not fact.holds]
    for taken in _matches(true, state, {}):
        yield from _without(false, state, taken)


def _breaks(
    obligation: Obligation, against: Counterexample, state: Structure, taken: Embedding
) -> bool:
    """Return whether the same formula breaks in `state` with the same step."""
    env = {var: taken.get((var.sort, element), element) for var, element in against.params}
    if any(element not in state.elements[var.sort] for var, element in env.items()):
        return False
    step = against.step
    same_step = evolve(against, before=state, params=tuple(env.items()))
    if step is not None and not state.allows(step, env):
        return False
    return is_broken(obligation, same_step)


def _matches(true: Sequence[Fact], state: Structure, taken: Embedding) -> Iterator[Embedding]:
    if not true:
        yield taken
        return
    fact, *others = true
    for row in _rows(state, fact.relation):
        more = _extended(taken, fact, row)
        if more is not None:
            yield from _matches(others, state, more)


def _extended(taken: Embedding, fact: Fact, row: tuple[Element, ...]) -> Embedding | None:
    more = dict(taken)
    for key, there in zip(fact.keys, row, strict=True):
        known = more.get(key)
        if known is not None:
            if known != there:
                return None
            continue
        if any(other[0] == key[0] and value == there for other, value in more.items()):
            return None
        more[key] = there
    return more


def _without(false: Sequence[Fact], state: Structure, taken: Embedding) -> Iterator[Embedding]:
    """Yield each choice of the remaining elements for which none of these facts is true."""
    free = sorted({key for fact in false for key in fact.keys if key not in taken}, key=str)
    for choice in product(*(state.elements[sort] for sort, _ in free)):
        more = {**taken, **dict(zip(free, choice, strict=True))}
        if len({(sort, there) for (sort, _), there in more.items()}) == len(more) and all(
            tuple(more[key] for key in fact.keys) not in _rows(state, fact.relation)
            for fact in false
        ):
            yield more


def _fewest(facts: list[Fact], states: Sequence[Structure]) -> list[Fact]:
    kept = list(facts)
    for fact in facts:
        fewer = [one for one in kept if one != fact]
        if fewer and not any(occurs(fewer, state) for state in states):
            kept = fewer
    return kept


def _lemma(facts: tuple[Fact, ...], obligation: Obligation) -> Lemma:
    conjunct = Conjunct("lemma", as_formula(facts, obligation.layer), "")
    layer = obligation.layer
    more = evolve(layer, conjuncts=(*layer.conjuncts, conjunct))
    return Lemma(facts, discharge(evolve(obligation, layer=more), small=False).is_proved)


def as_formula(facts: Sequence[Fact], layer: Layer) -> Formula:
    """Return the formula that no choice of different elements has all these facts."""
    functions = {graph_of(one): one for one in layer.functions}
    variables: dict[tuple[Sort, Element], Var] = {}
    for fact in facts:
        for key in fact.keys:
            variables.setdefault(key, Var(str(key[1]), key[0]))
    parts: list[Formula] = []
    for fact in facts:
        terms = [variables[key] for key in fact.keys]
        function = functions.get(fact.relation)
        atom = fact.relation(*terms) if function is None else same(function(terms[0]), terms[1])
        parts.append(Not(atom) if fact.holds else atom)
    names = list(variables.values())
    parts += [
        Same(one, other)
        for at, one in enumerate(names)
        for other in names[at + 1 :]
        if one.sort == other.sort
    ]
    formula: Formula = Or(tuple(parts))
    for var in reversed(names):
        formula = Every(var, formula)
    return formula
