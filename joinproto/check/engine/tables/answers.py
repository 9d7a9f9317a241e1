"""Answers of members' code from an earlier run of the same code, cached in a file.

A member's answers follow from its attributes, the event and its code
(`joinproto/check/determinism.py`), so a run with the same code need not ask again.  The code is the
same if every module of `joinproto` and `joinproto_worlds` has the same content, and the versions of
their imports and of Python are the same.  A user's own world may import anything, so its answers
are never kept.

The cache holds the numbering of the earlier search (`joinproto/check/engine/tables/numbering.py`).

Each run asks for some of the stored answers again.  If one of them differs, the file is not used;
nor is a file that is damaged or that other users may write to.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

from joinproto.check import packages
from joinproto.check.engine.tables.kept_file import AnswersFile
from joinproto.check.engine.tables.kept_values import Names
from joinproto.check.folders import answers_file, asked_for, count_file
from joinproto.check.local import KnownAnswers

if TYPE_CHECKING:
    from joinproto.check.engine.tables.numbering import TablesNumbering
    from joinproto.check.member import Codes

NEW_MIN = 2_000
"""With fewer new answers, no file is written, because asking again is faster."""

SAMPLES = 25
"""Answers of each kind and member that are checked again."""


@define
class Answers:
    """The answers of all members of one world; they are written if at least `least` are new.

    `counted`: the file that holds the number of states.  `taken`: how many answers were read from
    `file`; `tried`: how many of these were asked for again.
    """

    file: AnswersFile
    least: int
    counted: AnswersFile | None = None
    taken: int = field(default=0, init=False)
    tried: int = field(default=0, init=False)
    _asked: list[KnownAnswers] = field(factory=list, init=False)
    _numbering: TablesNumbering | None = field(default=None, init=False)
    _names: Callable[[], Names] = field(default=Names, init=False)

    @classmethod
    def of(
        cls,
        name: str,
        options: Mapping[str, Any],
        tell: Callable[[str], None],
        memory_bytes: int | None = None,
    ) -> Answers | None:
        """Return the answers of a world that ships; None if this machine has no cache folder."""
        file, counted = answers_file(name, options), counts_of(name, options)
        if file is None or counted is None:
            return None
        return cls(AnswersFile(file, counted.code, tell, memory_bytes), NEW_MIN, counted)

    def give(self, codes: Codes, numbering: TablesNumbering) -> None:
        """Give `numbering` the stored numbers, if there is a file with right answers."""
        self._numbering = numbering
        self._names = cache(lambda: Names.of([*codes.beginnings()]))
        found = self.file.read(self._names)
        if found is not None and not self._are_right(found):
            self.file.tell(f"{self.file.path} is not used: the members have other answers")
            found, self.tried = None, 0
        # Counting begins here, after the samples were asked for, which are not new answers.
        for code in (*codes.members, *([codes.monitor] if codes.monitor else ())):
            code.known = KnownAnswers()
            self._asked.append(code.known)
        if found is not None:
            numbering.take(found["numbers"])
            self.taken = found["answers"]

    def keep(self, states: int | None = None) -> None:
        """Write all answers for the next run, after a search that came to its end.

        `states`: the number of states, if all were found.
        """
        if states is not None and self.counted is not None and self.counted.read(Names) != states:
            self.counted.write(states, Names)
        new = sum(known.new for known in self._asked)
        if new >= self.least and self._numbering is not None:
            content = {"answers": self.taken + new, "numbers": self._numbering.content()}
            self.file.write(content, self._names)

    def note(self) -> str:
        """Return a text about the use of the file, or "" if no answers were read from the file."""
        if not self.taken:
            return ""
        return (
            f"members' answers: {self.taken:,} were known from a run of the same code, and"
            f" {self.tried:,} of them asked for again; --no-cache asks for all"
        )

    def _are_right(self, found: Any) -> bool:
        assert self._numbering is not None
        try:
            for is_right in self._numbering.samples(found["numbers"], SAMPLES):
                self.tried += 1
                if not is_right:
                    return False
        except Exception:  # noqa: BLE001  the member cannot even be asked this question
            return False
        return True


def counts_of(name: str, options: Mapping[str, Any]) -> AnswersFile | None:
    """Return the file with the number of states of a world that ships, or None."""
    file = count_file(name, options)
    code = cache(lambda: _code_of(asked_for(name, options)))
    return None if file is None else AnswersFile(file, code, lambda _: None)


def _code_of(world: str) -> bytes | None:
    """Return a hash of everything that decides members' answers.

    None if it is unknown: a module was edited since this process began, so that the imported code
    may differ from the file; or a module cannot be read; or a package has no known version.
    """
    # Imported here, because this takes as long as searching a small world.
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
    """Return when this process began, in seconds of the clock of files, or a little earlier."""
    try:
        # The 22nd field, after the name in brackets: ticks since the machine was started.
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return _IMPORTED
    return time.time() - age - 0.01
