"""Names for the types of the engine's arrays.  Each name fixes dtype and shape.

Sizes are named in the shapes: (row, word) is one line for each row, one column for each word.
Compiled loops read named tuples of arrays, which give the shape of each field:
`tables/kernel.py`, `expansion/buffers.py`, `symmetry/canonical.py`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Rows: TypeAlias = npt.NDArray[np.uint64]
"""uint64 (row, word): states, packed as `rows/layout.py` says."""

Row: TypeAlias = npt.NDArray[np.uint64]
"""uint64 (word,): one state."""

RowMarks: TypeAlias = npt.NDArray[np.uint16]
"""uint16 (row,): which members led to each row, as `expansion/sleeping.py` says."""

Masks: TypeAlias = npt.NDArray[np.uint64]
"""uint64 (number, word): for each number, such as an outcome's, bits of a row's words."""

Ints: TypeAlias = npt.NDArray[np.int64]
"""int64 (n,): numbers of rows, steps, combinations: the variable's name says which."""

Table: TypeAlias = npt.NDArray[np.int64]
"""int64 (line, column): the columns are described at each use."""

Questions: TypeAlias = npt.NDArray[np.int64]
"""int64 (question, 4): kind, x, y, z, as `tables/kernel.py` lists kinds (`ASK_CELL`, ...)."""

Block: TypeAlias = npt.NDArray[np.int32]
"""int32 (line, column): a table of small numbers; -1: no answer is known yet, or there is none."""

SmallInts: TypeAlias = npt.NDArray[np.int32]
"""int32 (n,): numbers below 2^31, in long arrays."""

SmallFlags: TypeAlias = npt.NDArray[np.int8]
"""int8 (n,): flags, or a few bits for each."""

Keys: TypeAlias = npt.NDArray[np.uint64]
"""uint64 (n,): hashes, or other numbers of 64 bits."""

Flags: TypeAlias = npt.NDArray[np.bool_]
"""bool (n,): whether a condition holds; the variable's name says which."""

Floats: TypeAlias = npt.NDArray[np.float64]
"""float64 (n,): probabilities, or times in seconds."""

Column: TypeAlias = npt.NDArray[Any]
"""Any one dtype (n,): a column of a table, or a part of one."""
