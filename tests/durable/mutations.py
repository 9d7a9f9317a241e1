"""Mutation by program of all that keeps something durably: what is left out, and what it takes.

Each sync, rename and truncation of the files below is left out in turn, and each comparison of a
checksum, a size or a generation says always yes, or always no.  The code of the one function is
replaced in this process: nothing is imported again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from attrs import frozen

ROOT = Path(__file__).parents[2]

FILES = {
    "joinproto/durable/filesystem.py": ("store", "member", "config", "file"),
    "joinproto/durable/record.py": ("store", "members", "changes"),
    "joinproto/durable/envelope.py": ("members", "changes", "store"),
    "joinproto/durable/journal/journal.py": ("log", "broker"),
    "joinproto/durable/journal/records.py": ("log",),
    "joinproto/durable/journal/survey.py": ("log", "broker"),
    "joinproto/store/handle.py": ("store", "member"),
    "joinproto/log/snapshot.py": ("log",),
    "joinproto/log/dropping.py": ("log", "broker"),
    "joinproto/log/rebasing.py": ("log",),
    "joinproto/log/disk.py": ("member",),
    "joinproto/apps/standby/keeping/disk.py": ("broker",),
    "joinproto/apps/clusterer/keeping/stored.py": ("config",),
    "joinproto/apps/clusterer/keeping/members.py": ("members",),
    "joinproto/apps/reconcile/journal.py": ("changes",),
}
"""What is mutated, and the kinds whose schedules must notice, the quickest first."""

ELSEWHERE = {
    "filesystem:RealFileSystem": "is not on a disk of the tests: tests/durable/test_real.py",
    "record:problems": "says what is no reason to refuse: tests/store/test_opening.py",
    "record:_read_slot:always no": "a file of 64 MiB",
    "envelope:unseal:always no:1": "there are no counts at all then: tests/store/test_damage.py",
    "envelope:unseal:always no:2": "nothing writes so often: tests/store/test_damage.py",
    "envelope:unseal:always no:3": "the last line does not fit then, and that is said",
    "envelope:unseal:always yes:4": "chooses the words of an error",
    "envelope:unseal:always no:4": "chooses the words of an error",
    "journal:Journal.recent": "how many frames a read gives: tests/log/test_journal",
    "records:parsed:always no:2": "nothing writes a checksum of so little",
    "records:base_of:always no:2": "nothing writes a checksum of so little",
    "records:base_of:always no:3": "the checksum of a part is another one",
    "survey:survey:always yes": "the bytes end, too",
    "survey:_is_as_then": "the frames are read one by one then: tests/log/test_index",
    "survey:_durable_behind": "how far it looks at once: tests/log/test_journal",
    "handle:create_store:without recover": "removes leftovers alone: tests/store/test_opening",
    "snapshot:_Writer": "nothing rests on a snapshot: a damaged one is left out",
    "dropping:_Copy._copy_frames:always yes": "nothing is dropped then: tests/log/test_snapshots",
    "dropping:_Copy._go_on": "when the last piece comes: tests/log/test_snapshots",
    "disk:Disk.append": "when a journal is made shorter: tests/standby/test_kept",
    "disk:Disk._require_goes_on:always no": "a misuse: tests/standby/test_kept",
    "disk:_room:without sync_directory": "`Journal.open` does it too: tests/standby/test_kept",
    "disk:_require_both:always no": "a journal that was removed: tests/standby/test_kept",
    "survey:read_stretch": "for frames that no piece holds: tests/log/test_journal",
    "journal:Journal.replace_by:without rename:2": "nothing rests on the index",
}
"""What the schedules do not notice, by how its name begins, and why that is right."""

CALLS = {
    *("sync", "sync_data", "sync_directory", "rename", "truncate", "replace"),
    *("make_durable", "recover", "make_directories", "_write_again", "require_usable"),
}
WORDS = {"checksum", "expected", "computed", "crc32", "sha256", "size", "generation", "raw"}


@frozen
class Mutation:
    """`name`: file, function, what is left out, and which one of several.  `code`: the function's,
    with it.
    """

    name: str
    kinds: tuple[str, ...]
    module: str
    where: tuple[str, ...]
    code: CodeType

    @property
    def is_quick(self) -> bool:
        """Return whether it is asked for at each change, and not in the soak alone."""
        return self.module.startswith("joinproto.durable")

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Run the function without it for a while."""
        found: Any = import_module(self.module)
        for name in self.where:
            found = found.__dict__[name] if isinstance(found, type) else getattr(found, name)
            found = getattr(found, "fget", None) or getattr(found, "__func__", found)
        while hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        assert isinstance(found, FunctionType)
        plain = found.__code__
        found.__code__ = self.code
        try:
            yield
        finally:
            found.__code__ = plain


def mutations() -> Iterator[Mutation]:
    """Yield all of them, in the order of the lines."""
    for path, kinds in FILES.items():
        source = (ROOT / path).read_text("utf-8")
        seen: dict[str, int] = {}
        for where, node, what, text in _changes(ast.parse(source), ()):
            name = f"{Path(path).stem}:{'.'.join(where)}:{what}"
            seen[name] = seen.get(name, 0) + 1
            if f"{name}:{seen[name]}".startswith(tuple(ELSEWHERE)):
                continue
            code = compile(_replaced(source, node, text), path, "exec", dont_inherit=True)
            yield Mutation(
                f"{name}:{seen[name]}",
                kinds,
                path.removesuffix(".py").replace("/", "."),
                where,
                _code_of(code, where),
            )


def _changes(
    node: ast.AST, where: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], ast.expr, str, str]]:
    for child in ast.iter_child_nodes(node):
        inside = where
        if isinstance(node, ast.While) and child is node.test:
            continue  # without an end, or without a beginning
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            if where and isinstance(node, ast.FunctionDef):
                continue  # a function in a function has no name of its own
            inside = (*where, child.name)
        match child:
            case ast.Expr(value=ast.Call() as call) if _called(call) in CALLS:
                yield inside, call, f"without {_called(call)}", "None"
            case ast.Compare() if _words(child) & WORDS:
                yield inside, child, "always yes", "(True)"
                yield inside, child, "always no", "(False)"
        yield from _changes(child, inside)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _words(node: ast.AST) -> set[str]:
    names = [item.id for item in ast.walk(node) if isinstance(item, ast.Name)]
    names += [item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)]
    return {word for name in names for word in (name, name.strip("_"))}


def _replaced(source: str, node: ast.expr, text: str) -> str:
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    whole = b"".join(lines)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = starts[node.lineno - 1] + node.col_offset
    end = starts[node.end_lineno - 1] + node.end_col_offset
    return (whole[:start] + text.encode() + whole[end:]).decode()


def _code_of(code: CodeType, where: tuple[str, ...]) -> CodeType:
    for name in where:
        (code,) = (
            one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name
        )
    return code
