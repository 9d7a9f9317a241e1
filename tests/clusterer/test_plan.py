"""What a new config will do, said beforehand: Clusterer, U3 to U7."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.clusterer.config import Config
from joinproto.clusterer.plan import Plan, Up, plan
from joinproto.clusterer.writing import as_toml
from tests.cli.running import Run, run_here


def config(version: int, nodes: str, gospel: str | None) -> Config:
    """Return a config; gospel None: reset."""
    return Config(version, frozenset(nodes), gospel=gospel, shutdown_timeout=30)


AB = config(1, "ab", "a")


def said(found: Plan) -> dict[str, str]:
    """Return what happens to each node, with `!` where data are lost."""
    return {one.name: one.does.value + ("!" if one.wiped else "") for one in found.nodes}


@pytest.mark.parametrize(
    ("new", "statuses", "does"),
    [
        (config(2, "ab", "b"), {}, {"a": "stays", "b": "stays"}),
        (config(2, "ab", None), {}, {"a": "restarts!", "b": "restarts!"}),
        (config(2, "abc", "a"), {}, {"a": "stays", "b": "stays", "c": "joins!"}),
        (config(2, "abc", "c"), {}, {"a": "restarts!", "b": "restarts!", "c": "joins"}),
        (config(2, "abc", "a"), {"c": Up.RESET}, {"a": "stays", "b": "stays", "c": "is away"}),
        (config(2, "abc", "a"), {"c": Up.BLANK}, {"a": "stays", "b": "stays", "c": "joins"}),
        (config(2, "ab", "a"), {"b": Up.BLANK}, {"a": "stays", "b": "stays"}),
        (config(2, "a", "a"), {}, {"a": "stays", "b": "leaves"}),
        (config(2, "ab", None), {"b": Up.OFF}, {"a": "waits", "b": "is away"}),
        (config(1, "ab", "b"), {}, {"a": "stays", "b": "stays"}),
        (config(0, "ab", "a"), {}, {"a": "stays", "b": "stays"}),
        (config(2, "ab", "a"), {"a": Up.OFF, "b": Up.OFF}, {"a": "is away", "b": "is away"}),
    ],
)
def test_a_plan_says_who_is_wiped_leaves_restarts_and_waits(
    new: Config, statuses: dict[str, Up], does: dict[str, str]
) -> None:
    """The cluster of a and b has reached version 1 with gospel a."""
    assert does == said(plan(AB, new, statuses))


def test_who_waits_is_told_for_whom() -> None:
    """Gospel reset with b off: a stops, and waits without end."""
    (waits, _) = plan(AB, config(2, "ab", None), {"b": Up.OFF}).nodes

    assert ("b",) == waits.waits_for


def test_who_never_hears_of_the_config_is_said_not_to_stay() -> None:
    """U7: it names nobody of the old one, so those whom it names are not told."""
    found = plan(config(1, "ab", "a"), config(2, "xy", "x"), {})

    assert {"a": "leaves", "b": "leaves", "x": "is not told", "y": "is not told"} == said(found)
    assert "give it to a node that it names" in found.nodes[2].why


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 1}', '{"z": "off"}'])
def test_a_status_file_that_does_not_fit_is_named(
    text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What was found where, and what fits; no option that the command has not."""
    (tmp_path / "now").write_text(as_toml(config(1, "ab", "a")))
    (tmp_path / "statuses").write_text(text)
    files = str(tmp_path / "now"), str(tmp_path / "now"), "--status", str(tmp_path / "statuses")
    told = run_here(capsys, "clusterer", "plan", *files)

    assert 2 == told.code
    assert f"{tmp_path / 'statuses'}:" in told.err
    assert "--schema" not in told.err


def test_the_command_prints_the_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In words, as JSON, and with what is said of the nodes."""
    run: Run = lambda *words: run_here(capsys, "clusterer", "plan", *words)  # noqa: E731
    current, new, status = (tmp_path / name for name in ("current", "new", "status"))
    current.write_text(as_toml(AB))
    new.write_text(as_toml(config(2, "ab", None)))
    status.write_text('{"b": "off"}')

    assert "its data are LOST" in run(str(current), str(new)).out
    assert ["a", "b"] == run(str(current), str(new), "--json").object["wiped"]
    assert run(str(new), str(current)).out.endswith(
        "older than the current config\n  nothing changes\n"
    )
    assert "waits for b" in run(str(current), str(new), "--status", str(status)).out
    for bad in ("[]", '{"z": "off"}', '{"b": "asleep"}'):
        status.write_text(bad)
        assert 2 == run(str(current), str(new), "--status", str(status)).code
