"""Write a report to a file, in the format that the ending of the file's name selects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.check.report import Report, Trace
from joinproto.cli.show.chart import chart
from joinproto.cli.show.itf import itf
from joinproto.cli.show.paste import paste
from joinproto.cli.show.summary import summary
from joinproto.codec.json_form import encoded
from joinproto.errors import EnvironmentProblem, UsageProblem

TEXT_WIDTH = 100

Options = Mapping[str, object]


@frozen
class Format:
    """A format, for files whose names have this ending.  `needs_trace`: the format holds a run."""

    ending: str
    about: str
    text: Callable[[Report, Options], str]
    needs_trace: bool = False


def _trace_of(report: Report) -> Trace:
    if report.trace is None:
        raise UsageProblem(
            f"the check of {report.world} gave no run to write",
            next="name a file that ends in .html, .json or .txt: these hold the report, too",
        )
    return report.trace


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _text(report: Report) -> str:
    run = "" if report.trace is None else chart(report.trace, width=TEXT_WIDTH)
    return summary(report, width=TEXT_WIDTH, run=run) + "\n"


def _page(report: Report, options: Options) -> str:
    # Imported here, because most searches draw nothing.
    from joinproto.cli.show.page import page

    return page(report, options=options)


# .itf.json is before .json, because the first ending that fits counts.
FORMATS = (
    Format(".html", "a page to read", _page),
    Format(
        ".itf.json",
        "the Informal Trace Format",
        lambda report, _: _as_json(itf(_trace_of(report), source=report.world)),
        needs_trace=True,
    ),
    Format(".json", "the whole report", lambda report, _: _as_json(encoded(report))),
    Format(
        ".py",
        "a pytest test",
        lambda report, options: paste(report, _trace_of(report), options=options),
        needs_trace=True,
    ),
    Format(".txt", "the report and the chart", lambda report, _: _text(report)),
)


def format_of(path: Path) -> Format:
    """Return the format that the name of `path` selects.

    Call it before a long search, so that a wrong name costs nothing.
    """
    name = path.name.lower()
    for item in FORMATS:
        if name.endswith(item.ending):
            return item
    endings = "; ".join(f"{item.ending}: {item.about}" for item in FORMATS)
    raise UsageProblem(
        f"{path.name or path} does not say in which format to write",
        next=f"use one of these endings: {endings}",
    )


def write_trace(report: Report, path: Path, *, options: Options | None = None) -> None:
    """Write `report` and its run to `path`, in the format of its name.

    `options`: arguments of `load_world` that build this world; a test that is written without
    them builds the world with its defaults.
    """
    write_text(path, format_of(path).text(report, options or {}))


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`; raises `EnvironmentProblem` if that is not possible."""
    try:
        # Not with the machine's own encoding and line ends, because the file may be read elsewhere.
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {path}: {error.strerror or error}",
            next="name a file in a folder that exists and may be written",
        ) from error
