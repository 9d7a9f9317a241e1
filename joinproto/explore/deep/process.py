"""The engine's process: it searches the world that the first line names, then answers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import IO, Any

from joinproto.check import catalogue
from joinproto.check.replay import fitting_runs
from joinproto.errors import JoinprotoError
from joinproto.explore.deep.nearest import row_of_claim, row_where
from joinproto.explore.deep.projected import projected
from joinproto.explore.deep.searched import SearchIndex
from joinproto.explore.graph import Json
from joinproto.explore.seeing import cover_json
from joinproto.explore.session import Session, error_json
from joinproto.explore.wanted import predicate_of

MEMORY_MAX_BYTES = 1536 << 20


def _nearest(session: Session, searched: SearchIndex, asked: Json) -> Json:
    """Return the keys of the steps to the nearest state that is asked for, or null."""
    if asked.get("where") is not None:
        words = asked["where"]
        row = row_where(searched, words, predicate_of(words, session.now.graph.names))
    else:
        words, _ = session.goal_of(asked)
        item = session.now.judging.item(asked.get("claim"))
        row = row_of_claim(searched, item, is_so=bool(asked.get("is", item.kind == "sometimes")))
    return {"keys": None, "words": words, **_way(session, searched, row)}


def _way(session: Session, searched: SearchIndex, row: int | None) -> Json:
    """Return the run to a row as keys of steps, by taking the same steps in the graph."""
    if row is None:
        return {}
    graph, search = session.now.graph, searched.search
    rows = searched.way(row)
    members = len(graph.names)

    def is_row(at: int, place: int) -> bool:
        values = search.tables.values_of(search.rows()[place])
        state = graph.state(at)
        monitor = search.tables.monitor
        same = tuple(values[:members]) == state.locals and values[search.tables.env_field] == (
            state.surroundings
        )
        return same and (monitor < 0 or values[monitor] == state.monitor)

    def options(at: int, place: int) -> Iterator[tuple[str, int]]:
        for index, (_, to) in enumerate(graph.steps_out(at)):
            if is_row(to, place):
                yield graph.step_json(at, index)["key"], to

    begins = (first for first in graph.firsts if is_row(first, rows[0]))
    ids, keys = fitting_runs(begins, rows[1:], options)[0][0]
    return {"start": graph.firsts.index(ids[0]), "keys": keys, "end": graph.key(ids[-1])}


def _answer(session: Session, searched: SearchIndex, asked: Json) -> Json:
    try:
        match asked:
            case {"nearest": given}:
                return _nearest(session, searched, given)
            case {"way": int(row)} if 0 <= row < len(searched.parent):
                return {"words": "", **_way(session, searched, row)}
            case {"graph": {"by": by, "nodes_max": nodes_max}}:
                return projected(session, searched, by, nodes_max)
        raise AssertionError(f"{asked} is not asked by the page's process")
    except JoinprotoError as problem:
        return {"error": error_json(problem)}


def main(source: IO[str] = sys.stdin, out: IO[str] = sys.stdout) -> int:
    """Search the world that the first line names, and answer the lines after it."""
    from joinproto.check.engine.runs.coverage import coverage_of
    from joinproto.check.engine.search import Search
    from joinproto.check.engine.stopping import Limits
    from joinproto.check.options import TypedText

    def tell(**fields: Any) -> None:
        out.write(json.dumps(fields) + "\n")
        out.flush()

    asked = json.loads(source.readline())
    options = {name: TypedText(text) for name, text in asked["options"].items()}
    try:
        loaded = catalogue.load(asked["target"], options)
        told_at = time.monotonic()

        def progress(tick: Any) -> None:
            nonlocal told_at
            if time.monotonic() - told_at > 0.3:
                told_at = time.monotonic()
                tell(states=tick.distinct, levels=[0] * tick.level, steps=tick.generated)

        limits = Limits(memory_bytes=MEMORY_MAX_BYTES)
        with loaded.at_work():
            search = Search(loaded.world, limits, stop_at_violation=False, progress=progress)
            found = search.run()
            ends = search.found.levels
            counts = [b - a for a, b in pairwise(ends)]
            progressed = {"states": search.states.count, "levels": counts, "steps": found.generated}
            if found.stopped_by or loaded.world.same is not None:
                why = found.stopped_by or "the world's `same` takes several states for one"
                tell(failed=f"The engine did not search all states: {why}.")
                return 0
            tell(**progressed)
            # The coverage comes before the index, because making the index takes each step again.
            coverage = coverage_of(search)
            tell(cover=cover_json(search.states.count, coverage.rules, coverage.actions))
            searched = SearchIndex(search)
            searched.index()
            session = Session()
            session.open(loaded)
            tell(**progressed, ready=True)
            for line in source:
                tell(answer=_answer(session, searched, json.loads(line)["ask"]))
    except JoinprotoError as problem:
        tell(failed=problem.message)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
