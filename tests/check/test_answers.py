"""Members' answers of the last run: the same report without asking, and nothing on trust.

A search that came to its end leaves the numbers of all it met, another one the bare answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from joinproto.check import answers as room
from joinproto.check import kept_file, load_world, packages
from joinproto.check.answers import Answers
from joinproto.check.check import check
from joinproto.check.engine.numbering import TablesNumbering
from joinproto.check.kept_file import DIGEST_BYTES, HEAD_BYTES
from joinproto.check.plain import check_small
from joinproto.check.report import Report
from joinproto.check.world import World
from joinproto.cli import searching
from joinproto.join.phases import Phase
from tests.census import without_costs
from tests.cli.running import run_here

WORLD = "ring-election"
ALIKE = "two-phase-commit"
SMALL = "clusterer-hole-4"
LARGE = "durable-vote-split"
"""One that the command leaves to the engine."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of answers; a run keeps them however few they are."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(room, "NEW_MIN", 1)
    monkeypatch.setattr(room, "NEW_MIN_SMALL", 1)
    return tmp_path / "joinproto" / "answers"


def searched(name: str = WORLD, **options: Any) -> tuple[Report, list[str]]:
    """Return the report of a search with kept answers, and what was told of their file."""
    told: list[str] = []
    world = load_world(name, **options)
    return check(world, answers=Answers.of(name, world.source, told.append)), told


def searched_with_symmetry() -> tuple[Report, list[str]]:
    told: list[str] = []
    world = load_world(ALIKE)
    answers = Answers.of(ALIKE, world.source, told.append, form="symmetry")
    return check(world, answers=answers, symmetry=True), told


def searched_as_small(name: str = SMALL) -> tuple[Report, list[str]]:
    told: list[str] = []
    world = load_world(name)
    answers = Answers.of(name, world.source, told.append, form="small")
    found = check_small(world, answers=answers)
    assert found is not None
    return found, told


@pytest.mark.parametrize(
    "name",
    ["ring-election", "token-ring-lossy", "durable-vote-wiped", "note-wait-for-n", "join-cut"],
)
def test_a_second_run_reports_the_same_and_asks_less(
    cache: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Counts, claims, runs and coverage follow from the answers, wherever these come from."""
    monkeypatch.setattr(room, "SAMPLES", 1)
    first, _ = searched(name)
    second, told = searched(name)

    assert without_costs(first) == without_costs(second)
    assert [] == told
    assert (first.notes, len(second.notes)) == ((), 1)
    assert second.calls < first.calls


@pytest.mark.parametrize(
    "name", [SMALL, "standby-start", "reconcile-seed", "discovery-seed-wiped", "qpid-founding"]
)
def test_so_does_one_of_a_small_world(
    cache: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Coverage is of what is asked on the way, and not of all that is kept."""
    monkeypatch.setattr(room, "SAMPLES", 1)
    first, _ = searched_as_small(name)
    second, told = searched_as_small(name)

    assert without_costs(first) == without_costs(second)
    assert (first.notes, len(second.notes), told) == ((), 1, [])
    assert second.calls < first.calls


def test_other_options_have_other_answers(cache: Path) -> None:
    """A world with a rule left out is another world."""
    searched()
    mutant, _ = searched(mutant="passes-all-on")

    assert "violated" == mutant.result
    assert 2 == len(list(cache.iterdir()))


def test_a_search_with_symmetry_leaves_what_one_without_has_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps answers and no numbers: each would write over what the other had."""
    monkeypatch.setattr(room, "SAMPLES", 1)
    first = searched(ALIKE)[0], searched_with_symmetry()[0]
    again = searched(ALIKE)[0], searched_with_symmetry()[0]

    assert [1, 1] == [len(one.notes) for one in again]
    assert all(two.calls < one.calls for one, two in zip(first, again, strict=True))


def test_answers_of_other_code_are_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One module changed is enough: what members answer may follow from any of them."""
    searched()
    monkeypatch.setattr(room, "_code_of", lambda said: bytes(32))

    found, told = searched()

    assert ((), []) == (found.notes, told)


def test_the_code_is_every_module_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A line in any of them makes other code."""
    (tmp_path / "deep").mkdir()
    module = tmp_path / "deep" / "rules.py"
    write_long_ago(module, "LIMIT = 1\n")
    monkeypatch.setattr(packages, "folder", lambda package: tmp_path)
    before = room._code_of("w")
    write_long_ago(module, "LIMIT = 2\n")

    found = room._code_of("w")
    assert found is not None
    assert found not in (before, room._code_of("v"))


def write_long_ago(file: Path, text: str) -> None:
    file.write_text(text)
    os.utime(file, (1e9, 1e9))


def test_nothing_is_kept_of_code_that_was_edited_since_it_was_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else the old code's answers would be kept as those of the new one."""
    module = tmp_path / "rules.py"
    write_long_ago(module, "LIMIT = 1\n")
    monkeypatch.setattr(packages, "folder", lambda package: tmp_path)
    assert room._code_of("w") is not None

    module.write_text("LIMIT = 2\n")

    assert room._code_of("w") is None


def test_nor_is_anything_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows whether it is of the code that runs."""
    searched()
    before = next(cache.iterdir()).read_bytes()
    monkeypatch.setattr(room, "_code_of", lambda said: None)

    found, told = searched()

    assert ((), []) == (found.notes, told)
    assert [before] == [file.read_bytes() for file in cache.iterdir()]


def test_answers_that_would_not_fit_are_not_taken(cache: Path) -> None:
    """A limit of memory is for them, too."""
    searched()
    world = load_world(WORLD)
    told: list[str] = []

    report = check(world, answers=Answers.of(WORLD, world.source, told.append, 1 << 20))

    assert ["its answers would not fit under the memory limit"] == [
        line.partition(" is not used: ")[2] for line in told
    ]
    assert ("holds", ()) == (report.result, report.notes)


def damaged(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def of_another_kind(file: Path) -> None:
    file.write_bytes(b"something else")


def writable_by_all(file: Path) -> None:
    file.chmod(0o666)


def with_a_body(file: Path, body: bytes) -> None:
    head = file.read_bytes()[: HEAD_BYTES - DIGEST_BYTES]
    file.write_bytes(head + hashlib.sha256(body).digest() + body)


def naming_a_program(file: Path) -> None:
    with_a_body(file, b"cposix\nsystem\n(S'touch /tmp/never'\ntR.")


def lying_of_steps(file: Path) -> None:
    """Let steps have other effects than the code gives."""
    held = content_of(file)
    if "numbers" in held:
        held["numbers"]["tables"]["outcomes"].effects.array[:] = 77
    else:
        for kinds in held.values():
            steps = kinds["step"]
            for question, outcomes in steps.items():
                steps[question] = outcomes and tuple(evolve(one, effects=77) for one in outcomes)
    with_a_body(file, flattened(held))


def lying_of_what_is_shown(file: Path) -> None:
    held = content_of(file)
    held["numbers"]["tables"]["per_value"].arrays["shown"][:] = 0
    with_a_body(file, flattened(held))


def lying_of_choices(file: Path) -> None:
    held = content_of(file)
    held["numbers"]["tables"]["per_value"].arrays["choice_count"][:] = 0
    with_a_body(file, flattened(held))


def lying_of_claims(file: Path) -> None:
    """Let a claim be broken by what every member shows at first."""
    held = content_of(file)
    claimed = held["numbers"]["tables"]["claimed"]
    claimed.add(claimed.names[0], np.zeros((1, 4), np.int64))
    with_a_body(file, flattened(held))


def content_of(file: Path) -> Any:
    return pickle.loads(file.read_bytes()[HEAD_BYTES:])


def flattened(content: Any) -> bytes:
    made = BytesIO()
    kept_file._Writer(made, TablesNumbering.flatten).dump(content)
    return made.getvalue()


HARMS = [
    (damaged, "it is damaged"),
    (cut_short, "it is damaged"),
    (of_another_kind, "it is of another kind"),
    (writable_by_all, "others may write to it"),
    (naming_a_program, "it names posix.system"),
    (lying_of_steps, "answers otherwise than the members"),
]


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        *HARMS,
        (lying_of_what_is_shown, "answers otherwise than the members"),
        (lying_of_choices, "answers otherwise than the members"),
        (lying_of_claims, "answers otherwise than the members"),
    ],
)
def test_a_file_that_is_not_sound_is_told_and_not_used(
    cache: Path, harm: Callable[[Path], None], said: str
) -> None:
    """The search is the same as without it, and the next run has a sound one."""
    is_not_sound(cache, harm, said, searched)


@pytest.mark.parametrize("searched", [searched_with_symmetry, searched_as_small])
@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_nor_is_one_of_a_search_that_did_not_number(
    cache: Path,
    harm: Callable[[Path], None],
    said: str,
    searched: Callable[[], tuple[Report, list[str]]],
) -> None:
    is_not_sound(cache, harm, said, searched)


def is_not_sound(
    cache: Path,
    harm: Callable[[Path], None],
    said: str,
    searched: Callable[[], tuple[Report, list[str]]],
) -> None:
    first, _ = searched()
    harm(next(cache.iterdir()))

    second, told = searched()
    third, told_later = searched()

    assert without_costs(first) == without_costs(second) == without_costs(third)
    assert 1 == len(told)
    assert said in told[0]
    assert ((), []) == (second.notes, told_later)
    assert third.notes


def test_old_files_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks at many worlds keeps the answers of some."""
    monkeypatch.setattr(kept_file, "FILES_MAX", 2)
    for members in (2, 3, 4):
        searched(members=members)

    assert 2 == len(list(cache.iterdir()))


def test_a_model_of_ones_own_and_no_cache_keep_nothing(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody's file may import anything, which no hash of ours knows."""
    own = tmp_path / "own.py"
    own.write_text("from joinproto_worlds.classics.ring_election import build as world\n")

    assert 0 == run_here(capsys, "check", str(own)).code
    assert 0 == run_here(capsys, "check", LARGE, "--no-cache").code
    assert [] == list(cache.iterdir() if cache.exists() else ())
    assert 0 == run_here(capsys, "check", LARGE).code
    assert 1 == len(list(cache.iterdir()))


def test_a_world_that_was_large_is_not_looked_at_as_if_it_were_small(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever has so many answers to keep is searched by the engine at once, with them or not."""
    looked: list[str] = []

    def look(world: World, **_more: Any) -> None:
        looked.append(world.name)

    monkeypatch.setattr(searching, "check_small", look)
    for more in ((), (), ("--no-cache",)):
        assert 0 == run_here(capsys, "check", LARGE, *more).code

    assert [LARGE] == looked


def test_the_answers_of_a_small_world_are_kept(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is searched in plain Python both times; `--no-cache` asks for all."""
    found = [
        json.loads(run_here(capsys, "check", SMALL, "--json", *more).out)
        for more in ((), (), ("--no-cache",))
    ]
    costs = ("seconds", "cpu_seconds", "peak_rss_bytes", "calls", "notes")
    notes, calls = ([one.get(name) for one in found] for name in ("notes", "calls"))

    assert all(one["row_bits"] == 0 for one in found)
    assert calls[1] < calls[0] == calls[2]
    assert [0, 1, 0] == [len(note) for note in notes]
    first, *others = ({k: v for k, v in one.items() if k not in costs} for one in found)
    assert [first, first] == others


def test_members_of_enumerations_are_kept_by_value() -> None:
    """Python before 3.11.4 names `getattr` for them, which no file may."""
    made = BytesIO()
    kept_file._Writer(made, {}).dump(Phase.ACTIVE)

    assert b"getattr" not in made.getvalue()
    assert Phase.ACTIVE is kept_file._Reader(BytesIO(made.getvalue())).load()
