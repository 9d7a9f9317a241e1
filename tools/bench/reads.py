"""The cost of a confirmed read at one of three nodes, compared with a local read.

Two clusters of three nodes on loopback run at once, one with `reads = "confirmed"`, one with
`"local"`.  They are measured in turn, so that other load slows both down.  A client is a thread
with one `get` at a time.

Run as `python -m tools.bench.reads`, it prints one JSON object: for each way to read, and for each
number of clients, reads a second, and the median and 99th percentile of a read, in milliseconds.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

from joinproto.apps.node.settings import Reads
from tools.faults.clients import Connection
from tools.faults.network import Direct
from tools.faults.nodes import Fleet

CLIENTS = (1, 16)
ROUNDS = 3
SECONDS = 2.0
NAMES = "abc"


def measure(top: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Return the figures by way of reading and number of clients; clients read at c."""
    fleets = {}
    times: dict[tuple[Reads, int], list[float]] = defaultdict(list)
    try:
        for reads in Reads:
            place = top / reads.value
            place.mkdir()
            fleet = Fleet.make(place, NAMES, events=None, network=Direct, reads=reads.value)
            fleets[reads] = fleet
            fleet.start()
            fleet.wait_active()
            Connection(fleet["a"].clients).ask("append something")
        for _ in range(ROUNDS):
            for reads, fleet in fleets.items():
                for count in CLIENTS:
                    times[reads, count] += _read_times(fleet, count)
    finally:
        for fleet in fleets.values():
            fleet.close()
    return {
        reads.value: {str(count): _figures(times[reads, count]) for count in CLIENTS}
        for reads in Reads
    }


def _read_times(fleet: Fleet, count: int) -> list[float]:
    until = time.perf_counter() + SECONDS
    found: list[float] = []

    def ask() -> None:
        connection = Connection(fleet["c"].clients)
        while (began := time.perf_counter()) < until:
            if connection.ask("get 1") == b"ok something":
                found.append(time.perf_counter() - began)
        connection.close()

    clients = [threading.Thread(target=ask) for _ in range(count)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    return found


def _figures(times: list[float]) -> dict[str, float]:
    hundredths = statistics.quantiles(times, n=100)
    return {
        "reads_per_second": round(len(times) / (ROUNDS * SECONDS)),
        "median_ms": round(1_000 * hundredths[49], 2),
        "slowest_hundredth_ms": round(1_000 * hundredths[98], 2),
    }


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp(prefix="reads-"))
    try:
        print(json.dumps(measure(folder), indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
