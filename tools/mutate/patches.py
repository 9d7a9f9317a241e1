"""Mutations as patches: their names, their places in the source, their replacements."""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from attrs import frozen

from tools.mutate.operators import Change, changes

ROOT = Path(__file__).parents[2]


@frozen
class Package:
    """A package: the files that are mutated, and the folders of tests that must notice."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


def _package(name: str, *tests: str, more: tuple[str, ...] = ()) -> Package:
    found = [*(ROOT / "joinproto" / name).glob("*.py"), *(ROOT / path for path in more)]
    files = (path.relative_to(ROOT).as_posix() for path in sorted(found, key=lambda it: it.name))
    return Package(tuple(files), tests or (f"tests/{name}",))


MUTATED_PACKAGES = {
    "join": _package("join", more=("joinproto/codec/malformed.py",)),
    "log": _package("log"),
    "store": _package("store"),
    "host": _package("host"),
    "pick": _package("pick", "tests/pick", "tests/recovery"),
    "standby": _package("standby"),
    "clusterer": _package("clusterer"),
    "reconcile": _package("reconcile"),
    "discovery": _package("discovery"),
}
"""The packages that keep data, and the packages that decide.  `tests/durable/mutations.py` mutates
the code of durable files.
"""

JOIN = MUTATED_PACKAGES["join"]


@frozen
class Mutation:
    """One patch.  `name`: file, function (and case of a table), operator, ordinal; before that the
    package, if it is not the join protocol.

    `lines`: first and last line of the changed statement.  `text` replaces the bytes of the file
    from `start` to `end`.
    """

    name: str
    path: str
    operator: str
    lines: tuple[int, int]
    start: int
    end: int
    text: str

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".")

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]

    def hash(self, source: bytes) -> str:
        """Return the hash of the unchanged file and the patch."""
        return hash_of(source, f"{self.start} {self.end} {self.text}".encode())

    def diff(self, source: bytes) -> str:
        before, after = source.decode(), self.apply(source).decode()
        lines = difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            self.path,
            self.name,
            n=2,
        )
        return "".join(lines)


def source_of(path: str) -> bytes:
    return (ROOT / path).read_bytes()


def hash_of(*contents: bytes) -> str:
    found = sha256()
    for content in contents:
        found.update(sha256(content).digest())
    return found.hexdigest()[:16]


def mutations(path: str, source: bytes) -> Iterator[Mutation]:
    """Yield the mutations of one file, in the order of its lines; they are always the same."""
    starts = [0]
    for part in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(part))
    package = path.split("/")[1]
    stem = f"{'' if package in ('join', 'codec') else f'{package}/'}{Path(path).stem}"
    seen: Counter[tuple[str, str]] = Counter()
    met: set[tuple[int, int, str]] = set()
    for change in sorted(changes(ast.parse(source), source), key=_place):
        (line, column), (end_line, end_column) = change.start, change.end
        start, end = starts[line - 1] + column, starts[end_line - 1] + end_column
        if (start, end, change.text) in met:
            continue
        met.add((start, end, change.text))
        seen[change.where, change.operator] += 1
        yield Mutation(
            f"{stem}:{change.where}:{change.operator}:{seen[change.where, change.operator]}",
            path,
            change.operator,
            change.lines,
            start,
            end,
            change.text,
        )


def _place(change: Change) -> tuple[object, ...]:
    return (change.start, change.end, change.operator)


def all_mutations(*names: str) -> list[Mutation]:
    """Return the mutations of the packages with these names, or of all packages."""
    return [
        item
        for name in names or MUTATED_PACKAGES
        for path in MUTATED_PACKAGES[name].files
        for item in mutations(path, source_of(path))
    ]
