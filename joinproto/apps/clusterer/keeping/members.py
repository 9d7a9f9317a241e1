"""A node's memory besides its config: its broker's last peers, and whether its data count.

A record (`joinproto/durable/record.py`), `DATA-cluster.members`; a node has it to itself.

Source: Clusterer, U5; the real one's nodes that ran at the last stop.
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

RESET = "restore the file; or reset the node: it joins with a new identity"


@frozen
class MembersFile:
    """The file next to a broker's data directory, `data`."""

    data: Path
    files: FileSystem = REAL

    @property
    def path(self) -> Path:
        return self.data.parent / f"{self.data.name}-cluster.members"

    def load(self) -> Members:
        """Return the stored members, those of a blank node if there is no file; they are durable.

        Raises `StoreError`.
        """
        return load(self.files, self.path, self._kind) or Members()

    def keep(self, members: Members) -> None:
        """Return when it is on the disk; raises `StoreError`."""
        keep(self.files, self.path, self._kind, printed(members).encode())

    @property
    def _kind(self) -> Kind[Members]:
        # Earlier versions wrote the JSON alone.
        return Kind(name=self.path.name, decode=_decoded, bare=_decoded, next=RESET)


@lru_cache(maxsize=64)  # each write reads both files first
def _decoded(payload: bytes) -> Members:
    found: Members = read(Members, parsed(payload, "members"))
    return found
