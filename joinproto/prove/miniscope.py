"""Miniscoping: an equivalent formula with its quantifiers as far inside as possible.

`every x: every y: a(x) >> b(x, y)` is evaluated for each x and y.  In `every x: a(x) >> every y:
b(x, y)` the inner part is evaluated only for the few x of which a holds.  With six variables and a
dozen elements of each sort `structure.py` then needs milliseconds, not minutes.
"""

from __future__ import annotations

from typing import Any

from joinproto.prove.logic import (
    After,
    And,
    Application,
    Atom,
    Every,
    Formula,
    Not,
    Or,
    Same,
    Some,
    Term,
    Var,
)

DUAL = {And: Or, Or: And, Every: Some, Some: Every}
"""The operator that takes the place of each operator under a negation."""
Join = type[And] | type[Or]
Quantifier = type[Every] | type[Some]


def miniscoped(formula: Formula) -> Formula:
    """Return an equivalent formula that is faster to evaluate in one given state."""
    return _inward(formula, denied=False)


def _inward(formula: Formula, *, denied: bool) -> Formula:
    kind: Any = DUAL.get(type(formula)) if denied else type(formula)
    match formula:
        case Not(inner):
            return _inward(inner, denied=not denied)
        case And(parts) | Or(parts):
            return _joined(kind, [_inward(part, denied=denied) for part in parts])
        case Every(var, body) | Some(var, body):
            return _bound(kind, var, _inward(body, denied=denied))
        case After(inner):
            return After(_inward(inner, denied=denied))
    return Not(formula) if denied else formula


def _bound(quantifier: Quantifier, var: Var, body: Formula) -> Formula:
    """Bind the variable as far inside as possible.

    `every` moves into each part of an `and`, and leaves out the parts of an `or` that do not have
    the variable; for `some`, `and` and `or` are exchanged.
    """
    if var not in free_in(body):
        return body
    into: Join = And if quantifier is Every else Or
    match body:
        case And(parts) | Or(parts) if isinstance(body, into):
            return _joined(into, [_bound(quantifier, var, part) for part in parts])
        case And(parts) | Or(parts):
            by: Join = type(body)
            within = [part for part in parts if var in free_in(part)]
            if len(within) < len(parts):
                without = [part for part in parts if var not in free_in(part)]
                return _joined(by, [*without, _bound(quantifier, var, _joined(by, within))])
        case Every(other, inner) | Some(other, inner) if isinstance(body, quantifier):
            # Two equal quantifiers may change places, so that this one can move further inside.
            further = _bound(quantifier, var, inner)
            if further != quantifier(var, inner):
                return quantifier(other, further)
    return quantifier(var, body)


def _joined(kind: Join, parts: list[Formula]) -> Formula:
    flat = [one for part in parts for one in (part.parts if isinstance(part, kind) else (part,))]
    return flat[0] if len(flat) == 1 else kind(tuple(sorted(flat, key=_depth)))


def _depth(formula: Formula) -> int:
    """Return how deep the quantifiers are nested."""
    match formula:
        case Not(inner) | After(inner):
            return _depth(inner)
        case And(parts) | Or(parts):
            return max(map(_depth, parts), default=0)
        case Every(_, body) | Some(_, body):
            return 1 + _depth(body)
    return 0


def free_in(formula: Formula) -> frozenset[Var]:
    """Return the variables that the formula mentions and does not bind."""
    match formula:
        case Atom() | Same():
            return frozenset(map(_var, formula.terms))
        case Not(inner) | After(inner):
            return free_in(inner)
        case And(parts) | Or(parts):
            return frozenset[Var]().union(*map(free_in, parts))
        case Every(var, body) | Some(var, body):
            return free_in(body) - {var}
    raise TypeError(f"miniscope.py has no case for {formula!r}")


def _var(term: Term) -> Var:
    return _var(term.argument) if isinstance(term, Application) else term
