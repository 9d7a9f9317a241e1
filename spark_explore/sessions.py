"""SQL over the states of a run, by DuckDB in this process or by Spark, with the same answers."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Protocol

from attrs import define, frozen

from joinproto.errors import UsageProblem, not_installed
from spark_explore.places import Address, Folder, Place
from spark_explore.query import EDGES, STATES, Dataset
from spark_explore.session import lines_of

Engine = Literal["duckdb", "spark"]


@frozen
class Answer:
    """A result.  `rows`: at most as many as were wanted; `more`: whether there are more rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


class Session(Protocol):
    """Answers SQL over the table `states`."""

    def ask(self, sql: str, rows_max: int) -> Answer:
        """Return the result of `sql`; raises `UsageProblem` for a wrong query."""


def engine_for(wanted: str, master: str | None) -> Engine:
    """Return the engine that answers.

    `auto` is Spark if there is a master or only Spark is installed, and DuckDB otherwise.
    """
    if wanted == "spark" or (wanted == "auto" and master is not None):
        return "spark"
    if importlib.util.find_spec("duckdb") is None:
        if wanted == "auto" and importlib.util.find_spec("pyspark") is not None:
            return "spark"
        raise not_installed("duckdb", "query")
    return "duckdb"


@contextmanager
def session_over(dataset: Dataset, engine: Engine, master: str | None) -> Iterator[Session]:
    """Yield a session in which the dataset is the table `states`."""
    if engine == "spark":
        from spark_explore.frames import read
        from spark_explore.session import open_session

        # An error about a query is raised to the caller, so its log is not needed.
        logging.getLogger("SQLQueryContextLogger").disabled = True
        spark = open_session(master)
        try:
            for name, folder in _tables(dataset).items():
                frame = read(spark, folder)
                if name == STATES:
                    frame = frame.selectExpr(*_columns(dataset, "spark"))
                frame.createOrReplaceTempView(name)
            yield _Spark(dataset, spark)
        finally:
            spark.stop()
        return
    import duckdb

    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        for name, folder in _tables(dataset).items():
            files = [one for one in folder.names() if one.endswith(".parquet")]
            if isinstance(folder, Folder):
                table = connection.from_parquet([str(folder.path / one) for one in files])
            else:
                table = connection.from_arrow(_arrow(folder, files))
            if name == STATES:
                table = table.project(", ".join(_columns(dataset, "duckdb")))
            table.create_view(name)
        yield _DuckDb(dataset, connection)


def _tables(dataset: Dataset) -> dict[str, Place]:
    """Return the folder of each table: `states`, and `edges` if steps were written."""
    edges = dataset.out / EDGES
    return {STATES: dataset.folder, **({EDGES: edges} if edges.names() else {})}


def _arrow(folder: Address, files: list[str]) -> Any:
    """Return files of an object store as one table, which DuckDB reads in parts."""
    from pyarrow import dataset as arrow
    from pyarrow import parquet

    from spark_explore.frames import without_dictionaries

    with folder.open(files[0]) as file:
        # Texts without dictionaries, because dictionary columns would be sorted by their codes.
        kinds = without_dictionaries(parquet.read_schema(file))
    paths = [folder.at(one) for one in files]
    return arrow.dataset(paths, kinds, format="parquet", filesystem=folder.store)


def _columns(dataset: Dataset, engine: Engine) -> Iterator[str]:
    """Yield the columns of `states` in SQL, constants as literals."""
    quote = "`" if engine == "spark" else '"'
    for name in dataset.columns:
        quoted = f"{quote}{name}{quote}"
        if name in dataset.constants:
            yield f"{_literal(dataset.constants[name], engine)} AS {quoted}"
        else:
            yield quoted


def _literal(value: Any, engine: Engine) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        text = value.replace("'", "''") if engine == "duckdb" else _escaped(value)
        return f"'{text}'"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, list):
        items = ", ".join(_literal(item, engine) for item in value)
        return f"array({items})" if engine == "spark" else f"[{items}]"
    if isinstance(value, dict):
        pairs = [(_literal(name, engine), _literal(item, engine)) for name, item in value.items()]
        if engine == "spark":
            return f"named_struct({', '.join(f'{name}, {item}' for name, item in pairs)})"
        return f"{{{', '.join(f'{name}: {item}' for name, item in pairs)}}}"
    return str(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


@define
class _DuckDb:
    dataset: Dataset
    connection: Any

    def ask(self, sql: str, rows_max: int) -> Answer:
        import duckdb

        try:
            found = self.connection.execute(sql)
            if found.description is None:
                raise UsageProblem("the query returns no table", next="begin it with SELECT")
            rows = found.fetchmany(rows_max + 1)
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
            raise _wrong_query(self.dataset, error) from error
        except duckdb.Error as error:
            raise _failed_query(error) from error
        return _answer([name for name, *_ in found.description], rows, rows_max)


@define
class _Spark:
    dataset: Dataset
    session: Any

    def ask(self, sql: str, rows_max: int) -> Answer:
        from pyspark.errors import AnalysisException, ParseException, PySparkException

        try:
            frame = self.session.sql(sql)
            found = frame.limit(rows_max + 1).collect()
        except (AnalysisException, ParseException) as error:
            raise _wrong_query(self.dataset, error) from error
        except PySparkException as error:
            raise _failed_query(error) from error
        return _answer(frame.columns, found, rows_max)


def _answer(columns: list[str], rows: list[Any], rows_max: int) -> Answer:
    kept = tuple(tuple(_value(item) for item in row) for row in rows[:rows_max])
    return Answer(tuple(columns), kept, len(rows) > rows_max)


def _wrong_query(dataset: Dataset, error: Exception) -> UsageProblem:
    names = ", ".join(list(dataset.columns)[:6])
    return UsageProblem(
        f"the query is wrong: {_first_line(error)}",
        next=f"the table is `states`, with {names}, ...; joinproto query DIR lists all columns",
    )


def _failed_query(error: Exception) -> UsageProblem:
    return UsageProblem(
        f"the query failed: {_first_line(error)}",
        next="run joinproto query DIR, which lists the columns",
    )


def _first_line(error: Exception) -> str:
    return lines_of(str(error))[0].partition(" SQLSTATE")[0]


def _value(item: Any) -> Any:
    if isinstance(item, Decimal):
        return int(item) if item == item.to_integral_value() else float(item)
    if hasattr(item, "asDict"):  # a struct, by Spark
        item = item.asDict()
    if isinstance(item, dict):
        return {str(name): _value(one) for name, one in item.items()}
    if isinstance(item, list | tuple):
        return [_value(one) for one in item]
    return str(item) if isinstance(item, date | datetime | bytes | bytearray) else item
