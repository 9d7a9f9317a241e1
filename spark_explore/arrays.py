"""Arrays in files: `.npy` on a machine, where they are mapped, and Parquet in a store.

A packed array has about a tenth of its size, because its rows are sorted, or their columns have
few values.  Arrays that Spark carries are packed, too.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from attrs import define

from joinproto.check.engine.shapes import Column
from spark_explore.places import replacing

_GROUP_BYTES = 1 << 25
_ARRAY = b"array"
"""The key of a file's metadata that has the type and the shape of its array."""


@define
class Growing:
    """An array that is written in pieces.  `shape`: of one item."""

    file: IO[bytes]
    dtype: np.dtype | type
    shape: tuple[int, ...]
    count: int = 0

    def add(self, piece: Column) -> None:
        """Append items."""
        if not self.count:
            self.write_header()
        self.file.write(np.ascontiguousarray(piece, self.dtype).data)
        self.count += len(piece)

    def write_header(self) -> None:
        """Write the header, whose length does not depend on the count."""
        self.file.seek(0)
        array: Column = np.empty((0, *self.shape), self.dtype)
        header = np.lib.format.header_data_from_array_1_0(array)
        np.lib.format.write_array_header_1_0(
            self.file, header | {"shape": (self.count, *self.shape)}
        )


@contextmanager
def growing(path: Path, dtype: np.dtype | type, shape: tuple[int, ...] = ()) -> Iterator[Growing]:
    """Write an array to a `.npy` file in pieces, as a whole or not at all.

    An array that stays empty leaves no file.
    """
    with replacing(path) as file:
        array = Growing(file, dtype, shape)
        yield array
        if array.count:
            # Not np.save: its error for a full disk says how much it wrote, but not why.
            array.write_header()
            file.seek(0, os.SEEK_END)
    if not array.count:
        path.unlink()


def pack(array: Column, file: IO[bytes]) -> None:
    """Write an array of items of 8 bytes to a Parquet file with a column for each word.

    `array`: of shape (rows,) or (rows, words), with at least one row.
    """
    import pyarrow as pa  # imported here, because a run in a folder does not need it
    import pyarrow.parquet as pq

    table = array.reshape(len(array), -1)
    words, kind = table.shape[1], pa.from_numpy_dtype(array.dtype)
    schema = pa.schema([(f"word{n}", kind) for n in range(words)])
    schema = schema.with_metadata({_ARRAY: json.dumps([array.dtype.name, array.shape])})
    # Rows of one word are sorted, so neighbours have most bytes in common.  Columns of wider rows
    # have few values.  The other encoding takes twice the bytes in both cases.
    single = {"word0": "BYTE_STREAM_SPLIT"} if words == 1 else None
    step = max(1, _GROUP_BYTES // (8 * words))
    with pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=1,
        write_statistics=False,
        write_page_checksum=True,
        use_dictionary=single is None,
        column_encoding=single,
    ) as writer:
        for begin in range(0, len(table), step):
            columns = np.ascontiguousarray(table[begin : begin + step].T)
            writer.write_batch(pa.record_batch([*map(pa.array, columns)], schema))


def unpack(file: Path, path: Path) -> None:
    """Write the array of a Parquet file that `pack` wrote to the `.npy` file `path`.

    Raises `ValueError`, or an `OSError` without a number, for a damaged file.
    """
    with ExitStack() as stack:
        array = None
        for part in _parts(file):
            array = array or stack.enter_context(growing(path, part.dtype, part.shape[1:]))
            array.add(part)


def packed(array: Column) -> bytes:
    """Return an array in the form that `pack` writes."""
    content = io.BytesIO()
    pack(array, content)
    return content.getvalue()


def unpacked(content: bytes) -> Column:
    """Return the array that was packed."""
    return np.concatenate([*_parts(io.BytesIO(content))])


def _parts(file: Path | IO[bytes]) -> Iterator[Column]:
    import pyarrow.parquet as pq

    try:
        # The pages of the columns have checksums, and the metadata says how much there must be.
        with pq.ParquetFile(file, page_checksum_verification=True) as found:
            dtype, (count, *shape) = json.loads(found.schema_arrow.metadata[_ARRAY])
            rows = max(1, _GROUP_BYTES // (8 * len(found.schema_arrow)))
            for batch in found.iter_batches(rows):
                part = np.stack([column.to_numpy() for column in batch.columns], axis=1)
                count -= len(part)
                if part.dtype != dtype or count < 0:
                    raise ValueError("it has other values than its metadata says")
                yield part.reshape(-1, *shape)
        if count:
            raise ValueError(f"{count} rows are missing")
    except (KeyError, TypeError, NotImplementedError) as error:
        raise ValueError(f"its metadata are damaged: {error!r}") from error
