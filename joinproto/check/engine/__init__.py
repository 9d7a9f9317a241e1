"""The engine: the array half of `joinproto.check`.  A search begins in `search.py`.

What a row is
-------------

A state of the world is one local state for each member, one for the monitor, the world's own state
(which faults are left, which members are cut off), and the messages under way.  Each of these is a
*field*, and each value of a field gets a number when it is first met, from 0 on
(`tables/numbers.py`).  A row is one state: a few 64-bit words in which each field has some bits
(`rows/layout.py`).  A message of a set has one bit.  If that would take many words, each sender
has a field instead, with the number of the set of its messages under way (`tables/contents.py`).
A queue or a bag is a field, too (`tables/queues.py`).

Two states are the same if their rows are equal, word for word.  When a number no longer fits the
bits of its field, the field gets more bits, and all rows are packed again.

How a row becomes its successors
--------------------------------

Tables hold the possible steps (`tables/kernel.py`).  A local state has a list of choices.  Each
choice is the number of an event, called a column.  A member, a local state and a column name a
cell, which holds the number of the first outcome.  The outcomes of one step stand side by side:
first the whole step, then the crashes between its effects.  An outcome holds the next local state,
its messages, its cost, and the monitor's record.

For each row, the loop of `expansion/expansion.py` lists choices, messages that may be delivered,
lost or doubled, splits, and joint steps (`expansion/listing.py`, `receive_lists.py`,
`deliveries.py`).  For each outcome it writes a copy of the row with some fields replaced
(`expansion/writing.py`).  No code of a member runs in this loop.  If a cell is empty, the loop
lists a question and puts the row aside.  `expansion/expander.py` has the question answered by one
call of the member's code (`tables/tables.py`), and the loop expands the row again.

Successors go into a set of rows that keeps their order of arrival (`rows/rowset.py`).  So a level
of the search is a stretch of rows, and the next level is its new successors.

Why no state is lost
--------------------

* A row is expanded as a whole or not at all.  If an answer or room is missing, the successors and
  counts of that row are taken back, and the row is expanded again.
* Rows are compared whole.  A hash only says where to look.
* A step that is counted but not written either leads back to its own row, or another step out of
  the same level writes the same successor (`expansion/sleeping.py` has the proof).
* Every state of level k + 1 is a successor of a state of level k.  So by induction all states are
  found, each on the level that is the length of its shortest run.
* The report names everything that merges states: symmetry, `same`, and messages that are of no use
  any more.

Compiled loops
--------------

numba compiles the inner loops when they are first used, which takes up to two minutes.  The
compiled code is kept in a folder for later runs.  This module chooses the folder, which holds no
other program's loops, and imports every module that has such loops.

numba's own choice of a folder is not enough.  numba reuses compiled code while the one file that
declares a loop is unchanged, but loops here are inlined across files.  A search that mixes old and
new loops loses states without an error.  So the folder's name holds a hash of all files with loops.
If no lasting folder can be written to, the loops are compiled in each run anew, and
`LOOP_CACHE.lasting` is false.
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

_OLD_FOLDERS_MAX = 4
"""This many folders of other versions are kept, for users who switch between versions."""

_SECONDS_SILENT = 1.0
"""A compilation is reported after this time."""


@frozen
class LoopCache:
    """The cache of compiled loops.

    `folder`: None if no folder could be created.  `lasting`: whether the next run finds the loops.
    """

    folder: Path | None
    lasting: bool


def _choose_loop_cache() -> LoopCache:
    """Return a folder for compiled loops: the first that can be written, else a new one."""
    name = loops_name()
    for place in loops_places():
        if can_write(place / name):
            _forget_old(place, keep=name)
            return LoopCache(place / name, lasting=True)
    # A new folder for each run: code that other users may have written must not be executed.
    for shared in (None, "/dev/shm"):
        try:
            folder = tempfile.mkdtemp(prefix="joinproto-engine-", dir=shared)
        except OSError:
            continue
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return LoopCache(Path(folder), lasting=False)
    return LoopCache(None, lasting=False)


def _forget_old(place: Path, *, keep: str) -> None:
    """Remove the folders of other versions, except the `_OLD_FOLDERS_MAX` that were used last."""
    with suppress(OSError):
        others = [folder for folder in place.glob("engine-*") if folder.name != keep]
        others.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
        for folder in others[_OLD_FOLDERS_MAX:]:
            shutil.rmtree(folder, ignore_errors=True)


def _load_loops() -> LoopCache:
    """Import every module with compiled loops, so that they are kept in our folder.

    numba reads its setting for the folder when a loop is declared, so the setting is changed for
    these imports only.  A program's own loops stay in the folder that it uses.
    """
    with absent("cffi", "coverage", "scipy", *_yaml_if_unneeded()):
        import numba

    kept = _choose_loop_cache()
    before, njit = numba.config.CACHE_DIR, numba.njit
    numba.config.CACHE_DIR = str(kept.folder or "")
    if kept.folder is None:
        numba.njit = _without_cache(njit)
    try:
        from joinproto.check.engine.claims import reading, watching  # noqa: F401
        from joinproto.check.engine.expansion import expansion  # noqa: F401
        from joinproto.check.engine.liveness import loops  # noqa: F401
        from joinproto.check.engine.rows import bits, inserting, layout, merging, rowset  # noqa: F401
        from joinproto.check.engine.symmetry import canonical  # noqa: F401
        from joinproto.check.engine.tables import grids, kernel  # noqa: F401
    finally:
        numba.config.CACHE_DIR, numba.njit = before, njit
    return kept


def _yaml_if_unneeded() -> list[str]:
    """Return "yaml" if numba has no settings file: numba imports yaml only to read that file."""
    return [] if Path(".numba_config.yaml").exists() else ["yaml"]


@contextmanager
def absent(*names: str) -> Iterator[None]:
    """Hide these modules from numba, which would load them although our loops do not need them.

    Modules that are loaded already stay.
    """
    missing = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(missing))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in missing:
            sys.modules.pop(name, None)


def _without_cache(njit: Callable[..., Any]) -> Callable[..., Any]:
    """Return `njit` without its option `cache`, which raises if there is no folder."""

    def declare(*functions: Any, cache: bool = False, **options: Any) -> Any:
        return njit(*functions, **options)

    return declare


@define
class Compiling:
    """Measures compilation, and calls `tell` once when it takes long.

    `seconds`: the time spent in numba's compiler so far.
    """

    tell: Callable[[str], None]
    seconds: float = 0.0
    _began: float | None = field(init=False, default=None)
    _timer: threading.Timer | None = field(init=False, default=None)
    _told: bool = field(init=False, default=False)

    def begin(self) -> None:
        """Record that the compilation of a loop begins."""
        self._began = time.perf_counter()
        if not self._told:
            # In a thread, because the compiler returns only when it is done.
            wait = max(0.0, _SECONDS_SILENT - self.seconds)
            self._timer = threading.Timer(wait, self._say)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """Record that the loop is compiled."""
        if self._timer is not None:
            self._timer.cancel()
        if self._began is not None:
            self.seconds += time.perf_counter() - self._began
            self._began = None

    def _say(self) -> None:
        self._told = True
        if LOOP_CACHE.lasting:
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


LOOP_CACHE = _load_loops()
