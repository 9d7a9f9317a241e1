"""The graph that the page walks is the one that `joinproto check` searches."""

import pytest

from joinproto.check.catalogue import load_world
from joinproto.explore.session import Session
from tests.census import QUICK, searched
from tests.check.chosen import CHOSEN

STATES_MAX = 1_500
"""The most states of a world that every landing walks; larger worlds are walked in the soak."""


def walk_all(session: Session) -> tuple[list[int], int]:
    """Ask for each state; return the number of states of each level, and the number of steps."""
    level = list(session.answer("world")["firsts"])
    seen, counts, steps = set(level), [], 0
    while level:
        counts.append(len(level))
        after = []
        for at in level:
            state = session.answer("state", {"id": at})
            steps += len(state["steps"])
            for step in state["steps"]:
                if step["to"] not in seen:
                    seen.add(step["to"])
                    after.append(step["to"])
        level = after
    return counts, steps


def compare(name: str, mutant: str | None, *, by_page: bool) -> None:
    report, session = searched(name, mutant), Session()
    options = {"mutant": mutant} if mutant else {}
    assert "error" not in session.answer("open", {"target": name, "options": options})
    if by_page and report.result != "violated":
        counts, steps = walk_all(session)
        assert report.generated == steps + counts[0]
        assert list(report.levels) == counts
        return
    searching = session.now.searching
    while not searching.whole and len(searching.counts()) <= report.depth:
        searching.step()

    # A violation ends the engine's search at its level.
    assert list(report.levels) == searching.counts()[: report.depth]


SMALL = [
    ("two-phase-commit", "one-vote-short"),
    ("alternating-bit-overtaken", None),
    ("ring-election", None),
    ("durable-vote", None),
    ("termination-unfair", None),
    ("two-writers", None),
    ("reconcile-one", "drops-first"),
    ("standby-failover", "acknowledges-at-once"),
]
"""Worlds with few states: one for each kind of network and step."""


@pytest.mark.parametrize(("name", "mutant"), SMALL)
def test_walking_by_the_page_reaches_the_engines_states(name: str, mutant: str | None) -> None:
    assert (name, mutant) in CHOSEN or (name, mutant) in QUICK
    assert STATES_MAX >= searched(name, mutant).distinct

    compare(name, mutant, by_page=load_world(name).same is None)


@pytest.mark.soak("explore")
@pytest.mark.parametrize(("name", "mutant"), QUICK)
def test_every_quick_world_is_walked_as_the_engine_searches_it(
    name: str, mutant: str | None
) -> None:
    compare(name, mutant, by_page=False)
