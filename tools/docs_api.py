"""The API reference: public names, from their source and docstrings."""

from __future__ import annotations

import ast
import inspect
from enum import Enum
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import TypeAlias, get_args

import joinproto
from joinproto.errors import UsageProblem

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def described(name: str, module: ModuleType = joinproto) -> str:
    """Return the part of the reference about one public name of a module, as Markdown."""
    value = getattr(module, name, None)
    if isinstance(value, ModuleType):
        return "\n\n".join([f"### {name}", inspect.getdoc(value) or "", *_functions_of(value)])
    if isinstance(value, FunctionType):
        return _function(value)
    if isinstance(value, type) and issubclass(value, Enum):
        values = "\n".join(f"* `{one.name}`: {_value_text(one)}" for one in value)
        return "\n\n".join([f"### {name}", inspect.getdoc(value) or "", values])
    if isinstance(value, type):
        return _class(value, name)
    if get_args(value):
        parts = " | ".join(part.__name__ for part in get_args(value))
        return f"### {name}\n\n    {name} = {parts}"
    if value is not None:
        return _constant(value, name)
    raise UsageProblem(
        f"{name} cannot be described", next=f"name one of `{module.__name__}.__all__`"
    )


def _constant(value: object, name: str) -> str:
    kind = type(value)
    if kind.__module__ == "builtins":
        return f"### {name}\n\n    {name} = {value!r}"
    return f"### {name}\n\n    {name}: {kind.__name__}\n\n{inspect.getdoc(kind) or ''}"


def _value_text(one: Enum) -> str:
    return one.value if isinstance(one.value, str) else repr(one.value)


def _functions_of(module: ModuleType) -> list[str]:
    return [
        _function(value, prefix=f"{module.__name__.rpartition('.')[2]}.")
        for name, value in vars(module).items()
        if isinstance(value, FunctionType)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    ]


def _function(value: FunctionType, *, prefix: str = "") -> str:
    tree = ast.parse(inspect.getsource(value)).body[0]
    assert isinstance(tree, Function)
    about = inspect.getdoc(value) or ""
    return "\n\n".join([f"### {prefix}{value.__name__}", f"    {_signature(tree)}", about])


def _class(value: type, name: str) -> str:
    tree = ast.parse(dedent(inspect.getsource(value))).body[0]
    assert isinstance(tree, ast.ClassDef)
    tree.name = name  # the public name, if the class has another one
    functions = [part for part in tree.body if isinstance(part, Function)]
    init = [part for part in functions if part.name == "__init__"]
    bases = ", ".join(map(ast.unparse, tree.bases))
    lines = [f"class {tree.name}({bases}):" if bases else f"class {tree.name}:"]
    lines += [f"    {field}" for field in _fields(value)]
    lines += [f"    {_signature(part)}" for part in init]
    if len(lines) == 1:
        lines[0] = lines[0].removesuffix(":")
    code = "\n".join(f"    {line}" for line in lines)
    about = [inspect.cleandoc(value.__dict__.get("__doc__") or ""), *map(_doc, init)]
    methods = "\n".join(_method(part) for part in functions if not part.name.startswith("_"))
    return "\n\n".join(text for text in (f"### {tree.name}", code, *about, methods) if text)


def _fields(value: type) -> list[str]:
    """Return the public fields, first those of base classes in joinproto."""
    ours = [one for one in reversed(value.__mro__) if one.__module__.startswith("joinproto.")]
    trees = [ast.parse(dedent(inspect.getsource(one))).body[0] for one in ours]
    return [
        ast.unparse(_plain(part))
        for tree in trees
        if isinstance(tree, ast.ClassDef)
        for part in tree.body
        if isinstance(part, ast.AnnAssign) and not ast.unparse(part.target).startswith("_")
    ]


def _plain(part: ast.AnnAssign) -> ast.AnnAssign:
    """Return a field with only its default in place of `field(...)`."""
    if isinstance(part.value, ast.Call) and ast.unparse(part.value.func) == "field":
        given = {one.arg: one.value for one in part.value.keywords}
        made = given.get("factory")
        part.value = given.get("default") if made is None else ast.Call(made, [], [])
    return part


def _method(tree: Function) -> str:
    about = " ".join(_doc(tree).split())
    return f"* `{_signature(tree)}`" + (f": {about}" if about else "")


def _doc(tree: Function) -> str:
    return ast.get_docstring(tree) or ""


def _signature(tree: Function) -> str:
    returned = f" -> {ast.unparse(tree.returns)}" if tree.returns is not None else ""
    if any(ast.unparse(one) == "property" for one in tree.decorator_list):
        return f"{tree.name}{returned}"
    arguments = ast.unparse(tree.args)
    for first in ("self", "cls"):
        arguments = arguments.removeprefix(f"{first}, ").removeprefix(first)
    waits = "async " if isinstance(tree, ast.AsyncFunctionDef) else ""
    return f"{waits}{tree.name}({arguments}){returned}"
