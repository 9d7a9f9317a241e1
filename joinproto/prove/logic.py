"""Formulas as data, about the states of a protocol.

Three readers give them a meaning: `to_z3.py` for any number of elements, `finite.py` for a few, and
`structure.py` in one given state.

    every((s, v), body)     some(s, body)     a & b     a | b     ~a     a >> b     same(a, b)

A relation is called with its arguments: `has(s, v, n)`.  A rigid relation never changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from attrs import frozen

from joinproto.errors import MisuseError


@frozen
class Sort:
    """A kind of element; there is at least one element of each sort."""

    name: str


@frozen
class Var:
    name: str
    sort: Sort

    def __str__(self) -> str:
        return self.name


@frozen
class Function:
    """A function from the sort `of` to the sort `gives`; its values never change."""

    name: str
    of: Sort
    gives: Sort
    about: str = ""

    def __call__(self, argument: Term) -> Application:
        return Application(self, argument)


@frozen
class Application:
    """A function applied to an argument."""

    function: Function
    argument: Term

    @property
    def sort(self) -> Sort:
        return self.function.gives

    def __str__(self) -> str:
        return f"{self.function.name}({self.argument})"


Term = Var | Application


@frozen
class Formula:
    def __bool__(self) -> NoReturn:
        raise MisuseError(
            f"a formula is not true or false by itself: {self}",
            next="write & | ~ >> instead of and, or, not, if",
        )

    def __and__(self, other: Formula) -> Formula:
        return And((self, other))

    def __or__(self, other: Formula) -> Formula:
        return Or((self, other))

    def __invert__(self) -> Formula:
        return Not(self)

    def __rshift__(self, other: Formula) -> Formula:
        return Or((Not(self), other))


@frozen
class Relation:
    """A relation.  `about`: its meaning in words, with `{0}`, `{1}`, ... for its arguments."""

    name: str
    sorts: tuple[Sort, ...]
    about: str
    rigid: bool = False

    def __call__(self, *terms: Term) -> Atom:
        if tuple(term.sort for term in terms) != self.sorts:
            raise MisuseError(
                f"relation {self.name} was called with "
                + ", ".join(f"{term} of sort {term.sort.name}" for term in terms),
                next="give terms of the sorts " + ", ".join(sort.name for sort in self.sorts),
            )
        return Atom(self, terms)


@frozen
class Atom(Formula):
    relation: Relation
    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return f"{self.relation.name}({', '.join(map(str, self.terms))})"


@frozen
class Same(Formula):
    left: Term
    right: Term

    @property
    def terms(self) -> tuple[Term, Term]:
        return self.left, self.right

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


@frozen
class Not(Formula):
    inner: Formula

    def __str__(self) -> str:
        return f"not {self.inner}" if isinstance(self.inner, Atom) else f"not ({self.inner})"


@frozen
class And(Formula):
    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " and ".join(f"({part})" for part in self.parts) or "true"


@frozen
class Or(Formula):
    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " or ".join(f"({part})" for part in self.parts) or "false"


@frozen
class Every(Formula):
    var: Var
    body: Formula

    def __str__(self) -> str:
        return f"every {self.var}: {self.body}"


@frozen
class Some(Formula):
    var: Var
    body: Formula

    def __str__(self) -> str:
        return f"some {self.var}: {self.body}"


@frozen
class After(Formula):
    """The value of `inner` after the step; used only in claims about steps."""

    inner: Formula

    def __str__(self) -> str:
        return f"afterwards ({self.inner})"


TRUE = And(())
FALSE = Or(())


def same(left: Term, right: Term) -> Formula:
    if left.sort != right.sort:
        raise MisuseError(
            f"{left} is not a {right.sort.name}", next="compare two terms of one sort"
        )
    return Same(left, right)


def every(variables: Var | tuple[Var, ...], body: Formula) -> Formula:
    """Return the formula that is true if `body` holds for all values of the variables."""
    for var in reversed(_as_tuple(variables)):
        body = Every(var, body)
    return body


def some(variables: Var | tuple[Var, ...], body: Formula) -> Formula:
    """Return the formula that is true if `body` holds for some values of the variables."""
    for var in reversed(_as_tuple(variables)):
        body = Some(var, body)
    return body


def _as_tuple(variables: Var | tuple[Var, ...]) -> tuple[Var, ...]:
    return (variables,) if isinstance(variables, Var) else variables


def all_of(*parts: Formula) -> Formula:
    return And(parts)


def equal(left: Formula, right: Formula) -> Formula:
    """Return the formula that is true if both formulas hold or neither does."""
    return (left >> right) & (right >> left)


def atoms_in(formula: Formula) -> Iterator[Atom | Same]:
    """Yield the parts of a formula that contain no other formula."""
    match formula:
        case Atom() | Same():
            yield formula
        case Not(inner) | After(inner) | Every(_, inner) | Some(_, inner):
            yield from atoms_in(inner)
        case And(parts) | Or(parts):
            for part in parts:
                yield from atoms_in(part)


def relations_in(formula: Formula) -> frozenset[Relation]:
    return frozenset(one.relation for one in atoms_in(formula) if isinstance(one, Atom))


def functions_in(formula: Formula) -> frozenset[Function]:
    terms = [term for one in atoms_in(formula) for term in one.terms]
    return frozenset().union(*map(_functions_of, terms))


def _functions_of(term: Term) -> frozenset[Function]:
    if isinstance(term, Application):
        return frozenset({term.function}) | _functions_of(term.argument)
    return frozenset()


# -- the axioms of orders ----------------------------------------------------------------------


def is_total_order(before: Relation) -> Formula:
    """Return the axioms of a strict total order."""
    (sort, _) = before.sorts
    x, y, z = (Var(name, sort) for name in ("x", "y", "z"))
    return all_of(
        every(x, ~before(x, x)),
        every((x, y, z), (before(x, y) & before(y, z)) >> before(x, z)),
        every((x, y), before(x, y) | before(y, x) | same(x, y)),
    )


def is_forest_order(upto: Relation) -> Formula:
    """Return the axioms of a reflexive order in which an element's predecessors form a line."""
    (sort, _) = upto.sorts
    x, y, z = (Var(name, sort) for name in ("x", "y", "z"))
    return all_of(
        every(x, upto(x, x)),
        every((x, y, z), (upto(x, y) & upto(y, z)) >> upto(x, z)),
        every((x, y), (upto(x, y) & upto(y, x)) >> same(x, y)),
        every((x, y, z), (upto(x, z) & upto(y, z)) >> (upto(x, y) | upto(y, x))),
    )
