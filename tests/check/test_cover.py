"""`joinproto cover`: a few runs that take every row, step or pair, replayed by the members."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from joinproto.check import Replay, World, load_world
from joinproto.check.cover import Covered, cover, name_of, rows_of
from joinproto.check.report import Step
from tests.check.compare import explored
from tests.cli.running import run_here
from tests.cli.schemas import faults, unexplained
from tools import json_schema as schema

WORLDS = ("note-rejoin", "token-ring-lossy", "two-phase-commit")


def _replayed(world: World, found: Covered) -> Iterator[list[Step]]:
    """Yield the steps of each run, as the members take them now."""
    first = Replay(world)
    for run in found.runs:
        replay = first.again()
        yield [replay.step(step.action, step.member) for step in run]


@pytest.mark.parametrize("name", WORLDS)
def test_the_runs_take_every_row(name: str) -> None:
    """The runs take each row that the slow search takes in a step that changes the state."""
    world = load_world(name)
    reference = explored(world, 1000)
    assert reference is not None

    found = cover(world, "rows")

    taken = {rule for run in _replayed(world, found) for step in run for rule in step.rules}
    moves = [move for one, move, other in reference.edges if one != other]
    wanted = {rule for move in moves for rule in rows_of(move)}
    assert wanted == taken
    assert len(wanted) == found.goals
    assert {*world.labels} - wanted == {*found.untaken}


@pytest.mark.parametrize("name", WORLDS)
def test_the_runs_take_every_step(name: str) -> None:
    """The runs take each step out of every state that the slow reference search finds."""
    world = load_world(name)
    reference = explored(world, 1000)
    assert reference is not None

    found = cover(world, "edges", steps_max=10)

    states = [*reference.level_of]
    taken = set()
    first = Replay(world)
    for run in found.runs:
        replay = first.again()
        for step in run:
            before = replay.state
            replay.step(step.action, step.member)
            taken.add((before, replay.state))
    wanted = {(states[one], states[other]) for one, _, other in reference.edges if one != other}
    assert wanted == taken
    assert len(wanted) <= found.goals
    assert len(found.runs) < found.goals


@pytest.mark.parametrize("name", WORLDS)
def test_the_runs_take_every_pair_of_steps(name: str) -> None:
    """The runs take each pair of steps that follow each other, by their members and actions."""
    world = load_world(name)
    reference = explored(world, 1000)
    assert reference is not None
    out: dict[int, list[tuple[str, int]]] = {}
    for one, move, other in reference.edges:
        if one != other:
            out.setdefault(one, []).append((name_of(move)[0], other))

    found = cover(world, "pairs")

    pairs = {(a, b) for after in out.values() for a, at in after for b, _ in out.get(at, ())}
    assert len(pairs) == found.goals
    taken = {
        (first, second)
        for run in _replayed(world, found)
        for first, second in pairwise(map(_short, run))
    }
    assert pairs <= taken


def _short(step: Step) -> str:
    """Return a step's name as a pair has it."""
    names = " ".join(step.together) or step.member or ""
    return f"{names}: {step.action}" if names else step.action


def test_each_run_is_written_to_two_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Each run has two files; a folder that is not empty is refused."""
    words = ("cover", "note-rejoin", "--goal", "edges", "--out", str(tmp_path / "new"), "--json")

    done, again = run_here(capsys, *words), run_here(capsys, *words)

    assert (0, 2) == (done.code, again.code)
    assert [] == list(faults(done.object, schema.COVERED))
    assert [] == list(unexplained(done.object, schema.COVERED))
    files = sorted((tmp_path / "new").iterdir())
    assert 2 * len(done.object["runs"]) == len(files)
    for itf, own, steps in zip(files[::2], files[1::2], done.object["runs"], strict=True):
        written = json.loads(own.read_text("utf-8"))
        assert steps == written["steps"]
        assert "note-rejoin" == written["world"]
        assert len(steps) + 1 == len(json.loads(itf.read_text("utf-8"))["states"])


def test_runs_are_printed_step_by_step(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --out, the runs are printed."""
    done = run_here(capsys, "cover", "note-rejoin")

    assert 0 == done.code
    assert done.out.startswith("note-rejoin: 6 rows in 1 run: 7 steps, 7 in the longest; ")
    assert "\nrun 1\n  a: start\n" in done.out


def test_only_rows_near_changed_lines_are_goals(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--since COMMIT` asks git for the changed lines; an unknown commit is refused."""
    monkeypatch.chdir(tmp_path)
    world = load_world("note-rejoin")
    taken = {
        rule
        for run in _replayed(world, cover(world, "rows"))
        for step in run
        for rule in step.rules
    }
    one = min(taken)
    file = tmp_path / "table.py"
    git = ("git", "-c", "user.name=n", "-c", "user.email=e")
    file.write_text("# none\n", "utf-8")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run([*git, *words], check=True, capture_output=True)
    none = run_here(capsys, "cover", "note-rejoin", "--since", "HEAD", "--json").object
    file.write_text(f'CASES = ["{one}", "no row"]\n', "utf-8")

    some = run_here(capsys, "cover", "note-rejoin", "--since", "HEAD", "--json").object
    edges, pairs = (
        run_here(capsys, "cover", "note-rejoin", "--since", "HEAD", "--goal", goal, "--json").object
        for goal in ("edges", "pairs")
    )
    wrong = run_here(capsys, "cover", "note-rejoin", "--since", "nothing", "--json")

    reference = explored(world, 1000)
    assert reference is not None
    steps = [(a, move, b) for a, move, b in reference.edges if a != b]
    assert sum(one in rows_of(move) for _, move, _ in steps) == edges["goals"] > 0
    wanted = {
        (name_of(move), name_of(then))
        for _, move, at in steps
        for begin, then, _ in steps
        if at == begin and one in {*rows_of(move), *rows_of(then)}
    }
    assert len(wanted) == pairs["goals"] > 0
    assert (0, []) == (none["goals"], none["runs"])
    assert ("HEAD", 1, 1) == (some["since"], some["goals"], len(some["runs"]))
    assert 2 == wrong.code


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--max-states", "9"), 3),
        (("--since", "--output=x"), 2),
        (("--goal", "states"), 2),
    ],
)
def test_the_exit_code_tells_an_incomplete_search_from_wrong_options(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int
) -> None:
    """The exit code is 3 if the search did not come to its end, and 2 for wrong options."""
    done = run_here(capsys, "cover", "note-rejoin", *words, "--json")

    assert code == done.code
    if code == 3:
        assert ("undetermined", []) == (done.object["result"], done.object["runs"])
