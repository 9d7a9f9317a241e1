"""A node's stored members: its broker's last peers, and whether its data count.

The file `DATA-cluster.members` is a record (`joinproto/durable/record.py`) that only its node uses.

Source: Clusterer, U5; the nodes that ran at the last stop, in RabbitMQ's Clusterer.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from attrs import frozen

from joinproto.clusterer.messages import Members
from joinproto.codec.json_form import printed, read
from joinproto.codec.json_text import parsed
from joinproto.durable.filesystem import REAL, FileSystem
from joinproto.durable.record import Kind, keep, load

RESET = "restore the file, or reset the node, which then joins with a new identity"


@frozen
class MembersFile:
    """The file next to a broker's data directory, `data`."""

    data: Path
    files: FileSystem = REAL

    @property
    def path(self) -> Path:
        return self.data.parent / f"{self.data.name}-cluster.members"

    def load(self) -> Members:
        """Return the stored members, which are durable; without a file, those of a blank node.

        Raises `StoreError`.
        """
        return load(self.files, self.path, self._kind) or Members()

    def keep(self, members: Members) -> None:
        """Store the members, and return when they are on the disk; raises `StoreError`."""
        keep(self.files, self.path, self._kind, printed(members).encode())

    @property
    def _kind(self) -> Kind[Members]:
        # Earlier versions wrote only the JSON.
        return Kind(name=self.path.name, decode=_decoded, bare=_decoded, next=RESET)


@lru_cache(maxsize=64)  # each write first reads the record's two files
def _decoded(payload: bytes) -> Members:
    found: Members = read(Members, parsed(payload, "members"))
    return found
