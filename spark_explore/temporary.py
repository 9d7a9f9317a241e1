"""A folder for the time of one run: one that was killed leaves its own, and the next removes it."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "joinproto-spark-"
_LOCK = "held"


@contextmanager
def own_folder() -> Iterator[Path]:
    """Make a folder for as long as this lasts; remove those of runs that were killed."""
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{_PREFIX}*"):
        _remove_if_nobodys(left)
    # Under another name until it is held: it is not seen before.
    folder = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=place))
    try:
        with (folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            folder = folder.rename(place / folder.name[1:])
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_if_nobodys(folder: Path) -> None:
    # The system lets go of what a dead process held.  Of another user's nothing can be opened.
    with suppress(OSError), (folder / _LOCK).open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
