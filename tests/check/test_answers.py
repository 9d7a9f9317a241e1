"""Kept answers of members: a later run gives the same report with fewer calls of their code."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joinproto.check import load_world, packages
from joinproto.check.check import check
from joinproto.check.engine.tables import answers as answers_module
from joinproto.check.engine.tables import kept_file, kept_values
from joinproto.check.engine.tables.answers import Answers
from joinproto.check.engine.tables.kept_file import DIGEST_BYTES, HEAD_BYTES
from joinproto.check.engine.tables.kept_values import Names, written
from joinproto.check.member import Codes
from joinproto.check.report import Report
from joinproto.check.world import World
from joinproto.cli import searching
from tests.census import without_costs
from tests.cli.running import run_here

WORLD = "ring-election"
ALIKE = "two-phase-commit"
LARGE = "durable-vote-split"
"""A world that the command leaves to the engine."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of answers, which runs write even if they have few new answers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(answers_module, "NEW_MIN", 1)
    return tmp_path / "joinproto" / "answers"


def searched(name: str = WORLD, **options: Any) -> tuple[Report, list[str]]:
    """Return the report of a search that keeps its answers, and the remarks about their file."""
    remarks: list[str] = []
    world = load_world(name, **options)
    return check(world, answers=Answers.of(name, world.source, remarks.append)), remarks


@pytest.mark.parametrize(
    "name",
    ["ring-election", "token-ring-lossy", "durable-vote-wiped", "note-wait-for-n", "join-cut"],
)
def test_a_second_run_gives_the_same_report_with_fewer_calls(
    cache: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Counts, claims, runs and coverage are equal with kept answers and without."""
    monkeypatch.setattr(answers_module, "SAMPLES", 1)
    first, _ = searched(name)
    second, remarks = searched(name)

    assert without_costs(first) == without_costs(second)
    assert [] == remarks
    assert (first.notes, len(second.notes)) == ((), 1)
    assert second.calls < first.calls


def test_a_world_with_other_options_has_its_own_answers_file(cache: Path) -> None:
    """The mutant does not use the answers of the world without the mistake."""
    searched()
    mutant, _ = searched(mutant="passes-all-on")

    assert "violated" == mutant.result
    assert 2 == len(list(cache.iterdir()))


def test_answers_of_other_code_are_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one module changed, no answer is used, because answers may depend on any module."""
    searched()
    monkeypatch.setattr(answers_module, "_code_of", lambda source: bytes(32))

    found, remarks = searched()

    assert ((), []) == (found.notes, remarks)


def test_the_hash_of_the_code_covers_every_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A changed line in any module changes the hash, and so does another world."""
    (tmp_path / "deep").mkdir()
    module = tmp_path / "deep" / "rules.py"
    write_long_ago(module, "LIMIT = 1\n")
    monkeypatch.setattr(packages, "folder", lambda package: tmp_path)
    before = answers_module._code_of("w")
    write_long_ago(module, "LIMIT = 2\n")

    found = answers_module._code_of("w")
    assert found is not None
    assert found not in (before, answers_module._code_of("v"))


def write_long_ago(file: Path, text: str) -> None:
    file.write_text(text)
    os.utime(file, (1e9, 1e9))


def test_no_answers_are_kept_for_code_edited_after_its_import(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Otherwise answers of the old code would be kept as answers of the new code."""
    module = tmp_path / "rules.py"
    write_long_ago(module, "LIMIT = 1\n")
    monkeypatch.setattr(packages, "folder", lambda package: tmp_path)
    assert answers_module._code_of("w") is not None

    module.write_text("LIMIT = 2\n")

    assert answers_module._code_of("w") is None


def test_answers_are_not_read_for_edited_code(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code that runs may differ from the files, so its hash is not known."""
    searched()
    before = next(cache.iterdir()).read_bytes()
    monkeypatch.setattr(answers_module, "_code_of", lambda source: None)

    found, remarks = searched()

    assert ((), []) == (found.notes, remarks)
    assert [before] == [file.read_bytes() for file in cache.iterdir()]


def test_answers_that_exceed_the_memory_limit_are_not_read(cache: Path) -> None:
    """A memory limit includes the kept answers."""
    searched()
    world = load_world(WORLD)
    remarks: list[str] = []

    report = check(world, answers=Answers.of(WORLD, world.source, remarks.append, 1 << 20))

    assert ["its answers would not fit under the memory limit"] == [
        line.partition(" is not used: ")[2] for line in remarks
    ]
    assert ("holds", ()) == (report.result, report.notes)


def flip_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def replace_content(file: Path) -> None:
    file.write_bytes(b"something else")


def make_writable_by_all(file: Path) -> None:
    file.chmod(0o666)


def set_body(file: Path, body: bytes) -> None:
    head = file.read_bytes()[: HEAD_BYTES - DIGEST_BYTES]
    file.write_bytes(head + hashlib.sha256(body).digest() + body)


def name_in_file(kind: str) -> Callable[[Path], None]:
    """Return a function that makes a file name a class or function that it must not name."""

    def change(file: Path) -> None:
        text = json.dumps({"leaves": [], "names": [kind.split()], "arrays": []}).encode()
        stream = array("i", [kept_values.NAME, 1, 0]).tobytes()
        sizes = [len(part).to_bytes(8, "big") for part in (text, stream)]
        set_body(file, b"".join([sizes[0], text, sizes[1], stream]))

    return change


def falsify_steps(file: Path) -> None:
    held = content_of(file)
    held["numbers"]["tables"]["outcomes"].effects.array[:] = 77
    set_body(file, written(held, names()))


def falsify_observations(file: Path) -> None:
    held = content_of(file)
    held["numbers"]["tables"]["per_value"].arrays["shown"][:] = 0
    set_body(file, written(held, names()))


def falsify_choices(file: Path) -> None:
    held = content_of(file)
    held["numbers"]["tables"]["per_value"].arrays["choice_count"][:] = 0
    set_body(file, written(held, names()))


def falsify_claims(file: Path) -> None:
    held = content_of(file)
    claimed = held["numbers"]["tables"]["claimed"]
    claimed.add(claimed.names[0], np.zeros((1, 4), np.int64))
    set_body(file, written(held, names()))


def content_of(file: Path) -> Any:
    return kept_values.read(file.read_bytes()[HEAD_BYTES:], names())


def names() -> Names:
    return Names.of([*Codes.of(load_world(WORLD)).beginnings()])


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (flip_bit, "it is damaged"),
        (cut_short, "it is damaged"),
        (replace_content, "it is not a file of joinproto"),
        (make_writable_by_all, "other users may write to it"),
        (name_in_file("posix system"), "it names posix.system"),
        (name_in_file("builtins eval"), "it names builtins.eval"),
        (
            name_in_file("joinproto.check.engine.tables.kept_file _forget_old"),
            "it names joinproto.check.engine.tables.kept_file.",
        ),
        (falsify_steps, "the members have other answers"),
        (falsify_observations, "the members have other answers"),
        (falsify_choices, "the members have other answers"),
        (falsify_claims, "the members have other answers"),
    ],
)
def test_a_file_with_a_fault_is_reported_and_not_used(
    cache: Path, damage: Callable[[Path], None], expected: str
) -> None:
    """The report is the same as without the file, which is written again for the next run."""
    first, _ = searched()
    damage(next(cache.iterdir()))

    second, remarks = searched()
    third, later_remarks = searched()

    assert without_costs(first) == without_costs(second) == without_costs(third)
    assert 1 == len(remarks)
    assert expected in remarks[0]
    assert ((), []) == (second.notes, later_remarks)
    assert third.notes


def test_no_more_files_than_the_maximum_are_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the answers of the last worlds are kept."""
    monkeypatch.setattr(kept_file, "FILES_MAX", 2)
    for members in (2, 3, 4):
        searched(members=members)

    assert 2 == len(list(cache.iterdir()))


def test_no_answers_are_kept_for_a_users_model_or_with_no_cache(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user's model file may import any module, and the hash does not cover all modules."""
    own = tmp_path / "own.py"
    own.write_text("from joinproto_worlds.classics.ring_election import build as world\n")

    assert 0 == run_here(capsys, "check", str(own)).code
    assert 0 == run_here(capsys, "check", LARGE, "--no-cache").code
    assert [] == list(cache.iterdir() if cache.exists() else ())
    assert 0 == run_here(capsys, "check", LARGE).code
    assert 1 == len(list(cache.iterdir()))


def test_a_world_known_to_be_large_is_not_searched_in_plain_python_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run, and a run with `--no-cache`, use the engine at once."""
    searched_plainly: list[str] = []

    def look(world: World, **_more: Any) -> None:
        searched_plainly.append(world.name)

    monkeypatch.setattr(searching, "check_small", look)
    for more in ((), (), ("--no-cache",)):
        assert 0 == run_here(capsys, "check", LARGE, *more).code

    assert [LARGE] == searched_plainly
