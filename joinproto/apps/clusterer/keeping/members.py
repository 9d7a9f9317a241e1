"""What a node remembers beside its config: who its broker ran with, and whether its data count.

One small file, `DATA-cluster.members`, replaced whole.

Source: Clusterer, U5; the real one's nodes that ran at the last stop.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import printed, read
from joinproto.codec.json_text import parsed
from joinproto.codec.malformed import Malformed
from joinproto.durable.filesystem import REAL, FileSystem, RealFileSystem, let_go, reason
from joinproto.durable.replace import Progress, replace
from joinproto.errors import StoreCorrupt, StoreUnreadable, StoreWriteFailed


@frozen(kw_only=True)
class Members:
    """`given_up`: the data at hand do not count any more, whether they are still there or not."""

    members: Annotated[tuple[str, ...], "of the broker's cluster, itself included"] = ()
    ran: Annotated[tuple[str, ...], "who ran when the broker ran last, itself included"] = ()
    given_up: Annotated[bool, "the data at hand are to be thrown away"] = False


@frozen
class MembersFile:
    """The file beside a broker's data directory, `data`."""

    data: Path
    files: FileSystem = RealFileSystem()

    @property
    def path(self) -> Path:
        return self.data.parent / f"{self.data.name}-cluster.members"

    def load(self) -> Members:
        """Return what is there, of a blank node where nothing is; raises `StoreError`."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return Members()
        except OSError as error:
            raise StoreUnreadable(f"{self.path}: {reason(error)}", next="check the disk") from error
        try:
            found: Members = read(Members, parsed(text, "members"))
        except Malformed as error:
            raise StoreCorrupt(
                f"{self.path}: {error}",
                next="restore the file; or reset the node: it joins with a new identity",
            ) from error
        return found

    def keep(self, members: Members) -> None:
        """Return when it is on the disk; raises `StoreWriteFailed`."""
        put(self.path, printed(members).encode(), self.files)


def put(path: Path, data: bytes, files: FileSystem = REAL) -> None:
    """Return when this is in the file, on the disk; raises `StoreWriteFailed`."""
    progress = Progress()
    try:
        room = files.open_directory(path.parent)
        try:
            replace(files, room, path.name, data, progress, shows=True)
            files.sync_directory(room)
        finally:
            let_go(files, room)
    except OSError as error:
        raise StoreWriteFailed(
            f"{path}: {progress.step}: {reason(error)}", next="stop the node, and mend the disk"
        ) from error
