"""A plan is bound to all evidence of its verdict: each change of the evidence makes it stale.

Source: recovery, "plan ... bound by hash to what was inspected"; 7: the plan is stale.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from joinproto.durable.journal.journal import FILE
from joinproto.recovery.plan import load
from tests.recovery.asking import ask, ask_json, snapshot
from tests.recovery.disks import lay
from tests.recovery.nodes import append, make_node

CHAIN = "F C1:ab@F.2"
META = Path("joinproto") / "store.meta"


def _three(folder: Path) -> dict[str, Path]:
    make_node(folder / "a", "C1 F.2", CHAIN, ("F", 2), ("C1", 2))
    make_node(folder / "b", "C1 F.2", CHAIN, ("F", 2), ("C1", 4))
    make_node(folder / "c", "F -", "F", ("F", 2))
    return {name: folder / name for name in "abc"}


def _flip_bit(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def _append_tail(path: Path) -> None:
    with (path / FILE).open("ab") as file:
        file.write(b"jpF1")


def _replace_previous(path: Path) -> None:
    file = path / "joinproto" / "store.meta.previous"
    file.write_bytes(b"of another time")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a frame more": lambda path: append(path, CHAIN, ("C1", 1)),
    "frames fewer": lambda path: (path / FILE).write_bytes((path / FILE).read_bytes()[:-140]),
    "a tail that is torn": _append_tail,
    "the journal removed": lambda path: (path / FILE).unlink(),
    "the journal damaged": lambda path: _flip_bit(path / FILE, 30),
    "another previous generation": _replace_previous,
    "the metadata removed": lambda path: (path / META).unlink(),
    "no directory": shutil.rmtree,
}


@pytest.mark.parametrize("name", "ab")
@pytest.mark.parametrize("change", CHANGES)
def test_after_any_change_of_a_store_the_plan_is_not_applied(
    change: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan is stale, or its store is missing.  No file is written."""
    disks = _three(tmp_path / "disks")
    code, planned = ask_json(capsys, "plan", *disks.values(), "-o", tmp_path / "plan")
    assert (0, "b") == (code, load((tmp_path / "plan").read_bytes(), name="plan").step.member)
    CHANGES[change](disks[name])
    before = snapshot(tmp_path)

    done = ask(capsys, "apply", tmp_path / "plan", "--yes", "--plan-hash", planned["plan"]["hash"])

    # The store to write to is missing: perhaps its disk is not mounted.
    expected = 1 if (change, name) == ("no directory", "b") else 7
    assert expected == done.code, done.err
    assert "next: " in done.err
    assert before == snapshot(tmp_path)


def test_a_plan_for_unchanged_stores_is_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise the test above would prove nothing."""
    disks = _three(tmp_path / "disks")
    _, planned = ask_json(capsys, "plan", *disks.values(), "-o", tmp_path / "plan")

    done = ask(capsys, "apply", tmp_path / "plan", "--yes", "--plan-hash", planned["plan"]["hash"])

    assert 0 == done.code, done.err


def test_a_plan_with_positions_that_were_given_is_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The positions are a part of the evidence, and are used again when the stores are read."""
    disks = lay(tmp_path / "disks", "F", a="F F.5", b="F F.4", c="F F.4")
    given = ("--position", f"{disks['b']}=9", "--position", f"{disks['c']}=7")
    words = ("plan", *disks.values(), *given, "-o", tmp_path / "plan")
    _, planned = ask_json(capsys, *words)

    done = ask(capsys, "apply", tmp_path / "plan", "--yes", "--plan-hash", planned["plan"]["hash"])

    assert 0 == done.code, done.err
    assert planned["latest"][0].endswith("/b")
