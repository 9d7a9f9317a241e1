"""Bit tricks that numba does not offer: count of trailing zeros, a 64-bit mix."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


@intrinsic
def trailing_zeros(typingctx: Any, value: Any) -> Any:
    """Return how many low bits of a non-zero uint64 are 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@njit(inline="always")
def mix(x: Any) -> Any:
    """Return a well-mixed uint64 of a uint64 (a bijection: multiply, fold, multiply)."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = x ^ (x >> np.uint64(32))
    return x * np.uint64(0xD6E8FEB86659FD93)
