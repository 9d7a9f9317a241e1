"""What a writer of the two files does about the one before it, which may have been killed."""

from __future__ import annotations

from joinproto.durable.filesystem import FileSystem, let_go
from joinproto.store.slots import CURRENT, TEMPORARY


def make_durable(files: FileSystem, room: int) -> None:
    """Make what the current file says durable, before anybody acts on it."""
    # A process renames, and is killed before the fsync of the directory.  The next one reads
    # the new record from memory and promises by it; then the power fails, and the disk has
    # the old one.
    file = files.open_to_read(room, CURRENT)
    try:
        files.sync(file)
    finally:
        let_go(files, file)
    files.sync_directory(room)


def remove_leftovers(files: FileSystem, room: int) -> None:
    """Remove what was being written.  Only with the lock: else a running process writes it."""
    for name in files.names(room):
        if TEMPORARY.fullmatch(name):
            files.unlink(room, name)
