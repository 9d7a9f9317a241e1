"""Folders on this machine for files that later runs use: caches and compiled loops."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from sys import version_info
from typing import Any

_ENGINE = Path(__file__).parent / "engine"


def cache_folder() -> Path | None:
    """Return the folder for caches, or None if it is not an absolute path or home is unknown."""
    with suppress(RuntimeError):
        own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        if own.is_absolute():
            return own / "joinproto"
    return None


def asked_for(name: str, options: Mapping[str, Any]) -> str:
    """Return a text that identifies a world and its options, in one line."""
    return repr((name, sorted(options.items())))


def answers_file(name: str, options: Mapping[str, Any]) -> Path | None:
    """Return the cache file for the answers of this world's members (`answers.py`).

    None if there is no cache folder.
    """
    place = cache_folder()
    if place is None:
        return None
    digest = sha256(asked_for(name, options).encode()).hexdigest()
    return place / "answers" / f"{name}-{digest[:16]}"


def count_file(name: str, options: Mapping[str, Any]) -> Path | None:
    """Return the cache file for the number of this world's states; None without a cache folder."""
    file = answers_file(name, options)
    return None if file is None else file.parent.with_name("counts") / file.name


def loops_name() -> str:
    """Return the name of the folder for the engine's compiled loops: it contains their hash."""
    found = sha256()
    # If the package is in one archive, as Spark sends it, the archive is hashed instead.
    found.update(b"".join(one.read_bytes() for one in _ENGINE.parents if one.is_file()))
    for file in sorted(_ENGINE.rglob("*.py")):
        content = file.read_bytes()
        if b"numba" in content and file != _ENGINE / "__init__.py":
            found.update(file.relative_to(_ENGINE).as_posix().encode() + b"\0" + content)
    return f"engine-{found.hexdigest()[:16]}"


def loops_places() -> Iterator[Path]:
    """Yield folders for compiled loops, in order of preference; they need not exist."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    own = cache_folder()
    if own is not None:
        yield own
    yield _ENGINE / "__pycache__"


def has_loops() -> bool:
    """Return whether a run with this Python version has cached the loop that every search uses."""
    name, loop = loops_name(), f"expansion.expand-*.py{version_info[0]}{version_info[1]}.nbi"
    return any(next((place / name).rglob(loop), None) for place in loops_places())


def can_write(folder: Path) -> bool:
    """Return whether files can be made in `folder`, which is created if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
    except OSError:
        return False
    return True
