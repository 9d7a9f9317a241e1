"""The verbs that search: search, levels, nearest, pattern, way, questions, cover and graph."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from joinproto.errors import UsageProblem
from joinproto.explore import seeing
from joinproto.explore.arguments import list_of, number_of, seconds_of
from joinproto.explore.graph import Json
from joinproto.explore.patterns import Matching, Pattern

if TYPE_CHECKING:
    from joinproto.explore.session import Session


def search(session: Session, given: Json) -> Json:
    """Search on; if the engine searches the world, return how far it has come."""
    now, deep = session.now, session.deep
    if deep is not None and not deep.is_over and (deep.begun or _is_large(session)):
        if seconds_of(given):
            deep.begin()
        if deep.begun:
            return deep.progress()
    now.searching.on(seconds_of(given))
    return now.searching.json()


LARGE = 4_000
"""From this many states on the engine searches, if there is one."""


def _is_large(session: Session) -> bool:
    searching = session.now.searching
    return len(searching.order) >= LARGE and not searching.whole


def levels(session: Session, _: Json) -> Json:
    """Say how far the search has come."""
    return search(session, {"seconds": 0})


def nearest(session: Session, given: Json) -> Json:
    """Find a shortest run to a state in which an expression or a claim is so."""
    now = session.now
    asked, met = session.met_by(given)
    deep = session.deep
    if deep is not None and _is_large(session):
        deep.begin()
    if deep is not None and deep.is_ready:
        found = deep.nearest(session, given)
        if found is not None:
            return found
    at = now.searching.nearest(json.dumps([asked, given.get("is")]), met, seconds_of(given))
    progress = now.searching.json()
    searched = {
        "states": progress["states"],
        "levels": len(progress["levels"]),
        "whole": now.searching.whole,
    }
    if at is not None:
        return {"run": now.searching.way(at), "searched": searched, "words": asked}
    stopped = progress["stopped"]
    if deep is not None and deep.begun and not deep.is_over:
        searched, stopped = deep.searched(), ""
    elif stopped and deep is not None:
        stopped = f"{stopped} {deep.why_not}".strip()
    return {"run": None, "searched": searched, "stopped": stopped, "words": asked}


def pattern(session: Session, given: Json) -> Json:
    """Find a shortest run with the steps of a pattern, in their order."""
    lines = given.get("steps")
    if not isinstance(lines, list):
        raise UsageProblem("a pattern is a list of lines", next='["a sends *", "b crashes"]')
    key = "\n".join(map(str, lines))
    if key not in session.now.matching:
        session.now.matching.clear()
        session.now.matching[key] = Matching(session.now.graph, Pattern.of(lines))
    matching = session.now.matching[key]
    run = matching.on(seconds_of(given))
    searched = {"states": len(matching.parent), "levels": 0, "whole": matching.whole}
    return {"run": run, "searched": searched, "stopped": matching.stopped}


def way(session: Session, given: Json) -> Json:
    """Find a shortest run to a state that the search found; `row`: a node's, in `graph`."""
    if "row" in given:
        deep, row = session.deep, number_of(given, "row")
        found = deep.way(session, row) if deep is not None and deep.is_ready else None
        if found is None or found.get("run", True) is None:
            raise UsageProblem(f"row {row} is not known", next="draw the graph again")
        return found
    return {"run": session.now.searching.way(number_of(given, "id"))}


def questions(session: Session, _: Json) -> Json:
    """List ready questions, and attributes to project by."""
    now = session.now
    until = time.monotonic() + 0.6
    while len(now.searching.order) < seeing.SAMPLE and time.monotonic() < until:
        if now.searching.whole:
            break
        now.searching.on(0.02)
    order = now.searching.order
    return {
        "questions": seeing.questions(now.graph, order),
        "attributes": seeing.attributes(now.graph, order),
    }


def cover(session: Session, _: Json) -> Json:
    """Count how often rows and steps were taken; the engine does it if it has searched all."""
    found = None if session.deep is None else session.deep.cover()
    return found or seeing.cover(session.now.searching)


def graph(session: Session, given: Json) -> Json:
    """Project the searched states; the engine does it if it has searched all."""
    by, now, deep = list_of(given, "by"), session.now, session.deep
    nodes_max = max(1, min(number_of(given, "nodes_max", seeing.NODES_MAX), seeing.NODES_MAX))
    if deep is not None and deep.is_ready:
        found = deep.graph(list(map(str, by)), nodes_max)
        if found is not None:
            return found
    return seeing.projected(now.graph, now.judging, now.searching, list(map(str, by)), nodes_max)


VERBS: dict[str, Callable[[Any, Json], Json]] = {
    "search": search,
    "levels": levels,
    "nearest": nearest,
    "pattern": pattern,
    "way": way,
    "questions": questions,
    "cover": cover,
    "graph": graph,
}
