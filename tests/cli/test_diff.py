"""`joinproto diff`: the states, steps and verdicts that differ, and a run to a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.check.catalogue import load_world
from joinproto.check.diff import difference
from tests.cli.running import Run, run_here

MODEL = """
from joinproto.check import NOT_ENABLED, World, always, sometimes


class Member:
    def __init__(self):
        self.count = 0{more}

    def choices(self):
        if self.count < {most}:
            yield "count"

    def receive(self, event):
        if event != "count":
            return NOT_ENABLED
        self.count += 1
        return None


def world():
    return World(
        name="counts",
        members={{"a": Member}},
        properties=[
            always("few", lambda view: view["a"].count < {claimed}),
            sometimes("one", lambda view: view["a"].count == 1),
        ],
    )
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto diff` here."""
    return lambda *words: run_here(capsys, "diff", *words)


def _model(folder: Path, *, most: int = 2, claimed: int = 3, more: str = "") -> str:
    folder.mkdir()
    file = folder / "model.py"
    file.write_text(MODEL.format(most=most, claimed=claimed, more=more))
    return str(file)


def test_a_world_and_its_mutant_first_differ_at_the_planted_mistake(run: Run) -> None:
    """With one vote too few, the mutant commits; the claims of both worlds are compared."""
    done = run("two-phase-commit", "--mutant", "one-vote-short", "--json")
    found = done.object

    assert (1, False) == (done.code, found["same"])
    assert [288, 348] == found["states"]
    assert [0, 60] == found["states_only"]
    assert 4 == len(found["parts"]["steps"])
    assert [] == found["parts"]["only_first"]
    assert ["tm: commit"] == [one["step"] for one in found["parts"]["only_second"]]
    (consistent,) = [one for one in found["claims"] if one["name"] == "consistent"]
    assert ("holds", "violated", 7) == (
        consistent["first"],
        consistent["second"],
        consistent["second_length"],
    )
    assert ["tm needed: always 3, or 2"] == found["left_out"]


def test_the_first_difference_is_the_same_in_both_directions() -> None:
    first, second = (load_world(f"incident-galera-pod-0{suffix}") for suffix in ("", "-fixed"))
    found, back = difference(first, second), difference(second, first)

    assert found.parting is not None
    assert back.parting is not None
    assert ["all pods crash"] == [step.action for step in found.parting.steps]
    assert found.parting.only == back.parting.only[::-1]
    assert found.states_only == back.states_only[::-1] == (12, 0)


def test_the_text_shows_the_run_and_the_steps_that_only_one_world_has(run: Run) -> None:
    out = run("incident-galera-pod-0", "incident-galera-pod-0-fixed").out

    assert "they part, after 1 step\n" in out
    assert "only the first can do next: pod0: pod0 founds the cluster" in out
    assert "* what was acknowledged is on a disk: violated in 3 steps; holds" in out


def test_two_mutants_are_compared_with_each_other(run: Run) -> None:
    found = run(
        "durable-vote", "--mutant", "no-persist", "--mutant", "answer-first", "--json"
    ).object

    assert "durable-vote --mutant no-persist" == found["first"]
    assert "durable-vote --mutant answer-first" == found["second"]
    assert not found["same"]


def test_a_world_is_the_same_as_itself(run: Run) -> None:
    done = run("incident-twilio-2013", "incident-twilio-2013")

    assert 0 == done.code
    assert done.out.endswith("they are the same\n")


def test_two_versions_of_a_file_are_compared(run: Run, tmp_path: Path) -> None:
    """A new attribute is reported but not compared; two versions may differ only in a claim."""
    old = _model(tmp_path / "old")
    more = _model(tmp_path / "more", more="\n        self.seen = 'x'")
    further = _model(tmp_path / "further", most=3)
    stricter = _model(tmp_path / "stricter", claimed=2)

    assert 0 == run(old, more).code
    assert ["a seen: only in the second"] == run(old, more, "--json").object["left_out"]
    parts = run(old, further, "--json").object["parts"]
    assert (2, "a: count") == (len(parts["steps"]), parts["only_second"][0]["step"])
    assert ["a count 2 → 3"] == parts["only_second"][0]["changes"]
    done = run(old, stricter, "--json")
    assert (1, None) == (done.code, done.object["parts"])


def test_worlds_that_begin_differently_differ_before_the_first_step(
    run: Run, tmp_path: Path
) -> None:
    one = _model(tmp_path / "one", more="\n        self.count = 1")
    done = run(_model(tmp_path / "zero"), one)

    assert (1, True) == (done.code, "they begin in different states" in done.out)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["token-ring"], "needs a second world"),
        (["two-phase-commit", "--mutant", "nope"], "has no mutant 'nope'"),
        (["no-such-world", "token-ring"], "there is no world called 'no-such-world'"),
        (["token-ring", *["--mutant", "a"] * 3], "3 mutants are given"),
        (["token-ring", "no/such.py"], "no/such.py"),
        (["incident-twilio-2013", "incident-redis-empty"], "have no member in common"),
        (
            ["two-phase-commit", "--mutant", "one-vote-short", "--max-states", "10"],
            "has more than 10 states",
        ),
    ],
)
def test_worlds_that_cannot_be_compared_are_refused(run: Run, words: list[str], text: str) -> None:
    done = run(*words)

    assert (2, True) == (done.code, text in done.err), done.err
