"""Stores of real members that died: after pick and apply, the cluster serves again.

Source: issue "recover", "Must show"; recovery, verdict 4; protocol, 3.4 (RESTART, the mark).
"""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from joinproto.join.messages import Refused
from joinproto.join.store import StoreRecord
from joinproto.machine.vocabulary import Reason
from joinproto.store.handle import create_store, open_store
from tests.recovery.asking import ask, ask_json, names
from tests.recovery.life import Life, start_and_settle

NAMES = "abc"


def write_stores(life: Life, folder: Path) -> list[Path]:
    """Write every disk as a store below `folder`."""
    paths = []
    for name in NAMES:
        path = folder / name
        path.mkdir(parents=True)
        create_store(path, life.disks[name], member=name).close()
        paths.append(path)
    return paths


def read_stores(life: Life, folder: Path) -> None:
    """Read every disk back from its store."""
    for name in NAMES:
        with open_store(folder / name) as store:
            life.disks[name] = store.record


def _life_after(order: tuple[str, ...]) -> Life:
    """Return a cluster whose members died in this order, with writes in between."""
    life = Life(NAMES)
    start_and_settle(life, NAMES)
    for name in order:
        for _ in range(2):
            life.write()
            life.settle()
        # One more frame, which does not reach every member.
        life.write()
        life.kill(name)
        life.settle()
    return life


@pytest.mark.parametrize("order", list(permutations(NAMES)), ids="".join)
def test_the_right_store_is_picked_and_the_cluster_restarts(
    order: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three members, every order of death: no acknowledged frame is lost."""
    life = _life_after(order)
    paths = write_stores(life, tmp_path)
    start_and_settle(life, NAMES)
    assert [] == life.serving  # without a mark no member serves (I6)
    for name in NAMES:
        life.kill(name)
    life.waiting.clear()
    file = tmp_path / "plan.json"

    code, said = ask_json(capsys, "pick", *paths)
    _, planned = ask_json(capsys, "plan", *paths, "-o", file)
    agreed = ("--yes", "--plan-hash", planned["plan"]["hash"])
    applied = ask(capsys, "apply", file, *agreed)
    read_stores(life, tmp_path)
    start_and_settle(life, NAMES)

    assert 0 == code
    for name in names(said["latest"]):
        assert [] == life.lost(name)
    assert 0 == applied.code
    assert list(NAMES) == life.serving
    assert [[], [], []] == [life.lost(name) for name in NAMES]
    assert life.write()


def test_several_marks_make_one_restart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a mark in each of the three stores, no acknowledged frame is lost."""
    life = _life_after(("c", "a", "b"))
    paths = write_stores(life, tmp_path)
    for path in paths:
        planned = ask(capsys, "plan", path, "--unproven", "-o", tmp_path / f"{path.name}.json")
        assert 0 == planned.code
    for path in paths:
        done = ask(
            capsys,
            "mark-clean",
            path,
            "--unproven",
            "--yes",
            "--plan-hash",
            _hash(tmp_path / f"{path.name}.json"),
        )
        assert 0 == done.code
    read_stores(life, tmp_path)

    start_and_settle(life, NAMES)

    assert list(NAMES) == life.serving
    assert 1 == len({life.disks[name].lineage for name in NAMES})
    assert [[], [], []] == [life.lost(name) for name in NAMES]


def _hash(plan: Path) -> str:
    from joinproto.recovery.plan import load

    return load(plan.read_bytes(), name="plan").hash


def test_two_forced_beginnings_refuse_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two operators force two stores, so one view has two successors."""
    life = _life_after(("c", "a", "b"))
    write_stores(life, tmp_path)
    for name in "ab":
        file = tmp_path / f"{name}.json"
        words = ("--electors", name, "--wait-for", 1, "-o", file)
        assert 0 == ask(capsys, "plan", tmp_path / name, *words).code
        agreed = ("--yes", "--unproven", "--plan-hash", _hash(file))
        assert 0 == ask(capsys, "apply", file, *agreed).code
    read_stores(life, tmp_path)

    code, said = ask_json(capsys, "pick", tmp_path / "a", tmp_path / "b")
    heard = _mutual_refusals(life)

    assert (4, "diverged") == (code, said["verdict"])
    assert heard
    assert {Reason.WRONG_STORE, Reason.INITIAL_SIGNATURE_MISMATCH} & {one.reason for one in heard}
    assert all(one.found for one in heard)


def _mutual_refusals(life: Life) -> list[Refused]:
    """Connect a and b; return their refusals of each other."""
    life.start("a")
    life.start("b")
    heard: list[Refused] = []
    for _ in range(60):
        heard += [one.content for one in life.envelopes if isinstance(one.content, Refused)]
        if life.envelopes:
            life.deliver()
        else:
            for name in "ab":
                life.tick(name)
    return heard


def test_a_forced_beginning_serves_with_the_member_that_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of three hosts are lost for good, and `plan --electors` lets a continue alone."""
    life = _life_after(("c", "b", "a"))
    write_stores(life, tmp_path)
    file = tmp_path / "plan.json"
    words = ("--electors", "a", "--wait-for", 1, "-o", file)
    assert 0 == ask(capsys, "plan", tmp_path / "a", *words).code
    agreed = ("--yes", "--unproven", "--plan-hash", _hash(file))
    assert 0 == ask(capsys, "apply", file, *agreed).code
    read_stores(life, tmp_path)
    alone = Life("a", wait_for=1, disks={"a": life.disks["a"]}, frames=dict(life.frames))
    alone.disks["a"] = life.disks["a"]
    alone.frames["a"] = life.frames["a"]

    start_and_settle(alone, "a")

    assert ["a"] == alone.serving
    assert alone.write()


def test_an_accepted_stop_needs_no_mark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A start completes the ballot in which the stop was accepted."""
    life = _died_in_stop()
    paths = write_stores(life, tmp_path)

    _, said = ask_json(capsys, "pick", *paths)
    start_and_settle(life, NAMES)

    assert "no mark" in said["next"]
    assert any("completes it" in line for line in said["evidence"])
    assert life.serving or all(life.disks[name].state.value == "clean" for name in NAMES)


def _died_in_stop() -> Life:
    """Return a cluster that died when its stop was accepted, but no member had learned of it."""
    for deliveries in range(1, 60):
        life = Life(NAMES)
        start_and_settle(life, NAMES)
        life.write()
        life.settle()
        life.members["a"].shutdown_cluster(life.now)
        life.tick("a")
        for _ in range(deliveries):
            if life.envelopes:
                life.deliver()
        for name in NAMES:
            life.kill(name)
        accepted = [one for one in life.disks.values() if one.accepted is not None]
        if accepted and all(one.lineage.length == 1 for one in life.disks.values()):
            return life
    raise AssertionError("no moment at which the stop was accepted and not learned")


def test_a_wiped_disk_does_not_replace_the_former_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The member is the same, but its store is new, and the evidence needs the former store."""
    life = _life_after(("c", "b", "a"))
    life.disks["b"] = StoreRecord(store_id="another")
    paths = write_stores(life, tmp_path)

    code, said = ask_json(capsys, "pick", *paths)

    assert 5 == code
    assert ["b"] == [one["member"] for one in said["missing"] if one["store_id"] == "b'"]
