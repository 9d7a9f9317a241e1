"""The electors of a `joinproto node` that runs as a service: `DATA-electors.json`.

The file is a record (`joinproto/durable/record.py`) that only its node uses.

Source: running, "Changing a cluster".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from joinproto.codec.json_text import parsed
from joinproto.durable.filesystem import REAL, FileSystem
from joinproto.durable.record import Kind, discard, keep, load


@frozen
class ElectorsFile:
    """The file next to the service's data directory, `data`."""

    data: Path
    files: FileSystem = REAL

    @property
    def path(self) -> Path:
        return self.data.parent / f"{self.data.name}-electors.json"

    def load(self) -> tuple[str, ...]:
        """Return the durable names of the electors, () without a file; raises `StoreError`."""
        return load(self.files, self.path, self._kind) or ()

    def keep(self, electors: Sequence[str]) -> None:
        """Store the electors, and return when they are on the disk; raises `StoreError`."""
        keep(self.files, self.path, self._kind, json.dumps(electors).encode())

    def remove(self) -> None:
        """Remove the file, even if it is damaged; raises `StoreError`."""
        discard(self.files, self.path, self._kind)

    @property
    def _kind(self) -> Kind[tuple[str, ...]]:
        # Earlier versions wrote only the JSON.
        return Kind(
            name=self.path.name, decode=electors_of, bare=electors_of, next="restore the file"
        )


def electors_of(payload: bytes) -> tuple[str, ...]:
    """Return the names in a JSON list, at least one; raises `ValueError`."""
    found = parsed(payload, "electors")
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        raise ValueError(f"electors {payload[:80]!r}: not a list of names")
    return tuple(found)
