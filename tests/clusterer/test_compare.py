"""The younger of two configs: Clusterer, U1; and the commands about configs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from joinproto.clusterer.config import Age, Config, Held, compare
from joinproto.clusterer.coordinator import step
from joinproto.clusterer.messages import Answer, Apply, Reply
from joinproto.clusterer.state import State, Who
from joinproto.clusterer.status import WAITING, Status
from joinproto.clusterer.why import both_contents
from tests.cli.running import Run, run_here
from tests.clusterer.test_reading import SEED, config_with

ONE = Config(2, frozenset("ab"), gospel="a", shutdown_timeout=30)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto clusterer` here."""
    return lambda *words: run_here(capsys, "clusterer", *words)


@pytest.mark.parametrize(
    ("changed", "age"),
    [
        ({}, Age.COEVAL),
        ({"version": 3}, Age.OLDER),
        ({"version": 1, "gospel": None}, Age.YOUNGER),
        ({"gospel": None}, Age.INVALID),
        ({"disc": frozenset("a"), "ram": frozenset("b")}, Age.INVALID),
        ({"shutdown_timeout": 31}, Age.INVALID),
    ],
)
def test_the_age_of_a_config_follows_from_content_and_version(
    changed: dict[str, Any], age: Age
) -> None:
    """U1: the same content is coeval; the same version with other content is invalid."""
    assert age is compare(ONE, evolve(ONE, **changed))


@pytest.mark.parametrize("status", [Status.READY, Status.PENDING, *WAITING])
def test_another_content_of_the_same_version_is_refused_and_both_are_shown(status: Status) -> None:
    """U1: a node in transition refuses it, too."""
    state = State(who=Who("a"), status=status, identity="a~1", held=Held(ONE), achieved=Held(ONE))
    given = evolve(ONE, gospel="b")

    found = step(state, Apply(given))

    why = both_contents(ONE, given)
    assert (state, (Answer(Reply.OTHER, why),)) == (found.state, found.effects)
    assert all(f"{{gospel, {{node, {one}}}}}" in why for one in "ab")


def test_validate_prints_the_line_of_an_error(run: Run, tmp_path: Path) -> None:
    """The exit code is 1 for a config that is not valid, and 2 without the file."""
    file = tmp_path / "cluster.config"
    file.write_text(SEED)
    done = run("validate", str(file))

    assert 1 == done.code
    assert f"{file}:2: nodes has {{rabbit@hostA" in done.out
    assert 2 == run("validate", str(tmp_path / "none")).code
    file.write_text(config_with())
    assert 0 == run("validate", str(file)).code
    assert 1 == run("validate", str(file), "--json").object["config"]["version"]


def test_compare_prints_the_age_of_the_first_config_compared_with_the_second(
    run: Run, tmp_path: Path
) -> None:
    """Two files are compared, in words and as JSON."""
    old, new = tmp_path / "old.config", tmp_path / "new.config"
    old.write_text(config_with())
    new.write_text(config_with(version="2"))

    assert "younger: version 2 is higher than 1 (U1)\n" == run("compare", str(new), str(old)).out
    assert "older" == run("compare", str(old), str(new), "--json").object["result"]
    new.write_bytes(b"\xff")
    assert 2 == run("compare", str(new), str(old)).code
