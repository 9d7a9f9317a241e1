"""No module of this project reads a pickle: one that does so fails its test.

Libraries do, among themselves: Spark, processes of a pool, Numba's own cache.
"""

from __future__ import annotations

import sys
from typing import Any

from joinproto.check import packages

_EVENTS = frozenset({"pickle.find_class", "marshal.loads"})
_OURS = frozenset(packages.ALL)


def refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    """Raise where a module of ours unpickles: an audit hook, for good."""
    if event in _EVENTS:
        module = sys._getframe(1).f_globals.get("__name__", "")
        if module.partition(".")[0] in _OURS:
            raise AssertionError(f"{module} reads a pickle: data from files and peers is never one")
