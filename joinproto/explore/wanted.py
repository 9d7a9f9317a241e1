"""A user's question about a state: an expression over the state's view, written like a claim.

    count("phase", "active") >= 2            running members that show phase = active
    n1.phase == n2.phase                     members by their names; a stopped one is DOWN
    all(one.term < 2 for one in up.values())

Expressions come from a person at this machine, and may be pasted from elsewhere.  So an expression
may use only the names in `NAMES`, members' names, and names that it binds itself.  It may use no
attribute that begins with an underscore or `format`, or that leads to Python's own frames and code.
This protects the machine from an expression, but not its memory or time, and the expression can
call methods of an observation.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    GeneratorType,
    TracebackType,
)
from typing import Any

from joinproto.check.attributes import fields
from joinproto.check.events import plain
from joinproto.check.view import DOWN, ShownAttributes, View
from joinproto.errors import UsageProblem

_BUILTINS: dict[str, Any] = {
    one.__name__: one
    for one in (
        *(all, any, bool, dict, enumerate, int, isinstance, len, list, max, min, range, reversed),
        *(set, sorted, str, sum, tuple, zip),
    )
}
NAMES = (*_BUILTINS, "DOWN", "view", "up", "disk", "monitor", "split", "count", "text")
"""The names that an expression may use, besides members' names."""

_KINDS = (AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType, TracebackType)
_FRAMES = frozenset(name for kind in _KINDS for name in dir(kind) if "_" in name)
"""Attributes that lead to frames and code: a generator's `gi_frame` reaches every module."""

_PRIVATE = ("_", "format")
LENGTH_MAX = 2_000

_VIEW_PARTS: dict[str, Callable[[View], Any]] = {
    "view": lambda view: view,
    "up": lambda view: view.up,
    "disk": lambda view: view.disk,
    "monitor": lambda view: view.monitor,
    "split": lambda view: view.split,
    "count": lambda view: partial(_count, view),
}
"""Names in an expression that stand for a part of the view."""

Predicate = Callable[[View], Any]


def predicate_of(text: Any, members: tuple[str, ...]) -> Predicate:
    """Return the expression as a function of a view; raises `UsageProblem`."""
    if not isinstance(text, str) or not text.strip():
        raise UsageProblem("no expression is given", next='for example: count("phase", "active")')
    if len(text) > LENGTH_MAX:
        raise UsageProblem(
            f"the expression has {len(text):,} characters",
            next=f"write at most {LENGTH_MAX:,} characters",
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError) as error:
        reason = getattr(error, "msg", str(error))
        raise UsageProblem(
            f"{text!r} is not an expression: {reason}", next="write it in Python, as a claim is"
        ) from error
    _refuse(tree, members)
    code = compile(tree, "<asked>", "eval")
    # A search asks about thousands of views, so only the names that occur are read from each.
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    fixed = {"__builtins__": {}, "DOWN": DOWN, "text": plain, **_BUILTINS}
    of_view = [(name, _VIEW_PARTS[name]) for name in sorted(used & set(_VIEW_PARTS))]
    # A member whose name means something else here is reached by `view[...]`.
    used_members = sorted(used & set(members) - set(_VIEW_PARTS) - set(fixed))

    def ask(view: View) -> Any:
        names: dict[str, Any] = dict(fixed)
        for name in used_members:
            names[name] = view[name]
        for name, read in of_view:
            names[name] = read(view)
        return eval(code, names)

    return ask


def evaluated(text: str, ask: Predicate, view: View) -> Any:
    """Return the value of an expression on a view; raises `UsageProblem` if it cannot be
    evaluated.
    """
    try:
        return ask(view)
    except Exception as error:
        raise UsageProblem(
            f"{text} raised {type(error).__name__}: {error}",
            next="a stopped member shows DOWN; `up` has the running ones",
        ) from error


def _refuse(tree: ast.Expression, members: tuple[str, ...]) -> None:
    bound = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    known = {*NAMES, *members, *bound}
    for node in ast.walk(tree):
        match node:
            case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
                found, advice = "is not allowed in a question", "ask with a plain expression"
            case ast.Attribute(attr=name) if name in _FRAMES or name.startswith(_PRIVATE):
                found, advice = "must not be asked for", "ask for attributes that members show"
            case ast.BinOp(op=ast.Pow() | ast.LShift()):
                found, advice = "may take for ever", "compare attributes that members show"
            case ast.Name(name) if name not in known:
                found = "is not known here"
                advice = f"use members {', '.join(members)}, or {', '.join(NAMES)}"
            case _:
                continue
        part = repr(node.id) if isinstance(node, ast.Name) else ast.unparse(node)
        raise UsageProblem(f"{part} {found}", next=advice)


def _count(view: View, *about: Any) -> int:
    """Return how many running members show a value, or an attribute with this value."""
    *attribute, value = about or ("",)
    wanted_text, found = plain(value), 0
    for shown in view.up.values():
        one = shown
        if attribute:
            one = shown_part(shown, str(attribute[0]))
        found += one is not DOWN and plain(one) == wanted_text
    return found


def shown_part(shown: Any, name: str) -> Any:
    """Return one attribute of an observation; DOWN if it has no such attribute."""
    if isinstance(shown, dict):
        return shown.get(name, DOWN)
    for part in name.split("."):
        if part.startswith("_"):
            return DOWN
        shown = getattr(shown, part, DOWN)
    return shown


def shown_parts(shown: Any) -> list[str]:
    """Return the names of the attributes that a member shows; none if it shows a single value."""
    if isinstance(shown, ShownAttributes):
        return [name for name, _ in shown.values]
    if isinstance(shown, dict):
        return [str(name) for name in shown]
    known = fields(type(shown))
    return list(getattr(type(shown), "_fields", ()) if known is None else known)
