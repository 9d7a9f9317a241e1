"""`joinproto query`: SQL over the states of a run, and the shortest run to one of them.

0  answered                       2  a wrong query, no dataset, no such question
1  --to: no state fits            4  neither DuckDB nor Spark is there, or Spark does not start
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from attrs import frozen

from joinproto.check.events import plain
from joinproto.cli import completing
from joinproto.cli.options import AS_JSON, COUNT, PlaceType, option
from joinproto.cli.output import Terminal
from joinproto.cli.show.pieces import Piece, Role, line
from joinproto.codec.json_form import Count, Seconds, printed
from joinproto.errors import UsageProblem

if TYPE_CHECKING:
    from spark_explore.places import Place
    from spark_explore.query import Dataset
    from spark_explore.reached import Way
    from spark_explore.sessions import Session

EXAMPLE = """\b
Examples:
  joinproto query DIR                       its columns, and questions that are ready
  joinproto query DIR "SELECT level, count(*) FROM states GROUP BY level"
  joinproto query DIR --ask growth
  joinproto query DIR --to "a_phase = 'active' and b_phase = 'active'"
"""


Engine = Literal["duckdb", "spark"]


@frozen
class Found:
    """`joinproto query DIR SQL --json`"""

    sql: Annotated[str, "the query, also of a question that is ready"]
    columns: Annotated[tuple[str, ...], "names, in their order"]
    rows: Annotated[
        tuple[Annotated[tuple[Any, ...], "a row"], ...],
        "found: a value for each column; a list is a list, a struct an object",
    ]
    more: Annotated[bool, "whether there are more rows than were asked for"]
    engine: Annotated[Engine, "that answered"]
    seconds: Annotated[Seconds, "of the clock, the engine's start included"]


@frozen
class Reached:
    """`joinproto query DIR --to CONDITION --json`"""

    condition: Annotated[str, "of the state"]
    level: Annotated[Count | None, "steps of a shortest run to such a state; null: no state fits"]
    steps: Annotated[tuple[str, ...], "of that run, in words"]
    state: Annotated[Mapping[str, Any], "column to value, of that state"]
    engine: Annotated[Engine, "that answered"]
    seconds: Annotated[Seconds, "of the clock, the engine's start included"]


@frozen
class Column:
    """One column."""

    name: Annotated[str, "as SQL takes it"]
    type: Annotated[
        str, "`bool`, `int32`, `int64`, `float64`, `string`, `list<TYPE>` or `struct<NAME: TYPE>`"
    ]
    about: Annotated[str, "what it says, or empty"]
    is_constant: Annotated[bool, "whether it is the same in all states, and so in no file"]
    value: Annotated[Any, "of a constant; null: of no constant"]


@frozen
class Question:
    """One that is ready."""

    name: Annotated[str, "for `--ask`"]
    about: Annotated[str, "what it asks"]


@frozen
class Described:
    """`joinproto query DIR --json`"""

    world: Annotated[str, "its name"]
    members: Annotated[tuple[str, ...], "of the world"]
    states: Annotated[Count, "rows of the table `states`"]
    columns: Annotated[tuple[Column, ...], "of the table `states`"]
    questions: Annotated[tuple[Question, ...], "that are ready"]


@click.command(epilog=EXAMPLE)
@click.argument("folder", metavar="DIR", type=PlaceType())
@click.argument("sql", metavar="[SQL]", required=False)
@option(
    ("--ask", "name"),
    "A question that is ready.",
    metavar="NAME",
    shell_complete=completing.queries,
)
@option(("--rows", "rows_max"), "At most this many rows.", COUNT, default=1000)
@option(("--to", "condition"), "The shortest run to such a state.", metavar="CONDITION")
@option(
    "--engine",
    "What answers; auto: DuckDB, or Spark with --master.",
    click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
)
@option("--master", "Spark's master.", metavar="URL")
@AS_JSON
def query(
    folder: Place,
    sql: str | None,
    name: str | None,
    rows_max: int,
    condition: str | None,
    engine: str,
    master: str | None,
    as_json: bool,
) -> int:
    """Ask about the states that `joinproto check --out DIR` wrote.

    The table is `states`, one row a state.  Without SQL: its columns.  CONDITION is what stands
    behind WHERE.
    """
    from spark_explore.query import dataset_in, question

    if sum(one is not None for one in (sql, name, condition)) > 1:
        raise UsageProblem("SQL, --ask and --to", next="give one of them")
    if engine == "duckdb" and master is not None:
        raise UsageProblem("--master is Spark's", next="leave it out, or --engine duckdb")
    dataset = dataset_in(folder)
    if name is not None:
        sql = question(dataset, name)
    if sql is None and condition is None:
        found = _described(dataset)
        click.echo(printed(found) if as_json else _listing(found))
        return 0
    from spark_explore.sessions import engine_for, session_over

    began, by = time.perf_counter(), engine_for(engine, master)
    with session_over(dataset, by, master) as session:
        if condition is not None:
            return _to(dataset, session, condition, _Answer(as_json, by, began))
        assert sql is not None
        answer = session.ask(sql, rows_max)
    if as_json:
        seconds = time.perf_counter() - began
        click.echo(printed(Found(sql, answer.columns, answer.rows, answer.more, by, seconds)))
    else:
        click.echo(_table(answer))
    return 0


@frozen
class _Answer:
    """The output settings of an answer: its form, engine and start time."""

    as_json: bool
    engine: Engine
    began: float


def _to(dataset: Dataset, session: Session, condition: str, told: _Answer) -> int:
    from spark_explore.reached import nearest

    way = nearest(dataset, session, condition)
    if told.as_json:
        seconds = time.perf_counter() - told.began
        level, steps, state = (
            (None, (), {}) if way is None else (len(way.steps), way.steps, way.state)
        )
        click.echo(printed(Reached(condition, level, steps, state, told.engine, seconds)))
    else:
        click.echo("\n".join(_way(way, dataset)))
    return 1 if way is None else 0


def _way(way: Way | None, dataset: Dataset) -> Iterator[str]:
    if way is None:
        yield f"none of the {dataset.states:,} states fits"
        return
    width = len(str(len(way.steps)))
    yield from (f"{at:{width}}  {step}" for at, step in enumerate(way.steps, start=1))
    yield f"after {len(way.steps)} steps, state {way.state['id']:,}:"
    yield from (
        f"  {name}  {_text(value)}"
        for name, value in way.state.items()
        if name not in ("id", "level", "parent", "step")
    )


def _described(dataset: Dataset) -> Described:
    from spark_explore.questions import QUESTIONS

    return Described(
        dataset.world,
        dataset.members,
        dataset.states,
        tuple(
            Column(
                name,
                kind,
                dataset.about.get(name, ""),
                name in dataset.constants,
                dataset.constants.get(name),
            )
            for name, kind in dataset.columns.items()
        ),
        tuple(
            Question(name, item.about)
            for name, item in QUESTIONS.items()
            if item.sql(dataset.members, dataset.columns) is not None
        ),
    )


def _listing(told: Described) -> str:
    terminal = Terminal.now()
    width = max(len(item.name) for item in told.columns) + 2
    out = [f"{told.world}: {told.states:,} states, the table `states`", ""]
    for item in told.columns:
        if not item.is_constant:
            heading = Piece(item.name.ljust(width), Role.NAME)
            text = line(heading, f"{item.type:8}", item.about)
            out.append(terminal.paragraph(text, first=0, indent=width + 9))
    constants = [item for item in told.columns if item.is_constant]
    if constants:
        out += ["", "the same in all states:"]
    for item in constants:
        text = line(Piece(item.name.ljust(width), Role.NAME), _text(item.value))
        out.append(terminal.paragraph(text, first=0, indent=width))
    out += ["", "questions that are ready, for --ask:"]
    for one in told.questions:
        text = line(Piece(one.name.ljust(width), Role.NAME), one.about)
        out.append(terminal.paragraph(text, first=0, indent=width))
    return "\n".join(out)


def _table(answer: Any) -> str:
    cells = [list(answer.columns), *([_text(item) for item in row] for row in answer.rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(answer.columns))]
    numbers = [
        all(isinstance(row[at], int | float) for row in answer.rows) and bool(answer.rows)
        for at in range(len(answer.columns))
    ]
    lines = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in cells
    ]
    rule = "  ".join("-" * width for width in widths)
    more = ["... and more: --rows N"] if answer.more else []
    return "\n".join([lines[0], rule, *lines[1:], *more])


def _text(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    return f"{item:,}" if isinstance(item, int) else plain(item)
