"""Nearest states and the projected graph by the engine, in a process of its own."""

import time

import pytest

from joinproto.explore.graph import Json
from joinproto.explore.session import Session

pytestmark = [pytest.mark.landing, pytest.mark.needs("numba")]


def nodes_of(graph: Json) -> list[tuple[str, int, bool, bool]]:
    keys = ("text", "states", "first", "broken")
    return sorted(tuple(node[key] for key in keys) for node in graph["nodes"])


def edges_of(graph: Json) -> set[tuple[str, str]]:
    """Return the edges, by the nodes' texts."""
    text = {node["id"]: node["text"] for node in graph["nodes"]}
    ends = ((edge["from"], edge["to"]) for edge in graph["edges"])
    return {(text[one], text[other]) for one, other in ends if one != other}


@pytest.mark.parametrize(
    ("target", "options", "by"),
    [
        ("durable-vote", {}, "vote*"),
        ("durable-vote", {"mutant": "no-persist"}, "votes"),
        # Its broken claim is about pairs.
        ("docs/examples/my_first_try.py", {}, "phase"),
    ],
)
def test_the_engine_finds_the_states_that_plain_python_finds(
    target: str, options: dict[str, str], by: str
) -> None:
    """Both find states at the same distance, and runs that the page can walk."""
    from joinproto.explore.deep import Engine

    plain, session = Session(), Session()
    for one in (plain, session):
        one.answer("open", {"target": target, "options": options})
    session.deep = engine = Engine(target, options)
    engine.begin()
    try:
        until = time.monotonic() + 300
        while not engine.is_ready and not engine.is_over and time.monotonic() < until:
            time.sleep(0.05)
        assert engine.is_ready, engine.why_not

        questions: tuple[Json, ...] = (
            {"where": "len(up) == len(view) - 1"},
            {"where": "all(one is not DOWN for one in view.values()) and disk['m1']"},
            {"where": 'count("nothing") > 9'},
            {"where": "text(m1) == text(m2) and m1 is not DOWN"},
            {"where": "any(m1 == one for one in view.values()) and m1 is DOWN"},
            {"where": "disk['m1'] == disk['m2'] and disk['m1'] is not None"},
            {"where": "m1.nothing_of_the_kind"},
            *({"claim": item.name, "is": True} for item in session.now.graph.world.properties),
            *({"claim": item.name} for item in session.now.graph.world.properties),
        )
        plain.answer("search", {"seconds": 5})
        assert session.answer("cover") == plain.answer("cover")
        for asked in questions:
            slow = plain.answer("nearest", {**asked, "seconds": 30})
            quick = session.answer("nearest", asked)

            assert ("error" in slow) == ("error" in quick), asked
            if "error" not in slow:
                assert (slow["run"] is None) == (quick["run"] is None), asked
            if slow.get("run"):
                assert len(slow["run"]["steps"]) == len(quick["run"]["steps"]), asked
                assert quick["run"]["same_end"], asked

        plain.now.searching.search_for(300)
        slow = plain.answer("graph", {"by": [by]})
        drawn = engine.graph([by], 2_000)
        assert drawn is not None
        assert nodes_of(slow) == nodes_of(drawn)
        assert edges_of(slow) == edges_of(drawn)
        way = session.answer("way", {"row": drawn["nodes"][-1]["row"]})["run"]
        at_end = session.answer("state", {"id": way["ids"][-1]})["members"]
        assert drawn["nodes"][-1]["text"] == ", ".join(
            f"{one['name']} {one['texts'].get(by, 'down') if one['up'] else 'down'}"
            for one in at_end
        )
        refused = engine.graph([by], 2)
        assert refused is not None
        assert "more than 2 nodes" in refused["error"]["message"]
    finally:
        engine.close()
