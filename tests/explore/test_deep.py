"""The page's side of the engine's process: which world the engine searches."""

from joinproto.explore.deep import Engine
from joinproto.explore.session import Session


def test_the_engine_searches_the_world_that_is_open() -> None:
    """The engine takes over the world's options, too."""
    session = Session()
    session.answer("open", {"target": "durable-vote"})
    session.deep = engine = Engine("durable-vote", {})

    session.answer("open", {"target": "durable-vote", "options": {"mutant": "no-persist"}})
    mutant = engine.target, engine.options, engine.is_over
    session.answer("open", {"target": "two-phase-commit"})

    assert ("durable-vote", {"mutant": "no-persist"}, False) == mutant
    assert ("two-phase-commit", False) == (engine.target, engine.is_over)


def test_the_engine_does_not_search_a_world_with_an_injected_fault() -> None:
    session = Session()
    session.answer("open", {"target": "docs/examples/my_first_try.py"})
    session.deep = engine = Engine("docs/examples/my_first_try.py", {})

    session.answer("inject", {"kind": "crash", "member": "m1"})

    assert engine.is_over
    assert "injected fault" in engine.why_not
