"""Fails a test in which a module of this project reads a pickle.

Libraries may read pickles: Spark, processes of a pool, Numba's own cache.
"""

from __future__ import annotations

import sys
from typing import Any

from joinproto.check import packages

_EVENTS = frozenset({"pickle.find_class", "marshal.loads"})
_OURS = frozenset(packages.ALL)


def refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    """Raise if a module of ours reads a pickle.  This is an audit hook, which cannot be removed."""
    if event in _EVENTS:
        module = sys._getframe(1).f_globals.get("__name__", "")
        if module.partition(".")[0] in _OURS:
            raise AssertionError(f"{module} reads a pickle: data from files and peers is never one")
