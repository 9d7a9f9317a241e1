"""Publishes and consumes while the primary is killed, and counts.

python -m tools.failover --messages 100000 --kills 5
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.failover.manager import Manager, running


def storm(top: Path, messages: int, kills: int, seconds: float) -> dict[str, Any]:
    """Return what a client counted while the primary was killed so often."""
    with running(Manager.of(top, "abc")) as manager:
        manager.start()
        if not manager.promote():
            raise RuntimeError(f"nobody could be promoted at first: {manager.refusals}")
        for name in "bc":
            manager.until(name, "backup")
        progress, gate = top / "progress", top / "gate"
        progress.write_text("0")
        stage = messages / (kills + 1)
        gate.write_text(str(int(1.5 * stage) + 1 if kills else messages))
        command = [sys.executable, "-m", "tools.failover.clients", str(messages), str(seconds)]
        process = subprocess.Popen(
            [*command, str(top), *manager.urls()],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parents[2],
        )
        done = 0
        for number in range(1, kills + 1):
            while process.poll() is None and _number(progress) < number * stage:
                time.sleep(0.05)
            if process.poll() is not None:
                break
            done += _fail_over(manager)
            # Clients go on publishing meanwhile, but not to the end.
            gate.write_text(str(messages if number == kills else int((number + 1.5) * stage)))
        told, _ = process.communicate(timeout=seconds + 60)
        found: dict[str, Any] = json.loads(told)
        return {**found, "kills": done, "refusals": manager.refusals}


def _number(progress: Path) -> int:
    text = progress.read_text()
    return int(text) if text.isdecimal() else 0


def _fail_over(manager: Manager) -> int:
    """Kill the primary, promote another one, start the dead one again; return 1."""
    dead = manager.primary
    manager.kill(dead)
    others = [name for name in manager.files if name != dead]
    deadline = time.monotonic() + 30
    while not manager.promote(*others):
        if time.monotonic() > deadline:
            raise RuntimeError(f"nobody could be promoted: {manager.refusals[-2:]}")
        time.sleep(0.2)
    manager.start(dead)
    # The next kill comes when there is somebody again who may take over.
    for name in others:
        if name != manager.primary:
            manager.until(name, "backup")
    manager.until(dead, "backup")
    return 1


def main() -> int:
    """Print what was counted; 1 where something confirmed was lost."""
    parser = argparse.ArgumentParser(prog="python -m tools.failover", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1_800)
    asked = parser.parse_args()
    with TemporaryDirectory() as top:
        found = storm(Path(top), asked.messages, asked.kills, asked.seconds)
    print(json.dumps(found, indent=2))
    is_fine = found["lost_count"] == 0 and found["confirmed"] == found["published"]
    return 0 if is_fine and found["twice_unmarked"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
