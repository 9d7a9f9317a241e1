"""SQL over the states of a run."""

from __future__ import annotations

import json
import logging
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.errors import UsageProblem
from spark_explore.questions import QUESTIONS
from spark_explore.session import open_session

STATES, ABOUT = "states", "_about.json"


@frozen
class Answer:
    """`rows`: at most as many as were asked for; `more`: there are others."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


@frozen
class Dataset:
    """A folder of Parquet.  `columns`: name to type; `about`: what some of them say."""

    folder: Path
    world: str
    members: tuple[str, ...]
    states: int
    columns: dict[str, str]
    about: dict[str, str]


def dataset_in(out: Path) -> Dataset:
    """Return the dataset of a run's folder; raises `UsageProblem` where there is none."""
    folder = out / STATES if (out / STATES).is_dir() else out
    try:
        found = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageProblem(
            f"{out} holds no explored states",
            next="joinproto check WORLD --out DIR writes them",
        ) from error
    return Dataset(folder, members=tuple(found.pop("members")), **found)


def question(dataset: Dataset, name: str) -> str:
    """Return the SQL of a ready question."""
    if name not in QUESTIONS:
        raise UsageProblem(
            f"there is no question called {name!r}", next="one of " + ", ".join(QUESTIONS)
        )
    sql = QUESTIONS[name].sql(dataset.members, dataset.columns)
    if sql is None:
        raise UsageProblem(
            f"{name} needs {QUESTIONS[name].needs}, and {dataset.world} has none",
            next="joinproto query DIR   lists the columns",
        )
    return sql


def ask(dataset: Dataset, sql: str, *, master: str | None, rows_max: int) -> Answer:
    """Return what `sql` finds in the table `states`."""
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    # Whoever asked is told what is wrong with the query, and needs no trace of it as well.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    session = open_session(master)
    try:
        session.read.parquet(str(dataset.folder)).createOrReplaceTempView(STATES)
        try:
            frame = session.sql(sql)
            found = frame.limit(rows_max + 1).collect()
        except (AnalysisException, ParseException) as error:
            names = ", ".join(list(dataset.columns)[:6])
            raise UsageProblem(
                f"the query is wrong: {_said(error)}",
                next=f"the table is `states`, with {names}, ...; joinproto query DIR lists all",
            ) from error
        except PySparkException as error:
            raise UsageProblem(
                f"the query failed: {_said(error)}", next="joinproto query DIR   lists the columns"
            ) from error
        rows = tuple(tuple(_value(item) for item in row) for row in found[:rows_max])
        return Answer(tuple(frame.columns), rows, len(found) > rows_max)
    finally:
        session.stop()


def _said(error: Any) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or ["it says nothing"])[0].partition(" SQLSTATE")[0]


def _value(item: Any) -> Any:
    if isinstance(item, Decimal):
        return int(item) if item == item.to_integral_value() else float(item)
    return str(item) if isinstance(item, date | datetime | bytes | bytearray) else item
