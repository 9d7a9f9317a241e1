"""A temporary folder for one run.  If the run is killed, the next run removes its folder."""

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
    """Yield a new folder and remove it at the end; first remove folders of killed runs."""
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{_PREFIX}*"):
        _remove_if_unlocked(left)
    # Its name begins with a dot until it is locked, so that no other run sees it before.
    folder = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=place))
    try:
        with (folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            folder = folder.rename(place / folder.name[1:])
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_if_unlocked(folder: Path) -> None:
    # The system releases the locks of a dead process.  Another user's file cannot be opened.
    with suppress(OSError), (folder / _LOCK).open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
