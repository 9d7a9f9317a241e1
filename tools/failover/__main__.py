"""Publishes and consumes while brokers are killed, stopped and promoted, and counts.

python -m tools.failover --messages 100000 --kills 5       the primary is killed five times
python -m tools.failover --seed 7 --faults 20              all kinds of faults, drawn by a seed
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tools.failover.faults import FAULTS
from tools.failover.manager import Manager, running


def storm(
    top: Path, messages: int, faults: Sequence[str], seconds: float, seed: int = 0
) -> dict[str, Any]:
    """Return what a client counted while these faults were done, one after the other."""
    random = Random(seed)
    with running(Manager.of(top, "abc")) as manager:
        manager.start()
        if not manager.promote():
            raise RuntimeError(f"nobody could be promoted at first: {manager.refusals}")
        _settle(manager)
        progress, gate = top / "progress", top / "gate"
        progress.write_text("0")
        stage = messages / (len(faults) + 1)
        gate.write_text(str(int(1.5 * stage) + 1 if faults else messages))
        command = [sys.executable, "-m", "tools.failover.clients", str(messages), str(seconds)]
        process = subprocess.Popen(
            [*command, str(top), *manager.urls()],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parents[2],
        )
        done = []
        try:
            for number, fault in enumerate(faults, start=1):
                while process.poll() is None and _number(progress) < number * stage:
                    time.sleep(0.05)
                if process.poll() is not None:
                    break
                FAULTS[fault](manager, random)
                _settle(manager)
                done.append(fault)
                # Clients go on publishing meanwhile, but not to the end.
                is_last = number == len(faults)
                gate.write_text(str(messages if is_last else int((number + 1.5) * stage)))
            told, _ = process.communicate(timeout=seconds + 60)
        finally:
            process.kill()
            process.wait()
        found: dict[str, Any] = json.loads(told)
        return {**found, "faults": done, "refusals": manager.refusals}


def _number(progress: Path) -> int:
    text = progress.read_text()
    return int(text) if text.isdecimal() else 0


def _settle(manager: Manager) -> None:
    """Wait until all others are backups: the next fault finds somebody who may take over."""
    for name in manager.files:
        if name != manager.primary and not manager.until(name, "backup", 60):
            raise RuntimeError(f"{name} is no backup after a minute: {manager.status(name)}")


def main() -> int:
    """Print what was counted; 1 where something confirmed was lost."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.failover",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=5, help="of the primary; without --faults")
    parser.add_argument("--faults", type=int, default=0, help="so many, of all kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1_800, help="the client gives up then")
    asked = parser.parse_args()
    random = Random(asked.seed)
    kinds = list(FAULTS)
    faults = [random.choice(kinds) for _ in range(asked.faults)] or ["fail-over"] * asked.kills
    with TemporaryDirectory() as top:
        found = storm(Path(top), asked.messages, faults, asked.seconds, asked.seed)
    print(json.dumps(found, indent=2))
    is_fine = found["lost_count"] == 0 and found["confirmed"] == found["published"]
    return 0 if is_fine and found["twice_unmarked"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
