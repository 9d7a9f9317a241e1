"""Nearest states by the engine, in a process of its own, and what the page does until then."""

import time

import pytest

from joinproto.explore.session import Session

pytestmark = [pytest.mark.landing, pytest.mark.needs("numba")]


def test_the_engine_finds_the_states_that_plain_python_finds() -> None:
    """The same distance, and a run that the page can walk."""
    from joinproto.explore.deep import Engine

    plain, session = Session(), Session()
    for one in (plain, session):
        one.answer("open", {"target": "durable-vote"})
    session.deep = engine = Engine("durable-vote", {})
    engine.begin()
    try:
        until = time.monotonic() + 300
        while not engine.is_ready and not engine.is_over and time.monotonic() < until:
            time.sleep(0.05)
        assert engine.is_ready, engine.why_not

        for asked in (
            {"where": "len(up) == len(view) - 1"},
            {"where": "all(one is not DOWN for one in view.values()) and disk['m1']"},
            {"where": 'count("nothing") > 9'},
            *({"claim": item.name} for item in session.now.graph.world.properties),
        ):
            slow = plain.answer("nearest", {**asked, "seconds": 30})
            quick = session.answer("nearest", asked)

            assert ("error" in slow) == ("error" in quick), asked
            if "error" not in slow:
                assert (slow["run"] is None) == (quick["run"] is None), asked
            if slow.get("run"):
                assert len(slow["run"]["steps"]) == len(quick["run"]["steps"]), asked
                assert quick["run"]["same_end"], asked
    finally:
        engine.close()
