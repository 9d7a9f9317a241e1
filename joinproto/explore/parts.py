"""Why a claim does not hold: the value of each part of the expression that it returns.

A claim is a Python function.  It is called once more, and its local variables at the return are
kept.  Then the returned expression is read from the source, and each part of it that is true or
false is evaluated with these variables.  For `all(...)` and `any(...)` over a comprehension, the
items that decide are reported.  Without a source only the answer is reported.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache, partial
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, cast

from attrs import frozen

from joinproto.check.events import plain

DEPTH_MAX = 6
"""The most levels of nested parts; the parts of a called function count, too."""

ITEMS_MAX = 4
"""The most items of a comprehension that are shown as deciding."""

TEXT_MAX = 200

Names = dict[str, Any]
Json = dict[str, Any]


def parts_of(call: Callable[..., Any], *shown: Any) -> Json | None:
    """Return the answer of `call` with its parts; None if its source cannot be read.

    A part: `text`, `value` (text), `ok` (whether it is true), `parts`, `note`.
    """
    return _part_of_call(call, shown, 0)


def source_of(call: Callable[..., Any]) -> str:
    """Return the source text of a claim's function; empty if it cannot be read."""
    found = _node_of_call(call)
    if found is None:
        return ""
    node, _ = found
    return ast.unparse(node.body if isinstance(node, ast.Lambda) else node)


@frozen
class _Return:
    """A function's return: its line, and the values of the local names."""

    line: int
    names: Names


def _part_of_call(call: Callable[..., Any], arguments: tuple[Any, ...], depth: int) -> Json | None:
    keywords: Names = {}
    while isinstance(call, partial):
        arguments, keywords = (*call.args, *arguments), {**call.keywords, **keywords}
        call = call.func
    found = _node_of_call(call)
    if found is None or depth > DEPTH_MAX:
        return None
    node, func = found
    if isinstance(call, MethodType):
        arguments = (call.__self__, *arguments)
    at_return = _names_at_return(func, arguments, keywords)
    body = None if at_return is None else _returned(node, at_return.line)
    if at_return is None or body is None:
        return None
    names = {**func.__globals__, **at_return.names}
    found_part = _part(_with_assigned(body, node, at_return.names), names, depth)
    if isinstance(body, ast.Constant):
        tests = [one.test for one in _ifs_around(node, body)]
        found_part["parts"] = [_part(test, names, depth + 1) for test in tests]
    return found_part


def _ifs_around(node: ast.AST, inner: ast.AST) -> Iterator[ast.If]:
    """Yield the `if` statements around an expression of a function."""
    for one in ast.walk(node):
        if isinstance(one, ast.If) and any(at is inner for at in ast.walk(one)):
            yield one


def _with_assigned(body: ast.expr, node: ast.AST, names: Names) -> ast.expr:
    """Return the expression with names that were assigned once replaced by their expressions.

    So `return is_closed and ...` shows which part of `is_closed` is false.
    """
    assigned: dict[str, list[ast.expr]] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            (target,) = one.targets
            if isinstance(target, ast.Name):
                assigned.setdefault(target.id, []).append(one.value)
        elif isinstance(one, (ast.AugAssign, ast.For)) and isinstance(one.target, ast.Name):
            assigned.setdefault(one.target.id, []).extend([one.target, one.target])
    once = {
        name: values[0]
        for name, values in assigned.items()
        if len(values) == 1 and isinstance(names.get(name), bool)
    }

    class PutExpressions(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            is_read = isinstance(name.ctx, ast.Load)
            return once[name.id] if is_read and name.id in once else name

    return cast("ast.expr", PutExpressions().visit(deepcopy(body))) if once else body


def _names_at_return(
    func: FunctionType, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> _Return | None:
    returns: list[_Return] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not func.__code__:
            return None
        if event == "return":
            returns.append(_Return(frame.f_lineno, dict(frame.f_locals)))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        func(*arguments, **keywords)
    except Exception:  # noqa: BLE001  a claim's error is reported where it is judged
        return None
    finally:
        sys.settrace(before)
    return returns[-1] if returns else None


# -- the source --------------------------------------------------------------------------


def _node_of_call(call: Any) -> tuple[ast.Lambda | ast.FunctionDef, FunctionType] | None:
    while isinstance(call, partial):
        call = call.func
    func = inspect.unwrap(getattr(call, "__func__", call))
    if not isinstance(func, FunctionType):
        return None
    node = _node_of(func.__code__)
    return None if node is None else (node, func)


@cache
def _tree(file: str, _text: str) -> ast.Module | None:
    try:
        return ast.parse(_text)
    except (SyntaxError, ValueError):
        return None


def _node_of(code: CodeType) -> ast.Lambda | ast.FunctionDef | None:
    """Return the function's node in its file: the smallest node that has all of its code."""
    file = code.co_filename
    linecache.checkcache(file)
    tree = _tree(file, "".join(linecache.getlines(file)))
    if tree is None:
        return None
    spans = [
        (line, column, end_line, end_column)
        for line, end_line, column, end_column in code.co_positions()
        if None not in (line, end_line, column, end_column) and (end_column or 0) > 0
    ]
    if not spans:
        return None
    first, last = min(spans)[:2], max((span[2], span[3]) for span in spans)
    fits: list[ast.Lambda | ast.FunctionDef] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Lambda, ast.FunctionDef)):
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            begins = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            ends = (node.end_lineno or 0, node.end_col_offset or 0)
            inside = (begins, 0) <= first and last <= ends
            if isinstance(node, ast.Lambda):
                inside = (node.lineno, node.col_offset) <= first and last <= ends
            if name == code.co_name and inside:
                fits.append(node)
    return fits[-1] if fits else None


def _returned(node: ast.Lambda | ast.FunctionDef, line: int) -> ast.expr | None:
    """Return the expression that the function returned from `line`."""
    if isinstance(node, ast.Lambda):
        return node.body
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Return):
            continue
        if inner.lineno <= line <= (inner.end_lineno or inner.lineno):
            return inner.value
    return None


# -- the parts ---------------------------------------------------------------------------


def _value(node: ast.expr, names: Names) -> Any:
    # All names are globals of the expression, so that a comprehension in it sees them, too.
    expression = ast.fix_missing_locations(ast.Expression(node))
    return eval(compile(expression, "<claim>", "eval"), dict(names))


def _part(node: ast.expr, names: Names, depth: int, *, is_leaf: bool = False) -> Json:
    """Return a part with its own parts; a leaf is a compared value, neither true nor false."""
    found: Json = {"text": ast.unparse(node), "ok": None, "parts": [], "note": ""}
    try:
        value = _value(node, names)
    except Exception as error:  # noqa: BLE001  a part may be meant for other values
        return {**found, "value": f"{type(error).__name__}: {error}"}
    found["value"] = value if isinstance(value, str) else _short(value)
    if not is_leaf:
        found["ok"] = ok = bool(value)
        if depth < DEPTH_MAX:
            found["parts"] = list(_inner(node, names, depth + 1, ok))
    return found


def _inner(node: ast.expr, names: Names, depth: int, ok: bool) -> Iterator[Json]:
    match node:
        case ast.BoolOp(op, values):
            for inner in values:
                part = _part(inner, names, depth)
                yield part
                if part["ok"] is isinstance(op, ast.Or):
                    return
        case ast.UnaryOp(ast.Not(), inner):
            yield _part(inner, names, depth)
        case ast.IfExp(test, body, orelse):
            asked = _part(test, names, depth)
            yield asked
            yield _part(body if asked["ok"] else orelse, names, depth)
        case ast.Compare(left, _, others):
            for inner in (left, *others):
                if not isinstance(inner, ast.Constant):
                    yield _part(inner, names, depth, is_leaf=True)
        case ast.Call(
            ast.Name("all" | "any" as how), [ast.GeneratorExp() | ast.ListComp() as over]
        ):
            yield from _items(over, names, depth, decides=how == "any", whole=ok)
        case ast.Call(func, arguments, []):
            yield from _call(func, arguments, names, depth)


def _call(func: ast.expr, arguments: list[ast.expr], names: Names, depth: int) -> Iterator[Json]:
    """Yield the parts of the value that a function of the model returns."""
    try:
        called = _value(func, names)
        given = tuple(_value(one, names) for one in arguments)
    except Exception:  # noqa: BLE001  as above
        return
    module = getattr(called, "__module__", None) or ""
    if isinstance(called, (FunctionType, MethodType)) and not module.startswith("joinproto.check"):
        part = _part_of_call(called, given, depth)
        if part is not None:
            yield part


def _items(
    over: ast.GeneratorExp | ast.ListComp, names: Names, depth: int, *, decides: bool, whole: bool
) -> Iterator[Json]:
    """Yield the items that decide a comprehension's value: for `all`, the false ones."""
    if whole is not decides:
        return
    shown = 0
    for bound in _bindings(over.generators, names):
        inner = {**names, **bound}
        try:
            is_so = bool(_value(over.elt, inner))
        except Exception:  # noqa: BLE001  as above
            continue
        if is_so is decides:
            shown += 1
            if shown > ITEMS_MAX:
                yield {"text": "...", "value": "", "ok": None, "parts": [], "note": "and more"}
                return
            part = _part(over.elt, inner, depth)
            part["note"] = ", ".join(f"{name} = {_short(value)}" for name, value in bound.items())
            yield part


def _bindings(generators: list[ast.comprehension], names: Names) -> Iterator[Names]:
    if not generators:
        yield {}
        return
    first, *rest = generators
    targets = [one.id for one in ast.walk(first.target) if isinstance(one, ast.Name)]
    # The comprehension itself evaluates the values of the targets.
    pairs: list[ast.expr] = [ast.Name(name, ast.Load()) for name in targets]
    each = ast.ListComp(ast.Tuple(pairs, ast.Load()), [first])
    for values in _value(each, names):
        bound = dict(zip(targets, values, strict=True))
        for more in _bindings(rest, {**names, **bound}):
            yield {**bound, **more}


def _short(value: Any) -> str:
    try:
        text = plain(value)
    except Exception:  # noqa: BLE001  a model's own text may fail
        text = f"a {type(value).__name__}"
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"
