"""The format of stories, sentence by sentence: docs/clusterer.md."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import evolve

from joinproto.clusterer.config import Held, Notes
from joinproto.clusterer.coordinator import step
from joinproto.clusterer.messages import Answer, Members, Record, Reply, Start
from joinproto.clusterer.reading import of_json
from joinproto.clusterer.run import play
from joinproto.clusterer.state import State, Who
from joinproto.clusterer.status import Status
from joinproto.clusterer.story_reading import story_of
from joinproto.codec.json_form import encoded
from joinproto.codec.strict import DoesNotFit
from tests.cli.running import Run, run_here
from tests.clusterer.stories import action, apply, config, orders_of, seen, start, steps_of, story

AB = config(1, "ab", "a")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto clusterer run` here."""
    return lambda *words: run_here(capsys, "clusterer", "run", *words)


def test_a_blank_node_that_is_stopped_while_it_waits_is_blank_again() -> None:
    """A node stores a config only when it becomes ready or leaves."""
    steps = steps_of(story([start("a", AB)], [action("stop", "a")], [start("a")], nodes="ab"))

    assert {"a": "joining 1 -"} == seen(steps[0])
    assert ("reset", None, None) == (
        steps[1].nodes["a"].state,
        steps[1].nodes["a"].version,
        steps[1].nodes["a"].identity,
    )
    assert {"a": "ready 0 a/1"} == seen(steps[2])


def test_a_reset_node_has_a_new_identity() -> None:
    """The data directory is deleted, so the next start is that of a blank node."""
    steps = steps_of(
        story([start("a")], [action("stop", "a")], [action("reset", "a")], [start("a")])
    )
    identities = [step.nodes["a"].identity for step in steps]

    assert identities[0] == identities[1] is not None
    assert identities[2] is None
    assert identities[3] not in (None, identities[0])
    assert steps[0].nodes["a"].data != steps[3].nodes["a"].data


def test_a_given_config_counts_for_that_start_and_only_if_younger() -> None:
    """The given config is compared with the stored one, and ignored if the version is the same."""
    steps = steps_of(
        story(
            [start("a", AB), start("b")],
            [action("stop", "a")],
            [start("a", config(1, "a", "a", 0))],
            [action("stop", "a")],
            [start("a", config(0, "a", None))],
            nodes="ab",
        )
    )

    assert {"a": "ready 1 a/1", "b": "ready 1 a/1"} == seen(steps[2]) == seen(steps[4])


def test_create_and_delete_add_and_remove_machines() -> None:
    """A new machine is blank; a deleted one no longer exists."""
    steps = steps_of(
        story([action("create", "x"), start("x")], [action("delete", "x")], [action("create", "x")])
    )

    assert "ready" == steps[0].nodes["x"].state
    assert "x" not in steps[1].nodes
    assert "reset" == steps[2].nodes["x"].state


def test_a_shutdown_timer_runs_only_in_wait() -> None:
    """Polling takes no story time; a question for its status starts a node's timer anew."""
    begun = [start("a", AB), start("b")]
    left = [apply("a", config(2, "a", "a", 10))]
    steps = steps_of(
        story(begun, left, [{"op": "wait", "seconds": 9}], [], [{"op": "wait", "seconds": 2}])
    )

    assert ["ready", "pending", "pending", "pending", "off"] == [
        step.nodes["b"].state for step in steps
    ]


def test_nodes_reach_each_other_unless_they_are_cut_off() -> None:
    """`cut` separates two lists of nodes; `heal` without lists heals all."""
    cut = {"op": "cut", "between": [["a"], ["b"]]}
    steps = steps_of(story([cut], [start("a", AB), start("b")], [{"op": "heal"}], nodes="ab"))

    assert {"a": "joining 1 -", "b": "ready 0 b/1"} == seen(steps[1])
    assert ("b",) == steps[1].nodes["a"].waits_for
    assert {"a": "ready 1 a/1", "b": "ready 1 a/1"} == seen(steps[2])
    assert ("b",) == steps[2].wiped


def test_a_node_speaks_only_to_nodes_of_its_configs() -> None:
    """Two clusters that share no node never hear of each other."""
    steps = steps_of(
        story([start("a", AB), start("b"), start("c", config(9, "cd", "c")), start("d")])
    )

    assert {"a": "ready 1 a/1", "b": "ready 1 a/1", "c": "ready 9 c/1", "d": "ready 9 c/1"} == seen(
        steps[0]
    )
    assert ("a", "b") == steps[0].nodes["a"].cluster


def test_an_action_that_does_not_apply_changes_nothing() -> None:
    """A node that is off is given a config or stopped, or a running node is started."""
    steps = steps_of(
        story([apply("a", AB)], [start("a"), start("a"), action("stop", "b")], nodes="ab")
    )

    assert {"a": "no answer: the node is off"} == steps[0].replies
    assert {"a": "ready 0 a/1"} == seen(steps[1])


def test_a_start_with_an_invalid_config_is_a_start_without_a_config() -> None:
    """The error does not end the story: the node starts without the config."""
    bad = {"version": 1, "nodes": {"a": "ram"}, "gospel": "reset", "shutdown_timeout": 1}
    steps = steps_of(story([start("a", bad)], [apply("a", bad)], nodes="a"))

    assert {"a": "ready 0 a/1"} == seen(steps[0])
    assert steps[0].replies["a"].startswith("started without the given config: nodes has ram")
    assert {"a": "refused: not a valid config"} == steps[1].replies


def test_an_empty_story_has_no_steps() -> None:
    """The story does nothing and prints nothing; a step without actions shows the present state."""
    assert () == steps_of(story())
    assert {"a": "reset"} == {
        name: node.state for name, node in steps_of(story([], nodes="a"))[0].nodes.items()
    }


BAD: list[tuple[Any, str]] = [
    (
        {"nodes": ["a"], "steps": [{"do": [{"op": "stop", "node": "a", "seconds": 1}]}]},
        "steps[0].do[0].seconds",
    ),
    ({"nodes": ["a"], "steps": [{"do": [{"op": "wait", "node": "a"}]}]}, "steps[0].do[0].node"),
    (
        {
            "nodes": ["a"],
            "steps": [{"do": [{"op": "start", "node": "a", "config": {"verson": 1}}]}],
        },
        "steps[0].do[0].config.verson",
    ),
    ([], ""),
    ({}, ""),
    ({"steps": [{"do": [{"op": "jump"}]}]}, "steps[0].do[0].op"),
    ({"steps": [{"do": [{"op": "start", "node": "a"}]}]}, "steps[0].do[0].node"),
    ({"nodes": ["a"], "steps": [{"do": [{"op": "stop"}]}]}, "steps[0].do[0].node"),
    ({"nodes": ["a", "a"], "steps": []}, "nodes"),
    ({"nodes": ["a"], "steps": [{"do": [{"op": "apply", "node": "a"}]}]}, "steps[0].do[0].config"),
    ({"steps": [{"do": [{"op": "cut"}]}]}, "steps[0].do[0].between"),
    ({"steps": [{"do": [{"op": "cut", "between": [["a"]]}]}]}, "steps[0].do[0].between"),
    (
        {"nodes": ["a"], "steps": [{"do": [{"op": "cut", "between": [["a"], ["b"]]}]}]},
        "steps[0].do[0].between[1]",
    ),
    ({"steps": [{"do": [{"op": "wait", "seconds": -1}]}]}, "steps[0].do[0].seconds"),
    ({"steps": [{"do": [{"op": "wait", "seconds": 1e300}]}]}, "steps[0].do[0].seconds"),
    ({"steps": [], "release": "next"}, "release"),
]


@pytest.mark.parametrize(("value", "path"), BAD, ids=range(len(BAD)))
def test_an_invalid_story_is_reported_with_its_field(value: Any, path: str) -> None:
    """The reader refuses the story, and does not guess."""
    with pytest.raises(DoesNotFit) as refused:
        story_of(value)

    assert path == refused.value.path


def test_run_prints_the_steps(run: Run, tmp_path: Path) -> None:
    """`run --json` has the promised keys; for a bad story, the exit code is 2."""
    file = tmp_path / "story.json"
    file.write_text(json.dumps({"nodes": ["a"], "steps": [{"do": [start("a")]}]}))
    (step,) = run(str(file), "--json").object["steps"]

    assert {"nodes", "wiped", "replies"} == step.keys()
    assert {"state", "version", "data", "cluster", "identity", "waits_for", "why"} == (
        step["nodes"]["a"].keys()
    )
    file.write_text('{"steps": [{"do": [{"op": "start"}]}]}')
    done = run(str(file), "--json")
    assert 2 == done.code
    assert f"{file}: steps[0].do[0].node: start needs a node" == done.error["message"]


def test_run_takes_a_shipped_story_by_its_name(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """`stories` lists them; with --seeds an outcome that differs is shown in both orders."""
    listed = run_here(capsys, "clusterer", "stories", "--json").object["stories"]
    assert "eject-then-adopt" in {one["name"] for one in listed}
    done = run("two-younger-at-once", "--seeds", "12", "--json").object
    assert {"step", "one", "other", "one_events", "other_events", "nodes", "seeds"} == (
        done["differs"].keys()
    )
    assert "depends on the order" in run("two-younger-at-once", "--seeds", "12").out
    assert 2 == run("no-such-story").code


def test_orders_of_the_same_seeds_are_the_same() -> None:
    told = story([start("a", AB), start("b")], [apply("a", config(2, "ab", None))], nodes="ab")

    assert encoded(orders_of(told, 5)) == encoded(orders_of(told, 5))


def test_a_gospel_that_never_came_is_not_known() -> None:
    """A cluster of a and b grows by c, which is off, and then names c the gospel: both wait."""
    never = [
        [start("a", AB), start("b")],
        [apply("a", config(2, "abc", "a"))],
        [apply("b", config(3, "abc", "c"))],
        [start("c")],
    ]
    steps = steps_of(story(*never, nodes="abc"))
    real = steps_of(story(*never, nodes="abc", variant="real"))

    assert {"a": "joining 3 a/1", "b": "joining 3 a/1"} == seen(steps[2])
    assert ("c",) == steps[2].nodes["a"].waits_for
    assert {"ready 3 c/1"} == set(seen(steps[3]).values())
    assert 2 == len({one.data for one in real[3].nodes.values()})


def test_a_node_that_gave_its_data_up_and_was_stopped_before_others_came_joins_again() -> None:
    """The stored config does not count as achieved, because the node has no data any more."""
    record = Record(stored=Held(of_json(AB).config, Notes.of({"a": "x", "b": "y"})), identity="y")
    begun = Start(record=record, given=None, fresh="z")

    kept = step(State(who=Who("b")), begun).state.status
    given_up = evolve(record, members=Members(given_up=True))
    blank = step(State(who=Who("b")), evolve(begun, record=given_up)).state.status

    assert (Status.REJOINING, Status.JOINING) == (kept, blank)


def test_an_operator_is_told_of_a_config_that_was_changed_without_its_version() -> None:
    """U1: the stored config counts, unless the given config is younger."""
    record = Record(stored=Held(of_json(AB).config, Notes.of({"a": "x", "b": "y"})), identity="y")
    others = {
        "same content": config(1, "ab", "a"),
        "older": config(0, "ab", "a"),
        "younger": config(2, "abc", "a"),
        "other content": config(1, "abc", "a"),
    }

    for case, other in others.items():
        begun = step(
            State(who=Who("b")), Start(record=record, given=of_json(other).config, fresh="z")
        )
        answers = [one for one in begun.effects if isinstance(one, Answer)]
        assert answers == ([Answer(Reply.OTHER)] if case == "other content" else []), case
        assert begun.state.config_now.config.version == (2 if case == "younger" else 1), case


def test_a_node_that_is_paused_takes_no_config_and_catches_up_when_it_runs_again() -> None:
    """U7: another program stopped its broker, as partition handling does."""
    told = steps_of(
        story(
            [start("a", config(1, "ab", "a")), start("b")],
            [action("pause", "b")],
            [apply("b", config(2, "a", "a")), apply("a", config(3, "ab", "a"))],
            [action("resume", "b")],
            nodes="ab",
        )
    )

    assert "refused: the broker does not run" == told[2].replies["b"]
    assert (3, 1) == (told[2].nodes["a"].version, told[2].nodes["b"].version)
    assert ("a",) == told[2].nodes["a"].cluster
    assert {"ready 3 a/1"} == set(seen(told[-1]).values())
    assert ("a", "b") == told[-1].nodes["b"].cluster


def test_every_outcome_is_shown_with_the_number_of_its_orders(run: Run) -> None:
    """Each outcome has one of its orders; the plain order is among them."""
    done = run("two-younger-at-once", "--seeds", "40", "--json").object
    ends = done["ends"]

    assert 41 == done["orders"] == sum(one["orders"] for one in ends)
    assert done["outcomes"] == len(ends) > 2
    assert ends == sorted(ends, key=lambda one: -one["orders"])
    assert [-1] == [one["seed"] for one in ends if one["step"] is None]
    for number, end in enumerate(ends, 1):
        told = run("two-younger-at-once", "--seeds", "40").out

        assert f"outcome {number}: {end['orders']} of 41 orders" in told


def test_an_order_that_does_not_come_to_rest_is_an_outcome(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcome is reported with the others, and does not end the command."""
    monkeypatch.setattr("joinproto.clusterer.simulator.ACTIONS_MAX", 22)
    done = run("two-younger-at-once", "--seeds", "40", "--json").object
    endless = [one for one in done["ends"] if not one["rests"]]

    assert endless
    assert all(one["step"] is not None and one["events"] for one in endless)
    assert "does not come to rest" in run("two-younger-at-once", "--seeds", "40").out


def test_nodes_that_keep_each_other_from_asking_still_come_to_rest() -> None:
    """The document's rules: a node that an unknown node asks begins again, and drops its round.

    Real nodes ask each half second, and so a round ends sooner or later; in the plain order, nodes
    poll in turn after a while.
    """
    told = story(
        [start("a", config(1, "abc", "b")), start("b"), start("c", config(1, "abc", "b"))],
        [action("reset", "b"), apply("a", config(3, "bc", "b"))],
        [action("stop", "c"), action("reset", "a")],
        [start("b", config(4, "abc", "c"))],
        [start("a"), start("c")],
        nodes="abc",
        variant="seed",
    )
    ends = [steps_of(told)[-1], *(play(told, Random(seed).randrange)[-1] for seed in range(40))]

    assert {"ready 4 b/1"} == {one for end in ends for one in seen(end).values()}
