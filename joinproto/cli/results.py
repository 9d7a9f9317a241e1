"""The folder of `--out`: the report, the level counts, and the run in every format.

    run.json       what was searched: world, options, symmetry
    report.json    the object that --json prints
    report.html    the same as a page: claims, coverage, growth, the run
    levels.csv     depth, distinct states
    states/        every state, as Parquet (docs/spark.md), where pyarrow is installed
    search/        what Spark's engine goes on from, growth.json in it
    trace.*        where a run was found: .html, .txt, .itf.json, and test_trace.py

A folder belongs to one run.  The same run writes it again; any other is refused, because a
report beside another run's trace would be read as one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinproto.check.report import Report
from joinproto.errors import EnvironmentProblem, UsageProblem

if TYPE_CHECKING:
    from joinproto.cli.show.page_growth import Level

RUN, REPORT, LEVELS, PAGE = "run.json", "report.json", "levels.csv", "report.html"
TRACES = ("trace.html", "trace.txt", "trace.itf.json", "test_trace.py")


def prepare(folder: Path, run: Mapping[str, Any]) -> None:
    """Make `folder` ready for `run`, before the search; raises where it is not free."""
    try:
        if folder.exists() and not folder.is_dir():
            raise UsageProblem(f"{folder} is a file", next="give --out a folder")
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_other(folder, run)
        # Written first, and so the rights are tried before the search and not after.
        (folder / RUN).write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
        for name in (REPORT, LEVELS, PAGE, *TRACES):
            (folder / name).unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(
            f"cannot write to {folder}: {getattr(error, 'strerror', None) or error}",
            next="give --out a folder that may be written",
        ) from error


def _refuse_other(folder: Path, run: Mapping[str, Any]) -> None:
    held = sorted(item.name for item in folder.iterdir())
    if not held:
        return
    other = _read(folder / RUN)
    if other is None:
        raise UsageProblem(
            f"{folder} is not empty, and what it holds is not a run of ours: {held[0]}",
            next="give --out a new folder",
        )
    wanted = json.loads(json.dumps(run))
    differences = [
        f"{key} {_said(other.get(key))} there, {_said(wanted.get(key))} here"
        for key in dict.fromkeys([*wanted, *other])
        if other.get(key) != wanted.get(key)
    ]
    if differences:
        raise UsageProblem(
            f"{folder} holds another run: {'; '.join(differences)}",
            next="give --out a new folder, or remove that one",
        )


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _said(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, dict):
        return " ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return str(value)


def keep(
    folder: Path, report: Report, as_json: Mapping[str, Any], options: Mapping[str, Any]
) -> list[Path]:
    """Write the finished search into `folder`; return the files."""
    # Here and not above: most searches keep nothing.
    from joinproto.cli.show.page import page
    from joinproto.cli.show.write import write_trace

    try:
        text = json.dumps(as_json, indent=2) + "\n"
        (folder / REPORT).write_text(text, encoding="utf-8")
        rows = [f"{depth},{count}" for depth, count in enumerate(report.levels, start=1)]
        text = "\n".join(["depth,distinct", *rows]) + "\n"
        (folder / LEVELS).write_text(text, encoding="utf-8")
        made = page(report, options=options, levels=_levels(folder, report))
        (folder / PAGE).write_text(made, encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write to {folder}: {error.strerror or error}",
            next="free some space there, or give --out another folder",
        ) from error
    written = [folder / RUN, folder / REPORT, folder / LEVELS, folder / PAGE]
    if (folder / "states").is_dir():
        written.append(folder / "states")
    if report.trace is not None:
        for name in TRACES:
            write_trace(report, folder / name, options=options)
            written.append(folder / name)
    return written


def _levels(folder: Path, report: Report) -> list[Level]:
    """Return how the run grew; Spark's engine leaves what each level cost."""
    from joinproto.cli.show.page_growth import Level

    told = _read(folder / "search" / "growth.json") or {}
    cost = {item["level"]: Level(**item) for item in told.get("levels", ())}
    return [cost.get(at, Level(at, new)) for at, new in enumerate(report.levels)]
