"""The examples of the documentation behave as described."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from joinproto.__main__ import main
from joinproto.check.catalogue import load_world
from joinproto.check.check import check

ROOT = Path(__file__).parents[2]
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.mark.parametrize(
    ("name", "result", "distinct"),
    [
        ("first_model", "holds", 355),
        ("my_first_try", "violated", 6),
        ("my_model", "holds", 16),
        ("my_window", "holds", 7),
        ("my_access", "holds", 91),
        ("from_tla", "violated", 14),
        ("from_quint", "violated", 19),
        ("from_promela", "holds", 4),
        ("from_p", "holds", 61),
    ],
)
def test_an_example_has_its_verdict_and_number_of_states(
    name: str, result: str, distinct: int
) -> None:
    report = check(load_world(str(EXAMPLES / f"{name}.py")))

    assert (result, distinct) == (report.result, report.distinct)


@pytest.mark.parametrize(
    ("name", "given", "result"),
    [
        ("from_quint", {"careful": True}, "holds"),
        ("from_promela", {"strongly": False}, "violated"),
        ("from_p", {"careless": True}, "violated"),
    ],
)
def test_the_other_variant_of_an_example_has_its_verdict(
    name: str, given: dict[str, object], result: str
) -> None:
    """The page of the language names this variant and its verdict."""
    assert result == check(load_world(str(EXAMPLES / f"{name}.py"), **given)).result


@pytest.mark.parametrize("name", ["first_model", "my_first_try", "my_model"])
def test_an_example_has_as_many_members_as_the_option_says(name: str) -> None:
    world = load_world(str(EXAMPLES / f"{name}.py"), members=12)

    assert 12 == len(world.members)


def test_the_first_model_holds_with_four_members() -> None:
    """Two of four votes are no majority."""
    world = load_world(str(EXAMPLES / "first_model.py"), members=4, crashes=0)

    assert "holds" == check(world).result


@pytest.mark.parametrize("document", ["README.md", "docs/tutorial.md"])
def test_every_file_that_a_command_of_a_page_names_exists(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = re.findall(r"^ .*joinproto (?:check|decide) (\S+\.(?:py|json))", text, re.MULTILINE)

    assert named
    assert [] == [name for name in named if not (ROOT / name).is_file()]


def test_the_example_of_decide_has_a_clean_store(capsys: pytest.CaptureFixture[str]) -> None:
    """README: `joinproto decide docs/examples/members.json`."""
    assert 0 == main(["decide", str(EXAMPLES / "members.json")])

    assert "own store is clean" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("first_model", '[Persist(), Broadcast(("vote", candidate))]'),
        ("my_model", " and self.may_found"),
    ],
)
def test_an_example_is_violated_without_the_words_that_the_tutorial_removes(
    name: str, old: str, tmp_path: Path
) -> None:
    """Without them, two leaders or two founders are possible."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / "broken.py"
    broken.write_text(text.replace(old, old.replace("Persist(), ", "") * ("Persist" in old)))

    assert check(load_world(str(broken))).result == "violated"


def test_a_claim_that_was_not_judged_is_reported_as_open(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A search that ends at a violation does not say that a premise was never true."""
    main(["check", str(EXAMPLES / "from_p.py"), "--set", "careless=true"])
    told = capsys.readouterr().out

    assert "“who asks is answered” is open" in told
    assert "premise" not in told
