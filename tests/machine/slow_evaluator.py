"""A second evaluator of terms, slow and obvious, which works in another way.

A set is a function that says whether a member belongs to it.  A condition is evaluated by trying
every member, or every pair.  No code is shared with `joinproto.machine.compiled`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from joinproto.machine import terms

IsIn = Callable[[int], bool]


def slowly_holds(condition: terms.Condition, members: Sequence[Any], me: int) -> bool:
    """Return whether `condition` holds, by trying every member and every pair."""
    places = range(len(members))
    kind = type(condition).__name__
    term: Any = condition
    if kind == "Always":
        return True
    if kind == "Not":
        return slowly_holds(term.condition, members, me) is False
    if kind in {"And", "Or"}:
        both = {slowly_holds(term.left, members, me), slowly_holds(term.right, members, me)}
        return both == {True} if kind == "And" else True in both
    if kind == "Fact":
        return [getattr(members[me], name) for name, _ in term.fields] == [
            value for _, value in term.fields
        ]
    inside = _is_in(term.group, members, me)
    if kind == "Has":
        return inside(me)
    if kind == "IsEmpty":
        return [at for at in places if inside(at)] == []
    if kind == "FewerThan":
        least = (
            term.count if isinstance(term.count, int) else getattr(members[me], term.count.field)
        )
        return sum(1 for at in places if inside(at)) + 1 <= least
    values = [getattr(member, term.field) for member in members]
    if kind == "DisagreesOn":
        pairs = [(one, two) for one in places for two in places if inside(one) and inside(two)]
        return any(values[one] != values[two] for one, two in pairs)
    matching = [values[at] == term.value for at in places if inside(at)]
    return False not in matching if kind == "Every" else True in matching


def _is_in(group: terms.Group, members: Sequence[Any], me: int) -> IsIn:
    term: Any = group
    match type(group).__name__:
        case "Members":
            return lambda at: True
        case "Me":
            return lambda at: at == me
        case "Named":
            return _is_in(term.group, members, me)
        case "Where":
            outer = _is_in(term.group, members, me)
            return lambda at: outer(at) and getattr(members[at], term.field) == term.value
        case kind:
            left, right = _is_in(term.left, members, me), _is_in(term.right, members, me)
            if kind == "Union":
                return lambda at: left(at) or right(at)
            return lambda at: left(at) and not right(at)
