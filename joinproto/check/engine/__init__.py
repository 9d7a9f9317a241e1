"""The engine: the array half of `joinproto.check`.  Who wants to search imports `search`.

Its inner loops are compiled by numba when they are first used, which takes up to two
minutes, and kept in a folder for the runs after.  Which folder, is decided here and for
these loops alone: importing this package imports every module that has some.

numba's own choice is not enough.  It takes kept code for fresh while the one file it was
written in is unchanged; but loops here are inlined over files, and a search that mixes old
and new ones loses states without a word.  So the folder's name holds a hash of all of them.
And where numba finds no folder it may write to, it refuses to compile at all; here the
loops are then compiled without being kept, and `KEPT.lasting` says so.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from joinproto.check.folders import can_write, loops_name, loops_places

_GENERATIONS = 4
"""So many folders of other versions stay, for whoever changes between them."""

_SECONDS_SILENT = 1.0


@frozen
class Kept:
    """Where compiled loops are kept.  `folder`: None where none could be made.

    `lasting`: whether the next run finds them.
    """

    folder: Path | None
    lasting: bool


def _settle() -> Kept:
    name = loops_name()
    for place in loops_places():
        if can_write(place / name):
            _forget_old(place, keep=name)
            return Kept(place / name, lasting=True)
    # Not shared between runs: what lies in a folder that others may write to is not
    # ours to execute.
    for shared in (None, "/dev/shm"):
        try:
            folder = tempfile.mkdtemp(prefix="joinproto-engine-", dir=shared)
        except OSError:
            continue
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Kept(Path(folder), lasting=False)
    return Kept(None, lasting=False)


def _forget_old(place: Path, *, keep: str) -> None:
    """Remove the folders of versions that were not used for longest."""
    with suppress(OSError):
        others = [folder for folder in place.glob("engine-*") if folder.name != keep]
        others.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
        for folder in others[_GENERATIONS:]:
            shutil.rmtree(folder, ignore_errors=True)


def _load_loops() -> Kept:
    """Import every module with compiled loops, so that they are kept in our folder.

    numba reads the setting when a loop is declared, so it is ours for that moment only: a
    program with loops of its own keeps them where it always did.
    """
    with absent("cffi", "coverage", "scipy", *_unread()):
        import numba

    kept = _settle()
    before, njit = numba.config.CACHE_DIR, numba.njit
    numba.config.CACHE_DIR = str(kept.folder or "")
    if kept.folder is None:
        numba.njit = _unkept(njit)
    try:
        from joinproto.check.engine import (  # noqa: F401
            canonical,
            expansion,
            fingerprint,
            grids,
            inserting,
            kernel,
            layout,
            merging,
            rowset,
            watching,
        )
    finally:
        numba.config.CACHE_DIR, numba.njit = before, njit
    return kept


def _unread() -> list[str]:
    """Return what reads numba's file of settings, where there is none."""
    return [] if Path(".numba_config.yaml").exists() else ["yaml"]


@contextmanager
def absent(*names: str) -> Iterator[None]:
    """Let there be no such modules, which numba would load in case a loop uses them: ours do not.

    What is loaded stays.
    """
    missing = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(missing))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in missing:
            sys.modules.pop(name, None)


def _unkept(njit: Callable[..., Any]) -> Callable[..., Any]:
    """Return `njit` without its `cache`, which would raise."""

    def declare(*functions: Any, cache: bool = False, **options: Any) -> Any:
        return njit(*functions, **options)

    return declare


@define
class Compiling:
    """`seconds`: spent in numba's compiler so far."""

    tell: Callable[[str], None]
    seconds: float = 0.0
    _began: float | None = field(init=False, default=None)
    _timer: threading.Timer | None = field(init=False, default=None)
    _told: bool = field(init=False, default=False)

    def begin(self) -> None:
        """Note that a loop is being compiled; the first time that lasts, tell."""
        self._began = time.perf_counter()
        if not self._told:
            # In a thread, because the compiler says nothing until it is done.
            wait = max(0.0, _SECONDS_SILENT - self.seconds)
            self._timer = threading.Timer(wait, self._say)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """Note that the loop is compiled."""
        if self._timer is not None:
            self._timer.cancel()
        if self._began is not None:
            self.seconds += time.perf_counter() - self._began
            self._began = None

    def _say(self) -> None:
        self._told = True
        if KEPT.lasting:
            self.tell("compiling the search, once: up to two minutes")
        else:
            self.tell(
                "compiling the search: up to two minutes, and on every run, because there is"
                " no folder to keep the result in; NUMBA_CACHE_DIR can name one"
            )


@contextmanager
def telling_of_compilation(tell: Callable[[str], None]) -> Iterator[Compiling]:
    """Call `tell`, at most once, when compiling takes longer than a second."""
    from numba.core import event

    state = Compiling(tell)
    outer = 0

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _event: Any) -> None:
            nonlocal outer
            outer += 1
            if outer == 1:
                state.begin()

        def on_end(self, _event: Any) -> None:
            nonlocal outer
            outer -= 1
            if outer == 0:
                state.end()

    with event.install_listener("numba:compile", Listener()):
        try:
            yield state
        finally:
            state.end()


KEPT = _load_loops()
