"""The clocks: `now` never goes back and never stands still, however wall time changes."""

from __future__ import annotations

import time
from pathlib import Path

from joinproto.host.clock import OffsetClock, SystemClock

HOUR = 3_600.0


def test_the_epoch_plus_now_is_the_wall_time() -> None:
    clock = SystemClock()

    before = time.time()
    shown = clock.epoch_ms() / 1000 + clock.now()

    assert before - 1 < shown < time.time() + 1


def test_a_jump_ahead_moves_both_clocks_and_a_jump_back_only_wall_time(tmp_path: Path) -> None:
    path = tmp_path / "clock"
    clock = OffsetClock(path)
    began = clock.now()

    path.write_text(f"{HOUR}")
    ahead = clock.now()
    path.write_text(f"{-HOUR}")
    back = clock.now()
    wall = clock.epoch_ms() / 1000 + clock.now()
    later = clock.now()

    assert HOUR <= ahead - began < HOUR + 60
    assert ahead <= back < later < ahead + 60
    assert abs(wall - (time.time() - HOUR)) < 60
