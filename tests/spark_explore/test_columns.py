"""Members' attributes as columns, with their types, and the same in DuckDB and in Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen

from joinproto.check import MessageSet, World, always
from joinproto.errors import UsageProblem
from spark_explore.explore import Plan, here
from spark_explore.forms import form_of, name_of
from spark_explore.query import dataset_in
from spark_explore.reached import in_full, nearest
from spark_explore.sessions import Engine, session_over


class Colour(Enum):
    RED = "red"


@frozen
class Mixture:
    one: float
    many: frozenset[int]
    colour: Colour | None


class Worded:
    def __str__(self) -> str:
        return "in my words"


@pytest.mark.parametrize(
    ("values", "kind", "written"),
    [
        ([True, None], "bool", [True, None]),
        ([1, -(2**63)], "int64", [1, -(2**63)]),
        ([1, 2**63], "string", ["1", str(2**63)]),
        ([1, 0.5], "float64", [1.0, 0.5]),
        ([2**60, 0.5], "string", [str(2**60), "0.5"]),
        ([True, 1], "string", ["yes", "1"]),
        ([Colour.RED, "green"], "string", ["red", "green"]),
        ([(1, 2), [3], ()], "list<int64>", [[1, 2], [3], []]),
        ([("a", 1)], "struct<_1: string, _2: int64>", [{"_1": "a", "_2": 1}]),
        ([("a", 1), ("b",)], "list<string>", [["a", "1"], ["b"]]),
        ([{3, 20}, frozenset()], "list<int64>", [[20, 3], []]),
        (
            [{2: True, 1: None}],
            "list<struct<key: int64, value: bool>>",
            [[{"key": 1, "value": None}, {"key": 2, "value": True}]],
        ),
        (
            [Mixture(1.5, frozenset({7}), None)],
            "struct<one: float64, many: list<int64>, colour: string>",
            [{"one": 1.5, "many": [7], "colour": None}],
        ),
        (
            [Mixture(1.5, frozenset(), None), Worded()],
            "string",
            ["Mixture(one 1.5)", "in my words"],
        ),
        ([(), {}], "string", ["()", "{}"]),
        ([None], "string", [None]),
        ([], "string", []),
    ],
)
def test_values_keep_their_types(values: list[Any], kind: str, written: list[Any]) -> None:
    """Values of several kinds, and numbers that are too large, are text."""
    form = form_of(values)

    assert kind == name_of(form.kind)
    assert written == form.array(values).to_pylist()


class Talker:
    """A member with attributes of every kind."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def choices(self) -> Iterator[int]:
        yield from range(2 if len(self.told) < 3 else 0)

    def receive(self, event: int) -> None:
        self.told.append(event)

    def story(self) -> dict[str, Any]:
        last = self.told[-1] if self.told else 0
        return {
            "told": self.told,
            "last": Mixture(last / 2, frozenset({last}), Colour.RED if last else None),
            "lasts": [Mixture(last / 2, frozenset(), None)],
            "fixed": {"o'ne": (1, "a"), "back\\slash": (2, "b")},
            "mixed": self.told or "nothing",
            "none": (),
        }

    def shows(self) -> int:
        return len(self.told)


TALK = World(
    name="talk",
    members={"t": Talker},
    network=MessageSet(),
    properties=[always("few", lambda view: view["t"] < 9)],
)

QUERIES = (
    "SELECT * FROM states ORDER BY id",
    "SELECT level, count(*) AS states FROM states GROUP BY level ORDER BY level",
    "SELECT t_told, count(*) AS states FROM states GROUP BY t_told ORDER BY states, min(id)",
    "SELECT t_lasts, t_fixed, t_none, t_last_one / 2 AS half FROM states ORDER BY id",
    "SELECT count(*) AS few FROM states WHERE few AND t_up AND wipes_left = 0 AND split IS NULL",
)


def answers(out: Path, engine: Engine) -> list[Any]:
    with session_over(dataset_in(out), engine, None) as session:
        return [session.ask(sql, 1000) for sql in QUERIES]


@pytest.mark.needs("duckdb")
def test_a_constant_value_is_not_a_column(tmp_path: Path) -> None:
    """The value is in the metadata of each file, and queries may name it, too."""
    here(TALK, Plan(out=tmp_path))

    (file,) = (tmp_path / "states").glob("*.parquet")
    schema, dataset = pq.read_schema(file), dataset_in(tmp_path)
    told = json.loads(schema.metadata[b"joinproto"])
    everything, *_, counted = answers(tmp_path, "duckdb")

    constants = {"t_up", "t_fixed", "t_none", "split", "few", "wipes_left"}
    assert constants <= dataset.constants.keys() == told["constants"].keys()
    assert not constants & {*schema.names}
    assert pa.list_(pa.int64()).equals(schema.field("t_told").type)
    assert "always: few" == told["about"]["few"]
    assert {*dataset.columns} == {*schema.names, *dataset.constants}
    assert tuple(dataset.columns) == everything.columns
    assert ((15,),) == counted.rows


@pytest.mark.needs("duckdb")
def test_duckdb_and_spark_give_the_same_answers(lasting: Any, tmp_path: Path) -> None:
    """The questions are about lists, structs and constants; one asks for the run to a state."""
    here(TALK, Plan(out=tmp_path))
    dataset = dataset_in(tmp_path)

    one, other = answers(tmp_path, "duckdb"), answers(tmp_path, "spark")
    ways = []
    for engine in ("duckdb", "spark"):
        with session_over(dataset, engine, None) as session:
            ways.append(nearest(dataset, session, "shows = 2 AND last_colour = 'red'"))

    assert one == other
    (way, same) = ways
    assert way is not None
    assert way == same
    assert [{"one": 0.5, "many": [], "colour": None}] == way.state["t_lasts"]


def test_a_column_may_be_called_by_the_end_of_its_name() -> None:
    """No other column may have that end; texts, comments, functions and fields are not columns."""
    columns = ("a_phase", "register_chosen", "level", "a_opts", "a_end")

    assert (
        "a_phase = 'phase' AND register_chosen.phase = upper('x') -- phase"
        == in_full("phase = 'phase' AND chosen.phase = upper('x') -- phase", columns)
    )  # fmt: skip
    same = "CASE WHEN a_phase = '' THEN level END > phase(1) + 1phase"
    assert same == in_full(same, columns)
    with pytest.raises(UsageProblem, match="Phase fits the columns a_phase and b_phase"):
        in_full("Phase = 'x'", ("a_phase", "b_phase"))
