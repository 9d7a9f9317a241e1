"""Where on this machine things may lie that the next run finds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any


def cache_folder() -> Path | None:
    """Return the folder for what can be made again; None where nobody knows this user's home."""
    with suppress(RuntimeError):
        own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        if own.is_absolute():
            return own / "joinproto"
    return None


def asked_for(name: str, options: Mapping[str, Any]) -> str:
    """Return which world a person asked for, in one line."""
    return repr((name, sorted(options.items())))


def answers_file(name: str, options: Mapping[str, Any]) -> Path | None:
    """Return where answers of this world's members are kept, if any are (`answers.py`)."""
    place = cache_folder()
    if place is None:
        return None
    digest = sha256(asked_for(name, options).encode()).hexdigest()
    return place / "answers" / f"{name}-{digest[:16]}"


def can_write(folder: Path) -> bool:
    """Return whether files can be made in `folder`, which need not be there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
    except OSError:
        return False
    return True
