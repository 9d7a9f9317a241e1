"""Connects `answers.py` to the page: Python runs this code in the page's worker."""

from __future__ import annotations

import sys
from typing import Any

from tools.playground.answers import answer

# No bytecode: it is matched to its source by the second, and a model may change more often.
sys.dont_write_bytecode = True


def ask(verb: str, given: str, tell: Any) -> str:
    """Return the answer to one question of the page, as JSON.

    `tell`: a JavaScript function that posts a search's progress: expanded states, and seconds.
    """
    return answer(verb, given, tell)
