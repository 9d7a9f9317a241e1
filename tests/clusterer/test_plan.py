"""Predictions of a new config's effect: Clusterer, U3 to U7."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from joinproto.cli.commands.clusterer_asking import chances
from joinproto.clusterer.config import Config, Held
from joinproto.clusterer.plan import EFFECTS, Effect, Plan, plan, worst
from joinproto.clusterer.plan_start import NodeSaid, Up, as_said
from joinproto.clusterer.reading import Release
from joinproto.clusterer.reporting import told
from joinproto.clusterer.simulator import Simulator
from joinproto.clusterer.writing import as_erlang
from tests.cli.running import Run, run_here
from tests.clusterer.stories import action, apply, start, story
from tests.clusterer.stories import config as json_config


def config(version: int, nodes: str, gospel: str | None) -> Config:
    """Return a config; gospel None means reset."""
    return Config(version, frozenset(nodes), gospel=gospel, shutdown_timeout=30)


AB = config(1, "ab", "a")


def effects_of(found: Plan) -> dict[str, str]:
    """Return the plan's effect on each node, with `!` where data are lost."""
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
def test_a_plan_says_which_node_is_wiped_leaves_restarts_and_waits(
    new: Config, statuses: dict[str, Up], does: dict[str, str]
) -> None:
    """The cluster of a and b has reached version 1 with gospel a."""
    assert does == effects_of(plan(AB, new, statuses))


def test_a_plan_names_the_nodes_that_a_waiting_node_waits_for() -> None:
    """With gospel reset and b off, a stops, and waits without end."""
    (waits, _) = plan(AB, config(2, "ab", None), {"b": Up.OFF}).nodes

    assert ("b",) == waits.waits_for


def test_a_plan_shows_a_node_that_is_not_told_of_the_config() -> None:
    """U7: the config names no node of the old one, so the nodes that it names are not told."""
    found = plan(config(1, "ab", "a"), config(2, "xy", "x"), {})

    assert {"a": "leaves", "b": "leaves", "x": "is not told", "y": "is not told"} == effects_of(
        found
    )
    assert "give the config to a node that it names" in found.nodes[2].why


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 1}', '{"z": "off"}'])
def test_an_invalid_status_file_is_reported_with_its_path(
    text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The error names the file, and no option that the command lacks."""
    (tmp_path / "now").write_text(as_erlang(Held(config(1, "ab", "a"))))
    (tmp_path / "statuses").write_text(text)
    files = str(tmp_path / "now"), str(tmp_path / "now"), "--status", str(tmp_path / "statuses")
    told = run_here(capsys, "clusterer", "plan", *files)

    assert 2 == told.code
    assert f"{tmp_path / 'statuses'}:" in told.err
    assert "--schema" not in told.err


def test_the_command_prints_the_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The plan is printed in words, as JSON, and with statuses of the nodes."""
    run: Run = lambda *words: run_here(capsys, "clusterer", "plan", *words)  # noqa: E731
    current, new, status = (tmp_path / name for name in ("current", "new", "status"))
    current.write_text(as_erlang(Held(AB)))
    new.write_text(as_erlang(Held(config(2, "ab", None))))
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


def statuses_of(sim: Simulator) -> dict[str, NodeSaid]:
    """Return the statuses of the running nodes of a simulation."""
    return {
        one.name: NodeSaid(
            name=one.name,
            status=one.state.status,
            identity=one.state.identity,
            held=one.state.config_now,
            achieved=one.state.achieved,
            members=one.disk.record.members,
            ran=one.disk.record.ran,
            blank=one.state.blank,
        )
        for one in sim.machines.values()
        if one.state is not None
    }


def cut_off_while_c_came() -> Simulator:
    """Return a simulation: b is up, and never heard that c joined; c and a are off."""
    told = story(
        [start("a", json_config(1, "ab", "a")), start("b")],
        [apply("a", json_config(2, "abc", "a"))],
        [{"op": "cut", "between": [["b"], ["c"]]}],
        [start("c")],
        [action("stop", "c"), action("stop", "a"), {"op": "heal"}],
        nodes="abc",
    )
    sim = Simulator.of_story(told)
    for step in told.steps:
        sim.play(step.do)
    return sim


def test_a_plan_uses_the_configs_that_the_nodes_report() -> None:
    """A cluster formed by the current config, in which b would know c, has another plan."""
    sim = cut_off_while_c_came()
    current, new = config(2, "abc", "a"), config(3, "bc", "c")
    off = {"a": Up.OFF, "c": Up.OFF}
    now = as_said("abc", statuses_of(sim), Release.SEED)
    found = plan(current, new, {}, at="b", now=now, chances=chances())
    (b,) = (one for one in found.nodes if one.name == "b")
    sim.play(story([apply("b", json_config(3, "bc", "c"))], nodes="abc").steps[0].do)

    assert {"a": "is away", "b": "stays", "c": "is away"} == effects_of(
        plan(current, new, off, at="b")
    )
    assert ("waits", ("c",), True) == (b.does.value, b.waits_for, b.at_risk)
    assert "joining" == told(sim).nodes["b"].state
    assert b.orders == found.orders == 101


def test_a_plan_does_not_change_the_nodes_that_it_is_given() -> None:
    """The plan may be asked for again, and in other orders."""
    told_ = story([start("a", json_config(1, "ab", "a")), start("b")], nodes="ab")
    sim = Simulator.of_story(told_)
    sim.play(told_.steps[0].do)
    now = as_said("ab", statuses_of(sim), Release.SEED)
    plans = [
        plan(AB, config(2, "ab", None), {}, now=now, chances=orders)
        for orders in ((), chances(), chances())
    ]

    assert {"a": "restarts!", "b": "restarts!"} == effects_of(plans[0]) == effects_of(plans[1])
    assert plans[1] == plans[2]


def test_a_plan_reports_the_worst_outcome_of_all_orders_for_each_node() -> None:
    """The outcome has its number of orders; lost data are the worst outcome."""
    (stays, _) = plan(AB, config(2, "ab", "b"), {}).nodes
    waits = evolve(stays, does=Effect.WAITS)
    wiped = evolve(stays, does=Effect.RESTARTS, wiped=True)

    assert evolve(wiped, orders=1) == worst([stays, wiped, waits, stays])
    assert evolve(waits, orders=2) == worst([waits, stays, waits])
    assert evolve(stays, orders=3) == worst([stays] * 3)
    assert set(Effect) == set(EFFECTS)


def test_plan_takes_a_node_or_a_current_config(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Both, none, or a current config alone is an error with exit code 2."""
    file = tmp_path / "now"
    file.write_text(as_erlang(Held(AB)))
    for words in ((str(file),), (str(file), str(file), "--to", "127.0.0.1:1"), ()):
        told_ = run_here(capsys, "clusterer", "plan", *words)

        assert 2 == told_.code
    assert 4 == run_here(capsys, "clusterer", "plan", str(file), "--to", "127.0.0.1:1").code
