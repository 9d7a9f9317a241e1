"""Where on this machine things may lie that the next run finds."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def cache_folder() -> Path | None:
    """Return the folder for what can be made again; None where nobody knows this user's home."""
    with suppress(RuntimeError):
        own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        if own.is_absolute():
            return own / "joinproto"
    return None


def can_write(folder: Path) -> bool:
    """Return whether files can be made in `folder`, which need not be there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
    except OSError:
        return False
    return True
