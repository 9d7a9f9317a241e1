"""The memory of this machine, and of this process."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_COLLECT_AFTER = 500_000
"""During a search, the garbage collector runs after at least this many new objects."""


def resident_bytes() -> int:
    """Return the resident bytes of this process or, if unknown, its peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return peak_bytes()


def peak_bytes() -> int:
    """Return the most bytes that this process ever held; 0 if that is unknown (WebAssembly).

    The kernel's `VmHWM` is preferred: `ru_maxrss` begins with the memory that the parent process
    had when it started this one, because that value survives exec.
    """
    if most := _bytes_from_kernel("/proc/self/status", "VmHWM"):
        return most
    try:
        import resource  # here, because it is missing on systems without processes
    except ModuleNotFoundError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def available_bytes() -> int:
    """Return the bytes that may still be allocated: the free memory of the machine, or the rest of
    the control group's limit if that is less.  If the free memory is unknown, half of all memory
    counts.
    """
    free = _bytes_from_kernel("/proc/meminfo", "MemAvailable")
    if not free:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        with suppress(OSError, ValueError):
            rest = int(Path(limit).read_text()) - int(Path(used).read_text())
            free = min(free, max(rest, 0))
    return free


def _bytes_from_kernel(file: str, name: str) -> int:
    """Return the bytes in a line such as `VmHWM:  1024 kB`; 0 if there is no such line."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(file).read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return 0


def default_limit_bytes() -> int:
    """Return the default limit: the memory in use, and four fifths of the available memory."""
    return resident_bytes() + available_bytes() * 4 // 5


class MemoryLimitMet(Exception):
    """The search needs more memory than its limit allows."""


class LimitMet(Exception):
    """A limit other than memory was met during a call; the text names the limit."""


class Budget:
    """The memory limit of the whole process.

    One part in 32 is kept free: for a step between two checks, and for the report. `let_go`: frees
    memory that can be read again from disk; returns whether it could.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.let_go: Callable[[], bool] = lambda: False

    def allows(self, more: int) -> bool:
        """Return whether `more` bytes still fit under the limit."""
        return self._fits(more) or (self.let_go() and self._fits(more))

    def _fits(self, more: int) -> bool:
        return resident_bytes() + more <= self.limit_bytes - self.limit_bytes // 32

    def relax(self) -> None:
        """Raise the limit by an eighth, to have room for the report of a search that has ended."""
        self.limit_bytes += self.limit_bytes // 8

    def lift(self) -> None:
        """Remove the limit, for a process whose search continues in other processes."""
        self.limit_bytes = 1 << 62

    def claim(self, more: int) -> None:
        """Raise `MemoryLimitMet` if `more` bytes do not fit under the limit."""
        if not self.allows(more):
            raise MemoryLimitMet


def parse_size(text: str) -> int:
    """Return bytes for "500M", "2.5G", "1048576"; raises ValueError with the expected form."""
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    body = text.strip().upper().removesuffix("IB").removesuffix("B")
    unit = body[-1:] if body[-1:] in units else ""
    number = body.removesuffix(unit) if unit else body
    try:
        size = int(float(number) * units[unit])
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a size; write for example 500M or 2G") from None
    if size <= 0:
        raise ValueError(f"{text!r} is not a size; it must be more than 0")
    return size


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the garbage collector off while many objects are made, none of them garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Run the garbage collector less often, because a search's values are no garbage.

    By default it runs after some hundreds of new objects, and a search makes millions.  In the
    meantime it does not look at objects that existed before.
    """
    before = gc.get_threshold()
    if before[0] > 0:
        gc.set_threshold(max(before[0], _COLLECT_AFTER), *before[1:])
    gc.freeze()
    try:
        yield
    finally:
        # The objects that exist now are not counted as new ones.
        gc.freeze()
        gc.unfreeze()
        gc.set_threshold(*before)
