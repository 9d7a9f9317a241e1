"""Joins `answers.py` to the page: the code that Python runs in the page's worker."""

from __future__ import annotations

import sys
from typing import Any

from tools.playground.answers import answer

# A model is edited more than once a second, and bytecode is found again by the second.
sys.dont_write_bytecode = True


def ask(verb: str, given: str, tell: Any) -> str:
    """Return the answer to one question of the page, as JSON.

    `tell`: a function of JavaScript that posts how far a search is: states expanded, seconds.
    """
    return answer(verb, given, tell)
