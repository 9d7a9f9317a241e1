"""A run's dataset, and the questions to it that are ready."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.errors import UsageProblem
from spark_explore.places import Place, StoreFailure, as_place, problem_with
from spark_explore.questions import QUESTIONS

STATES, EDGES, ABOUT = "states", "edges", "_about.json"
"""The folders of a run that hold the dataset.  Readers skip what begins with `_`."""


@frozen
class Dataset:
    """`folder`: Parquet, below `out` or `out` itself.

    `constants`: of the columns that are in no file, the value in all states.

    `columns`: name to type; `about`: what some of them say.
    """

    out: Place
    folder: Place
    world: str
    members: tuple[str, ...]
    states: int
    columns: dict[str, str]
    constants: dict[str, Any]
    about: dict[str, str]


def dataset_in(given: Path | Place) -> Dataset:
    """Return the dataset of a run's folder; raises `UsageProblem` where there is none."""
    out = as_place(given)
    try:
        folder = out / STATES if ABOUT in (out / STATES).names() else out
        found = json.loads(folder.read(ABOUT))
        # Datasets of before have no constants.
        found = {"constants": {}, **found, "members": tuple(found["members"])}
        return Dataset(out, folder, **found)
    except StoreFailure as error:
        raise problem_with(out, error) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageProblem(
            f"{out} holds no explored states",
            next="joinproto check WORLD --out DIR writes them",
        ) from error


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
