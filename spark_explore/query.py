"""The dataset of a run, and the SQL of predefined questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.errors import UsageProblem
from spark_explore.places import Place, StoreFailure, as_place, problem_with
from spark_explore.questions import QUESTIONS

STATES, EDGES, ABOUT = "states", "edges", "_about.json"
"""The folders of a run that hold the dataset, and the file that describes it.

Readers of Parquet skip names that begin with `_`.
"""


@frozen
class Dataset:
    """The states of a run, as Parquet.

    `folder`: the folder of the files, `out` itself or a folder in it.  `columns`: name to type.
    `constants`: columns that are in no file, with their value in all states.  `about`: the meaning
    of some columns.
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
    """Return the dataset in a run's folder; raises `UsageProblem` if there is none."""
    out = as_place(given)
    try:
        folder = out / STATES if ABOUT in (out / STATES).names() else out
        found = json.loads(folder.read(ABOUT))
        # Datasets of former releases have no constants.
        found = {"constants": {}, **found, "members": tuple(found["members"])}
        return Dataset(out, folder, **found)
    except StoreFailure as error:
        raise problem_with(out, error) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageProblem(
            f"{out} holds no explored states",
            next="run joinproto check WORLD --out DIR, which writes them",
        ) from error


def question(dataset: Dataset, name: str) -> str:
    """Return the SQL of a predefined question; raises `UsageProblem`."""
    if name not in QUESTIONS:
        raise UsageProblem(
            f"there is no question called {name!r}", next="ask one of " + ", ".join(QUESTIONS)
        )
    sql = QUESTIONS[name].sql(dataset.members, dataset.columns)
    if sql is None:
        raise UsageProblem(
            f"{name} needs {QUESTIONS[name].needs}, which {dataset.world} does not have",
            next="run joinproto query DIR, which lists the columns",
        )
    return sql
