"""The contents of the `--out` directory: the report, the level counts, and the run in every format.

    run.json       the identity of the search: world, options, symmetry
    report.json    the object that --json prints
    report.html    the same as a page: claims, coverage, growth, the run
    levels.csv     depth, distinct states
    states/        every state, as Parquet (docs/spark.md), where pyarrow is installed
    search/        the state from which Spark's engine goes on, and growth.json
    trace.*        if a run was found: .html, .txt, .itf.json, and test_trace.py

A folder belongs to one run.  The same run may write it again.  Any other run is refused, because a
report next to another run's trace would be read as one result.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinproto.check.report import Growth, Report
from joinproto.errors import UsageProblem

if TYPE_CHECKING:
    from spark_explore.places import Place

RUN, REPORT, LEVELS, PAGE = "run.json", "report.json", "levels.csv", "report.html"
TRACES = ("trace.html", "trace.txt", "trace.itf.json", "test_trace.py")


def prepare(out: Place, run: Mapping[str, Any]) -> None:
    """Make `out` ready for `run`, before the search.

    Raises `UsageProblem` if `out` is a file or holds anything but this run, and the error of
    `problem_with` if it cannot be written.
    """
    from spark_explore.places import Folder, problem_with

    try:
        if isinstance(out, Folder) and out.path.exists() and not out.path.is_dir():
            raise UsageProblem(f"{out} is a file", next="give --out a folder")
        out.make()
        _refuse_other(out, run)
        # Written before the search, so that missing rights are found before it and not after.
        out.write(RUN, (json.dumps(run, indent=2) + "\n").encode())
        out.remove([REPORT, LEVELS, PAGE, *TRACES])
    except (OSError, ValueError) as error:
        raise problem_with(out, error) from error


def _refuse_other(folder: Place, run: Mapping[str, Any]) -> None:
    held = folder.names()
    if not held:
        return
    other = _read(folder, RUN)
    if other is None:
        raise UsageProblem(
            f"{folder} is not empty, and holds no run of joinproto: {held[0]}",
            next="give --out a new folder",
        )
    wanted = json.loads(json.dumps(run))
    differences = [
        f"{key} {_as_text(other.get(key))} there, {_as_text(wanted.get(key))} here"
        for key in dict.fromkeys([*wanted, *other])
        if other.get(key) != wanted.get(key)
    ]
    if differences:
        raise UsageProblem(
            f"{folder} holds another run: {'; '.join(differences)}",
            next="give --out a new folder, or remove the old one",
        )


def _read(folder: Place, name: str) -> dict[str, Any] | None:
    try:
        found = json.loads(folder.read(name))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _as_text(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, dict):
        return " ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return str(value)


def keep(
    out: Place, report: Report, as_json: Mapping[str, Any], options: Mapping[str, Any]
) -> list[str]:
    """Write the finished search to `out`; return the names of the files."""
    from spark_explore.places import Folder

    if isinstance(out, Folder):
        names = _keep(out, out.path, report, as_json, options)
    else:
        with tempfile.TemporaryDirectory() as made:
            names = _keep(out, Path(made), report, as_json, options)
            for name in names:
                out.put(name, Path(made, name))
    return [RUN, *names, *(["states"] if (out / "states").names() else [])]


def _keep(
    out: Place,
    folder: Path,
    report: Report,
    as_json: Mapping[str, Any],
    options: Mapping[str, Any],
) -> list[str]:
    # Imported here, because most searches write no folder.
    from joinproto.cli.show.page import page
    from joinproto.cli.show.write import write_text, write_trace

    rows = [f"{depth},{count}" for depth, count in enumerate(report.levels, start=1)]
    write_text(folder / REPORT, json.dumps(as_json, indent=2) + "\n")
    write_text(folder / LEVELS, "\n".join(["depth,distinct", *rows]) + "\n")
    write_text(folder / PAGE, page(report, options=options, levels=_levels(out, report)))
    if report.trace is None:
        return [REPORT, LEVELS, PAGE]
    for name in TRACES:
        write_trace(report, folder / name, options=options)
    return [REPORT, LEVELS, PAGE, *TRACES]


def _levels(out: Place, report: Report) -> list[Growth]:
    """Return the growth of each level, with its costs if Spark's engine has written them."""
    written = _read(out / "search", "growth.json") or {}
    with_costs = {item["level"]: Growth(**item) for item in written.get("levels", ())}
    return [with_costs.get(at, Growth(at, new)) for at, new in enumerate(report.levels)]
