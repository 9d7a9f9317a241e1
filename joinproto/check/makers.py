"""Detection of members that are equal by mistake, because Python binds a loop variable late.

    members={name: lambda: Voter(name) for name in names}

Each of these functions reads `name` when it is called, after the loop has ended.  So each makes a
member with the last name, and claims about the members hold for an unintended reason.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from itertools import combinations
from types import FunctionType
from typing import TYPE_CHECKING, Any

from joinproto.check.problems import ModelProblem, place_of

if TYPE_CHECKING:
    from joinproto.check.member import MemberCode

OWN_NAMES = ("name", "me", "id", "my_name", "node_id")
"""Attributes in which a member usually holds its own name."""

_Loop = ast.For | ast.DictComp | ast.ListComp | ast.SetComp | ast.GeneratorExp


def refuse_late_binding(members: Sequence[MemberCode]) -> None:
    """Raise `ModelProblem` for two members that are equal by mistake."""
    for one, other in combinations(members, 2):
        made, again = one.objects.make, other.objects.make
        if isinstance(made, FunctionType) and made is not again and _is_same(made, again):
            for name in _loop_names(made):
                raise ModelProblem(
                    f"members {one.name} and {other.name} are made alike: their functions read"
                    f" `{name}` when they are called, and by then it has the loop's last value",
                    next=f"bind it when the function is made: lambda {name}={name}: ...",
                    place=place_of(made),
                )
        if one.objects.kind is other.objects.kind:
            _refuse_same_name(one, other)


def _refuse_same_name(one: MemberCode, other: MemberCode) -> None:
    first, second = one.objects.fresh, other.objects.fresh
    for name in OWN_NAMES:
        at = one.objects.names.index(name) if name in one.objects.names else -1
        if at >= 0 and first == second and type(first[at]) in (str, int):
            raise one.objects.problem(
                f"this member and member {other.name} are made alike, with {name} = {first[at]!r}",
                next="give each member its own name: lambda name=name: ...",
                method="__init__",
            )


def _is_same(one: FunctionType, other: Any) -> bool:
    """Return whether two functions have the same code, closure and defaults."""
    return (
        isinstance(other, FunctionType)
        and one.__code__ is other.__code__
        and (one.__closure__ or ()) == (other.__closure__ or ())
        and one.__defaults__ == other.__defaults__
        and one.__kwdefaults__ == other.__kwdefaults__
    )


def _loop_names(made: FunctionType) -> list[str]:
    """Return the loop variables that a function made in a loop reads."""
    code = made.__code__
    read = {*code.co_freevars, *code.co_names}
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename, made.__globals__)))
    except (SyntaxError, ValueError):
        return []
    found: list[str] = []

    def look(node: ast.AST, loop: _Loop | None) -> None:
        inside: _Loop | None = loop
        if isinstance(node, _Loop):
            inside = node
        elif isinstance(node, (ast.Lambda, ast.FunctionDef)):
            inside = None
            if node.lineno == code.co_firstlineno and loop is not None:
                found.extend(sorted(_targets(loop) & read))
        for child in ast.iter_child_nodes(node):
            look(child, inside)

    look(tree, None)
    return found


def _targets(loop: _Loop) -> set[str]:
    targets = [loop.target] if isinstance(loop, ast.For) else [g.target for g in loop.generators]
    return {
        node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
    }
