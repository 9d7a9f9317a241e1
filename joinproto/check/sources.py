"""The source files that decide a model's behaviour: its own, and files that it imports."""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

_INSTALLED = tuple(
    Path(sysconfig.get_path(name)).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def sources_of(modules: Iterable[ModuleType | None]) -> set[Path]:
    """Return the files of these modules and of all loaded modules that they import.

    Files of installed packages are left out.  Imports inside functions count as well.
    """
    found: set[Path] = set()
    waiting = list(modules)
    for module in waiting:
        file = getattr(module, "__file__", None)
        path = Path(file).resolve() if file else None
        if module is None or path is None or path in found or _is_installed(path):
            continue
        if path.is_file():
            found.add(path)
            waiting += [sys.modules.get(name) for name in _imported(path, module.__package__ or "")]
    return found


def _is_installed(path: Path) -> bool:
    return any(path.is_relative_to(top) for top in _INSTALLED)


def _imported(path: Path, package: str) -> Iterator[str]:
    """Yield the names in a file that may be imported modules."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            top = ".".join(filter(None, [*(parents if node.level else ()), node.module]))
            names = [top, *(f"{top}.{one.name}" for one in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: at + 1]) for at in range(len(parts)))
