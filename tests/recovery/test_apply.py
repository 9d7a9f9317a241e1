"""Plan, apply, undo, mark-clean: the writes, the refusals, and every interruption.

Source: recovery, "Commands" and below "Verdicts"; join protocol, 3.4 for the mark.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from joinproto.durable.filesystem import RealFileSystem
from joinproto.errors import JoinprotoError
from joinproto.join.lineage import Lineage
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import found
from joinproto.recovery import writing
from joinproto.recovery.gather import gather, read
from joinproto.recovery.history import broken_link
from joinproto.recovery.plan import Plan, load
from joinproto.recovery.writing import Outcome
from joinproto.store.handle import open_store
from tests.join.pictures import seats, views
from tests.recovery.asking import ask, ask_json, snapshot
from tests.recovery.disks import lay, put
from tests.store.inspection import inspect

CHAIN = "F C1:ab@F.5"
MADE = {"who": "an operator", "when": "now", "host": "here", "tool": "0"}

Ask = Callable[..., Any]


def _disks(tmp_path: Path) -> dict[str, Path]:
    return lay(tmp_path, CHAIN, a="C1 C1.6", b="C1 C1.7", c="F F.5 of F")


def _make_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: object
) -> tuple[Path, Plan]:
    file = tmp_path / "plan.json"
    done = ask(capsys, "plan", *words, "-o", file)
    assert 0 == done.code, done.out + done.err
    return file, load(file.read_bytes(), name="plan")


def _record(path: Path) -> StoreRecord:
    contents = inspect(path).contents
    assert contents is not None
    return contents.record


def test_apply_marks_only_the_latest_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mark names the store's tip; position, held and promises stay (protocol 3.4)."""
    disks = _disks(tmp_path)
    before = _record(disks["b"])
    file, plan = _make_plan(tmp_path, capsys, *disks.values())

    done = ask(
        capsys, "apply", file, "--yes", "--plan-hash", plan.hash, "--why", "all hosts failed"
    )

    assert 0 == done.code
    assert evolve(before, mark=views(CHAIN)["C1"].id) == _record(disks["b"])
    assert _record(disks["a"]).mark is None
    entry = inspect(disks["b"]).contents.history[-1]  # type: ignore[union-attr]
    assert ("mark", plan.hash, "all hosts failed") == (entry["what"], entry["plan"], entry["why"])


def test_planning_changes_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The picked store stays as it was."""
    disks = _disks(tmp_path)
    before = snapshot(disks["b"])

    _make_plan(tmp_path, capsys, *disks.values())

    assert before == snapshot(disks["b"])


def test_without_a_file_the_plan_is_only_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output has the same plan, and the command that writes it into a file."""
    disks = _disks(tmp_path)
    before = snapshot(tmp_path)

    done = ask(capsys, "plan", *disks.values())

    assert before == snapshot(tmp_path)
    assert 0 == done.code
    assert "  writes    a permission to restart" in done.out
    assert "-o plan.json" in done.out.splitlines()[-1]


def test_equal_stores_give_plans_with_equal_hashes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hash covers the inspected and the written data, not the time or the reason."""
    disks = _disks(tmp_path)

    _, one = _make_plan(tmp_path, capsys, *disks.values(), "--why", "this")
    (tmp_path / "plan.json").unlink()
    _, other = _make_plan(tmp_path, capsys, *disks.values(), "--why", "that")

    assert one.hash == other.hash
    assert one.made["why"] != other.made["why"]


def test_a_plan_applied_twice_writes_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Apply is idempotent: the second time nothing changes, and the exit code is 0."""
    disks = _disks(tmp_path)
    file, plan = _make_plan(tmp_path, capsys, *disks.values())
    agreed = ("apply", file, "--yes", "--plan-hash", plan.hash)
    assert 0 == ask(capsys, *agreed).code
    before = snapshot(tmp_path)

    done = ask(capsys, *agreed)

    assert 0 == done.code
    assert "applied before" in done.out
    assert before == snapshot(tmp_path)


def test_the_former_metadata_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Apply keeps the whole former metadata as a backup."""
    disks = _disks(tmp_path)
    former = (disks["b"] / "joinproto" / "store.meta").read_bytes()
    file, plan = _make_plan(tmp_path, capsys, *disks.values())

    code, said = ask_json(capsys, "apply", file, "--yes", "--plan-hash", plan.hash)

    assert 0 == code
    assert former == Path(said["backup"]).read_bytes()


@pytest.mark.parametrize("which", ["b", "a"])
def test_a_store_that_changed_makes_the_plan_stale(
    which: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """7: the plan is bound by a hash to all inspected stores, not only to the picked one."""
    disks = _disks(tmp_path)
    file, plan = _make_plan(tmp_path, capsys, *disks.values())
    with open_store(disks[which]) as store:
        store.write(evolve(store.record, promised=Ballot(9, "x")))

    done = ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash)

    assert 7 == done.code
    assert _record(disks["b"]).mark is None


def test_a_plan_that_was_changed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan's hash covers its content."""
    disks = _disks(tmp_path)
    file, plan = _make_plan(tmp_path, capsys, *disks.values())
    tree = json.loads(file.read_text())
    tree["is_proven"] = not tree["is_proven"]
    file.write_text(json.dumps(tree))

    done = ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash)

    assert 1 == done.code
    assert "hash" in done.err


def test_without_a_terminal_apply_needs_yes_and_the_hash_of_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """8: without a terminal; 7: without the plan's hash, or with another hash."""
    disks = _disks(tmp_path)
    file, _ = _make_plan(tmp_path, capsys, *disks.values())
    before = snapshot(tmp_path)

    silent = ask(capsys, "apply", file)
    wrong = ask(capsys, "apply", file, "--yes", "--plan-hash", "0" * 64)
    bare = ask(capsys, "apply", file, "--yes")

    assert (8, 7, 7) == (silent.code, wrong.code, bare.code)
    assert before == snapshot(tmp_path)


def test_a_plan_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A person may still use the older plan."""
    disks = _disks(tmp_path)
    file, _ = _make_plan(tmp_path, capsys, *disks.values())

    done = ask(capsys, "plan", *disks.values(), "-o", file)

    assert 2 == done.code


def test_a_store_in_use_is_not_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """6: a member runs on it."""
    disks = _disks(tmp_path)
    file, plan = _make_plan(tmp_path, capsys, *disks.values())

    with open_store(disks["b"]):
        done = ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash)

    assert 6 == done.code


def test_apply_on_a_machine_without_the_store_names_its_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On another machine the error names the host; on that host it names the disk."""
    disks = _disks(tmp_path)
    file, plan = _make_plan(tmp_path, capsys, *disks.values())
    disks["b"].rename(tmp_path / "gone")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("joinproto.recovery.cli_do.this_host", lambda: "elsewhere")
        afar = ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash)
    here = ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash)

    assert (1, 1) == (afar.code, here.code)
    assert f"run this on {plan.step.host}" in afar.err
    assert "look at the disk" in here.err


def test_clean_and_unproven_stores_get_no_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 0 for clean stores and 5 for unproven stores; no plan's file is made."""
    clean = lay(tmp_path / "one", "F X@F.5", a="F F.5", b="F F.5")
    alone = lay(tmp_path / "two", "F", a="F F.5", b="F F.5")

    nothing = ask(capsys, "plan", *clean.values(), "-o", tmp_path / "plan")
    unproven = ask(capsys, "plan", *alone.values(), "-o", tmp_path / "plan")

    assert (0, 5) == (nothing.code, unproven.code)
    assert not (tmp_path / "plan").exists()


def test_an_unproven_plan_needs_the_option_unproven_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--unproven` is needed for `plan`, and again for `apply`."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.5")
    file, plan = _make_plan(tmp_path, capsys, *disks.values(), "--unproven")

    once = ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash)
    twice = ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash, "--unproven")

    assert (8, 0) == (once.code, twice.code)
    assert not plan.is_proven


def test_mark_clean_refuses_an_unproven_store_and_asks_about_a_proven_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The checks are the same: one store is proven only if its member was alone in the view."""
    view = found(
        members=seats("a"),
        electors=seats("a"),
        wait_for=1,
        options_digest="o/1",
        cluster_name="alone",
        nonce="n",
        time=0,
    )
    what = StoreRecord(store_id="a'", lineage=Lineage().append(view), held=view.id)
    alone = put(tmp_path / "one" / "a", "a", what, cluster_name="alone")
    of_three = lay(tmp_path / "two", "F", a="F F.5")["a"]

    declined = ask(capsys, "mark-clean", of_three)
    offered = ask(capsys, "mark-clean", alone)

    assert (5, 8) == (declined.code, offered.code)
    assert "alone" in offered.out


def test_mark_clean_accepts_the_hash_of_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script gives the hash that `plan` printed for the same store."""
    disks = _disks(tmp_path)
    _, plan = _make_plan(tmp_path, capsys, disks["b"], "--unproven")

    done = ask(capsys, "mark-clean", disks["b"], "--unproven", "--yes", "--plan-hash", plan.hash)

    assert 0 == done.code
    assert _record(disks["b"]).is_marked


# -- undo --------------------------------------------------------------------------------------


def _marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Path], Plan]:
    disks = _disks(tmp_path)
    file, plan = _make_plan(tmp_path, capsys, *disks.values())
    assert 0 == ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash).code
    return disks, plan


def test_undo_takes_the_mark_back_and_keeps_promises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the mark is removed: if a voter forgets promises, a view may get two successors."""
    disks, _ = _marked(tmp_path, capsys)
    with open_store(disks["b"]) as store:
        store.write(evolve(store.record, promised=Ballot(9, "x")))
    promised = _record(disks["b"])

    done = ask(capsys, "undo", disks["b"])
    again = ask(capsys, "undo", disks["b"])

    assert (0, 0) == (done.code, again.code)
    assert evolve(promised, mark=None) == _record(disks["b"])
    history = inspect(disks["b"]).contents.history  # type: ignore[union-attr]
    assert ["mark", "undo"] == [entry["what"] for entry in history]
    assert "" == broken_link(history)


@pytest.mark.parametrize("learned", [False, True])
def test_undo_is_refused_once_a_successor_was_accepted(
    learned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record stays as it was."""
    disks, _ = _marked(tmp_path, capsys)
    later = f"{CHAIN} R:ab"
    view = views(later)["R"]
    with open_store(disks["b"]) as store:
        if learned:
            store.write(store.record.learn(store.record.lineage.append(view)))
        else:
            ballot = Ballot(1, "a'")
            accepted = Accepted(ballot, view)
            store.write(evolve(store.record, promised=ballot, accepted=accepted))
    before = _record(disks["b"])

    done = ask(capsys, "undo", disks["b"])

    assert 7 == done.code
    assert before == _record(disks["b"])


def test_a_history_without_its_first_entry_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each entry has the hash of the entry before."""
    disks, _ = _marked(tmp_path, capsys)
    ask(capsys, "undo", disks["b"])
    with open_store(disks["b"]) as store:
        assert "" == broken_link(store.contents.history)
        store.write_contents(evolve(store.contents, history=store.contents.history[1:]))

    done = ask(capsys, "inspect", disks["b"])

    assert "history" in done.out.partition("member")[0]


# -- lost for good -------------------------------------------------------------------------------


def test_a_forced_plan_begins_anew_and_says_unproven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """plan --electors says "unproven", and needs a confirmation of its own."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.4")
    file, plan = _make_plan(tmp_path, capsys, *disks.values(), "--electors", "a,b")

    once = ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash)
    done = ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash, "--unproven")

    record = _record(disks["a"])
    assert (8, 0) == (once.code, done.code)
    assert ("unproven", "force cluster") == (plan.verdict, plan.to_type)
    assert record.tip is not None
    assert {"a", "b"} == {seat.member for seat in record.tip.electors}
    assert record.tip.position == record.position


def test_a_forced_plan_is_undone_while_its_store_is_unused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No other member can know the forced view yet."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.4")
    before = _record(disks["a"])
    file, plan = _make_plan(tmp_path, capsys, *disks.values(), "--electors", "a,b")
    agreed = ("apply", file, "--yes", "--plan-hash", plan.hash, "--unproven")
    ask(capsys, *agreed)

    undone = ask(capsys, "undo", disks["a"])

    assert 0 == undone.code
    assert evolve(before, promised=None) == _record(disks["a"])


def test_a_forced_plan_is_not_undone_after_its_store_was_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A member that starts on the store first writes `held`."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.4")
    file, plan = _make_plan(tmp_path, capsys, *disks.values(), "--electors", "a,b")
    ask(capsys, "apply", file, "--yes", "--plan-hash", plan.hash, "--unproven")
    with open_store(disks["a"]) as store:
        assert store.record.tip is not None
        store.write(evolve(store.record, held=store.record.tip.id))

    done = ask(capsys, "undo", disks["a"])

    assert 7 == done.code


def test_fewer_electors_than_n_need_the_option_wait_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """I1: a RESTART has at least wait_for members; N is given, never guessed."""
    disks = lay(tmp_path, "F", a="F F.5")
    words = ("plan", disks["a"], "--electors", "a", "-o", tmp_path / "plan")

    refused = ask(capsys, *words)
    done = ask(capsys, *words, "--wait-for", 1)

    assert (2, 0) == (refused.code, done.code)


# -- interrupted ---------------------------------------------------------------------------------


class _Killed(BaseException):
    """Stands for the end of the process."""


class _EndingDisk(RealFileSystem):
    """Counts calls; in place of call number `at` the process ends, or the call raises `error`."""

    def __init__(self, at: int, *, error: OSError | None = None) -> None:
        self.at = at
        self.error = error
        self.count = 0
        self.open: set[int] = set()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in ("at", "error", "count", "open", "die"):
            return found

        def asked(*arguments: Any, **more: Any) -> Any:
            if name != "close":
                self.count += 1
                if self.count == self.at:
                    raise self.error or _Killed
            result = found(*arguments, **more)
            if name.startswith(("open", "create")):
                self.open.add(result)
            if name == "close":
                self.open.discard(arguments[0])
            return result

        return asked

    def die(self) -> None:
        """End the process: its files are closed, and its locks are released."""
        for file in tuple(self.open):
            RealFileSystem.close(self, file)


def _count(action: Callable[[RealFileSystem], object]) -> int:
    files = _EndingDisk(0)
    action(files)
    return files.count


def test_apply_may_be_interrupted_between_any_two_system_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The store is as before or as after, and the same command finishes the work."""
    disks = _disks(tmp_path / "0")
    _, plan = _make_plan(tmp_path, capsys, *disks.values())
    before = _record(disks["b"])
    marked = evolve(before, mark=before.lineage.views[-1].id)
    calls = _count(lambda files: writing.apply(plan, host="here", made=MADE, files=files))
    assert calls > 20

    for at in range(1, calls + 1):
        path = lay(tmp_path / str(at), CHAIN, b="C1 C1.7")["b"]
        moved = evolve(plan, step=evolve(plan.step, path=str(path)), inputs=())
        files = _EndingDisk(at)
        with pytest.raises(_Killed):
            writing.apply(moved, host="here", made=MADE, files=files)
        files.die()
        found = read(gather(path, host="here"))

        assert found.record in (before, marked), at
        assert found.candidate.state.is_readable

        again = writing.apply(moved, host="here", made=MADE)

        assert again.outcome in (Outcome.DONE, Outcome.DONE_BEFORE)
        assert marked == _record(path)
        left = sorted(one.name for one in (path / "joinproto").iterdir())
        assert ["store.lock", "store.meta"] == left[:2]
        assert 4 == len(left), left
        contents = inspect(path).contents
        assert contents is not None
        assert 1 == len(contents.history)


def test_undo_may_be_interrupted_between_any_two_system_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The store is marked or not marked, never anything else."""
    disks = _disks(tmp_path / "0")
    _, plan = _make_plan(tmp_path, capsys, *disks.values())
    writing.apply(plan, host="here", made=MADE)
    marked = _record(disks["b"])
    calls = _count(lambda files: writing.undo(disks["b"], host="here", made=MADE, files=files))

    for at in range(1, calls + 1):
        path = lay(tmp_path / str(at), CHAIN, b="C1 C1.7")["b"]
        moved = evolve(plan, step=evolve(plan.step, path=str(path)), inputs=())
        writing.apply(moved, host="here", made=MADE)
        files = _EndingDisk(at)
        with pytest.raises(_Killed):
            writing.undo(path, host="here", made=MADE, files=files)
        files.die()

        assert _record(path) in (marked, evolve(marked, mark=None)), at

        writing.undo(path, host="here", made=MADE)

        assert evolve(marked, mark=None) == _record(path)


def test_a_disk_that_fails_at_any_call_gives_an_error_with_a_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each error has the exit code 1, 7 or 9, and no call leads to another Python error."""
    disks = _disks(tmp_path / "0")
    _, plan = _make_plan(tmp_path, capsys, *disks.values())
    before = _record(disks["b"])
    marked = evolve(before, mark=before.lineage.views[-1].id)
    calls = _count(lambda files: writing.apply(plan, host="here", made=MADE, files=files))
    codes = set()

    for at in range(1, calls + 1):
        path = lay(tmp_path / str(at), CHAIN, b="C1 C1.7")["b"]
        moved = evolve(plan, step=evolve(plan.step, path=str(path)), inputs=())
        files = _EndingDisk(at, error=OSError(5, "Input/output error"))
        try:
            writing.apply(moved, host="here", made=MADE, files=files)
        except JoinprotoError as error:
            codes.add((error.code, error.next != ""))
        files.die()

        assert _record(path) in (before, marked), at

    assert {(1, True), (7, True), (9, True)} >= codes >= {(9, True)}
