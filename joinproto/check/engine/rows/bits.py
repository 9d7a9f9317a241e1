"""Operations that numba lacks: trailing zeros, prefetching, and atomic access to an array that
several threads share.  This module also has the hash of a row, and `fingerprints` of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from joinproto.check.engine.shapes import Flags, Keys, Rows


@intrinsic
def trailing_zeros(typingctx: Any, value: Any) -> Any:
    """Return how many low bits of a non-zero uint64 are 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@intrinsic
def prefetch(typingctx: Any, table: Any, at: Any) -> Any:
    """Begin to read item `at` of a contiguous array (of rows: row `at`), without waiting for it.

    The processor waits for a load once it has no room for later instructions.  With a prefetch, a
    look-up that misses the caches takes half the time.  `at` may lie outside the array.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = make_array(signature.args[0])(context, builder, args[0])
        strides = builder.extract_value(array.strides, 0)
        byte = ir.IntType(8).as_pointer()
        place = builder.gep(builder.bitcast(array.data, byte), [builder.mul(args[1], strides)])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # 0: it will be read.  3: keep it in all caches.  1: it is data.
        builder.call(call, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(table, types.int64), codegen


@njit(inline="always")
def mix(x: Any) -> Any:
    """Return a well-mixed uint64 for a uint64 (a bijection: multiply, fold, multiply)."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = x ^ (x >> np.uint64(32))
    return x * np.uint64(0xD6E8FEB86659FD93)


@njit(inline="always")
def hash_of(rows: Rows, i: Any) -> Any:
    """Return the hash of row i."""
    h = np.uint64(0)
    for w in range(rows.shape[1]):
        h = mix(h ^ rows[i, w])
    return h


@njit(inline="always")
def are_same(rows: Rows, i: Any, others: Rows, j: Any) -> Any:
    """Return whether row i of `rows` equals row j of `others`."""
    differ = np.uint64(0)
    for w in range(rows.shape[1]):
        differ |= rows[i, w] ^ others[j, w]
    return differ == np.uint64(0)


def _item(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Return a pointer to item `at` of a contiguous array of one dimension."""
    data = make_array(kind)(context, builder, array).data
    return builder.gep(data, [at])


@intrinsic
def read_now(typingctx: Any, array: Any, at: Any) -> Any:
    """Return item `at` as it is now, by an acquire load.

    If a thread wrote it by `compare_and_swap_zero`, all earlier writes of that thread are visible.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _item(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(place, "acquire", array.dtype.bitwidth // 8)

    return array.dtype(array, types.int64), codegen


@intrinsic
def compare_and_swap_zero(typingctx: Any, array: Any, at: Any, value: Any) -> Any:
    """Set item `at` to `value` if it is 0, atomically; return its former value.

    If it was 0 and several threads do so at the same time, exactly one of them gets 0.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _item(context, builder, signature.args[0], args[0], args[1])
        none = ir.Constant(args[2].type, 0)
        found = builder.cmpxchg(place, none, args[2], "acq_rel", "acquire")
        return builder.extract_value(found, 0)

    return array.dtype(array, types.int64, array.dtype), codegen


def _atomic(operation: str) -> Any:
    @intrinsic
    def changed(typingctx: Any, array: Any, at: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = _item(context, builder, signature.args[0], args[0], args[1])
            return builder.atomic_rmw(operation, place, args[2], "monotonic")

        return array.dtype(array, types.int64, array.dtype), codegen

    return changed


atomic_add, atomic_or = _atomic("add"), _atomic("or")
"""Add to item `at` of an array, or set bits of it, atomically; return its former value."""


def has_bit(flags: Keys, bit: int) -> Flags:
    """Return whether each of the numbers has this bit."""
    found: Flags = (flags >> np.uint64(bit)) & np.uint64(1) != 0
    return found


def fingerprints(rows: Rows) -> Keys:
    """Return a number for each row, which stays the same if words of zeros are added at its end.

    Two rows may have the same number, so compare the rows as well.
    """
    found = np.empty(len(rows), np.uint64)
    _fingerprints(rows, found)
    return found


@njit(cache=True)
def _fingerprints(rows: Rows, found: Keys) -> None:
    words = rows.shape[1]
    for i in range(len(rows)):
        h = np.uint64(0)
        for w in range(words):
            if rows[i, w] != 0:
                salt = np.uint64(w + 1) * np.uint64(0xA0761D6478BD642F)
                h += mix(mix(rows[i, w] ^ salt) ^ (salt >> np.uint64(32)))
        found[i] = mix(h)
