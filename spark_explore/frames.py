"""DataFrames in files, in a folder or an object store.

Spark itself opens files in a folder.  For an object store Spark would need Hadoop's client of that
store.  Python's workers have a client in pyarrow, so they read and write these files.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_explore.places import Address, Folder, Place

_BATCH_ROWS = 1 << 16


def read(session: Any, place: Place, kinds: Any = None, names: Iterable[str] = ()) -> Any:
    """Return the Parquet files of a place as a DataFrame.

    `kinds`: the schema of the DataFrame in Spark's form; None means the schema of the files.
    `names`: the files to read in an object store; () means all files.
    """
    if isinstance(place, Folder):
        reader = session.read if kinds is None else session.read.schema(kinds)
        return reader.parquet(place.path.absolute().as_uri())
    files = [name for name in (names or place.names()) if name.endswith(".parquet")]
    if kinds is None:
        from pyspark.sql.pandas.types import from_arrow_schema

        with place.open(files[0]) as file:
            kinds = from_arrow_schema(without_dictionaries(pq.read_schema(file)))
    flow = session.sparkContext.parallelize([(name,) for name in files], max(1, len(files)))
    listed = session.createDataFrame(flow, "name string")
    return listed.mapInArrow(lambda batches: _batches(place, batches), kinds)


def _batches(place: Address, listed: Iterable[Any]) -> Iterator[Any]:
    for one in listed:
        for name in one.column("name").to_pylist():
            with place.open(name) as file:
                found = pq.ParquetFile(file)
                kinds = without_dictionaries(found.schema_arrow)
                for batch in found.iter_batches(_BATCH_ROWS):
                    yield from pa.Table.from_batches([batch]).cast(kinds).to_batches()


def without_dictionaries(schema: Any) -> Any:
    """Return an Arrow schema in which dictionary types are replaced by their value types."""
    return pa.schema(
        (item.name, item.type.value_type if pa.types.is_dictionary(item.type) else item.type)
        for item in schema
    )


def write(frame: Any, place: Place) -> list[str]:
    """Write a DataFrame, and return the names of its files; [] means all files of the folder.

    A task that runs twice leaves a file that is not among these names.
    """
    if isinstance(place, Folder):
        frame.write.parquet(place.path.absolute().as_uri())
        return []

    def put(batches: Iterable[Any]) -> Iterator[Any]:
        content, writer = pa.BufferOutputStream(), None
        for batch in batches:
            writer = writer or pq.ParquetWriter(content, batch.schema, compression="zstd")
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
            name = f"part-{secrets.token_hex(8)}.parquet"
            place.write(name, memoryview(content.getvalue()))
            yield pa.RecordBatch.from_pydict({"name": [name]})

    return [row.name for row in frame.mapInArrow(put, "name string").collect()]
