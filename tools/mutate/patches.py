"""A mutation as a patch: its name, where it stands in the source, what it puts there instead."""

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
JOIN = "joinproto/join"
SCOPE = tuple(
    path.relative_to(ROOT).as_posix()
    for path in sorted(
        [*(ROOT / JOIN).glob("*.py"), ROOT / "joinproto/codec/malformed.py"],
        key=lambda path: path.name,
    )
)
"""What is mutated: the join protocol as it ships."""


@frozen
class Mutation:
    """One patch.  `name`: file, function (and case of a table), operator, ordinal.

    `lines`: first and last line of the statement that it changes; `start`, `end`: bytes of the
    file that `text` replaces.
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
        """Return the hash of what this is about: the file as it is, and the patch."""
        return hash_of(source, f"{self.start} {self.end} {self.text}".encode())

    def diff(self, source: bytes) -> str:
        """Return the patch as a person reads it."""
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
    """Yield the mutations of one file, in the order of its lines; the same each time."""
    starts = [0]
    for part in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(part))
    stem = Path(path).stem
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


def all_mutations() -> list[Mutation]:
    return [item for path in SCOPE for item in mutations(path, source_of(path))]
