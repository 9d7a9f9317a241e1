"""`joinproto query`: SQL over the states of a run, and the shortest run to one of them.

0  answered                       2  a wrong query, no dataset, no such question
1  --to: no state fits            4  neither DuckDB nor Spark is there, or Spark does not start
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from attrs import evolve, frozen

from joinproto.check.events import plain
from joinproto.cli import completing
from joinproto.cli.options import AS_JSON, COUNT, PlaceType, option
from joinproto.cli.output import Terminal
from joinproto.cli.show.amounts import aligned
from joinproto.cli.show.pieces import Piece, Role, line
from joinproto.codec.json_form import Count, Seconds, printed
from joinproto.errors import UsageProblem

if TYPE_CHECKING:
    from spark_explore.places import Place
    from spark_explore.query import Dataset
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
        "the rows found: a value for each column; a list is a list, a struct an object",
    ]
    more: Annotated[bool, "whether there are more rows than were asked for"]
    engine: Annotated[Engine, "the engine that answered"]
    seconds: Annotated[Seconds, "elapsed time, with the engine's start"]


@frozen
class Reached:
    """`joinproto query DIR --to CONDITION --json`"""

    condition: Annotated[str, "the condition of the state"]
    level: Annotated[Count | None, "steps of a shortest run to such a state; null: no state fits"]
    steps: Annotated[tuple[str, ...], "the steps of that run, in words"]
    state: Annotated[Mapping[str, Any], "that state: column to value"]
    engine: Annotated[Engine, "the engine that answered"]
    seconds: Annotated[Seconds, "elapsed time, with the engine's start"]


@frozen
class Column:
    """One column."""

    name: Annotated[str, "as SQL takes it"]
    type: Annotated[
        str, "`bool`, `int32`, `int64`, `float64`, `string`, `list<TYPE>` or `struct<NAME: TYPE>`"
    ]
    about: Annotated[str, "its meaning; empty: not described"]
    is_constant: Annotated[bool, "whether it is the same in all states, and so in no file"]
    value: Annotated[Any, "the value of a constant; null: not constant"]


@frozen
class Question:
    """One question that is ready."""

    name: Annotated[str, "for `--ask`"]
    about: Annotated[str, "what it asks"]


@frozen
class Described:
    """`joinproto query DIR --json`"""

    world: Annotated[str, "the world's name"]
    members: Annotated[tuple[str, ...], "the members of the world"]
    states: Annotated[Count, "rows of the table `states`"]
    columns: Annotated[tuple[Column, ...], "columns of the table `states`"]
    questions: Annotated[tuple[Question, ...], "questions that are ready, for `--ask`"]


@click.command(epilog=EXAMPLE)
@click.argument("folder", metavar="DIR", type=PlaceType())
@click.argument("sql", metavar="[SQL]", required=False)
@option(
    ("--ask", "name"),
    "Ask a question that is ready.",
    metavar="NAME",
    shell_complete=completing.queries,
)
@option(("--rows", "rows_max"), "At most this many rows.", COUNT, default=1000)
@option(("--to", "condition"), "Print the shortest run to a state like this.", metavar="CONDITION")
@option(
    "--engine",
    "The program that answers; auto: DuckDB, or Spark with --master.",
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

    The table is `states`, with a row for each state.  Without SQL, the command lists its columns.
    CONDITION is written as after WHERE in SQL.
    """
    from spark_explore.query import dataset_in, question

    if sum(one is not None for one in (sql, name, condition)) > 1:
        raise UsageProblem("more than one of SQL, --ask and --to is given", next="give one of them")
    if engine == "duckdb" and master is not None:
        raise UsageProblem(
            "--master is for Spark, and --engine is duckdb", next="leave out one of them"
        )
    dataset = dataset_in(folder)
    if name is not None:
        sql = question(dataset, name)
    if sql is None and condition is None:
        described = _described(dataset)
        click.echo(printed(described) if as_json else _listing(described))
        return 0
    from spark_explore.sessions import engine_for, session_over

    began, chosen = time.perf_counter(), engine_for(engine, master)
    found: Found | Reached
    with session_over(dataset, chosen, master) as session:
        if condition is not None:
            found = _reached(dataset, session, condition, chosen)
        else:
            assert sql is not None
            answer = session.ask(sql, rows_max)
            found = Found(sql, answer.columns, answer.rows, answer.more, chosen, 0.0)
    if as_json:
        click.echo(printed(evolve(found, seconds=time.perf_counter() - began)))
    else:
        click.echo(
            "\n".join(_table(found) if isinstance(found, Found) else _run_text(found, dataset))
        )
    return int(isinstance(found, Reached) and found.level is None)


def _reached(dataset: Dataset, session: Session, condition: str, engine: Engine) -> Reached:
    from spark_explore.reached import nearest

    way = nearest(dataset, session, condition)
    if way is None:
        return Reached(condition, None, (), {}, engine, 0.0)
    return Reached(condition, len(way.steps), way.steps, way.state, engine, 0.0)


def _run_text(way: Reached, dataset: Dataset) -> Iterator[str]:
    if way.level is None:
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


def _listing(dataset: Described) -> str:
    terminal = Terminal.now()
    width = max(len(item.name) for item in dataset.columns) + 2

    def rows(items: Iterable[tuple[str, str]], indent: int = width) -> Iterator[str]:
        for name, text in items:
            heading = Piece(name.ljust(width), Role.NAME)
            yield terminal.paragraph(line(heading, text), indent=indent)

    varying = [one for one in dataset.columns if not one.is_constant]
    own = ((one.name, f"{one.type:8}{one.about}") for one in varying)
    heading = f"{dataset.world}: {dataset.states:,} states, the table `states`"
    out = [heading, "", *rows(own, width + 9)]
    constants = [(one.name, _text(one.value)) for one in dataset.columns if one.is_constant]
    if constants:
        out += ["", "the same in all states:", *rows(constants)]
    out += ["", "questions that are ready, for --ask:"]
    return "\n".join([*out, *rows((one.name, one.about) for one in dataset.questions)])


def _table(found: Found) -> list[str]:
    columns: list[tuple[Any, ...]] = [*zip(*found.rows, strict=True)]
    columns = columns or [()] * len(found.columns)
    numbers = [bool(one) and all(isinstance(x, int | float) for x in one) for one in columns]
    cells: list[Sequence[str]] = [
        found.columns,
        *([_text(item) for item in row] for row in found.rows),
    ]
    heads, *rows = aligned(cells, *(str.rjust if one else str.ljust for one in numbers))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    more = ["... and more: --rows N"] if found.more else []
    return [heads, "  ".join("-" * width for width in widths), *rows, *more]


def _text(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    return f"{item:,}" if isinstance(item, int) else plain(item)
