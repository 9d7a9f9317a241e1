"""`joinproto models`: the list of worlds."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.check.catalogue import load_world
from joinproto_worlds.entries import ENTRIES, FAMILIES, family_of
from joinproto_worlds.mistakes import MISTAKES
from joinproto_worlds.policy.entries import ROWS, Asked
from tests.cli.running import Run, run_here


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto models` here."""
    return lambda *words: run_here(capsys, "models", *words)


def test_every_world_is_listed(run: Run) -> None:
    """Each world has its members, its mutants and its expected result."""
    listed = run("--json").object["worlds"]

    assert [item.name for item in ENTRIES] == [row["name"] for row in listed]
    (row,) = (row for row in listed if row["name"] == "two-phase-commit")
    assert ("holds", 3, 1, 12) == (
        row["expected"],
        row["members"],
        row["members_least"],
        row["members_most"],
    )
    assert ["one-vote-short"] == row["mutants"]


def test_without_a_name_the_families_are_listed(run: Run) -> None:
    """Each family has its number of worlds, and the number of worlds that must be violated."""
    done = run()

    assert 0 == done.code
    for family in FAMILIES:
        worlds = [item for item in ENTRIES if family_of(item) == family]
        violated = sum(item.expected == "violated" for item in worlds)
        (row,) = (line.split() for line in done.out.splitlines() if line.startswith(f"{family} "))
        assert str(len(worlds)) == row[1]
        assert not violated or str(violated) == row[2]


def test_every_world_is_in_one_family(run: Run) -> None:
    listed = [row["name"] for family in FAMILIES for row in run(family, "--json").object["worlds"]]

    assert sorted(item.name for item in ENTRIES) == sorted(listed)


def test_a_family_lists_its_worlds(run: Run) -> None:
    lines = run("classics").out.splitlines()

    assert lines[0].startswith("two-phase-commit")
    assert "15 worlds" in lines
    assert max(map(len, lines)) <= 100


def test_a_world_lists_its_parameters_and_its_claims(run: Run) -> None:
    text = " ".join(run("two-phase-commit").out.split())

    assert "members 3 (1 to 12)" in text
    assert "--mutant one-vote-short" in text
    assert "claim always: " in text
    assert "next: joinproto check two-phase-commit" in text


def test_every_mutant_has_a_short_sentence_of_its_own() -> None:
    assert {mutant for item in ENTRIES for mutant in item.mutants} == set(MISTAKES)
    assert len(set(MISTAKES.values())) == len(MISTAKES)
    for sentence in MISTAKES.values():
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert len(sentence.split()) <= 15


def test_a_world_with_a_mistake_names_it(run: Run) -> None:
    sentence = MISTAKES["one-vote-short"]

    assert load_world("two-phase-commit", mutant="one-vote-short").about.endswith(sentence)
    assert f"--mutant one-vote-short: {sentence}" in " ".join(run("two-phase-commit").out.split())


def test_worlds_that_fit_the_words_are_found(run: Run) -> None:
    found = run("--expect", "violated", "--grep", "LOST", "--json").object["worlds"]

    assert {"violated"} == {row["expected"] for row in found}
    assert "token-ring-lossy" in [row["name"] for row in found]
    assert "\n0 worlds\n" in run("--grep", "no such thing").out


def test_programs_that_decide_are_a_family_found_by_the_words_of_a_person_in_trouble(
    run: Run,
) -> None:
    """The programs are not worlds of the catalogue: each is searched together with a world."""
    listed = run("policies", "--json").object
    done = run("--grep", "our ansible playbook bootstrapped the node with safe_to_bootstrap 1")
    one = run("policy-openstack-helm").out

    assert ([], {row.entry.name for row in ROWS}) == (
        listed["worlds"],
        {row["name"] for row in listed["policies"]},
    )
    assert "\npolicy-flag-first " in done.out
    assert "defeated after 3 steps" in one
    assert one.endswith(
        "next: joinproto policy check docs/examples/policies/openstack_helm.py --world galera\n"
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.entry.name)
def test_a_listed_program_and_its_number_of_steps_are_in_the_documents(row: Asked) -> None:
    """`tests/cli/test_policy.py` runs the programs; the page has a row for each."""
    page = (Path(__file__).parents[2] / "docs" / "policies.md").read_text("utf-8")
    program = row.command.split()[3].rpartition("/")[2]

    assert row.command.startswith("joinproto policy check ")
    assert f"(examples/policies/{program}" in page or program == "pick"
    assert row.entry.steps is None or f"| {row.entry.steps}" in page


def test_an_unknown_name_is_answered_with_the_nearest(run: Run) -> None:
    done = run("clustr")

    assert (2, True) == (done.code, "did you mean clusterer?" in done.err)


def test_a_mistake_is_named_with_a_world_that_can_have_it(run: Run) -> None:
    """docs/incidents.md names three runs only by their mistake."""
    done = run("register-forgets")

    assert 2 == done.code
    assert "joinproto check join-two --mutant register-forgets" in done.err


def test_the_page_has_every_world_with_its_claims(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "models.html"

    assert (0, "") == (run("--html", str(page)).code, run("--html", str(page)).out)
    text = page.read_text(encoding="utf-8")
    for item in ENTRIES:
        assert f'id="{item.name}"' in text
    assert "the shortest run that breaks it has" in text
    assert "always: nothing is lost" in text
    assert MISTAKES["held-derived"] in text
    assert 4 == run("--html", str(tmp_path / "no" / "folder.html")).code


def test_a_narrow_terminal_gets_narrow_lines(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment variable COLUMNS has the width."""
    monkeypatch.setenv("COLUMNS", "70")

    assert max(map(len, run("join").out.splitlines()[:-1])) <= 70


def test_the_help_shows_an_example(run: Run) -> None:
    assert "joinproto models --expect violated --grep restart" in run("--help").out
