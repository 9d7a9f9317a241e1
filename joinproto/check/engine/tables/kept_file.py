"""A cache file for the next run of the same code.

A file is used only if it is whole, belongs to this user, and was written by this code.  The search
continues without a file that cannot be used.
"""

from __future__ import annotations

import gc
import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import field, frozen

from joinproto.check.engine.tables.kept_values import CannotKeep, Names, read, written
from joinproto.check.memory import resident_bytes, uncollected

NAME = b"joinproto answers "
FORMAT = NAME + b"3\n"

# The format; the code; the digest of the body.
DIGEST_BYTES = 32
HEAD_BYTES = len(FORMAT) + 32 + DIGEST_BYTES

BYTES_MAX = 1 << 28
FILES_MAX = 24
"""The most files that are kept in the folder."""

TIMES_LARGER = 6
"""In memory, a content takes at most this many times the size of its file."""


@frozen
class AnswersFile:
    """One cache file.

    `code`: returns 32 bytes, the hash of the running code; None if no answers can be cached.
    `tell`: called with the reason if the file is not used.  `memory_bytes`: the limit of the
    process; a content that would not fit is not read.
    """

    path: Path
    code: Callable[[], bytes | None]
    tell: Callable[[str], None]
    memory_bytes: int | None = field(default=None)

    def read(self, names: Callable[[], Names]) -> Any:
        """Return the content; None if the file cannot be used or is of other code.

        `names`: returns the classes and functions that the file may name.
        """
        try:
            with self.path.open("rb") as opened:
                held = os.fstat(opened.fileno())
                if hasattr(os, "geteuid") and (held.st_uid != os.geteuid() or held.st_mode & 0o022):
                    return self._refuse("it is another user's, or other users may write to it")
                head = opened.read(HEAD_BYTES)
                if not head.startswith(NAME):
                    return self._refuse("it is not a file of joinproto")
                code = self.code()
                if code is None or not head.startswith(FORMAT + code):
                    return None  # written by other code, or in an earlier format
                if not self._fits(TIMES_LARGER * held.st_size):
                    return self._refuse("its answers would not fit under the memory limit")
                body = opened.read(BYTES_MAX)
        except FileNotFoundError:
            return None
        except OSError as error:
            return self._refuse(error.strerror or str(error))
        if hashlib.sha256(body).digest() != head[-DIGEST_BYTES:]:
            return self._refuse("it is damaged")
        try:
            with uncollected():
                content = read(body, names())
                # The content never becomes garbage, so later collections need not look at it.
                gc.freeze()
                return content
        except Exception as error:  # noqa: BLE001  the search continues without the file
            return self._refuse(f"it cannot be read: {error}")

    def write(self, content: Any, names: Callable[[], Names]) -> None:
        """Replace the file by one with `content`; leave it if that fails or a value cannot be
        written.

        Several processes may write the same file at the same time.
        """
        code = self.code()
        if code is None:
            return
        # A finished search is reported even if its cache cannot be written.
        with suppress(OSError, MemoryError, RecursionError, CannotKeep):
            with uncollected():
                body = written(content, names())
            if len(body) > BYTES_MAX:
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            number, name = tempfile.mkstemp(dir=self.path.parent)
            try:
                with os.fdopen(number, "wb") as opened:
                    opened.write(FORMAT + code + hashlib.sha256(body).digest())
                    opened.write(body)
                Path(name).replace(self.path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            _forget_old(self.path.parent)

    def _fits(self, more_bytes: int) -> bool:
        return self.memory_bytes is None or resident_bytes() + more_bytes <= self.memory_bytes

    def _refuse(self, why: str) -> None:
        self.tell(f"{self.path} is not used: {why}")


def _forget_old(folder: Path) -> None:
    files = [path for path in folder.iterdir() if path.is_file()]
    files.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[FILES_MAX:]:
        path.unlink(missing_ok=True)
