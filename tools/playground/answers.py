"""Answers to the questions of the playground's page, by the code that ships.

The page asks with a verb and a JSON object, and gets a JSON object (`answer`).  This module does
not depend on a browser: `worker.py` connects it to one, and tests call it on any Python.

An answer is `{"value": ...}`, or `{"error": {"message", "next", "line", "run"}}`, where `line` is
the line of the user's model if it is known, and `run` the steps that led there.  If the model
printed something, the answer has it as `"printed"`.
"""

from __future__ import annotations

import inspect
import io
import json
import linecache
import platform
import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from attrs import evolve

from joinproto.check import catalogue
from joinproto.check.files import load_file
from joinproto.check.loaded import Loaded
from joinproto.check.options import TypedText
from joinproto.check.plain import Bounds, Ends, check_small
from joinproto.check.report import Report, Trace
from joinproto.cli.reports.verdicts import verdict_of
from joinproto.cli.show import findings
from joinproto.cli.show.page import page
from joinproto.cli.show.words import headline
from joinproto.errors import JoinprotoError
from joinproto.explore.graph import Graph, key_of
from joinproto.explore.session import Session
from joinproto_worlds.entries import ENTRIES

LIMITS = Bounds(states=400_000, steps=4_000_000, calls=400_000, tries=20_000_000)
"""Limits that fit a page's memory; for a larger world the answer names a command to use."""

MODEL = "model.py"
"""The file of the user's model, in the working folder."""

BEFORE = "before.py"
"""The file of the model before its last change, for comparisons."""

PRINTED_MAX = 20_000
"""The most characters of a model's output that the page gets."""

TELL_SECONDS = 0.15
"""Seconds between two reports of a search's progress to the page."""

Given = Mapping[str, Any]


Tell = Callable[[int, float], object]
"""Shows the progress of a search: the number of expanded states, and seconds."""


def _silent(expanded: int, seconds: float) -> None:
    """Show no progress."""


def answer(verb: str, given: str, tell: Tell = _silent) -> str:
    """Return the answer to one question as JSON; any error is an answer, too.

    `verb`: a key of `VERBS`.  `given`: a JSON object.  `tell`: called with a search's progress.
    """
    printed = io.StringIO()
    found: dict[str, Any]
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            found = {"value": VERBS[verb](json.loads(given), tell)}
    except JoinprotoError as problem:
        found = {"error": _error_json(problem)}
    except MemoryError:
        full = "the page has no memory left"
        advice = "search a smaller world, or run joinproto check on a machine"
        found = {"error": _error_json(JoinprotoError(full, next=advice))}
    except BaseException as error:  # noqa: BLE001  the page must hear of it, or it waits for ever
        text = f"this is a bug in joinproto: {type(error).__name__}: {error}"
        found = {"error": _error_json(JoinprotoError(text, next="report it to the project"))}
    if printed.getvalue():
        found["printed"] = printed.getvalue()[:PRINTED_MAX]
    return json.dumps(found)


def _error_json(problem: JoinprotoError) -> dict[str, Any]:
    place = getattr(problem, "place", "")
    path, _, line = place.rpartition(":")
    run = getattr(problem, "led_to", None)
    return {
        "message": problem.message,
        "next": problem.next,
        "line": int(line) if Path(path).name == MODEL and line.isdigit() else None,
        "run": [] if run is None else [f"{one.member or 'all'}: {one.label}" for one in run.steps],
    }


# -- worlds ----------------------------------------------------------------------------------------


def _check(given: Given, tell: Tell) -> Any:
    """Search a shipped world.  `name`: the world's name.  `options`: option to text."""
    return _searched(_shipped(given), tell)


def _shipped(given: Given) -> Loaded:
    return catalogue.load(given["name"], _options(given))


def _options(given: Given) -> dict[str, Any]:
    return {name: TypedText(value) for name, value in given.get("options", {}).items()}


# -- a model of your own --------------------------------------------------------------------------


def _model(given: Given, tell: Tell) -> Any:
    """Search the text of a model.

    `text`: the model's source.  `options`: option to text.  `world`: the shipped world of which the
    text is a changed copy, for its builder and usual options; "" for other models.
    """
    return _searched(_loaded(given), tell)


_TEXTS: list[str] = []
"""The text of the last model that could be loaded, or empty."""


def _loaded(given: Given) -> Loaded:
    loaded = _load_text(given)
    if _TEXTS and _TEXTS[0] != given["text"]:
        Path(BEFORE).write_text(_TEXTS[0], encoding="utf-8")
    _TEXTS[:] = [given["text"]]
    return loaded


def _load_text(given: Given) -> Loaded:
    Path(MODEL).write_text(given["text"], encoding="utf-8")
    linecache.checkcache()
    options = _options(given)
    if not given.get("world"):
        return load_file(MODEL, options)
    item = catalogue.entry(given["world"])
    takes = catalogue.parameters(item)
    members = {"members": item.usual} if "members" in takes else {}
    attribute = item.build.partition(":")[2]
    return load_file(f"{MODEL}::{attribute}", {**item.given, **members, **options})


def _copy(given: Given, _: Tell) -> Any:
    """Return the text of the file that builds a world."""
    item = catalogue.entry(given["name"])
    file = inspect.getsourcefile(catalogue.builder(item))
    assert file is not None
    return {"text": Path(file).read_text(encoding="utf-8"), "name": item.name}


# -- the search ------------------------------------------------------------------------------------


def _searched(loaded: Loaded, tell: Tell) -> Any:
    began = time.monotonic()
    expanded, due = 0, began

    def interrupted() -> bool:
        # Called once for each expanded state.
        nonlocal expanded, due
        expanded += 1
        now = time.monotonic()
        if now < due:
            return False
        due = now + TELL_SECONDS
        tell(expanded, now - began)
        return False

    with loaded.at_work():
        report = check_small(loaded.world, ends=Ends(interrupted=interrupted), bounds=LIMITS)
    command = f"joinproto check {loaded.words}"
    if report is None:
        why = "merges states (`same`)" if loaded.world.same else "is too large"
        raise JoinprotoError(
            f"{loaded.world.name} {why}, and the page searches only in plain Python",
            next=f"run this on your own machine: {command}",
        )
    return _report_json(report, loaded, command)


def _report_json(report: Report, loaded: Loaded, command: str) -> Any:
    if loaded.file is not None:
        note = "members were not asked again in a fresh process, because a browser has none"
        report = evolve(report, notes=(*report.notes, note))
    trace = report.trace
    return {
        "verdict": verdict_of(report),
        "result": findings.result(report).text,
        "tone": findings.result(report).role.value,
        "headline": "" if trace is None else headline(trace, world=report.world),
        "world": report.world,
        "distinct": report.distinct,
        "generated": report.generated,
        "depth": report.depth,
        "seconds": report.seconds,
        "property": None if trace is None else trace.property,
        "trace_length": None if trace is None else len(trace.steps),
        "run": None if trace is None else _run(trace, loaded),
        "command": command,
        "claims": [
            {"name": one.name, "kind": one.kind, "result": one.result, "about": one.about}
            for one in report.properties
        ],
        "page": page(report, options=loaded.options),
    }


def _run(trace: Trace, loaded: Loaded) -> dict[str, Any]:
    """Return a run for the view that walks: the initial state, and the keys of the steps."""
    with loaded.at_work():
        start = Graph(loaded.world).beginning(trace.initial)
    return {"from": start, "keys": [key_of(one.member or "", one.label) for one in trace.steps]}


# -- walking through a world -----------------------------------------------------------------------

_SESSION = Session()
"""The session of the page's only view that walks."""


def _open(given: Given, _: Tell) -> Any:
    """Open a world to walk through.  The arguments are those of `check` or `model`."""
    if "text" not in given:
        return _SESSION.open(_shipped(given))
    return {**_SESSION.open(_loaded(given)), "versions": _versions(given)}


def _versions(given: Given) -> list[dict[str, Any]]:
    """Return the version that a click compares the model with, if any: the world of which it is a
    copy, or else the model before its last change.
    """
    options = given.get("options", {})
    if world := given.get("world"):
        about = f"{world}, of which this is a copy"
        return [{"target": world, "options": options, "about": about}]
    if Path(BEFORE).is_file():
        about = "the model before its last change"
        return [{"target": BEFORE, "options": options, "about": about}]
    return []


def _explore(given: Given, _: Tell) -> Any:
    """Answer a question of the view that walks; `joinproto.explore` lists the verbs."""
    return _SESSION.answer(given["verb"], given["arguments"])


# -- stores ----------------------------------------------------------------------------------------


def _recover(given: Given, _: Tell) -> Any:
    """Run `recover VERB` on folders and files that the page has written.

    `words`: their paths.  `verb`: "pick", "compare" or "inspect".
    """
    from joinproto.__main__ import main

    words = ["recover", given["verb"], *given["words"]]
    said, warned = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(warned):
        code = main(words)
    # The user knows a store by its own name, not by the place where the page has put it.
    place = f"{platform.node()}:{Path.cwd()}/"
    return {
        "code": code,
        "text": said.getvalue().replace(place, ""),
        "warnings": warned.getvalue().replace(place, ""),
        "command": shlex.join(["joinproto", *words]),
    }


VERBS: Mapping[str, Callable[[Given, Tell], Any]] = {
    "check": _check,
    "copy": _copy,
    "model": _model,
    "recover": _recover,
    "open": _open,
    "explore": _explore,
}


def warm_up() -> None:
    """Import the modules that questions need, before a snapshot of Python's memory is taken."""
    import joinproto.__main__
    import joinproto.recovery.cli  # noqa: F401

    for item in ENTRIES:
        catalogue.builder(item)
    name = ENTRIES[0].name
    for verb in ("check", "open"):
        answer(verb, json.dumps({"name": name}))
    for question in ("state", "world"):
        answer("explore", json.dumps({"verb": question, "arguments": {"id": 0}}))
    _SESSION.opened = None
