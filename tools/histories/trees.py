"""Write a data directory to one small file: `python -m tools.histories.trees STORE > FILE`.

Only the number of the zeros at the end of a file is kept (etcd reserves 64 MB).
"""

from __future__ import annotations

import base64
import json
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from attrs import frozen

from joinproto.recovery.foreign.tree import BLANK


@frozen
class Bytes:
    """Files in memory."""

    files: Mapping[str, bytes]

    def names(self, folder: str) -> Sequence[str]:
        parts = PurePosixPath(folder).parts
        below = (PurePosixPath(name).parts for name in self.files)
        return sorted(
            {one[len(parts)] for one in below if one[: len(parts)] == parts and one != parts}
        )

    def size(self, name: str) -> int | None:
        return len(self.files[name]) if name in self.files else None

    def read(self, name: str, at: int, count: int) -> bytes:
        return self.files[name][at : at + count]


@frozen
class Sparse:
    """Files in memory, as a `Tree`: their bytes without zeros at the end, and their full sizes."""

    files: Mapping[str, bytes]
    sizes: Mapping[str, int]

    def names(self, folder: str) -> Sequence[str]:
        return Bytes(self.files).names(folder)

    def size(self, name: str) -> int | None:
        return self.sizes.get(name)

    def read(self, name: str, at: int, count: int) -> bytes:
        count = max(min(count, self.sizes[name] - at), 0)
        found = self.files[name][at : at + count]
        missing = count - len(found)
        blank = BLANK[:missing] if missing <= len(BLANK) else bytes(missing)
        return found + blank if found else blank

    def write(self, store: Path) -> None:
        """Write the directory; zeros at the end take no space on disk."""
        for name, data in self.files.items():
            path = store / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.truncate(path, self.sizes[name])

    def with_file(self, name: str, data: bytes, size: int | None = None) -> Sparse:
        """Return the files with one replaced or added; None as `size` keeps the old file's size."""
        size = self.sizes.get(name, len(data)) if size is None else size
        return Sparse({**self.files, name: data}, {**self.sizes, name: max(size, len(data))})

    def without(self, name: str) -> Sparse:
        return Sparse(
            {one: data for one, data in self.files.items() if one != name},
            {one: size for one, size in self.sizes.items() if one != name},
        )


def kept(store: Path) -> str:
    """Return a directory as text, which `loaded` reads."""
    tree = {}
    for path in sorted(one for one in store.rglob("*") if one.is_file()):
        data = path.read_bytes()
        packed = zlib.compress(data.rstrip(b"\0"), 9)
        tree[str(path.relative_to(store))] = [len(data), base64.b64encode(packed).decode()]
    return json.dumps(tree, indent=0) + "\n"


def loaded(text: str) -> Sparse:
    """Return the directory that `kept` wrote as text."""
    tree = json.loads(text)
    return Sparse(
        {name: zlib.decompress(base64.b64decode(data)) for name, (_, data) in tree.items()},
        {name: size for name, (size, _) in tree.items()},
    )


if __name__ == "__main__":
    sys.stdout.write(kept(Path(sys.argv[1])))
