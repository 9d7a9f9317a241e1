"""What members' code answered in the last run of the same code, kept in a file.

A member's answers follow from its attributes, the event and its code (`joinproto/check/twice.py`),
so whoever has the same code need not ask again.  The same code: the content of every module of
`joinproto` and `joinproto_worlds`, the versions of what they import, and Python's.  A world of
somebody's own may import anything, so its answers are never kept.

They are kept as they were given; or, by a search that came to its end, as the numbers that it
gave them all (`joinproto/check/engine/numbering.py`).

Nothing is taken on trust: at each run some of the answers are asked for again, and a file in
which one differs is not used, as little as one that is damaged, or of another user.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, field

from joinproto.check import packages
from joinproto.check.folders import Form, answers_file, asked_for
from joinproto.check.kept_file import KeptFile
from joinproto.check.known import Known

if TYPE_CHECKING:
    from joinproto.check.member import Codes, MemberCode

NEW_MIN, NEW_MIN_SMALL = 2_000, 1_000
"""A run that asked for less is over sooner than a file is written: of the engine; of a small
world, in plain Python."""

SAMPLES = 25
"""So many answers of each kind and member are asked for again."""

_ASKED, _NUMBERS = "asked", "numbers"

TIMES_LARGER = {_ASKED: 16, _NUMBERS: 4}
"""So much more than in a file answers, or numbers, take in memory, at most."""

_ByKind = dict[str, dict[Hashable, Any]]


class Numbering(Protocol):
    """The numbers that a search gives: see `joinproto/check/engine/numbering.py`."""

    flatten: Mapping[type, Callable[..., Any]]

    def content(self) -> Any:
        """Return them as plain data."""

    def samples(self, content: Any, most: int) -> Iterable[bool]:
        """Yield of up to `most` answers of each kind and member whether they are right."""

    def take(self, content: Any) -> None:
        """Number all as it was when `content` was made."""


@define
class Answers:
    """The answers of all members of one world, kept where at least `least` are new.

    `taken`: how many answers the file had; `tried`: how many of them were asked for again.
    """

    file: KeptFile
    least: int
    taken: int = field(default=0, init=False)
    tried: int = field(default=0, init=False)
    _members: dict[str, Known] = field(factory=dict, init=False)
    _numbering: Numbering | None = field(default=None, init=False)
    _is_numbered: bool = field(default=False, init=False)

    @classmethod
    def of(
        cls,
        name: str,
        options: Mapping[str, Any],
        tell: Callable[[str], None],
        memory_bytes: int | None = None,
        form: Form = "",
    ) -> Answers | None:
        """Return those of a world that ships; None where there is no place to keep them."""
        file = answers_file(name, options, form)
        if file is None:
            return None
        code = cache(lambda: _code_of(asked_for(name, options)))
        least = NEW_MIN_SMALL if form == "small" else NEW_MIN
        return cls(KeptFile(file, code, tell, memory_bytes), least)

    def give(self, codes: Codes, numbering: Numbering | None = None) -> None:
        """Let members' code answer with what is known of it, or all be numbered as it was."""
        self._numbering = numbering
        kinds = {_ASKED} if numbering is None else {_ASKED, _NUMBERS}
        kind, found = self.file.read({kind: TIMES_LARGER[kind] for kind in kinds})
        if kind and not self._are_right(codes, kind, found):
            self.file.tell(f"{self.file.path} answers otherwise than the members; it is not used")
            kind, self.tried = "", 0
        # Only now: what was asked to try them is nothing new.
        for code in _every(codes):
            answers = found.get(code.name, {}) if kind == _ASKED else {}
            code.known = self._members[code.name] = Known(answers)
            self.taken += sum(map(len, answers.values()))
        if kind == _NUMBERS:
            self._numbers.take(found["numbers"])
            self.taken, self._is_numbered = found["answers"], True

    def keep(self, *, is_whole: bool) -> None:
        """Write all that is known now, for the next run.

        `is_whole`: no limit ended the search, so its numbers are worth keeping.
        """
        new = sum(known.new for known in self._members.values())
        if is_whole and self._numbering is not None:
            # Bare answers make room for numbers, however few are new.
            if (new if self._is_numbered else self.taken + new) >= self.least:
                content = {"answers": self.taken + new, "numbers": self._numbers.content()}
                self.file.write(_NUMBERS, content, self._numbers.flatten)
            return
        if new < self.least or self._is_numbered:
            return  # of a file of numbers, what was asked now is the least
        answers = {name: known.answers for name, known in self._members.items()}
        self.file.write(_ASKED, answers, {})

    def note(self) -> str:
        """Return in words what the file was good for; empty: there was none."""
        if not self.taken:
            return ""
        return (
            f"members' answers: {self.taken:,} were known from a run of the same code, and"
            f" {self.tried:,} of them asked for again; --no-cache asks for all"
        )

    @property
    def _numbers(self) -> Numbering:
        assert self._numbering is not None
        return self._numbering

    # -- whether they are right ----------------------------------------------------------

    def _are_right(self, codes: Codes, kind: str, found: Any) -> bool:
        try:
            samples = (
                self._numbers.samples(found["numbers"], SAMPLES)
                if kind == _NUMBERS
                else _samples(codes, found)
            )
            for is_right in samples:
                self.tried += 1
                if not is_right:
                    return False
        except Exception:  # noqa: BLE001  the member cannot even be asked that
            return False
        return True


def _samples(codes: Codes, found: dict[str, _ByKind]) -> Iterator[bool]:
    for code in _every(codes):
        for kind, answers in found.get(code.name, {}).items():
            step = max(1, len(answers) // SAMPLES)
            for question, answer in islice(answers.items(), random.randrange(step), None, step):
                yield code.answer(kind, question) == answer


def _every(codes: Codes) -> Iterator[MemberCode]:
    yield from codes.members
    if codes.monitor is not None:
        yield codes.monitor


def _code_of(world: str) -> bytes | None:
    """Return a hash of all that decides what members answer.

    None where nobody knows: a module was edited since this process began, so that what was
    imported is not what lies on disk; or cannot be read; or a package does not say its version.
    """
    # Here and not above: it takes as long to load as a small world to search.
    from importlib.metadata import PackageNotFoundError, version

    began = _began()
    found = hashlib.sha256(world.encode() + sys.version.encode())
    for package in ("attrs", "transitions"):
        try:
            found.update(f"{package} {version(package)}\n".encode())
        except PackageNotFoundError:
            return None
    for package in packages.MODELS:
        top = packages.folder(package)
        for path in sorted(top.rglob("*.py")):
            try:
                content, edited = path.read_bytes(), path.stat().st_mtime
            except OSError:
                return None
            if edited >= began:
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
