"""A file for what the next run of the same code need not work out again.

It is whole, and of this user and this code, or it is not used: whatever it holds, the search goes
on.
"""

from __future__ import annotations

import enum
import gc
import hashlib
import os
import pickle
import tempfile
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from attrs import field, frozen

from joinproto.check.memory import resident_bytes, uncollected
from joinproto.check.packages import is_model_code

NAME = b"joinproto answers "
FORMAT = NAME + b"2\n"

# The format; the code; the kind, with spaces behind; the digest of the body.
KIND_BYTES, DIGEST_BYTES = 8, 32
HEAD_BYTES = len(FORMAT) + 32 + KIND_BYTES + DIGEST_BYTES

BYTES_MAX = 1 << 28
FILES_MAX = 24

_BUILTINS = {bool, bytearray, complex, dict, float, frozenset, list, object, range, set, tuple}
_COLLECTIONS = {Counter, OrderedDict, defaultdict, deque}
_OTHERS = {(kind.__module__, kind.__name__) for kind in _BUILTINS | _COLLECTIONS}


@frozen
class KeptFile:
    """One file.  `code`: 32 bytes, what it is made by; None: nothing can be kept of that.

    `tell` hears why it is not used.  `memory_bytes`: what the process may hold; a content that
    would not fit is not read.
    """

    path: Path
    code: Callable[[], bytes | None]
    tell: Callable[[str], None]
    memory_bytes: int | None = field(default=None)

    def read(self, kinds: Mapping[str, int]) -> tuple[str, Any]:
        """Return the kind and the content; ("", None) where there is none of these kinds.

        `kinds`: how many times more than in the file each takes in memory, at most.
        """
        try:
            with self.path.open("rb") as opened:
                held = os.fstat(opened.fileno())
                if hasattr(os, "geteuid") and (held.st_uid != os.geteuid() or held.st_mode & 0o022):
                    return self._refuse("others may write to it")
                head = opened.read(HEAD_BYTES)
                if not head.startswith(NAME):
                    return self._refuse("it is of another kind")
                kind, code = _kind_of(head), self.code()
                if code is None or not head.startswith(FORMAT + code) or kind not in kinds:
                    return "", None  # of the code before this one, or of a search of another form
                if not self._fits(kinds[kind] * held.st_size):
                    return self._refuse("its answers would not fit under the memory limit")
                body = opened.read(BYTES_MAX)
        except FileNotFoundError:
            return "", None
        except OSError as error:
            return self._refuse(error.strerror or str(error))
        if hashlib.sha256(body).digest() != head[-DIGEST_BYTES:]:
            return self._refuse("it is damaged")
        try:
            with uncollected():
                content = _Reader(BytesIO(body)).load()
                # Nor is any of it garbage later: nobody looks at it while the search goes on.
                gc.freeze()
                return kind, content
        except Exception as error:  # noqa: BLE001  whatever a file holds, the search goes on
            return self._refuse(f"it cannot be read: {error}")

    def write(self, kind: str, content: Any, flatten: Mapping[type, Callable[..., Any]]) -> None:
        """Write it, whole or not at all, whoever else does.  `flatten`: how types are pickled."""
        code = self.code()
        if code is None:
            return
        # A search that came to its end is told, whatever becomes of this.
        with suppress(OSError, MemoryError, RecursionError, pickle.PicklingError):
            made = BytesIO()
            with uncollected():
                _Writer(made, flatten).dump(content)
            body = made.getbuffer()
            if len(body) > BYTES_MAX:
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            number, name = tempfile.mkstemp(dir=self.path.parent)
            try:
                with os.fdopen(number, "wb") as opened:
                    opened.write(FORMAT + code + kind.encode().ljust(KIND_BYTES))
                    opened.write(hashlib.sha256(body).digest())
                    opened.write(body)
                Path(name).replace(self.path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            _forget_old(self.path.parent)

    def _fits(self, more_bytes: int) -> bool:
        return self.memory_bytes is None or resident_bytes() + more_bytes <= self.memory_bytes

    def _refuse(self, why: str) -> tuple[str, Any]:
        self.tell(f"{self.path} is not used: {why}")
        return "", None


class _Writer(pickle.Pickler):
    """Pickles as `flatten` says; members of enumerations by value, not by `getattr`.

    Python does so itself from 3.11.4 on.
    """

    def __init__(self, file: BytesIO, flatten: Mapping[type, Callable[..., Any]]) -> None:
        super().__init__(file, protocol=5)
        self._flatten = flatten

    def reducer_override(self, value: Any) -> Any:
        """Return how a value is pickled, or leave it to pickle."""
        if isinstance(value, enum.Enum):
            return type(value), (value.value,)
        flat = self._flatten.get(type(value))
        return NotImplemented if flat is None else flat(value)


class _Reader(pickle.Unpickler):
    """Makes values of classes of ours, by their plain names: whatever else is named is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if "." not in name and (is_model_code(module) or (module, name) in _OTHERS):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def _kind_of(head: bytes) -> str:
    return head[-DIGEST_BYTES - KIND_BYTES : -DIGEST_BYTES].decode("ascii", "replace").strip()


def _forget_old(folder: Path) -> None:
    files = [path for path in folder.iterdir() if path.is_file()]
    files.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[FILES_MAX:]:
        path.unlink(missing_ok=True)
