"""Every array that a function of the engine takes or returns has a type with dtype and shape."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from joinproto.check.engine import shapes
from tests.project.test_repository import ROOT

ENGINE = ROOT / "joinproto" / "check" / "engine"
NAMES = {name for name in vars(shapes) if name[0].isupper() and name not in ("Any", "TypeAlias")}

_SHAPE = re.compile(r"(u?int\d+|bool|float64|dtype) ?\([a-z0-9]")
"""The form in an alias or a field: `int64 (question, 4)`."""

_ARRAY = re.compile(r"\b(NDArray|ndarray)\b")


def untyped(path: str, text: str) -> Iterator[str]:
    """Yield functions that take or return an array whose type has no name in `shapes.py`.

    In a compiled loop, an argument of type `Any` that is indexed is such an array, too.
    """
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        types = [one.annotation for one in given] + [node.returns]
        if any(_ARRAY.search(ast.unparse(one)) for one in types if one is not None):
            yield f"{path}: {node.name}"
        elif any("njit" in ast.unparse(one) for one in node.decorator_list):
            anything = {one.arg for one in given if ast.unparse(one.annotation or node) == "Any"}
            indexed = (one.value for one in ast.walk(node) if isinstance(one, ast.Subscript))
            if anything & {one.id for one in indexed if isinstance(one, ast.Name)}:
                yield f"{path}: {node.name}"


def shapeless(text: str) -> Iterator[str]:
    """Yield the array fields of named tuples without a comment that gives the shape."""
    for line in text.splitlines():
        field = re.match(r"    (\w+): (.*\bNDArray\b[^#]*)(#.*)?$", line)
        if field is not None and not re.search(r"\(.*\)", field[3] or ""):
            yield field[1]


def test_each_array_argument_has_a_type_of_shapes() -> None:
    found = {
        name
        for file in ENGINE.rglob("*.py")
        for name in untyped(file.relative_to(ENGINE).as_posix(), file.read_text("utf-8"))
    }

    assert set() == found


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_type_describes_its_dtype_and_shape(name: str) -> None:
    text = (ENGINE / "shapes.py").read_text("utf-8")
    said = text.split(f"\n{name}: TypeAlias = ")[1].split('"""')[1]

    assert _SHAPE.search(said), said


@pytest.mark.parametrize("file", ["tables/kernel.py", "expansion/buffers.py"])
def test_each_array_field_of_a_named_tuple_has_a_shape(file: str) -> None:
    assert [] == list(shapeless((ENGINE / file).read_text("utf-8")))


def test_an_array_without_a_shape_is_found() -> None:
    """The tests above can fail: for an array without a type, and a field without a comment."""
    bare = "def f(x: npt.NDArray[np.int64]) -> None:\n    ..."

    assert ["a.py: f"] == list(untyped("a.py", bare))
    assert [] == list(untyped("a.py", bare.replace("npt.NDArray[np.int64]", "Ints")))
    loop = "@njit(cache=True)\ndef f(x: Any, n: Any) -> Any:\n    return x[n]"
    assert ["a.py: f"] == list(untyped("a.py", loop))
    assert [] == list(untyped("a.py", loop.replace("x: Any", "x: Ints")))
    fields = "class A:\n    x: NDArray[int64]\n    y: NDArray[int64]  # (n,)\n    z: Ints\n"
    assert ["x"] == list(shapeless(fields))
