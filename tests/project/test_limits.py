"""The limits for the length of files, classes and functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.project.test_repository import PACKAGES, ROOT, files

FILE_LINES = 450
CLASS_LINES = 300
FUNCTION_LINES = 100
LOOP_LINES = 125


def is_compiled(node: ast.AST) -> bool:
    """Return whether numba compiles the function.  Each argument of such a loop takes a line."""
    decorators = getattr(node, "decorator_list", [])
    calls = (one.func if isinstance(one, ast.Call) else one for one in decorators)
    return any(isinstance(call, ast.Name) and call.id == "njit" for call in calls)


def parts_over_limit(path: str, text: str) -> Iterator[str]:
    """Yield the name of a file that exceeds its limit, and of its classes and functions that do."""
    if len(text.splitlines()) > FILE_LINES:
        yield path
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            limit = LOOP_LINES if is_compiled(node) else FUNCTION_LINES
            limit = CLASS_LINES if isinstance(node, ast.ClassDef) else limit
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            assert node.end_lineno is not None
            if node.end_lineno - first + 1 > limit:
                yield f"{path}: {node.name}"


def test_no_file_class_or_function_exceeds_its_limit() -> None:
    """No file over 450 lines, no class over 300, no function over 100 (a compiled loop: 125)."""
    product = [
        file
        for file in files()
        if file.suffix == ".py" and file.relative_to(ROOT).parts[0] in PACKAGES
    ]

    found = {
        name
        for file in product
        for name in parts_over_limit(file.relative_to(ROOT).as_posix(), file.read_text("utf-8"))
    }

    assert set() == found


@pytest.mark.parametrize(
    ("lines", "limit"),
    [
        (["class A:", "    x = 1"], CLASS_LINES),
        (["def f() -> None:", "    pass"], FUNCTION_LINES),
        (["x = 1"], FILE_LINES),
    ],
)
def test_one_line_more_than_the_limit_is_found(lines: list[str], limit: int) -> None:
    """A part that is as long as its limit is allowed."""
    up_to = lines + lines[-1:] * (limit - len(lines))

    assert [] == list(parts_over_limit("file.py", "\n".join(up_to)))
    assert 1 == len(list(parts_over_limit("file.py", "\n".join([*up_to, lines[-1]]))))


@pytest.mark.parametrize("decorator", ["njit", "njit(cache=True)"])
def test_a_compiled_loop_has_a_higher_limit(decorator: str) -> None:
    """The decorator `njit` raises the limit; another decorator does not."""
    body = ["def f() -> None:", *["    pass"] * FUNCTION_LINES]

    assert [] == list(parts_over_limit("file.py", "\n".join([f"@{decorator}", *body])))
    assert ["file.py: f"] == list(parts_over_limit("file.py", "\n".join(["@cache", *body])))
    body += ["    pass"] * (LOOP_LINES - FUNCTION_LINES)
    assert ["file.py: f"] == list(parts_over_limit("file.py", "\n".join([f"@{decorator}", *body])))
