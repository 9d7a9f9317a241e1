"""`rehearse`: the outcomes of each choice, by running the members in every order.

Source: recovery, "Commands"; join protocol, 3.4 and 4.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings

from joinproto.cli.rehearse.disks import DiskScenario, scene_of
from joinproto.errors import UsageProblem
from joinproto.join.ids import Name
from joinproto.join.position import compare_positions
from joinproto.join.store import StoreRecord
from joinproto.pick.candidate import Candidate, State
from joinproto.pick.pick import Pick, pick
from joinproto.recovery.schema import RESULT
from tests.cli.running import ROOT
from tests.cli.schemas import faults, unexplained
from tests.pick.test_latest import Steps, live, lives
from tests.recovery.asking import ask, ask_json, snapshot
from tests.recovery.disks import lay, record
from tests.recovery.life import Life, start_and_settle

searches = pytest.mark.needs("numpy")


def life_after(*orders: str) -> Life:
    """Return a cluster of three whose members died in these orders, with a frame before each."""
    life = Life("abc", wait_for=2)
    start_and_settle(life, "abc")
    for order in orders:
        for name in order:
            life.write()
            life.settle()
            life.kill(name)
            life.settle()
    return life


def put(folder: Path, life: Life) -> list[Path]:
    from tests.recovery.disks import put as put_one

    return [put_one(folder / name, name, life.disks[name]) for name in life.names]


# -- smaller stores for the search -------------------------------------------------------------


def pick_of(records: dict[str, StoreRecord]) -> Pick:
    return pick(
        [
            Candidate(
                name=name,
                state=State.UNFINISHED if one.update_unfinished else State(one.state.value),
                member=name,
                cluster=None if one.lineage.initial is None else str(one.lineage.initial),
                record=one,
            )
            for name, one in records.items()
        ]
    )


@settings(deadline=None)
@given(lives)
def test_smaller_stores_are_judged_like_the_real_stores(steps: Steps) -> None:
    """The omitted frames change neither the verdict of `pick` nor the order of two stores."""
    life = live(steps)
    real = dict(life.disks)
    if not any(one.tip for one in real.values()):
        return
    try:
        scene = scene_of(real)
    except UsageProblem:
        return

    small = {name: disk.record for name, disk in scene.disks.items()}

    before, after = pick_of(real), pick_of(small)
    assert (before.verdict, before.case, before.latest) == (
        after.verdict,
        after.case,
        after.latest,
    )
    newest = max((one.lineage for one in real.values()), key=lambda one: one.length)
    whole = [
        (one.position, small[name].position)
        for name, one in real.items()
        if not one.update_unfinished
    ]
    for (one, one_small), (other, other_small) in product(whole, whole):
        expected = compare_positions(one, other, (newest,))
        assert expected == compare_positions(one_small, other_small, (scene.chain,))


def test_a_long_common_history_is_left_out_of_the_search() -> None:
    """Common views and their hundreds of frames are not searched again and again."""
    views = [f"C{at}@C{at - 1}.{at * 100}" for at in range(2, 60)]
    chain = " ".join(["F", "C1@F.100", *views])
    scene = scene_of(
        {
            "a": record("a", "C59 C59.6000", chain),
            "b": record("b", "C59 C59.5990", chain),
            "c": record("c", "C58 C58.5900", chain),
        }
    )

    assert 59 == scene.disks["c"].record.lineage.views[0].number
    assert {1: 5900, 2: 5990, 3: 6000} == dict(scene.real)
    assert [3, 2, 1] == [len(scene.disks[name].frames) for name in "abc"]
    assert all(isinstance(view.id, Name) for view in scene.chain.views)


def test_a_frame_that_every_member_of_a_view_has_may_have_been_acknowledged() -> None:
    """a and b were in the view without c, so a frame of this view that both have counts."""
    scene = scene_of(
        {
            "a": record("a", "C1 C1.7", "F C1:ab@F.5"),
            "b": record("b", "C1 C1.6", "F C1:ab@F.5"),
            "c": record("c", "F F.4 of F", "F"),
        }
    )

    # Frame 4 of F is in all three stores, frame 6 of the next view in those of both members.
    assert [4, 6] == sorted(scene.real[frame.seq] for frame in scene.kept)


def test_stores_that_are_far_apart_are_not_searched() -> None:
    """The member with the oldest store would be updated anyway."""
    chain = "F " + " ".join(f"C{at}" for at in range(1, 60))

    with pytest.raises(UsageProblem, match="more than can be searched"):
        scene_of({"a": record("a", "C59 F.5", chain), "b": record("b", "F F.5 of F", chain)})


# -- the search ----------------------------------------------------------------------------------


@searches
@pytest.mark.landing
@pytest.mark.parametrize("order", ["abc", "bac"])
def test_without_a_mark_no_member_continues_and_with_any_mark_no_frame_is_lost(
    order: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a mark no member continues.  With any mark they continue, and lose no frame."""
    paths = put(tmp_path, life_after(order))
    before = snapshot(tmp_path)

    code, said = ask_json(capsys, "rehearse", *paths)

    assert 0 == code
    assert before == snapshot(tmp_path)
    assert [] == list(faults(said, RESULT))
    assert [] == list(unexplained(said, RESULT))
    found = {one["choice"]: one for one in said["rehearsal"]}
    assert {"no mark", "mark a", "mark a and b", "mark all"} <= found.keys()
    assert [] == found["no mark"]["starts"]
    assert any("nobody permits" in case for case in found["no mark"]["waits"])
    assert ["a", "b", "c"] == found["mark all"]["starts"][0]["members"]
    assert all(start["is_served"] for start in found["mark all"]["starts"])
    assert not any(one["loses"] or one["aborts"] for one in found.values())


@searches
@pytest.mark.landing
def test_a_clean_cluster_restarts_without_a_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P2: then a mark has no effect."""
    life = life_after("")
    for member in list(life.members.values()):
        member.shutdown_cluster(life.now)
    life.settle()
    paths = put(tmp_path, life)

    code, said = ask_json(capsys, "rehearse", *paths[:2])

    assert 0 == code
    assert {("a", "b")} == {
        tuple(start["members"]) for one in said["rehearsal"] for start in one["starts"]
    }


@searches
@pytest.mark.landing
def test_too_few_members_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """I1: one of three electors cannot begin, marked or not."""
    paths = put(tmp_path, life_after("abc"))

    done = ask(capsys, "rehearse", paths[2])

    assert 0 == done.code
    assert "restarts" not in done.out
    assert "a, b: their stores are not here" in done.out


@searches
@pytest.mark.landing
def test_a_stopped_search_is_reported_as_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """5: a choice that was not searched to the end is not called safe."""
    paths = put(tmp_path, life_after("abc"))

    done = ask(capsys, "rehearse", "--max-states", "50", *paths)

    assert 5 == done.code
    assert "the search was stopped after" in done.out
    assert "Not all states were searched" in done.out


@searches
@pytest.mark.landing
def test_a_frame_that_can_be_lost_is_found() -> None:
    """A frame that only one member had counts as acknowledged here, and can be lost."""
    from joinproto.cli.rehearse.search import choices, rehearse

    life = life_after("c")
    life.write()
    life.settle()
    life.write()  # only a has it
    life.kill("b")
    scene = scene_of(dict(life.disks))
    wrong = DiskScenario(scene.disks, scene.chain, frozenset(scene.disks["a"].frames), scene.real)
    choice = next(one for one in choices(("a", "b", "c")) if one.name == "mark all")

    assert len(scene.kept) < len(wrong.kept)
    assert not rehearse(scene, choice, outside=False, states_max=300_000).loses
    assert rehearse(wrong, choice, outside=False, states_max=300_000).loses


@pytest.mark.parametrize(
    ("code", "chain", "stores"),
    [
        (3, "F", {"a": "F F.5", "b": "F2 F2.5 of F2"}),
        (4, "F", {"a": "C1 C1.6 of F C1", "b": "C2 C2.6 of F C2"}),
        (2, "", {"a": "- - of -"}),
    ],
)
def test_stores_that_cannot_be_rehearsed_are_refused(
    code: int,
    chain: str,
    stores: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The exit code is that of the verdict, and 2 for an empty store."""
    assert code == ask(capsys, "rehearse", *lay(tmp_path, chain, **stores).values()).code


def test_rehearse_names_the_missing_extra(tmp_path: Path) -> None:
    """11: an extra is missing."""
    paths = put(tmp_path, life_after("abc"))
    without = (
        "import sys; sys.modules['numpy'] = None; from joinproto.__main__ import main;"
        " sys.exit(main(sys.argv[1:]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", without, "recover", "rehearse", *map(str, paths)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 11 == done.returncode
    assert "joinproto[check]" in done.stderr
    assert "Traceback" not in done.stderr
