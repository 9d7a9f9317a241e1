"""A question to Z3 in SMT-LIB 2.6, which other solvers read, too."""

from __future__ import annotations

import re
from typing import Any, Literal

from attrs import frozen

Verdict = Literal["sat", "unsat"]

NAME_MAX = 100
"""The most characters of a file's name; some file systems allow only 143."""


@frozen
class Script:
    """A question.  `words`: the obligation; `expected`: a solver's answer if it is proved."""

    words: str
    expected: Verdict
    text: str

    @classmethod
    def of(cls, solver: Any, words: str, expected: Verdict) -> Script:
        """Return a script with the assertions of this Z3 solver."""
        _, _, asserted = solver.to_smt2().partition("(set-info :status unknown)\n")
        head = (
            f"; joinproto: {words}\n"
            f"; proved if the answer is {expected}\n"
            "(set-info :smt-lib-version 2.6)\n"
            "(set-logic UFLIA)\n"
        )
        return cls(words, expected, head + asserted)

    def name(self, number: int) -> str:
        """Return the name of the script's file, without an extension."""
        words = re.sub(r"[^A-Za-z0-9_]+", "-", self.words).strip("-")
        return f"{number:04}-{words}"[:NAME_MAX]
