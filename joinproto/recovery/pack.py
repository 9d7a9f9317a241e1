"""A pack: the files of a store that `joinproto-pack.sh` collects on a machine without joinproto.

The script is made from the readers' lists of files (`tools/pack_script.py`).  It needs a POSIX
shell with `cat`, `cksum` and `uname`, and writes to standard output only.

    joinproto-pack 1
    host NAME
    directory PATH               its path without links; the files of this directory follow
    called NAME                  the last part of the path as it was typed
    file CHECKSUM SIZE NAME      then SIZE bytes and a newline; the checksum is that of `cksum`
                                 "feature_flags" is NODE-feature_flags next to the directory
    link NAME                    a symbolic link, which is not followed
    there NAME                   a name whose presence shows the kind of the store
    end

A pack is unpacked into a temporary directory in constant memory, and read there like any directory.
Bounds: `LINE_BYTES_MAX` bytes a line, `FILES_MAX` files, `BYTES_MAX` bytes in all files.
"""

from __future__ import annotations

import zlib
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO

from attrs import define, evolve, field

from joinproto.errors import StoreCorrupt, StoreNewer
from joinproto.recovery.foreign.ra.folders import FLAGS, FLAGS_SUFFIX
from joinproto.recovery.found import Raw
from joinproto.recovery.gather import gather

MAGIC = b"joinproto-pack "
VERSION = b"1"
LINE_BYTES_MAX = 8192
FILES_MAX = 100_000
BYTES_MAX = 64 << 30
STRETCH = 1 << 20
UNSEEN = "whether a process has a store open: the script that packs a store cannot see this"

_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def is_pack(beginning: bytes) -> bool:
    """Return whether a file with this beginning is a pack; `len(MAGIC)` bytes are enough."""
    return beginning.startswith(MAGIC)


def read(file: BinaryIO, *, name: str) -> tuple[Raw, ...]:
    """Return the directories in a pack; raises `StoreError` if it is not whole.

    `name`: the pack's name, for messages.
    """
    with TemporaryDirectory(prefix="joinproto-pack-") as place:
        return _Unpacking(file, name, Path(place)).unpack()


def checksum(data: bytes, before: int = 0) -> int:
    """Return the register of POSIX `cksum` after these bytes; `before`: the register before them.

    It is zlib's CRC with the bits of each byte in reverse order, and it begins with zero.
    """
    return zlib.crc32(data.translate(_MIRRORED), before ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def finished(register: int, size: int) -> int:
    """Return the checksum that `cksum` prints; `register`: after all `size` bytes of the file."""
    length = size.to_bytes((size.bit_length() + 7) // 8, "little")
    register = checksum(length, register)
    return int(f"{register:032b}"[::-1], 2) ^ 0xFFFFFFFF


@define
class _Unpacking:
    """The unpacking of a pack into a temporary directory, with one folder for each directory."""

    file: BinaryIO
    name: str
    place: Path
    host: str = ""
    # For each directory: its folder, its path, its name as typed, and its machine.
    found: list[tuple[Path, str, str, str]] = field(factory=list)
    files: int = 0
    size: int = 0

    def unpack(self) -> tuple[Raw, ...]:
        if self._line() != (MAGIC + VERSION).decode():
            raise StoreNewer(
                f"{self.name}: was packed for a newer version of joinproto",
                next="use that version, or pack it with the script of this one",
            )
        while (line := self._line()) != "end" or self._has_more():
            verb, _, rest = line.partition(" ")
            match verb:
                case "end":
                    self.host = ""
                case "host" if rest and not self.host:
                    self.host = rest
                case "directory" if rest.startswith("/") and self.host:
                    self.files += 1
                    if self.files > FILES_MAX:
                        raise self._broken("has too many directories")
                    folder = self.place / str(len(self.found))
                    folder.mkdir()
                    self.found.append((folder, rest, "", self.host))
                case "called" if self.found:
                    folder, path, _, host = self.found[-1]
                    called = rest if rest != PurePosixPath(path).name else ""
                    self.found[-1] = (folder, path, called, host)
                case "file":
                    self._file(rest)
                case "link":
                    self._target(rest).symlink_to("not-followed")
                case "there":
                    self._target(rest).mkdir(exist_ok=True)
                case _:
                    raise self._broken("has a line that no script of ours writes")
        return tuple(self._raw_of(*one) for one in self.found)

    def _has_more(self) -> bool:
        """Return whether another pack follows, as in the output of `cat` with several packs."""
        more = self.file.readline(LINE_BYTES_MAX)
        if more and more != MAGIC + VERSION + b"\n":
            raise self._broken("has bytes after its end")
        return bool(more)

    def _raw_of(self, folder: Path, path: str, called: str, host: str) -> Raw:
        raw = gather(folder, host=host)
        problem = raw.problem.replace(str(folder), path)
        return evolve(raw, path=path, called=called, problem=problem)

    def _file(self, rest: str) -> None:
        words = rest.split(" ", 2)
        if len(words) < 3 or not all(word.isascii() and word.isdigit() for word in words[:2]):
            raise self._broken("has a file without a size")
        said, size = int(words[0][:20]), int(words[1][:20])
        target, left, register = self._target(words[2]), size, 0
        self.size += size
        if self.size > BYTES_MAX:
            raise self._broken(f"holds more than {BYTES_MAX} bytes")
        with target.open("xb") as written:
            while left:
                piece = self.file.read(min(left, STRETCH))
                if not piece:
                    raise self._broken("was cut off")
                written.write(piece)
                register = checksum(piece, register)
                left -= len(piece)
        if self.file.read(1) != b"\n" or finished(register, size) != said:
            raise self._broken(f"{words[2]} changed while it was packed, or afterwards")

    def _target(self, name: str) -> Path:
        self.files += 1
        path = PurePosixPath(name)
        is_below = name and not path.is_absolute() and ".." not in path.parts and "\0" not in name
        if not self.found or not is_below or self.files > FILES_MAX:
            raise self._broken("has a file that no script of ours packs")
        folder = self.found[-1][0]
        target = (
            folder.with_name(f"{folder.name}{FLAGS_SUFFIX}") if name == FLAGS else folder / path
        )
        above = target.parent
        ours = [one for one in (target, *target.parents) if self.place in one.parents]
        if any(one.is_symlink() for one in ours):
            raise self._broken("has a file below a link")
        try:
            above.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise self._broken("has a file below a file") from None
        if target.exists():
            raise self._broken(f"has {name} twice")
        return target

    def _line(self) -> str:
        line = self.file.readline(LINE_BYTES_MAX)
        if not line.endswith(b"\n"):
            raise self._broken("was cut off")
        try:
            return line[:-1].decode()
        except UnicodeDecodeError:
            raise self._broken("has a line that is not text") from None

    def _broken(self, why: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"{self.name}: {why}", next="pack it again: sh joinproto-pack.sh DIR > NAME.pack"
        )
