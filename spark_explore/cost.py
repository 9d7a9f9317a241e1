"""The cost of a run: CPU and memory of this process and its descendants."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from attrs import define, field, frozen

_TICKS = os.sysconf("SC_CLK_TCK")


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # the process has just ended
                continue
            found.setdefault(int(fields[1]), []).append(int(entry.name))
    return found


def tree() -> list[int]:
    """Return the ids of this process and of all its descendants."""
    children = _children()
    found = [os.getpid()]
    for one in found:
        found += children.get(one, [])
    return found


def cpu_seconds() -> float:
    """Return the CPU seconds of the tree, including processes that have ended."""
    total = 0
    for one in tree():
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # User and system time of the process, and of its children that have ended.
        total += sum(int(item) for item in fields[11:15])
    return total / _TICKS


def resident_bytes() -> int:
    """Return the present memory of the tree in bytes; shared pages count once."""
    total = 0
    for one in tree():
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            continue
    return total


@define
class Watch:
    """Measures the memory once a second while the block lasts.

    It measures less often if that is slow, because the system counts pages one by one.
    """

    peak_bytes: int = 0
    _ended: threading.Event = field(init=False, factory=threading.Event)
    _thread: threading.Thread | None = field(init=False, default=None)

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self) -> None:
        while True:
            began = time.thread_time()
            self.peak_bytes = max(self.peak_bytes, resident_bytes())
            if self._ended.wait(max(1.0, 100 * (time.thread_time() - began))):
                return


@frozen
class Spent:
    """The cost of a run so far.  `began`, `cpu`: the clocks at the start of the run."""

    began: float
    cpu: float
    watch: Watch

    @classmethod
    def now(cls, watch: Watch, *, began: float | None = None) -> Spent:
        return cls(time.perf_counter() if began is None else began, cpu_seconds(), watch)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def cpu_seconds(self) -> float:
        return cpu_seconds() - self.cpu

    @property
    def peak_bytes(self) -> int:
        return max(self.watch.peak_bytes, resident_bytes())
