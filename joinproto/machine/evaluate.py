"""The evaluator of terms: the plain reader of `terms.py`, used at run time.

`members` are the rows one member knows of, in their order; `me` is its own place among
them, counted from 0.
"""

from collections.abc import Sequence

from joinproto.errors import MisuseError
from joinproto.machine.terms import (
    Always,
    And,
    Condition,
    DisagreesOn,
    Every,
    Fact,
    FewerThan,
    Group,
    Has,
    IsEmpty,
    Me,
    Members,
    Mine,
    Minus,
    Named,
    Not,
    Or,
    Some,
    Union,
    Where,
)


def holds(condition: Condition, members: Sequence[object], me: int) -> bool:
    """Return whether `condition` holds for the member at place `me`."""
    match condition:
        case Always():
            return True
        case Not(inner):
            return not holds(inner, members, me)
        case And(left, right):
            return holds(left, members, me) and holds(right, members, me)
        case Or(left, right):
            return holds(left, members, me) or holds(right, members, me)
        case IsEmpty(group):
            return not members_of(group, members, me)
        case Has(group):
            return me in members_of(group, members, me)
        case Fact(_, _, fields):
            return all(getattr(members[me], field) == value for field, value in fields)
        case FewerThan(group, count):
            least = getattr(members[me], count.field) if isinstance(count, Mine) else count
            return len(members_of(group, members, me)) < least
        case DisagreesOn(group, field):
            values = [getattr(members[at], field) for at in members_of(group, members, me)]
            return any(value != values[0] for value in values)
        case Every(group, field, value):
            return all(
                getattr(members[at], field) == value for at in members_of(group, members, me)
            )
        case Some(group, field, value):
            return any(
                getattr(members[at], field) == value for at in members_of(group, members, me)
            )
    raise MisuseError(f"no meaning for the condition {condition!r}", next="teach it to evaluate.py")


def members_of(group: Group, members: Sequence[object], me: int) -> list[int]:
    """Return the places of the group's members, in their order."""
    match group:
        case Members():
            return list(range(len(members)))
        case Me():
            return [me]
        case Named(_, inner):
            return members_of(inner, members, me)
        case Where(inner, field, value):
            return [
                at for at in members_of(inner, members, me) if getattr(members[at], field) == value
            ]
        case Union(left, right):
            return sorted({*members_of(left, members, me), *members_of(right, members, me)})
        case Minus(left, right):
            without = set(members_of(right, members, me))
            return [at for at in members_of(left, members, me) if at not in without]
    raise MisuseError(f"no meaning for the set {group!r}", next="teach it to evaluate.py")
