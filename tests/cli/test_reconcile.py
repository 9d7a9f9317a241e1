"""`joinproto reconcile` explains and plans for a whole cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Done, Run, run_here
from tests.needs import need

STATE: dict[str, Any] = {
    "nodes": [
        {"name": "a", "zone": "1", "load": 10},
        {"name": "b", "zone": "2", "load": 8},
        {"name": "c", "zone": "3", "running": False},
        {"name": "d", "zone": "3", "load": 3},
    ],
    "settings": {"failure_interval": 60},
    "queues": [
        {
            "name": "qq.1",
            "members": ["a", "b", "c"],
            "away": {"c": 75},
            "target": {"policy": 3},
            "size": 10**9,
        },
        {"name": "qq.2", "members": ["a", "b", "c"], "away": {"c": 5}, "target": {"policy": 3}},
        {"name": "qq.3", "members": ["a", "c"], "target": {"policy": 3}},
    ],
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs a command of the group on a state."""

    def run_on_state(command: str, state: object, *words: str) -> Done:
        file = tmp_path / "state.json"
        file.write_text(json.dumps(state))
        return run_here(capsys, "reconcile", command, str(file), *words)

    return run_on_state


def test_explain_gives_the_reason_and_the_facts_that_would_change_the_decision(run: Run) -> None:
    """For each queue it prints a sentence, the rule, and the facts that would have to change."""
    assert run("explain", STATE).out.splitlines() == [
        (
            "qq.1: add d: 2 of 3 wanted replicas are there; d is in zone 3, where no replica"
            " runs; its load is 3 (Q4)"
        ),
        "qq.2: wait: c is away, for 5 of 60 seconds (Q2)",
        "  would change that: c staying away for 55 more seconds",
        "qq.3: wait: 1 of 2 replicas run, and a change needs 2 (Q4)",
        "  would change that: 1 more of c running",
    ]


def test_a_field_of_a_queue_overrides_the_same_field_of_the_state(run: Run) -> None:
    real, first = {**STATE, "variant": "real"}, STATE["queues"][0]
    mixed = {**real, "queues": [first, {**first, "name": "qq.2", "variant": "seed"}]}
    found = run("explain", mixed, "--json").object["queues"]

    assert ["noop", "add"] == [one["action"] for one in found]


def test_plan_reports_order_bytes_load_and_the_differences_left(run: Run) -> None:
    limits = {"bytes_per_second": 10**8, "copies_at_once": 1}
    found = run("plan", {**STATE, "limits": limits}, "--json").object

    assert [("qq.1", "add", "d", 0, 10), ("qq.1", "remove", "c", 10, 10)] == [
        (one["queue"], one["action"], one["node"], one["starts"], one["ends"])
        for one in found["changes"]
    ]
    assert (10, 10**9) == (found["seconds"], found["bytes"])
    assert {"d": 4.0} == {one["node"]: one["load"] for one in found["nodes"] if one["adds"]}
    assert ["qq.2", "qq.3"] == [one["name"] for one in found["left"]]
    assert "left: qq.3: 1 of 2 replicas run, and a change needs 2 (Q4)" in run("plan", STATE).out


@pytest.mark.parametrize(
    ("state", "path"),
    [
        ({"queues": [{"members": ["a"]}, 3], "nodes": [{"name": "a"}]}, "queues[1]"),
        ({"queues": [{"members": "a"}], "nodes": []}, "queues[0].members"),
        ({"queues": [{}], "nodes": [{"name": "a", "load": "x"}]}, "nodes[0].load"),
        ({"queues": [], "nodes": [{"name": 3}]}, "nodes[0].name"),
        ({"queues": [], "variant": "theirs"}, "variant"),
        ({"queues": [{"members": ["a", "a"]}], "nodes": []}, "queues[0].members[1]"),
        ({"queues": [], "limits": {"copies_at_once": 0}}, "limits.copies_at_once"),
        ({"queues": [], "node": []}, "node"),
        ({"queues": [{"members": ["a", ""]}], "nodes": []}, "queues[0].members[1]"),
        ({"queues": [{"members": ["a"]}], "nodes": [{"name": ""}]}, "nodes[0].name"),
        ({"queues": [{"members": ["a"], "leader": "z"}]}, "queues[0].leader"),
        ({"queues": [{"members": ["a"], "at": "z"}], "nodes": [{"name": "a"}]}, "queues[0].at"),
        ({"queues": [{"target": {"argument": "3"}}]}, "queues[0].target.argument"),
        ({"queues": [{"members": ["a"], "behind": ["z"]}]}, "queues[0].behind[0]"),
        ({"queues": [{"members": ["a"], "away": {"z": 9}}]}, "queues[0].away.z"),
        ({}, "queues"),
        ([], "queues"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_with_its_path(
    run: Run, state: object, path: str
) -> None:
    """Exit code 2; the message begins with the path of the field."""
    for command in ("explain", "plan"):
        done = run(command, state)
        assert 2 == done.code
        assert f"joinproto: {path}: " in done.err
        assert "--schema" not in done.err.replace("joinproto ask reconcile.queue --schema", "")


def test_a_state_without_queues_is_reported(run: Run) -> None:
    """The text says so, and the JSON object has no queues."""
    assert "the state has no queues\n" == run("explain", {"nodes": [], "queues": []}).out
    assert [] == run("explain", {"queues": []}, "--json").object["queues"]


@pytest.mark.parametrize("url", ["x", "one:15672", "ftp://one", "http://", "http://one:x"])
def test_a_malformed_url_is_refused(capsys: pytest.CaptureFixture[str], url: str) -> None:
    """Exit code 2, before the broker is asked."""
    need("httpx")
    done = run_here(capsys, "reconcile", "run", "--url", url, "--once")

    assert (2, "") == (done.code, done.out)
    assert f"--url {url}: expected" in done.err


@pytest.mark.parametrize("variant", ["seed", "real", "ours"])
@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"target": {"argument": 0}}, "the argument says 0"),
        ({"target": {}}, "no target is set"),
        ({"nodes": []}, "the nodes of the cluster are not known: the question failed"),
        ({"members": None}, "the queue did not say which its members are"),
    ],
)
def test_each_variant_reports_why_it_waits_and_which_facts_would_change_that(
    run: Run, variant: str, more: dict[str, object], why: str
) -> None:
    """The answer has no nodes; it has the reason, and the facts that would change it."""
    queue = {"name": "q", "members": ["a"], "target": {"policy": 1}, **more}
    nodes = [{"name": "a"}, {"name": "b"}]
    state = {"variant": variant, "nodes": nodes, "queues": [queue]}
    (found,) = run("explain", state, "--json").object["queues"]

    assert ([], why) == (found["nodes"], found["why"])
    assert found["would_change"]


def test_a_state_may_say_that_no_node_leads(run: Run) -> None:
    """A null means no leader; without the field, the member that evaluates the queue leads."""
    queue = {"name": "q", "members": ["a", "b"], "target": {"policy": 2}}
    state = {**STATE, "queues": [{**queue, "leader": None}, {**queue, "name": "r"}]}
    found = run("explain", state, "--json").object["queues"]

    assert [("wait", "no leader"), ("noop", "enough")] == [
        (one["action"], one["case"]) for one in found
    ]


def test_a_users_placement_is_a_function_that_python_imports(run: Run) -> None:
    """Q3: placement is a port; a failed import is reported."""
    own = "joinproto.reconcile.placement:least_loaded"

    assert "add d" in run("explain", STATE, "--placement", own).out
    for bad in ("nothing", "joinproto.reconcile:nothing", "no.such:one", ":"):
        done = run("explain", STATE, "--placement", bad)
        assert 2 == done.code
        assert f"--placement {bad}" in done.err


def test_queues_of_two_virtual_hosts_are_distinguished(run: Run) -> None:
    """The text says `in VHOST`, and JSON has the key `vhost`."""
    queue = {"name": "q", "members": ["a", "b"], "target": {"policy": 3}, "size": 10}
    state = {**STATE, "queues": [queue, {**queue, "vhost": "eu"}]}

    assert ["q", "q in eu"] == [
        line.partition(":")[0] for line in run("explain", state).out.splitlines()
    ]
    assert "q in eu: add d" in run("plan", state).out
    found = run("explain", state, "--json").object["queues"]
    assert ["/", "eu"] == [one["vhost"] for one in found]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"target": {"argument": 0}}, "the argument says 0"),
        ({"nodes": []}, "the nodes of the cluster are not known: the question failed"),
        ({"members": None}, "the queue did not say which its members are"),
        ({"leader": "c"}, "c must evaluate the queue, and does not run"),
    ],
)
def test_a_queue_that_cannot_be_decided_has_a_reason_and_no_change(
    run: Run, more: dict[str, object], why: str
) -> None:
    """The target is 0, the cluster or the members are not known, or the leader is down."""
    queue = {"name": "q", "members": ["a", "b", "c"], "target": {"policy": 5}, **more}
    (found,) = run("explain", {**STATE, "queues": [queue]}, "--json").object["queues"]

    assert ([], why) == (found["nodes"], found["why"])
    assert found["would_change"]
