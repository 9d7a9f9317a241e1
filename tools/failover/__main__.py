"""Publishes and consumes while brokers are killed, stopped and promoted, and counts.

python -m tools.failover --messages 100000 --kills 5       the primary is killed five times
python -m tools.failover --seed 7 --faults 20              all kinds of faults, drawn by a seed
python -m tools.failover --built-in --faults 20            brokers that promote themselves
python -m tools.failover --built-in --faults 5 --only two-at-once
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

from joinproto.cli.validate.judge import Judged
from joinproto.cli.validate.standby import validate_brokers
from tools.failover.faults import FAULTS, THEIR_OWN
from tools.failover.manager import Manager, running


def storm(
    top: Path,
    messages: int,
    faults: Sequence[str],
    seconds: float,
    seed: int = 0,
    *,
    built_in: bool = False,
) -> dict[str, Any]:
    """Return what a client counted while these faults were done, one after the other."""
    random = Random(seed)
    more = 'events = "events"'
    with running(Manager.of(top, "abc", more=more, built_in=built_in, cuts=built_in)) as manager:
        manager.start()
        if not built_in and not manager.promote():
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
                (THEIR_OWN if built_in else FAULTS)[fault](manager, random)
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
        broken = {one.name: one.found[:3] for one in _judged(top) if one.found}
        return {**found, "faults": done, "refusals": manager.refusals, "claims_broken": broken}


def _judged(top: Path) -> tuple[Judged, ...]:
    """Return what the brokers' event logs say."""
    return validate_brokers([top / "events"]).claims


def _number(progress: Path) -> int:
    text = progress.read_text()
    return int(text) if text.isdecimal() else 0


def _settle(manager: Manager) -> None:
    """Wait until all others are backups: the next fault finds somebody who may take over."""
    deadline = time.monotonic() + 60
    while True:
        if manager.is_built_in:
            manager.serving()
        others = [name for name in manager.files if name != manager.primary]
        away = [name for name in others if manager.status(name).get("role") != "backup"]
        if not away:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"no backups after a minute: {[*map(manager.status, away)]}")
        time.sleep(0.1)


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
    parser.add_argument("--built-in", action="store_true", help="brokers promote themselves")
    parser.add_argument("--only", default="", metavar="KIND", help="with --faults: of this kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1_800, help="the client gives up then")
    asked = parser.parse_args()
    random = Random(asked.seed)
    kinds = list(THEIR_OWN if asked.built_in else FAULTS)
    if asked.only:
        if asked.only not in kinds:
            parser.error(f"--only {asked.only}: no such fault; there are {', '.join(kinds)}")
        kinds = [asked.only]
    kill = "kill-primary" if asked.built_in else "fail-over"
    faults = [random.choice(kinds) for _ in range(asked.faults)] or [kill] * asked.kills
    with TemporaryDirectory() as top:
        found = storm(
            Path(top),
            asked.messages,
            faults,
            asked.seconds,
            asked.seed,
            built_in=asked.built_in,
        )
    print(json.dumps(found, indent=2))
    is_fine = (
        not found["claims_broken"]
        and found["lost_count"] == 0
        and found["confirmed"] == found["published"]
    )
    return 0 if is_fine and found["twice_unmarked"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
