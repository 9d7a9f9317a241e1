"""`python -m tools.size [FOLDER...]`: the amount of code, without comments and docstrings.

For each folder it prints the number of lines that hold code, of tokens, and of files; without an
argument, for each package of the wheel; and then the sums.  Formatting does not change the number
of tokens.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def size_of(text: str) -> tuple[int, int]:
    """Return the number of lines of a module that hold code, and the number of tokens in them."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _LAYOUT and token.start[0] not in docstrings
    ]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    return len(lines), len(tokens)


def wheel_folders() -> list[Path]:
    """Return the packages of the wheel; of `joinproto`, its folders and then its own files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    carried = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    inner = [path for path in sorted((ROOT / "joinproto").iterdir()) if any(path.rglob("*.py"))]
    modules = sorted((ROOT / "joinproto").glob("*.py"))
    return [*inner, *modules, *(ROOT / name for name in carried if name != "joinproto")]


def main(words: list[str] | None = None) -> None:
    """Print a line for each folder, and their sum; exit code 2: a folder that does not exist."""
    parser = argparse.ArgumentParser(prog="python -m tools.size", description=__doc__)
    parser.add_argument("folder", nargs="*", type=Path, help="a folder or a file of Python")
    folders = parser.parse_args(words).folder
    if missing := [str(path) for path in folders if not path.exists()]:
        parser.error(f"no such folder or file: {', '.join(missing)}")
    total = [0, 0, 0]
    print(f"{'lines':>7} {'tokens':>8} {'files':>6}")
    for path in folders or wheel_folders():
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        sizes = [size_of(file.read_text("utf-8")) for file in files]
        row = [sum(lines for lines, _ in sizes), sum(tokens for _, tokens in sizes), len(files)]
        total = [a + b for a, b in zip(total, row, strict=True)]
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        print(f"{row[0]:7,} {row[1]:8,} {row[2]:6,} {shown}")
    print(f"{total[0]:7,} {total[1]:8,} {total[2]:6,} together")


if __name__ == "__main__":
    main()
