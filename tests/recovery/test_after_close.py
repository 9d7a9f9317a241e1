"""After an orderly shutdown the only clean store is lost; the others have every acknowledged frame.

Source: recovery, "Commands"; join protocol, 3.4 (a RESTART after a CLOSE).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.recovery.plan import load
from tests.join.bus import Bus, config
from tests.join.test_runs import closed_with_a_tail
from tests.recovery.asking import ask
from tests.recovery.disks import put
from tests.store.inspection import inspect


def _planned_and_applied(
    bus: Bus, folder: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> None:
    """Stop all members, plan and apply with the stores that are left, and give them to members."""
    for name in "abc":
        bus.crash(name)
    left = {name: put(folder / name, name, bus.disks[name].record) for name in "bc"}
    file = folder / "plan.json"

    planned = ask(capsys, "plan", *left.values(), *words, "-o", file)
    assert 0 == planned.code, planned.out + planned.err
    hash_ = load(file.read_bytes(), name="plan").hash
    done = ask(capsys, "apply", file, "--yes", "--plan-hash", hash_, "--unproven")
    assert 0 == done.code, done.out + done.err

    for name, path in left.items():
        contents = inspect(path).contents
        assert contents is not None
        bus.disks[name].record = contents.record


@pytest.mark.parametrize("words", [("--unproven",), ("--electors", "b,c")], ids=lambda one: one[0])
def test_with_the_clean_store_lost_a_plan_lets_the_other_members_continue(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their logs have every acknowledged frame, and new frames follow these."""
    bus = closed_with_a_tail()
    assert all(host.serves is None for host in bus.hosts.values())

    _planned_and_applied(bus, tmp_path, capsys, *words)
    for name in "bc":
        bus.start(config(name))
    bus.wait()

    assert "a down, b active, c active" == bus.phases()
    assert 1 == len(bus.disks["b"].frames)
    bus.write("b")
    bus.wait(1)
    assert 2 == len(bus.disks["c"].frames)
