"""Miniscoping: the same formula with its quantifiers as far inside as they go.

`every x: every y: a(x) >> b(x, y)` asks for each x and y; `every x: a(x) >> every y: b(x, y)`
asks for the few x of which a holds.  With six variables and a dozen things of each sort that is
the difference between milliseconds and minutes for `structure.py`.
"""

from __future__ import annotations

from joinproto.prove.logic import (
    After,
    And,
    Atom,
    Every,
    Formula,
    Not,
    Or,
    Same,
    Some,
    Term,
    Value,
    Var,
)


def miniscoped(formula: Formula) -> Formula:
    """Return a formula that says the same, and is faster to judge in one given state."""
    match formula:
        case Not(inner):
            return _denied(inner)
        case And(parts):
            return _and([miniscoped(part) for part in parts])
        case Or(parts):
            return _or([miniscoped(part) for part in parts])
        case Every(var, body):
            return _every(var, miniscoped(body))
        case Some(var, body):
            return _some(var, miniscoped(body))
        case After(inner):
            return After(miniscoped(inner))
    return formula


def _denied(formula: Formula) -> Formula:
    match formula:
        case Not(inner):
            return miniscoped(inner)
        case And(parts):
            return _or([_denied(part) for part in parts])
        case Or(parts):
            return _and([_denied(part) for part in parts])
        case Every(var, body):
            return _some(var, _denied(body))
        case Some(var, body):
            return _every(var, _denied(body))
        case After(inner):
            return After(_denied(inner))
    return Not(formula)


def _every(var: Var, body: Formula) -> Formula:
    if var not in free_in(body):
        return body
    match body:
        case And(parts):
            return _and([_every(var, part) for part in parts])
        case Or(parts):
            without, within = _parted(var, parts)
            if without:
                return _or([*without, _every(var, _or(within))])
        case Every(other, inner):
            # Which of two comes first is all the same; the one that goes further in does not.
            further = _every(var, inner)
            if further != Every(var, inner):
                return Every(other, further)
    return Every(var, body)


def _some(var: Var, body: Formula) -> Formula:
    if var not in free_in(body):
        return body
    match body:
        case Or(parts):
            return _or([_some(var, part) for part in parts])
        case And(parts):
            without, within = _parted(var, parts)
            if without:
                return _and([*without, _some(var, _and(within))])
        case Some(other, inner):
            further = _some(var, inner)
            if further != Some(var, inner):
                return Some(other, further)
    return Some(var, body)


def _parted(var: Var, parts: tuple[Formula, ...]) -> tuple[list[Formula], list[Formula]]:
    within = [part for part in parts if var in free_in(part)]
    return [part for part in parts if var not in free_in(part)], within


def _and(parts: list[Formula]) -> Formula:
    flat = [one for part in parts for one in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(sorted(flat, key=_depth)))


def _or(parts: list[Formula]) -> Formula:
    flat = [one for part in parts for one in (part.parts if isinstance(part, Or) else (part,))]
    return flat[0] if len(flat) == 1 else Or(tuple(sorted(flat, key=_depth)))


def _depth(formula: Formula) -> int:
    """Return how many quantifiers stand inside each other."""
    match formula:
        case Not(inner) | After(inner):
            return _depth(inner)
        case And(parts) | Or(parts):
            return max(map(_depth, parts), default=0)
        case Every(_, body) | Some(_, body):
            return 1 + _depth(body)
    return 0


def free_in(formula: Formula) -> frozenset[Var]:
    """Return the variables that the formula speaks of and does not bind."""
    match formula:
        case Atom(_, terms):
            return frozenset(map(_var, terms))
        case Same(left, right):
            return frozenset({_var(left), _var(right)})
        case Not(inner) | After(inner):
            return free_in(inner)
        case And(parts) | Or(parts):
            return frozenset[Var]().union(*map(free_in, parts))
        case Every(var, body) | Some(var, body):
            return free_in(body) - {var}
    raise TypeError(f"no variables known of {formula!r}: teach it to inward.py")


def _var(term: Term) -> Var:
    return _var(term.argument) if isinstance(term, Value) else term
