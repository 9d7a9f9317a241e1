"""Writing: a whole new file beside the old one, then its name, then the names.

    create    a temporary file that was not there before, in the same directory
    write     all of it, however little the system takes at once
    sync      its content is on the disk before its name is
    rename    in the place of the old file: either one or the other, never a part
    sync      the directory, once, after the last rename

Source: recovery, "The metadata on disk".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex

from attrs import define

from joinproto.durable.filesystem import FileSystem, reason, write_all


@define
class Progress:
    """How far a write has come: what is being done, and whether it may already show."""

    step: str = "nothing"
    may_show: bool = False


def replace(
    files: FileSystem, room: int, name: str, data: bytes, progress: Progress, *, shows: bool
) -> None:
    """Put `data` in the place of `name`; on the disk after the next `sync_directory`.

    `shows`: the new content counts from its rename on.  Raises `OSError`; the temporary
    file is then left as it is, for the next one who opens the store.
    """
    temporary = f"{name}.{token_hex(8)}.tmp"
    progress.step = f"creating {temporary}"
    file = files.create(room, temporary)
    with closing(files, file, progress, temporary):
        progress.step = f"writing {temporary}"
        write_all(files, file, data)
        progress.step = f"fsync of {temporary}"
        files.sync(file)
    progress.step = f"renaming {temporary} to {name}"
    progress.may_show = progress.may_show or shows
    files.rename(room, temporary, name)


@contextmanager
def closing(files: FileSystem, file: int, progress: Progress, name: str) -> Iterator[None]:
    """Close the file at the end; after an error, without hiding it behind a second one."""
    try:
        yield
    except BaseException:
        try:
            files.close(file)
        except OSError as second:
            progress.step += f" (and closing it: {reason(second)})"
        raise
    progress.step = f"closing {name}"
    files.close(file)
