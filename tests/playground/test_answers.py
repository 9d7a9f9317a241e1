"""The answers for the page, requested here without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.census import searched
from tools.playground.answers import answer
from tools.playground.listing import MODELS, listing

ROOT = Path(__file__).resolve().parents[2]
FIRST = (ROOT / "docs/examples/my_first_try.py").read_text("utf-8")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(question: str, tell: Any = None, /, **given: Any) -> Any:
    return json.loads(answer(question, json.dumps(given), *([tell] if tell else [])))


@pytest.mark.parametrize(
    ("name", "mutant"), [("two-phase-commit", None), ("two-phase-commit", "one-vote-short")]
)
def test_a_world_is_searched_as_by_the_engine(name: str, mutant: str | None) -> None:
    options = {"mutant": mutant} if mutant else {}

    found = asked("check", name=name, options=options)["value"]

    engine = searched(name, mutant)
    assert (engine.result, engine.distinct) == (found["verdict"], found["distinct"])
    assert found["page"].startswith("<!DOCTYPE html>")


def test_options_are_texts_as_on_a_command_line() -> None:
    found = asked("check", name="two-phase-commit", options={"members": "2"})["value"]

    assert 2**2 + 4**2 + 6**2 == found["distinct"]
    assert "joinproto check two-phase-commit --members 2" == found["command"]


def test_a_wrong_name_is_refused_with_the_nearest_name() -> None:
    problem = asked("check", name="note-lone-restrat")["error"]

    assert "did you mean note-lone-restart?" in problem["next"]


def test_a_users_model_is_searched() -> None:
    found = asked("model", text=FIRST, options={"members": "3"})["value"]

    assert ("violated", 2) == (found["verdict"], found["trace_length"])


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("case _:", "case _", 26),
        ('self.phase = "founder"', "self.phase = founder", 21),
        ('{"founder"})', "{founder})", 40),
    ],
)
def test_a_mistake_in_a_model_is_reported_with_its_line(right: str, wrong: str, line: int) -> None:
    """The mistakes are in the syntax, in a member and in a claim."""
    problem = asked("model", text=FIRST.replace(right, wrong))["error"]

    assert line == problem["line"]


@pytest.mark.parametrize(
    ("name", "mutant"), [("durable-vote", "no-persist"), ("termination", "stays-white")]
)
def test_the_run_that_a_search_found_is_walked(name: str, mutant: str) -> None:
    """The run ends where the claim is broken.  The second world begins in more than one state."""
    given = {"name": name, "options": {"mutant": mutant}}
    found = asked("check", **given)["value"]
    run = {"start": found["run"]["from"], "keys": found["run"]["keys"]}

    asked("open", **given)
    walked = asked("explore", verb="follow", arguments=run)["value"]
    end = {"id": walked["ids"][-1]}
    claims = asked("explore", verb="state", arguments=end)["value"]["claims"]

    assert walked["fits"] == walked["of"] == found["trace_length"]
    assert [False] == [one["is"] for one in claims if one["name"] == found["property"]]


def test_a_copy_of_a_world_is_compared_with_that_world() -> None:
    text = asked("copy", name="durable-vote")["value"]["text"]
    asked("open", text=text, world="durable-vote")

    [version] = asked("open", text=text, world="durable-vote")["value"]["versions"]
    found = asked("explore", verb="compare", arguments=version)["value"]

    assert found["same"]


def test_a_model_is_compared_with_its_version_before_the_last_change() -> None:
    """A version between the two that could not be loaded is skipped."""
    asked("model", text=FIRST)
    asked("model", text=FIRST.replace("case _:", "case _"))
    changed = FIRST.replace('if self.phase == "founder"', 'if self.phase != "joined"')

    [version] = asked("open", text=changed)["value"]["versions"]
    found = asked("explore", verb="compare", arguments=version)["value"]

    assert [25, 11] == found["states"]
    assert "sends “join me” from m1 to m2" in str(found["parting"]["only"][0])


def test_two_edits_in_one_second_are_two_models() -> None:
    """Python keeps no bytecode of a model.

    Otherwise the second edit would run the bytecode of the first: both texts have the same size and
    the same modification time in seconds.
    """
    for name in ("one", "two"):
        found = asked("model", text=FIRST.replace("who-founds", name))["value"]

        assert name == found["world"]


def test_the_output_of_a_model_is_in_the_answer() -> None:
    found = asked("model", text="print('here')\n" + FIRST)

    assert "here\n" == found["printed"]


def test_a_search_reports_its_progress() -> None:
    counts: list[int] = []

    asked("check", lambda expanded, _: counts.append(expanded), name="two-phase-commit")

    assert counts
    assert sorted(counts) == counts


def test_a_world_that_is_too_large_is_reported_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from joinproto.check.plain import Bounds

    monkeypatch.setattr("tools.playground.answers.LIMITS", Bounds(10, 10, 10, 10))

    problem = asked("check", name="two-phase-commit")["error"]

    assert problem["next"].endswith("joinproto check two-phase-commit")


@pytest.mark.parametrize("name", ["two-phase-commit", "note-lone-restart", "dining-philosophers"])
def test_a_copy_of_a_world_has_the_states_of_that_world(name: str) -> None:
    """The copy is edited like a user's model, and built with the world's own options."""
    text = asked("copy", name=name)["value"]["text"]

    found = asked("model", text=text, world=name)["value"]

    assert searched(name).distinct == found["distinct"]


def test_stores_are_judged_by_recover_pick() -> None:
    words = [str(file) for file in sorted((ROOT / "docs/examples/rescue").glob("*.info"))]

    found = asked("recover", verb="pick", words=words)["value"]

    assert 0 == found["code"]
    assert "PROVEN: b" in found["text"]


def test_a_world_is_walked_by_questions() -> None:
    world = asked("open", name="two-phase-commit")["value"]

    state = asked("explore", verb="state", arguments={"id": world["firsts"][0]})["value"]

    assert "prepare" in {step["label"] for step in state["steps"]}


def test_the_list_has_more_than_200_worlds_and_all_first_models() -> None:
    found = json.loads(json.dumps(listing()))

    assert len({world["name"] for world in found["worlds"]}) == len(found["worlds"]) > 200
    assert [*MODELS] == [one["name"] for one in found["examples"]]
    assert FIRST == found["examples"][0]["text"]
