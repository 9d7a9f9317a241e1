"""Mutations of the code that writes durably, and the kinds whose schedules must notice them.

Each sync, rename and truncation of the files below is left out in turn, and each comparison of a
checksum, a size or a generation says always yes, or always no.  The function's code is replaced in
this process: no module is imported again.

    python -m tests.durable.mutations NAME      runs the test of this mutation, with it applied
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from attrs import frozen

ROOT = Path(__file__).parents[2]

FILES = {
    "joinproto/durable/filesystem.py": ("store", "member", "config", "file", "plan"),
    "joinproto/durable/record.py": ("store", "members", "electors", "changes"),
    "joinproto/durable/envelope.py": ("members", "changes", "store"),
    "joinproto/durable/lock.py": ("store",),
    "joinproto/durable/journal/journal.py": ("log", "broker"),
    "joinproto/durable/journal/index.py": ("log",),
    "joinproto/durable/journal/records.py": ("log",),
    "joinproto/durable/journal/survey.py": ("log", "broker"),
    "joinproto/store/handle.py": ("store", "member"),
    "joinproto/log/pieces.py": ("log",),
    "joinproto/log/snapshot.py": ("log",),
    "joinproto/log/dropping.py": ("log", "broker"),
    "joinproto/log/rebasing.py": ("log",),
    "joinproto/log/disk.py": ("member",),
    "joinproto/apps/standby/keeping/disk.py": ("broker",),
    "joinproto/apps/clusterer/keeping/stored.py": ("config",),
    "joinproto/apps/clusterer/keeping/electors.py": ("electors",),
    "joinproto/apps/clusterer/keeping/members.py": ("members",),
    "joinproto/apps/reconcile/journal.py": ("changes",),
    "joinproto/recovery/writing.py": (),
}
"""The modules to mutate, and the kinds whose schedules must notice; the fastest first."""

NOTICED_BY = {
    "tests/durable/test_chosen.py::test_a_base_that_is_shorter_than_its_length_says_is_damaged": (
        "records:base_of:always no:3",
    ),
    "tests/durable/test_chosen.py::test_a_base_with_a_line_longer_than_the_base_is_damaged": (
        "records:base_of:always no:2",
    ),
    "tests/durable/test_chosen.py::test_a_journal_is_read_although_its_index_is_damaged": (
        "index:_block_at:always yes:2",
    ),
    "tests/durable/test_chosen.py::test_the_error_says_whether_a_file_is_too_short_or_too_long": (
        "envelope:unseal:always no:2",
        "envelope:unseal:always yes:3",
        "envelope:unseal:always no:3",
    ),
    "tests/durable/test_chosen.py::test_a_file_that_is_larger_than_the_limit_is_corrupt": (
        "record:_read_slot:always no:1",
    ),
    "tests/durable/test_chosen.py::test_a_generation_of_more_than_64_bits_is_corrupt": (
        "envelope:unseal:always no:1",
    ),
    "tests/durable/test_chosen.py::"
    "test_a_journal_with_dropped_frames_has_its_own_index_at_the_next_start": (
        "journal:Journal.replace_by:without rename:2",
        "index:Index.rename:without rename:1",
    ),
    "tests/durable/test_chosen.py::test_a_lock_names_only_its_present_holder": (
        "lock:take_lock:without truncate:1",
    ),
    "tests/durable/test_chosen.py::test_a_shorter_journal_has_the_base_and_all_later_frames": (
        "dropping:_Copy._go_on:always yes:1",
        "dropping:_Copy._go_on:always no:1",
        "dropping:_Copy._go_on:always yes:2",
        "dropping:_Copy._go_on:always no:2",
    ),
    "tests/durable/test_chosen.py::test_a_snapshot_that_was_made_is_there_after_a_loss_of_power": (
        "pieces:PieceFile.write:without sync_data:1",
        "snapshot:_Writer.finish:without sync:1",
        "snapshot:_Writer.finish:without rename:1",
        "snapshot:_Writer.finish:without sync_directory:1",
    ),
    "tests/durable/test_chosen.py::test_a_tail_of_a_magic_word_and_zeros_is_cut": (
        "records:parsed:always no:2",
    ),
    "tests/durable/test_chosen.py::"
    "test_leftovers_of_an_interrupted_creation_are_removed_by_the_next_creation": (
        "handle:create_store:without recover:1",
    ),
    "tests/durable/test_chosen.py::"
    "test_the_former_metadata_is_kept_durably_before_a_store_is_marked": (
        "writing:_keep:without sync_directory:1",
    ),
    "tests/durable/test_real.py::test_the_real_file_system_writes_links_and_renames_files": (
        "filesystem:RealFileSystem.rename:without rename:1",
    ),
    "tests/log/test_index.py::test_a_damaged_index_costs_time_and_changes_no_result": (
        "index:_block_at:always no:3",
    ),
    "tests/log/test_index.py::test_a_restart_parses_only_frames_that_the_index_does_not_cover": (
        "survey:_is_unchanged:always no:1",
        "index:_block_at:always yes:1",
        "index:_block_at:always no:2",
        "index:_block_at:always yes:3",
    ),
    "tests/log/test_index.py::test_damage_in_the_journal_is_found_even_with_an_index": (
        "survey:_is_unchanged:always yes:1",
    ),
    "tests/log/test_journal.py::test_a_read_returns_as_many_frames_as_fit": (
        "journal:Journal.recent:always yes:1",
        "journal:Journal.recent:always no:1",
    ),
    "tests/log/test_snapshots.py::test_frames_are_dropped_and_the_log_stays_small": (
        "dropping:_Copy._copy_frames:always yes:1",
    ),
    "tests/recovery/test_apply.py::test_a_forced_plan_is_undone_while_its_store_is_unused": (
        "writing:_record_after_undo:always no:1",
    ),
    "tests/recovery/test_apply.py::test_a_forced_plan_is_not_undone_after_its_store_was_used": (
        "writing:_record_after_undo:always yes:1",
    ),
    "tests/recovery/test_apply.py::test_apply_marks_only_the_latest_store": (
        "writing:check:always yes:1",
    ),
    "tests/recovery/test_apply.py::test_a_store_that_changed_makes_the_plan_stale": (
        "writing:check:always no:1",
    ),
    "tests/recovery/test_apply.py::test_the_former_metadata_is_kept": (
        "writing:_keep:without replace:1",
    ),
    "tests/recovery/test_crash_states.py::test_an_apply_that_was_killed_and_repeated_is_durable": (
        "writing:_make_durable:without make_durable:1",
    ),
    "tests/standby/test_kept.py::test_a_long_journal_is_made_shorter": (
        "disk:Disk.append:always yes:1",
        "disk:Disk.append:always no:1",
    ),
    "tests/standby/test_kept.py::test_a_missing_part_of_the_store_is_detected": (
        "disk:_require_both:always no:1",
    ),
    "tests/standby/test_kept.py::test_after_a_power_failure_the_old_or_the_new_store_is_there": (
        "disk:_folder:without sync_directory:1",
    ),
    "tests/standby/test_kept.py::test_a_record_is_not_replaced_by_an_older_or_foreign_one": (
        "disk:Disk._require_goes_on:always no:1",
    ),
    "tests/store/test_damage.py::test_a_damaged_previous_file_is_reported_and_the_member_starts": (
        "record:problems:always no:1",
    ),
    "tests/store/test_damage.py::test_states_that_a_crash_may_leave_are_no_problem": (
        "record:problems:always yes:1",
    ),
}
"""Tests of mutations that the schedules do not notice, with these mutations."""

ELSEWHERE = {name: test for test, names in NOTICED_BY.items() for name in names}

CALLS = {
    *("sync", "sync_data", "sync_directory", "rename", "truncate", "replace"),
    *("make_durable", "recover", "make_directories", "_write_again", "require_usable"),
}
WORDS = {"checksum", "expected", "computed", "crc32", "sha256", "size", "generation", "raw"}


@frozen
class Mutation:
    """A mutation of one function.

    `name`: the file, the function, the change, and its number.  `code`: the changed function's.
    """

    name: str
    kinds: tuple[str, ...]
    module: str
    where: tuple[str, ...]
    code: CodeType

    @property
    def is_quick(self) -> bool:
        """Return whether the mutation is tested at each change, and not only in the soak."""
        return self.module.startswith("joinproto.durable") or ":without sync" in self.name

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Give the function the mutated code inside the `with` block."""
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
    """Yield all mutations, in the order of the lines."""
    for path, kinds in FILES.items():
        source = (ROOT / path).read_text("utf-8")
        seen: dict[str, int] = {}
        for where, node, what, text in _changes(ast.parse(source), ()):
            name = f"{Path(path).stem}:{'.'.join(where)}:{what}"
            seen[name] = seen.get(name, 0) + 1
            code = compile(_replace(source, node, text), path, "exec", dont_inherit=True)
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
            continue  # the loop would never end, or never begin
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            if where and isinstance(node, ast.FunctionDef):
                continue  # a function in a function has no name of its own
            inside = (*where, child.name)
        match child:
            case ast.Expr(value=ast.Call() as call) if _callee(call) in CALLS:
                yield inside, call, f"without {_callee(call)}", "None"
            case ast.Compare() if _words(child) & WORDS:
                yield inside, child, "always yes", "(True)"
                yield inside, child, "always no", "(False)"
        yield from _changes(child, inside)


def _callee(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _words(node: ast.AST) -> set[str]:
    names = [item.id for item in ast.walk(node) if isinstance(item, ast.Name)]
    names += [item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)]
    return {word for name in names for word in (name, name.strip("_"))}


def _replace(source: str, node: ast.expr, text: str) -> str:
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


if __name__ == "__main__":
    (left_out,) = (one for one in mutations() if one.name == sys.argv[1])
    with left_out.applied():
        words = ("-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--tb=line")
        sys.exit(pytest.main([*words, ELSEWHERE[left_out.name]]))
