"""After a loss of power during apply or undo the store is marked or not, and reports stay true.

The enumeration is that for the store itself (`tests/store/crashes.py`), over sequences of
promises, applied plans, and marks that are taken back.

Source: recovery, "The metadata on disk".
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attrs import evolve, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.join.store import Ballot, StoreRecord
from joinproto.recovery import writing
from joinproto.recovery.gather import gather, read
from joinproto.recovery.judgement import judge
from joinproto.recovery.own import contents_of
from joinproto.recovery.plan import Plan, plan_for
from joinproto.store.handle import create_store, open_store
from tests.recovery.disks import record
from tests.store.crashes import Enumerated, Judge, enumerate_crashes
from tests.store.recording import Killed, Legal, Recording, WithoutDirectorySync

FIRST = record("a", "F F.5", "F")
JUDGE = Judge()
MADE = {"who": "an operator", "when": "now"}


@frozen
class Step:
    """A step of a run.

    `action`: promise, apply, again or undo.  `kill_in`: after how many changes the process ends.
    """

    action: str
    kill_in: int | None = None


def run(steps: list[Step], files: Recording) -> Enumerated:
    """Return the states that a crash may leave at any moment of these steps."""
    with TemporaryDirectory() as name:
        path = Path(name)
        files.diary.append(Legal(frozenset({None, FIRST})))
        create_store(path, FIRST, member="a", files=files).close()
        files.diary.append(Legal(frozenset({FIRST})))
        plan: Plan | None = None
        for step in steps:
            plan = _take(step, path, plan, files)
    return enumerate_crashes(files.diary, JUDGE)


def _take(step: Step, path: Path, plan: Plan | None, files: Recording) -> Plan | None:
    with open_store(path, files=files) as store:
        before = store.record
    files.diary.append(Legal(frozenset({before})))
    after: StoreRecord = before
    match step.action:
        case "promise":
            number = 1 if before.promised is None else before.promised.round + 1
            after = evolve(before, promised=Ballot(number, "b'"))
        case "apply":
            found = read(gather(path, host="h"))
            plan = plan_for(judge([found]), unproven=True)
            after = evolve(before, mark=FIRST.lineage.views[-1].id)
        case "again" if plan is not None and before.is_marked:
            pass
        case "undo":
            after = evolve(before, mark=None)
        case _:
            return plan
    files.diary.append(Legal(frozenset({before, after})))
    files.kill_in = step.kill_in
    try:
        _do(step.action, path, plan, after, files)
        files.diary.append(Legal(frozenset({after})))
    except Killed:
        files.die()
        if step.action == "apply" and plan is not None:
            # The same command again, immediately: its report must stay true.
            writing.apply(plan, host="h", made=MADE, files=files)
            files.diary.append(Legal(frozenset({after})))
    finally:
        files.kill_in = None
    return plan


def _do(action: str, path: Path, plan: Plan | None, after: StoreRecord, files: Recording) -> None:
    match action:
        case "promise":
            with open_store(path, files=files) as store:
                store.write(after)
        case "apply" | "again":
            assert plan is not None
            if action == "apply" or plan.hash == _newest_plan(path):
                writing.apply(plan, host="h", made=MADE, files=files)
        case "undo":
            writing.undo(path, host="h", made=MADE, files=files)


def _newest_plan(path: Path) -> object:
    found = read(gather(path, host="h"))
    contents = contents_of(found)
    return contents.history[-1].get("plan") if contents and contents.history else None


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(["promise", "apply", "again", "undo"]),
        st.none() | st.integers(0, 16),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=30)
@given(steps)
def test_after_a_crash_the_store_is_marked_or_not_marked(drawn: list[Step]) -> None:
    """The store has the old record or the new one, and a reported change is not lost."""
    assert run(drawn, Recording()).bad is None


@pytest.mark.parametrize("kill_in", range(20))
def test_an_apply_that_was_killed_and_repeated_is_durable(kill_in: int) -> None:
    """The second run may find the mark in memory only, so it must make it durable."""
    assert run([Step("apply", kill_in)], Recording()).bad is None


def test_a_missing_fsync_is_found() -> None:
    """An enumeration that never finds a wrong state would prove nothing."""
    assert run([Step("apply")], WithoutDirectorySync()).bad is not None


def test_two_marks_and_two_undos_are_safe_at_every_moment() -> None:
    """The first undo takes back both marks, and the second undo finds no mark."""
    steps = [Step("apply"), Step("apply"), Step("undo"), Step("undo")]

    assert run(steps, Recording()).bad is None
