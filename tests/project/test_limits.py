"""How long a file, a class and a function may be, and which ones are still longer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from joinproto.rooms import ROOMS
from tests.project.test_repository import ROOT, files

FILE_LINES = 450
CLASS_LINES = 300
FUNCTION_LINES = 100

STILL_LONGER = {
    "models/engine/kernel.py",
    "models/engine/kernel.py: expand",  # one compiled loop: a cut costs speed
    "models/engine/search.py",
    "models/engine/search.py: Search",
    "models/engine/symmetry.py",
    "models/engine/symmetry.py: Symmetry",
    "models/engine/tables.py",
    "models/engine/tables.py: Tables",
    "models/freeze.py",
    "models/local.py",
    "models/local.py: MemberCode",
    "tools/cli/check.py",
}
"""Files, classes and functions over their limit; who brings one below it takes it out here."""


def longer(path: str, text: str) -> Iterator[str]:
    """Yield what is over its limit in a file, as `STILL_LONGER` names it."""
    if len(text.splitlines()) > FILE_LINES:
        yield path
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            limit = CLASS_LINES if isinstance(node, ast.ClassDef) else FUNCTION_LINES
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            assert node.end_lineno is not None
            if node.end_lineno - first + 1 > limit:
                yield f"{path}: {node.name}"


def test_nothing_is_longer_than_what_one_reads_at_once() -> None:
    """No file has over 450 lines, no class over 300, no function over 100, but those that we know.

    One that is not over its limit any more is no exception any more.
    """
    product = [
        file
        for file in files()
        if file.suffix == ".py" and file.relative_to(ROOT).parts[0] in ("joinproto", *ROOMS)
    ]

    found = {
        name
        for file in product
        for name in longer(file.relative_to(ROOT).as_posix(), file.read_text("utf-8"))
    }

    assert STILL_LONGER == found


@pytest.mark.parametrize(
    ("lines", "limit"),
    [
        (["class A:", "    x = 1"], CLASS_LINES),
        (["def f() -> None:", "    pass"], FUNCTION_LINES),
        (["x = 1"], FILE_LINES),
    ],
)
def test_one_line_more_than_the_limit_is_found(lines: list[str], limit: int) -> None:
    """The test above can fail, and does not for the limit itself."""
    up_to = lines + lines[-1:] * (limit - len(lines))

    assert [] == list(longer("file.py", "\n".join(up_to)))
    assert 1 == len(list(longer("file.py", "\n".join([*up_to, lines[-1]]))))
