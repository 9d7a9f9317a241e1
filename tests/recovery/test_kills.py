"""After a kill or a loss of power at any moment, the tool reports whether the store is marked.

`test_crash_states.py` shows that the store is as before or as after.  Here the operator asks
which of the two it is, and what to do next.  The answer must be right in every state.

Source: recovery, "The metadata on disk"; issue "recover", "Must show".
"""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import pytest
from attrs import frozen

from joinproto.errors import JoinprotoError
from joinproto.recovery import writing
from joinproto.recovery.found import Found, State
from joinproto.recovery.gather import gather, read
from joinproto.recovery.judgement import judge
from joinproto.recovery.own import contents_of
from joinproto.recovery.plan import Plan, backup_name, plan_for
from joinproto.recovery.show import store_text
from joinproto.recovery.writing import Outcome
from joinproto.store.handle import create_store, open_store
from tests.recovery.disks import record
from tests.store.crashes import Files, Judge, enumerate_crashes, lay
from tests.store.recording import Killed, Legal, Recording, WithoutDirectorySync, WithoutFileSync

MADE = {"who": "an operator", "when": "now"}
FIRST = record("a", "F F.5", "F")
MOMENTS = 40
"""More than the number of changes by apply or undo; `test_every_moment_is_tried` checks this."""


def make_store_and_plan(path: Path, files: Recording) -> Plan:
    """Make a store, and return the plan that marks it."""
    create_store(path, FIRST, member="a", files=files).close()
    return plan_for(judge([look(path)]), unproven=True)


def look(path: Path) -> Found:
    return read(gather(path, host="h"))


def apply(plan: Plan, files: Recording) -> Outcome:
    return writing.apply(plan, host="h", made=MADE, files=files).outcome


def undo(path: Path, files: Recording) -> Outcome:
    return writing.undo(path, host="h", made=MADE, files=files).outcome


def mark_shown(path: Path) -> str:
    """Return the output of `inspect` about the mark."""
    found = look(path)
    assert not found.problems
    (mark,) = [fact.value for fact in found.facts if fact.name == "mark"]
    assert mark in store_text(found)
    return mark


MARKED = "a restart from the tip is permitted"


# -- the process is killed, and the machine continues --------------------------------------------


def run_and_kill(action: str, kill_in: int, path: Path) -> tuple[Plan, Recording, bool]:
    """Run apply or undo, and kill it after `kill_in` changes.

    Return the plan, the files, and whether the action ended before the kill.
    """
    files = Recording()
    plan = make_store_and_plan(path, files)
    if action == "undo":
        apply(plan, files)
    files.kill_in = kill_in
    try:
        if action == "apply":
            apply(plan, files)
        else:
            undo(path, files)
    except Killed:
        files.die()
        return plan, files, False
    finally:
        files.kill_in = None
    return plan, files, True


@pytest.mark.parametrize("kill_in", range(MOMENTS))
def test_after_a_killed_apply_every_command_agrees_on_the_mark(
    kill_in: int, tmp_path: Path
) -> None:
    """inspect, pick and the same command again agree on whether the store is marked."""
    plan, files, ended = run_and_kill("apply", kill_in, tmp_path)
    before = (tmp_path / "joinproto" / "store.meta").read_bytes()

    is_marked = mark_shown(tmp_path) == MARKED
    done = writing.check(plan, host="h")
    after = judge([look(tmp_path)])
    again = apply(plan, files)

    assert is_marked or not ended
    assert is_marked == (done is not None)
    assert (Outcome.DONE_BEFORE if is_marked else Outcome.DONE) == again
    assert ("permitted already" in after.next) == is_marked or after.verdict.value == "unproven"
    assert MARKED == mark_shown(tmp_path)
    contents = contents_of(look(tmp_path))
    assert contents is not None
    assert 1 == len(contents.history)
    # The backup is the former metadata, also if the second process wrote it.
    kept = (tmp_path / "joinproto" / backup_name(plan)).read_bytes()
    assert is_marked or before == kept
    assert [] == [one.name for one in (tmp_path / "joinproto").glob("*.tmp")] or is_marked


@pytest.mark.parametrize("kill_in", range(MOMENTS))
def test_after_a_killed_undo_the_mark_and_the_next_undo_agree(kill_in: int, tmp_path: Path) -> None:
    """If the mark exists, the next undo takes it back, else it has nothing to do."""
    plan, files, ended = run_and_kill("undo", kill_in, tmp_path)

    is_marked = mark_shown(tmp_path) == MARKED
    again = undo(tmp_path, files)

    assert not (is_marked and ended)
    assert (Outcome.DONE if is_marked else Outcome.NOTHING) == again
    assert "none" == mark_shown(tmp_path)
    with open_store(tmp_path) as store:
        assert FIRST == store.record
    # After undo the store can be marked again, but only with a new plan.
    with pytest.raises(writing.Stale):
        writing.check(plan, host="h")


@pytest.mark.parametrize("action", ["apply", "undo"])
def test_every_moment_is_tried(action: str, tmp_path: Path) -> None:
    """The first run is killed before any change; the last run ends before its kill."""
    ends = []
    for kill_in in range(MOMENTS):
        path = tmp_path / str(kill_in)
        path.mkdir()
        _, _, ended = run_and_kill(action, kill_in, path)
        ends.append((ended, mark_shown(path) == MARKED))

    assert (False, action == "undo") == ends[0]
    assert (True, action == "apply") == ends[-1]
    # At some moment the change is done, and the process does not know this yet.
    assert (False, action == "apply") in ends


# -- a loss of power ---------------------------------------------------------------------------


@frozen
class ToolReport:
    """The tool's report about a state: the mark, and whether `apply` was done before."""

    mark: str
    is_done: bool


BEFORE, AFTER = ToolReport("none", False), ToolReport(MARKED, True)


class ToolJudge(Judge):
    """Inspects a state with the tool instead of opening the store."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan

    def _opened(self, files: Files | None) -> object:
        if files is None:
            return None
        # The tool accepts a plan only for a store at the path that the plan names.
        path = Path(self.plan.step.path)
        rmtree(path / "joinproto", ignore_errors=True)
        lay(path, dict(files))
        found = look(path)
        if found.record is None:
            return found.state
        try:
            done = writing.check(self.plan, host="h")
        except JoinprotoError as error:
            return str(error)
        (mark,) = [fact.value for fact in found.facts if fact.name == "mark"]
        return ToolReport(mark, done is not None)


def first_wrong_report(files: Recording, path: Path) -> object:
    """Return the first state after a loss of power during apply that the tool reports wrongly."""
    files.diary.append(Legal(frozenset({None, BEFORE, State.NONE, State.CORRUPT})))
    plan = make_store_and_plan(path, files)
    files.diary.append(Legal(frozenset({BEFORE, AFTER})))
    apply(plan, files)
    files.diary.append(Legal(frozenset({AFTER})))
    return enumerate_crashes(files.diary, ToolJudge(plan)).bad


def test_after_a_loss_of_power_the_tool_says_whether_the_store_is_marked(tmp_path: Path) -> None:
    """This holds in every state that a disk may have; and a reported change is not lost."""
    assert first_wrong_report(Recording(), tmp_path) is None


@pytest.mark.parametrize("recorder", [WithoutFileSync, WithoutDirectorySync])
def test_an_unsynced_write_is_found(recorder: type[Recording], tmp_path: Path) -> None:
    """An enumeration that never finds a wrong report would prove nothing."""
    assert first_wrong_report(recorder(), tmp_path) is not None
