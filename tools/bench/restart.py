"""The start-up time of a node with many frames, at the first start and with a snapshot.

One node, which is its own majority, runs as a process and is killed with -9 each time.  Its frames
are written to the journal's file, because a client would take an hour.  At the first start there is
no index and no snapshot, as in a directory of an earlier version; the node makes both.
The time is measured from the start of the process until clients are served.

Run as `python -m tools.bench.restart`, it prints one JSON object.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import cattrs

from joinproto.durable.journal.journal import FILE, Frame
from joinproto.durable.journal.records import record
from joinproto.log.disk import open_disk
from joinproto.log.entry import packed
from joinproto.log.snapshot import FILE as SNAPSHOT
from tools.bench.results import RestartCost
from tools.faults.network import Direct
from tools.faults.nodes import Fleet, until

FRAMES = 3_000_000
RESTARTS = 3
PATIENCE_SECONDS = 600.0


def cost(*, frames: int = FRAMES, restarts: int = RESTARTS) -> RestartCost:
    """Return the cost of starts with this many frames of 20 bytes."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="joinproto-bench-") as folder:
        fleet = Fleet.make(
            Path(folder), "a", events=None, network=Direct, total_failure="automatic"
        )
        try:
            empty = _seconds(fleet)
            fill(fleet["a"].data, frames)
            first = _seconds(fleet, snapshot=frames)
            again = [_seconds(fleet) for _ in range(restarts)]
            size = (fleet["a"].data / FILE).stat().st_size
        finally:
            fleet.close()
    return RestartCost(
        frames=frames,
        journal_bytes=size,
        load=load,
        empty_seconds=empty,
        first_seconds=first,
        restart_seconds=statistics.median(again),
    )


def fill(data: Path, frames: int) -> None:
    """Append this many frames to the journal of a node that does not run."""
    disk = open_disk(data, "a", "cluster")
    view = disk.record.held
    last, end = disk.journal.last_seq, disk.journal.size
    disk.close()
    with (data / FILE).open("ab") as file:
        for seq in range(last + 1, frames + 1):
            file.write(record(Frame(str(view), seq, packed("bench", seq, b"x" * 20)), end))


def _seconds(fleet: Fleet, *, snapshot: int | None = None) -> float:
    """Return the seconds until the node serves; wait for `snapshot` if given; kill the node."""
    node = fleet["a"]
    began = time.perf_counter()
    node.start()
    until(lambda: bool(node.status().get("serves")), PATIENCE_SECONDS)
    found = time.perf_counter() - began
    if snapshot is not None:
        until((node.data / SNAPSHOT).exists, PATIENCE_SECONDS)
    node.kill()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(cattrs.unstructure(cost())) + "\n")
