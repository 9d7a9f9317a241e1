"""kill -9 at a step: a child kills itself at a system call that would change the disk.

The process is real, and so is its end: SIGKILL before the call, or in the middle of a write.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CHANGES = (
    *("pwrite", "write", "fdatasync", "fsync", "rename", "unlink", "link", "ftruncate"),
    *("open", "close"),
)


def counted(patch: pytest.MonkeyPatch, each: Callable[[str, Any], None]) -> None:
    """Call `each` before each call of `CHANGES`; before `open` only if it can make a file."""

    def make(name: str) -> Callable[..., Any]:
        plain = getattr(os, name)

        def call(*args: Any, **more: Any) -> Any:
            if name != "open" or args[1] & os.O_CREAT:
                each(name, args)
            return plain(*args, **more)

        return call

    for name in CHANGES:
        patch.setattr(os, name, make(name))


def last_told_before_kill(
    begin: Callable[[], Iterator[int]], step: int, *, half: bool
) -> tuple[int, bool]:
    """Return the last number that a child reported, 0 for none, and whether it finished.

    The child calls `begin` without a kill, and then takes numbers until the kill at `step`.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        tell, plain, left = os.write, os.pwrite, step

        def each(name: str, args: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                if half and name == "pwrite":
                    plain(args[0], bytes(args[1])[: len(args[1]) // 2], args[2])
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            numbers = begin()
            with pytest.MonkeyPatch.context() as patch:
                counted(patch, each)
                for number in numbers:
                    tell(write_end, b"%d\n" % number)
            tell(write_end, b"end\n")
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        said = pipe.read().split()
    _, status = os.waitpid(child, 0)
    is_end = said[-1:] == ["end"]
    assert is_end or os.WIFSIGNALED(status), said
    told = [int(each) for each in said if each != "end"]
    return (told[-1] if told else 0), is_end
