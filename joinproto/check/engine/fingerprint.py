"""A 64-bit number for each row, the same after words of zeros were added at its end."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from joinproto.check.engine.bits import mix


def fingerprints(rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return a number for each row; two rows may share one, so compare the rows as well."""
    found = np.empty(len(rows), np.uint64)
    _fingerprints(rows, found)
    return found


@njit(cache=True)
def _fingerprints(rows: Any, found: Any) -> None:
    words = rows.shape[1]
    for i in range(len(rows)):
        h = np.uint64(0)
        for w in range(words):
            if rows[i, w] != 0:
                salt = np.uint64(w + 1) * np.uint64(0xA0761D6478BD642F)
                h += mix(mix(rows[i, w] ^ salt) ^ (salt >> np.uint64(32)))
        found[i] = mix(h)
