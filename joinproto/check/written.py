"""Lines in the source of a member's class that have no effect, or another effect than it seems.

    self.phase == "leader"             compares, and drops the answer
    Broadcast("hello")                 makes an effect, and drops it
    NOT_ENABLED                        its `return` is missing
    "time out"                         in `choices()`: its `yield` is missing
    case Message(sender, VOTE):        matches any content, and calls it VOTE

Each of them is correct Python, and may make a claim true for an unintended reason.
"""

from __future__ import annotations

import ast
import enum
import linecache
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import isfunction
from typing import Any

from joinproto.check.events import EFFECTS, NOT_ENABLED, Maybe

UNREAD_PACKAGES = ("joinproto", "joinproto_worlds", "builtins")
"""Packages whose classes are not read."""


def idle_line(kind: type) -> tuple[str, str, str] | None:
    """Return the place of the first such line of a class, its error, and the advice, or None."""
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] in UNREAD_PACKAGES:
            continue
        for value in vars(base).values():
            if not isfunction(value):
                continue
            code = value.__code__
            body = _functions(code.co_filename).get(code.co_firstlineno)
            for line, text, wanted in _idle(body, value.__globals__) if body else ():
                return f"{code.co_filename}:{line}", text, wanted
    return None


@cache
def _functions(path: str) -> dict[int, ast.FunctionDef]:
    """Return the functions of a file, by the line on which each begins with its decorators."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return {}
    return {
        min([node.lineno, *(at.lineno for at in node.decorator_list)]): node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }


def _idle(body: ast.FunctionDef, names: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    if body.name == "choices":
        yield from _not_offered(body)
    for node in ast.walk(body):
        if isinstance(node, ast.Expr) and (found := _dropped(node.value, names)):
            yield node.lineno, *found
        if isinstance(node, ast.MatchAs) and node.pattern is None and node.name is not None:
            value = names.get(node.name)
            if isinstance(value, type):
                wanted = f"write {node.name}() for an object of that class"
            elif isinstance(value, (str, int, enum.Enum)):
                wanted = f"write {value!r} itself, or a name with a dot in it"
            else:
                continue
            yield node.lineno, f"case {node.name} matches any value, as a new variable", wanted


def _not_offered(body: ast.FunctionDef) -> Iterator[tuple[int, str, str]]:
    """Yield the texts and numbers that stand alone in a `choices()` without any yield or return."""
    nodes = [*ast.walk(body)]
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Return) for node in nodes):
        return
    for node in nodes:
        match node:
            case ast.Expr(ast.Constant(str() | int() as value)) if node is not body.body[0]:
                text = f"{value!r} is named, and not offered: choices() yields no event"
                yield node.lineno, text, f"write yield {value!r}"


def _dropped(value: ast.expr, names: Mapping[str, Any]) -> tuple[str, str] | None:
    text = ast.unparse(value)
    match value:
        case ast.Compare(ops=[ast.Eq()]):
            return f"{text} compares, and the answer is dropped", "write = for a new value"
        case ast.Call(func=ast.Name(name)) if names.get(name) is Maybe:
            return f"{text} is made, and not offered", f"write yield {text}"
        case ast.Call(func=ast.Name(name)) if names.get(name) in EFFECTS:
            wanted = "return it in a list, or yield it"
            return f"{text} is made, and no step returns it", wanted
        case ast.Name(name) if names.get(name) is NOT_ENABLED:
            return f"{text} is named, and not returned", f"write return {text}"
        case ast.List() | ast.Tuple() | ast.Set():
            return f"{text} is made, and dropped", f"write return {text}"
    return None
