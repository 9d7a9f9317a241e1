"""A model's file that changes while it is explored: loaded again, or told why not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from joinproto.check import catalogue
from joinproto.errors import JoinprotoError
from joinproto.explore.graph import Json

if TYPE_CHECKING:
    from joinproto.explore.session import Session


def stamp_of(file: Path | None) -> tuple[int, int]:
    """Return a stamp that changes when the file does; zeros if there is none."""
    try:
        held = file.stat() if file is not None else None
    except OSError:
        held = None
    return (0, 0) if held is None else (held.st_mtime_ns, held.st_size)


def reload(session: Session, _: Json) -> Json:
    """Load the model's file again if it changed: `changed`, and `world`, or the `problem`."""
    now = session.now
    stamp = stamp_of(now.loaded.file)
    if now.loaded.file is None or stamp in ((0, 0), session.stamp):
        return {"changed": False}
    session.stamp = stamp
    from joinproto.explore.session import Opened, error_json

    try:
        fresh = Opened.of(catalogue.load(now.loaded.target, now.loaded.options))
    except JoinprotoError as problem:
        return {"changed": True, "problem": error_json(problem)}
    session.replaces(fresh)
    return {"changed": True, "world": session.world_json()}
