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
from joinproto.explore.patterns import Pattern, PatternSearch

if TYPE_CHECKING:
    from joinproto.explore.session import Session


def search(session: Session, given: Json) -> Json:
    """Continue the search, or let the engine continue it; return the progress."""
    now, deep = session.now, session.deep
    if deep is not None and not deep.is_over and (deep.begun or _is_large(session)):
        if seconds_of(given):
            deep.begin()
        if deep.begun:
            return deep.progress()
    now.searching.search_for(seconds_of(given))
    return now.searching.json()


LARGE = 4_000
"""If a world has at least this many states, the engine searches it, if it is installed."""


def _is_large(session: Session) -> bool:
    searching = session.now.searching
    return len(searching.order) >= LARGE and not searching.whole


def levels(session: Session, _: Json) -> Json:
    """Return the progress of the search, without continuing it."""
    return search(session, {"seconds": 0})


def nearest(session: Session, given: Json) -> Json:
    """Find a shortest run to a state in which an expression is true, or a claim has a value."""
    now = session.now
    words, is_goal = session.goal_of(given)
    deep = session.deep
    if deep is not None and _is_large(session):
        deep.begin()
    if deep is not None and deep.is_ready:
        found = deep.nearest(session, given)
        if found is not None:
            return found
    question = json.dumps([words, given.get("is")])
    at = now.searching.nearest(question, is_goal, seconds_of(given))
    progress = now.searching.json()
    searched = {
        "states": progress["states"],
        "levels": len(progress["levels"]),
        "whole": now.searching.whole,
    }
    if at is not None:
        return {"run": now.searching.way(at), "searched": searched, "words": words}
    reason = progress["stopped"]
    if deep is not None and deep.begun and not deep.is_over:
        searched, reason = deep.searched(), ""
    elif reason and deep is not None:
        reason = f"{reason} {deep.why_not}".strip()
    return {"run": None, "searched": searched, "stopped": reason, "words": words}


def pattern(session: Session, given: Json) -> Json:
    """Find a shortest run with the steps of a pattern, in their order."""
    lines = given.get("steps")
    if not isinstance(lines, list):
        raise UsageProblem("a pattern is a list of lines", next='["a sends *", "b crashes"]')
    key = "\n".join(map(str, lines))
    if key not in session.now.matching:
        session.now.matching.clear()
        session.now.matching[key] = PatternSearch(session.now.graph, Pattern.of(lines))
    matching = session.now.matching[key]
    run = matching.search_for(seconds_of(given))
    searched = {"states": len(matching.parent), "levels": 0, "whole": matching.whole}
    return {"run": run, "searched": searched, "stopped": matching.stop_reason}


def way(session: Session, given: Json) -> Json:
    """Find a shortest run to a state that the search found; `row`: the row of a node of `graph`."""
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
        now.searching.search_for(0.02)
    order = now.searching.order
    return {
        "questions": seeing.questions(now.graph, order),
        "attributes": seeing.attributes(now.graph, order),
    }


def cover(session: Session, _: Json) -> Json:
    """Count how often rows and steps were taken; the engine counts if it has found all states."""
    found = None if session.deep is None else session.deep.cover()
    return found or seeing.cover(session.now.searching)


def graph(session: Session, given: Json) -> Json:
    """Project the searched states; the engine projects if it has found all states."""
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
