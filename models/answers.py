"""What members' code answered in the last run of the same code, kept in a file.

A member's answers follow from its attributes, the event and its code (`models/twice.py`), so
whoever has the same code need not ask again.  The same code: the content of every module of
`joinproto` and `models`, the versions of what they import, and Python's.  A world of somebody's
own may import anything, so its answers are never kept.

Nothing is taken on trust: at each run some of the answers are asked for again, and a file in
which one differs is not used, as little as one that is damaged, or of another user.
"""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import random
import sys
import tempfile
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

import joinproto
import models
from models.folders import answers_file, asked_for, can_write
from models.known import Known
from models.memory import resident_bytes

if TYPE_CHECKING:
    from models.member import Codes, MemberCode

FORMAT = b"joinproto answers 1\n"

NEW_MIN = 2_000
"""A run that asked for less is over sooner than a file is written."""

SAMPLES = 50
"""So many answers of each kind and member are asked for again."""

TIMES_LARGER = 16
"""So much more than in a file answers take in memory, at most."""

BYTES_MAX = 1 << 28
FILES_MAX = 12

_BUILTINS = {bool, bytearray, complex, dict, float, frozenset, list, object, range, set, tuple}
_COLLECTIONS = {Counter, OrderedDict, defaultdict, deque}
_OTHERS = {(kind.__module__, kind.__name__) for kind in _BUILTINS | _COLLECTIONS}


@define
class Answers:
    """The answers of all members of one world.  `tell` hears why a file is not used.

    `memory_bytes`: what the process may hold; answers that would not fit are not taken.
    `taken`: how many answers the file had; `tried`: how many of them were asked for again.
    """

    file: Path
    code: bytes
    tell: Callable[[str], None]
    memory_bytes: int | None = None
    taken: int = field(default=0, init=False)
    tried: int = field(default=0, init=False)
    _members: dict[str, Known] = field(factory=dict, init=False)

    @classmethod
    def of(
        cls,
        name: str,
        options: Mapping[str, Any],
        tell: Callable[[str], None],
        memory_bytes: int | None = None,
    ) -> Answers | None:
        """Return those of a world that ships; None where nothing can be kept.

        Nothing is kept of code that was edited since this process began: what was imported is
        then not what lies on disk.
        """
        file = answers_file(name, options)
        if file is None or not can_write(file.parent):
            return None
        try:
            code = _code_of(asked_for(name, options))
        except OSError:
            return None
        return None if code is None else cls(file, code, tell, memory_bytes)

    def give(self, codes: Codes) -> None:
        """Let members' code answer with what is known of it."""
        found = self._read()
        if found and not self._are_right(codes, found):
            self.tell(f"{self.file} answers otherwise than the members; it is not used")
            found, self.tried = {}, 0
        for code in _every(codes):
            code.known = self._members[code.name] = Known(found.get(code.name, {}))
        self.taken = sum(len(one) for kinds in found.values() for one in kinds.values())

    def keep(self) -> None:
        """Write all that is known now, for the next run."""
        if sum(known.new for known in self._members.values()) < NEW_MIN:
            return
        # A search that came to its end is told, whatever becomes of this.
        with suppress(OSError, MemoryError, RecursionError, pickle.PicklingError):
            with _without_collection():
                body = pickle.dumps(
                    {name: known.answers for name, known in self._members.items()}, protocol=5
                )
            if len(body) > BYTES_MAX:
                return
            # Whole or not at all, whoever else writes it.
            number, name = tempfile.mkstemp(dir=self.file.parent)
            try:
                with os.fdopen(number, "wb") as made:
                    made.write(FORMAT + self.code + hashlib.sha256(body).digest() + body)
                Path(name).replace(self.file)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            _forget_old(self.file.parent)

    def note(self) -> str:
        """Return in words what the file was good for; empty: there was none."""
        if not self.taken:
            return ""
        return (
            f"members' answers: {self.taken:,} were known from a run of the same code, and"
            f" {self.tried:,} of them asked for again; --no-cache asks for all"
        )

    # -- the file ------------------------------------------------------------------------

    def _read(self) -> dict[str, dict[str, dict[Hashable, Any]]]:
        try:
            with self.file.open("rb") as opened:
                held = os.fstat(opened.fileno())
                if hasattr(os, "geteuid") and (held.st_uid != os.geteuid() or held.st_mode & 0o022):
                    return self._refuse("others may write to it")
                if not self._fits(held.st_size):
                    return self._refuse("its answers would not fit under the memory limit")
                content = opened.read(BYTES_MAX + 128)
        except FileNotFoundError:
            return {}
        except OSError as error:
            return self._refuse(error.strerror or str(error))
        if not content.startswith(FORMAT):
            return self._refuse("it is of another kind")
        head = len(FORMAT)
        if content[head : head + 32] != self.code:
            return {}  # of the code before this one
        digest, body = content[head + 32 : head + 64], content[head + 64 :]
        if hashlib.sha256(body).digest() != digest:
            return self._refuse("it is damaged")
        try:
            with _without_collection():
                found = _Reader(BytesIO(body)).load()
        except Exception as error:  # noqa: BLE001  whatever a file holds, the search goes on
            return self._refuse(f"it cannot be read: {error}")
        return found if isinstance(found, dict) else self._refuse("it is of another kind")

    def _fits(self, size: int) -> bool:
        limit = self.memory_bytes
        return limit is None or resident_bytes() + TIMES_LARGER * size <= limit

    def _refuse(self, why: str) -> dict[str, Any]:
        self.tell(f"{self.file} is not used: {why}")
        return {}

    # -- whether it is right -------------------------------------------------------------

    def _are_right(self, codes: Codes, found: dict[str, dict[str, dict[Hashable, Any]]]) -> bool:
        try:
            return all(
                self._is_right(code, kind, answers)
                for code in _every(codes)
                for kind, answers in found.get(code.name, {}).items()
            )
        except Exception:  # noqa: BLE001  the member cannot even be asked that
            return False

    def _is_right(self, code: MemberCode, kind: str, answers: dict[Hashable, Any]) -> bool:
        step = max(1, len(answers) // SAMPLES)
        for question, answer in islice(answers.items(), random.randrange(step), None, step):
            self.tried += 1
            if code.answer(kind, question) != answer:
                return False
        return True


class _Reader(pickle.Unpickler):
    """Makes values of classes of ours, by their plain names: whatever else is named is refused."""

    def find_class(self, module: str, name: str) -> Any:
        room = module.partition(".")[0]
        if "." not in name and (room in ("joinproto", "models") or (module, name) in _OTHERS):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def _every(codes: Codes) -> Iterator[MemberCode]:
    yield from codes.members
    if codes.monitor is not None:
        yield codes.monitor


def _code_of(world: str) -> bytes | None:
    """Return a hash of all that decides what members answer; None: some was edited just now,
    or a package does not say its version.
    """
    # Here and not above: it takes as long to load as a small world to search.
    from importlib.metadata import PackageNotFoundError, version

    began = _began()
    found = hashlib.sha256(FORMAT + world.encode() + sys.version.encode())
    for package in ("attrs", "transitions"):
        try:
            found.update(f"{package} {version(package)}\n".encode())
        except PackageNotFoundError:
            return None
    for room in (joinproto, models):
        top = Path(str(room.__file__)).parent
        for path in sorted(top.rglob("*.py")):
            content = path.read_bytes()
            if path.stat().st_mtime >= began:
                return None
            found.update(f"{path.relative_to(top)} {len(content)}\n".encode() + content)
    return found.digest()


_IMPORTED = time.time()


def _began() -> float:
    """Return when this process began, by the clock of files, not later than that."""
    try:
        # The 22nd field, behind the name in brackets: ticks since the machine was started.
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return _IMPORTED
    return time.time() - age - 0.01


@contextmanager
def _without_collection() -> Iterator[None]:
    """Make or read many objects, of which none is garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _forget_old(folder: Path) -> None:
    files = [path for path in folder.iterdir() if path.is_file()]
    files.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[FILES_MAX:]:
        path.unlink(missing_ok=True)
