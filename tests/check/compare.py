"""Compares the engine with the reference search: reports must be equal, except for costs."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

from joinproto.check.check import check
from joinproto.check.engine.runs.coverage import coverage_of
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Row
from joinproto.check.engine.tables.queues import numbers_in
from joinproto.check.engine.tables.tables import Tables
from joinproto.check.environment import Surroundings
from joinproto.check.events import plain
from joinproto.check.exercised import with_open_claims
from joinproto.check.local import Offline
from joinproto.check.properties import ON_RUNS, Property
from joinproto.check.reference import State
from joinproto.check.report import Report, Trace
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import words
from joinproto.check.world import World
from tools.slow_search import Explored, explore


def explored(world: World, states_max: int) -> Explored | None:
    """Return the report of the reference search, or None for a world larger than `states_max`."""
    found = explore(world, states_max=states_max, keep_edges=True)
    return None if found.stopped else found


def assert_same_search(world: World, found: Explored | None = None) -> Explored:
    """Compare the engine's states, counts and coverage with the reference search, and return it."""
    if found is None:
        found = explore(world, keep_edges=True)
    search = Search(world, stop_at_violation=False)
    result = search.run()
    levels = tuple(b - a for a, b in zip(result.levels, result.levels[1:], strict=False))
    assert (found.distinct, found.generated) == (search.states.count, result.generated)
    assert found.levels == levels
    assert set(found.level_of) == {state_of(search, row) for row in range(search.states.count)}
    coverage = coverage_of(search)
    actions, rules = counts_of(found)
    assert dict(actions) == {k: n for k, n in coverage.actions.items() if n}
    assert dict(rules) == {k: n for k, n in coverage.rules.items() if n}
    return found


def shortest(found: Explored, item: Property, *, wanted: bool) -> Trace | None:
    """Return a shortest run, the first by `order_of`, to a state where `item` is `wanted`."""
    hits = [s for s in found.level_of if found.reference.holds(item, s) is wanted]
    if not hits:
        return None
    depth = min(found.level_of[s] for s in hits)
    initial, steps, _ = found.way_to({s for s in hits if found.level_of[s] == depth})
    return Trace(item.name, item.kind, initial, steps)


def state_of(search: Search, number: int) -> State:
    """Return a row of the engine as a state of the reference search."""
    tables, row = search.tables, search.rows()[number]
    values = tables.values_of(row)
    surroundings = values[tables.env_field]
    assert isinstance(surroundings, Surroundings)
    links = {}
    for queue in range(tables.queue_count):
        sender, to = divmod(queue, tables.members)
        held = [tables.messages.values[m] for m in numbers_in(values[tables.queue_field + queue])]
        if held:
            held = held if tables.fifo else sorted(held, key=repr)
            links[tables.names[sender], tables.names[to]] = tuple(held)
    messages: frozenset[Any] = frozenset()
    if tables.is_set_network:
        messages = frozenset(tables.messages.values[m] for m in messages_of(tables, row))
    return State(
        tuple(values[: tables.members]),
        values[tables.monitor] if tables.monitor >= 0 else None,
        surroundings,
        messages,
        tuple(sorted(links.items())),
    )


def messages_of(tables: Tables, row: Row) -> list[int]:
    """Return the numbers of a set's messages that are under way in a row."""
    if tables.contents is None:
        return tables.layout.messages(row)
    return tables.contents.messages(tables.layout.fields(row))


def counts_of(found: Explored) -> tuple[Counter[str], Counter[str]]:
    """Return how often each step and each case of a table was taken."""
    actions: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    for _, move, _ in found.edges:
        if move.kind in ("lose", "duplicate"):
            actions[move.kind] += 1
        elif move.kind in ("split", "heal"):
            actions["split or heal"] += 1
        elif move.together is not None:
            for name, outcome in move.outcomes:
                event = move.together.events[name]
                event = event.event if isinstance(event, Offline) else event
                word = plain(event)
                word = word if outcome.effects is None else f"crash while “{word}”"
                actions[f"{word} ({name})"] += 1
        else:
            actions[f"{words(move)[0]} ({move.member})"] += 1
        for _, outcome in move.outcomes:
            rules.update(outcome.rules)
    return actions, rules


def report_as_judged(world: World, **options: Any) -> Report:
    """Return the report of a search that leaves the results of untested claims as judged."""
    as_judged = mock.patch(
        "joinproto.check.exercised.with_open_claims", lambda world, report: report
    )
    with as_judged:
        return check(world, **options)


def assert_only_untested_are_open(report: Report, world: World, found: Explored) -> None:
    """Assert that no result becomes "unknown" in a world that tests its claims.

    A world with steps, in which every member runs at some time, tests its claims.  In other worlds,
    only "holds" may become "unknown".
    """
    opened = with_open_claims(world, report)
    views = [found.reference.view(state) for state in found.level_of]
    if found.distinct > 1 and {name for view in views for name in view.up} == set(world.members):
        assert (opened.result, opened.properties) == (report.result, report.properties)
    for before, after in zip(report.properties, opened.properties, strict=True):
        assert before == after or ("holds", "unknown") == (before.result, after.result)


def assert_same_report(world: World, found: Explored) -> Report:
    """Compare results and shortest runs, except for claims about whole runs; return the report."""
    report = report_as_judged(world, witnesses=True)
    assert_only_untested_are_open(report, world, found)
    reference = found.reference
    first: dict[str, int | None] = {}
    for item in world.properties:
        if item.kind in ("always", "sometimes"):
            wanted = item.kind == "sometimes"
            hits = [
                level
                for state, level in found.level_of.items()
                if reference.holds(item, state) is wanted
            ]
            first[item.name] = min(hits, default=None)
    broken = [
        level
        for item in world.properties
        if item.kind == "always" and (level := first[item.name]) is not None
    ]
    # A search also ends at a state that stands for no state of an abstract world.
    unmapped = [
        level
        for item in world.properties
        if item.abstract is not None
        for state, level in found.level_of.items()
        if not StepClaim(item).is_state(reference.view(state))
    ]
    end = min([*broken, *unmapped], default=len(found.levels))
    ended = end < len(found.levels)
    for item, result in zip(world.properties, report.properties, strict=True):
        assert item.name == result.name
        if item.kind in ON_RUNS:
            if ended:
                judged = item.abstract is not None and end in unmapped
                assert ("violated" if judged else "unknown") == result.result
            continue
        level = first[item.name]
        wanted_result = expected(item, level, end, ended)
        if found.beyond and wanted_result == "not-reached":
            wanted_result = "unknown"
        assert wanted_result == result.result, item.name
        if level is not None and level <= end:
            assert level == result.trace_length
            wanted_trace = shortest(found, item, wanted=item.kind == "sometimes")
            assert wanted_trace == result.trace
        if item.premise is not None:
            met = any(
                bool(item.premise(reference.view(state)))
                for state, at in found.level_of.items()
                if at <= end
            )
            assert met is result.premise_met
    assert sum(found.levels[: end + 1]) == report.distinct
    if end in broken:
        assert report.result == "violated"
        assert report.trace is not None
        assert end == len(report.trace.steps)
    return report


def expected(item: Property, level: int | None, end: int, broken: bool) -> str:
    """Return the result of an `always` or `sometimes` first hit at `level`."""
    if level is not None and level <= end:
        return "violated" if item.kind == "always" else "reached"
    if broken:
        return "unknown"
    return "holds" if item.kind == "always" else "not-reached"
