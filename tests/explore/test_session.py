"""The core of `joinproto explore` takes questions and gives answers in JSON."""

import json
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from joinproto.explore.patterns import Pattern
from joinproto.explore.session import Session
from tests.census import searched

FIRST_TRY = "docs/examples/my_first_try.py"
MODEL = "docs/examples/my_model.py"


def opened(target: str, **options: str) -> Session:
    """Return a session in which this world is open."""
    session = Session()
    found = session.answer("open", {"target": target, "options": options})
    assert "error" not in found, found
    return session


def asked(session: Session, verb: str, **arguments: Any) -> Any:
    """Return an answer as it is after its way through JSON; an error fails the test."""
    found = json.loads(json.dumps(session.answer(verb, arguments)))
    assert "error" not in found, found
    return found


def labels(run: Any) -> list[str]:
    return [f"{step['member']}: {step['label']}" for step in run["steps"]]


def test_a_state_has_members_network_claims_and_steps() -> None:
    session = opened(FIRST_TRY)

    state = asked(session, "state", id=0)

    assert ["m1", "m2"] == [one["name"] for one in state["members"]]
    assert {"phase": "looking"} == state["members"][0]["texts"]
    assert 2 == len(state["network"]["under_way"])
    assert [True, False] == [one["is"] for one in state["claims"]]
    assert [("own", "m1"), ("own", "m2")] == [(s["kind"], s["member"]) for s in state["steps"]]


def test_steps_have_one_of_four_kinds() -> None:
    """A delivery, a member's own step, a step of an operator or a client, and a fault."""
    kinds = {}
    for target in (MODEL, "termination", "note-partition"):
        session = opened(target)
        asked(session, "search", seconds=1)
        for at in session.now.searching.order[:80]:
            for step in session.now.graph.steps_json(at):
                kinds[step["kind"]] = step["action"]

    assert {"deliver", "own", "operator", "fault"} == kinds.keys()


def test_an_error_is_answered_with_what_to_do_next() -> None:
    session = opened(FIRST_TRY)

    for verb, arguments in (
        ("stat", {}),
        ("state", {"id": 999}),
        ("state", {"id": "x"}),
        ("state", {"id": 0, "via": [0, 99]}),
        ("why", {"id": 0, "index": -1}),
        ("claim", {"id": 0, "name": "none such"}),
        ("walk", {"id": 0, "steps": 0}),
        ("follow", {"keys": "abc"}),
        ("follow", {"keys": [], "start": "first"}),
        ("follow", {"keys": ["aaaaaa"] * 10_001}),
        ("walk", {"id": 0, "steps": "twenty"}),
        ("walk", {"id": 0, "seed": []}),
        ("columns", {"columns": 5}),
        ("nearest", {"claim": []}),
        ("claim", {"id": 0, "name": {}}),
        ("way", {"id": []}),
        ("inject", {"kind": "crash", "member": "m1", "keys": 5}),
        ("open", {"target": "join", "options": {"members": [3]}}),
        ("nearest", {"where": "nobody.phase"}),
        ("nearest", {"where": "("}),
        ("pattern", {"steps": []}),
        ("graph", {"by": "phase"}),
        ("search", {"seconds": "long"}),
        ("inject", {"kind": "flood"}),
        ("pair", {}),
        ("open", {"target": "no-such-world"}),
    ):
        found = session.answer(verb, arguments)

        assert found["error"]["message"], verb
        assert found["error"]["next"], verb


def test_without_a_world_the_answer_says_what_to_ask_first() -> None:
    found = Session().answer("state", {"id": 0})

    assert "no world is open" == found["error"]["message"]


def test_a_broken_claim_says_which_part_of_it_does_not_hold() -> None:
    session = opened(FIRST_TRY)
    run = asked(session, "nearest", claim="one founder")["run"]

    found = asked(session, "claim", id=run["ids"][-1], name="one founder")

    assert ["m1: wait no longer", "m2: wait no longer"] == labels(run)
    (case, _) = found["cases"]
    assert "m1 and m2" == case["of"]
    assert "{one, other} != {'founder'}" == case["part"]["text"]
    assert case["part"]["ok"] is False
    assert ["{founder}", "{founder}"] == [part["value"] for part in case["part"]["parts"]]


def test_a_step_shows_the_row_it_took_and_why_no_earlier_row_matched() -> None:
    session = opened("join")
    run = asked(session, "walk", id=0, steps=6, seed=1)

    tables = [
        table
        for at, step in zip(run["ids"], run["steps"], strict=False)
        for table in asked(session, "why", id=at, index=step["index"])["tables"]
    ]

    assert "chain-standing" in {table["table"] for table in tables}
    for table in tables:
        *above, taken = table["rows"]
        assert taken["taken"]
        assert not any(row["taken"] for row in above)
        assert all(row["because"] for row in above)


def test_a_run_is_found_again_by_the_keys_of_its_steps() -> None:
    session = opened("join")
    run = asked(session, "walk", id=0, steps=15, seed=3)
    end = asked(session, "state", id=run["ids"][-1])["key"]

    again = asked(opened("join"), "follow", keys=[step["key"] for step in run["steps"]], end=end)

    assert labels(run) == labels(again)
    assert 15 == again["fits"] == again["of"]
    assert again["same_end"] is True


def test_a_run_that_no_longer_fits_is_followed_as_far_as_it_fits() -> None:
    session = opened(MODEL)
    run = asked(session, "walk", id=0, steps=3, seed=2)
    keys = [step["key"] for step in run["steps"]]

    again = asked(session, "follow", keys=[keys[0], "nosuch", keys[1]])

    assert (1, 3) == (again["fits"], again["of"])


def test_a_walk_ends_where_a_claim_changes_or_the_expression_is_true() -> None:
    session = opened(FIRST_TRY)

    changed = asked(session, "walk", id=0, seed=1, until={})
    founder = asked(session, "walk", id=0, seed=1, until={"where": 'count("founder") > 0'})

    assert "met" == changed["stopped"] == founder["stopped"]
    assert 1 == len(founder["steps"])
    before, after = (asked(session, "state", id=at)["claims"] for at in changed["ids"][-2:])
    assert [one["is"] for one in before] != [one["is"] for one in after]


def test_columns_show_an_expression_in_each_state() -> None:
    session = opened(FIRST_TRY)

    asked(session, "columns", columns=[{"name": "founders", "where": 'count("founder")'}])

    assert [{"name": "founders", "text": "0"}] == asked(session, "state", id=0)["columns"]


@pytest.mark.parametrize(
    "text",
    [
        "().__class__.__bases__",
        "view._shown",
        "'{0.__class__}'.format(view)",
        "__import__('os')",
        "open('/etc/passwd')",
        "9 ** 9 ** 9",
        "(x := 1)",
        "m1.__init__.__globals__",
        "[one for one in (yield)]",
    ],
)
def test_an_expression_that_could_do_harm_is_refused(text: str) -> None:
    session = opened(FIRST_TRY)

    found = session.answer("nearest", {"where": text})

    assert found["error"]["message"]


@pytest.mark.parametrize("name", ["gi_frame", "gi_code", "cr_frame", "ag_frame", "f_back"])
def test_an_expression_cannot_ask_for_a_frame_of_python(name: str) -> None:
    session = opened(FIRST_TRY)

    found = session.answer("nearest", {"where": f"(one for one in view).{name}"})

    assert "must not be asked for" in found["error"]["message"]


def test_an_expression_cannot_reach_a_module_by_a_generator_that_runs() -> None:
    """The frame of a generator leads to its callers' frames, which have Python's `__import__`."""
    session = opened(FIRST_TRY)
    process = 'l[0].gi_frame.f_back.f_back.f_back.f_builtins["__import__"]("os").getpid()'

    found = session.answer(
        "columns", {"columns": [f"(lambda l: [l.append(({process} for i in [1])), *l[0]])([])"]}
    )

    assert "must not be asked for" in found["error"]["message"]
    assert not session.columns


def test_the_nearest_state_comes_with_a_shortest_run() -> None:
    session = opened(MODEL)

    found = asked(session, "nearest", where='count("joined") == 1', seconds=5)

    assert ["m1: found the cluster", "m1: receive is anybody there from m2"] == labels(
        found["run"]
    )[:2]
    assert 3 == len(found["run"]["steps"])


def test_if_no_state_fits_all_states_were_searched() -> None:
    session = opened(MODEL)

    found = asked(session, "nearest", where='count("founder") == 2', seconds=5)

    assert found["run"] is None
    assert {"states": 16, "levels": 6, "whole": True} == found["searched"]


def test_every_ready_question_can_be_asked() -> None:
    for target in (MODEL, "durable-vote", "join"):
        session = opened(target)
        for one in asked(session, "questions")["questions"]:
            asked(session, "nearest", **one["arguments"], seconds=0)


def test_a_pattern_finds_steps_in_order_and_excludes_others_between() -> None:
    session = opened(MODEL)
    lines = ["m1 sends join me to m2", "not: m2 receives *", "m2 crashes"]

    found = asked(session, "pattern", steps=lines, seconds=5)
    none = asked(session, "pattern", steps=["m1 crashes", "m2 crashes"], seconds=5)
    never = asked(
        session, "pattern", steps=["not: m1: *", "m1 receives *", "m2 crashes"], seconds=5
    )

    assert [
        "m1: found the cluster",
        "m1: receive is anybody there from m2",
        "m2: crash",
    ] == labels(found["run"])
    assert none["run"] is None, "there is one crash in a run"
    assert never["run"] is None, "m1 receives nothing before it has started"
    assert none["searched"]["whole"]


def is_in(pattern: Pattern, run: Sequence[str]) -> bool:
    """Return whether some steps of a run fit the lines, with no excluded step between them."""
    places = combinations(range(len(run)), len(pattern.lines))
    return any(
        all(run[at] == line for at, line in zip(chosen, pattern.lines, strict=True))
        and not any(
            step in excluded
            for before, at, excluded in zip(
                (-1, *chosen[:-1]), chosen, pattern.excluded[: len(chosen)], strict=True
            )
            for step in run[before + 1 : at]
        )
        for chosen in places
    )


@pytest.mark.parametrize(
    "lines", [["a", "not: c", "b"], ["not: b", "a", "not: a", "b", "not: c", "c"], ["a", "a", "b"]]
)
def test_a_pattern_may_begin_again_after_an_excluded_step(lines: list[str]) -> None:
    """Of a c a b, the second a is followed by b without c; all runs of up to 6 steps are tried."""
    pattern = Pattern.of(lines)

    def found(run: Sequence[str]) -> bool:
        matched = {0}
        for step in run:
            matched = {after for one in matched for after in pattern.after(one, [step])}
            if len(pattern.lines) in matched:
                return True
        return False

    for length in range(7):
        for run in product("abc", repeat=length):
            assert is_in(pattern, run) == found(run), run


def test_only_an_asterisk_stands_for_other_text_in_a_pattern() -> None:
    pattern = Pattern.of(["a sends [1, 2]? to *"])

    assert [1] == [*pattern.after(0, ["a sends [1, 2]? to b"])]
    assert [0] == [*pattern.after(0, ["a sends 1x to b"])]


def test_levels_and_counts_are_those_of_the_whole_search() -> None:
    session = opened(MODEL)

    found = asked(session, "search", seconds=5)
    cover = asked(session, "cover")

    assert {
        "states": 16,  # 2 members, 1 crash: as `joinproto check` says
        "levels": [1, 3, 3, 4, 3, 2],
        "steps": 31,
        "whole": True,
        "stopped": "",
    } == found
    assert 31 == sum(one["count"] for one in cover["actions"])


@pytest.mark.parametrize(
    "name",
    # Links and sets; loss and partitions; crashes between effects; joint steps; a monitor; rows.
    [
        "two-phase-commit",
        "alternating-bit",
        "ring-election",
        "durable-vote",
        "two-writers",
    ],
)
def test_the_steps_taken_are_those_that_the_engine_counts(name: str) -> None:
    """The page and the engine have the same counts, also of steps and rows never taken."""
    session = opened(name)
    session.now.searching.search_for(60.0)

    cover = asked(session, "cover")

    engine = searched(name).coverage
    assert not cover["partial"]
    for kind, counted in (("actions", engine.actions), ("rows", engine.rules)):
        assert counted == {one["name"]: one["count"] for one in cover[kind]}
        counts = [one["count"] for one in cover[kind]]
        assert sorted(counts) == counts


def test_rows_never_taken_come_first() -> None:
    session = opened("join")
    asked(session, "search", seconds=0.2)

    counts = [one["count"] for one in asked(session, "cover")["rows"]]

    assert 0 == counts[0]
    assert sorted(counts) == counts


def test_the_graph_is_projected_to_the_kept_attributes() -> None:
    session = opened(MODEL)
    asked(session, "search", seconds=5)

    found = asked(session, "graph", by=["phase"])
    refused = session.answer("graph", {"by": ["phase"], "nodes_max": 3})

    assert 8 == len(found["nodes"])
    assert 16 == sum(node["states"] for node in found["nodes"])
    assert "m1 looking, m2 looking" == found["nodes"][0]["text"]
    assert found["nodes"][0]["first"]
    assert 31 == sum(edge["count"] for edge in found["edges"])
    assert "more than 3 nodes" in refused["error"]["message"]


def test_two_versions_are_walked_in_step_to_their_first_difference() -> None:
    session = opened("durable-vote")

    found = asked(session, "compare", options={"mutant": "no-persist"})

    differ = [one for one in found["claims"] if one["first"] != one["second"]]
    assert not found["same"]
    assert ("holds", "violated") == (differ[0]["first"], differ[0]["second"])
    assert any(one["changes"] for side in found["parting"]["only"] for one in side)
    run = differ[0]["second_run"]
    both = asked(session, "pair", **run)
    assert len(run["keys"]) == both["sides"][1]["fits"]
    assert [False] == [
        one["is"] for one in both["sides"][1]["state"]["claims"] if one["name"] == differ[0]["name"]
    ]


def test_the_run_to_a_first_difference_begins_in_its_initial_state() -> None:
    """This world begins in many states, and only some of them let the mistake show."""
    session = opened("termination")

    parting = asked(session, "compare", options={"mutant": "stays-white"})["parting"]
    both = asked(session, "pair", start=parting["start"], keys=parting["keys"])

    here = {
        f"{step['member'] or ', '.join(step['members'])}: {step['label']}" for step in both["both"]
    }
    assert parting["start"] > 0
    assert {one["step"].partition(": ")[2] or one["step"] for one in parting["only"][0]} <= {
        text.partition(": ")[2] for text in here
    }


def test_a_changed_file_is_loaded_again_and_a_broken_one_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "my_model.py"
    source = Path(MODEL).read_text(encoding="utf-8")
    file.write_text(source, encoding="utf-8")
    session = opened(str(file))

    unchanged = asked(session, "reload")
    file.write_text(source.replace(" and self.may_found", ""), encoding="utf-8")
    changed = asked(session, "reload")
    found = asked(session, "nearest", claim="one founder", seconds=5)
    file.write_text("def world(:\n", encoding="utf-8")
    broken = asked(session, "reload")

    assert {"changed": False} == unchanged
    assert changed["changed"]
    assert 2 == len(found["run"]["steps"])
    assert broken["problem"]["message"]
    assert asked(session, "state", id=0)["steps"], "the old version goes on"
