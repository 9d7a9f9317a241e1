"""`reconcile run` in random orders: all claims hold, runs repeat, and rules left out are found.

Source: reconciliation, Q2, Q4 and Q5.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from attrs import evolve

from joinproto.reconcile.keeper import ChangeOutcome, Intent, Keeper
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Facts, Key, facts_of, replicas_of
from joinproto.reconcile.tables import Action
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation
from tools.swarms.reconcile import RULES, draw, run, shrunk

ROOT = Path(__file__).resolve().parents[2]
PATHS = (ROOT, ROOT / "models", ROOT / "proofs")
NODES = [{"name": name, "running": name != "b"} for name in "abc"]


def facts(members: str, leader: str, nodes: list[dict[str, object]]) -> Facts:
    row = {"name": "q", "vhost": "/", "type": "stream", "leader": leader, "members": [*members]}
    return facts_of(nodes, [row], 3, {})


def test_every_claim_holds() -> None:
    """A few seeds run here, and many in the soak; in most of them a queue changes."""
    found = [run(draw(seed, 60)) for seed in range(6)]

    assert [""] * len(found) == [one.problem for one in found]
    assert sum(one.commands for one in found) > 40


def test_runs_of_the_same_seed_are_equal() -> None:
    assert run(draw(3, 40)) == run(draw(3, 40))
    assert draw(3, 40) != draw(4, 40)


@pytest.mark.parametrize(
    ("left_out", "seed", "problem"),
    [
        ("list-decides", 0, "while another command is under way"),
        ("lost-at-once", 0, "was dropped less than 60 s"),
        ("next-at-once", 0, "while another command is under way"),
        ("no-limit", 0, "takes part in 3 copies"),
        ("stays-listed", 5, "stuck"),
        ("without-leader", 0, "while no node leads"),
    ],
)
def test_the_swarm_finds_a_missing_rule(left_out: str, seed: int, problem: str) -> None:
    """Each run has its own process, so that patches of other tests have no effect."""
    program = (
        "import sys; from joinproto_worlds.mutations.mutation import applied;"
        " from joinproto_worlds.mutations.named import mutation;"
        " from tools.swarms.reconcile import draw, run; name, seed = sys.argv[1:]\n"
        "with applied(mutation(name)): print(run(draw(int(seed), 60)).problem)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, left_out, str(seed)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATHS))},
        capture_output=True,
        text=True,
        check=True,
    )

    assert problem in done.stdout


def test_a_run_that_fails_is_shortened() -> None:
    with applied(mutation("next-at-once")):
        shorter = shrunk(run(draw(0, 20)), 2.0)

        assert shorter.problem
        assert len(shorter.scenario.happenings) < 20


@pytest.mark.soak("system-worlds")
def test_every_claim_holds_in_a_thousand_runs() -> None:
    """These seeds are used by no other test."""
    found = [run(draw(seed, 60)) for seed in range(10_000, 11_000)]

    assert [""] * len(found) == [one.problem for one in found]


# -- findings of random runs
# -------------------------------------------------------------------------


def test_a_removal_that_was_refused_before_a_node_was_forgotten_is_tried_again() -> None:
    """Seed 92 found this: b is down, its removal is refused, and meanwhile b is forgotten."""
    keeper = Keeper(RULES).observe(facts("abc", "a", NODES), 0.0)
    removal = Intent(Key("/", "q"), Kind.STREAM, Action.REMOVE, "b", "a", 100.0)

    steady = keeper.begun(removal).without_change(removal, ChangeOutcome.UNDONE)
    forgotten = keeper.begun(removal).observe(facts("abc", "a", [NODES[0], NODES[2]]), 110.0)

    assert {removal.key: {"b"}} == steady.stays
    assert {} == forgotten.without_change(removal, ChangeOutcome.UNDONE).stays


def test_a_change_is_tried_again_only_once_its_tool_cannot_act_any_more() -> None:
    """After a restart, the first look at the broker counts as the tool's end."""
    keeper = Keeper(RULES).observe(facts("ab", "a", NODES), 0.0)
    add = Intent(Key("/", "q"), Kind.STREAM, Action.ADD, "c", "a", 100.0)
    leads = replicas_of(
        Kind.STREAM, [{"node": "a", "role": "writer", "offset": 9, "committed_offset": 9}]
    )
    restarted = keeper.begun(add).observe(facts("ab", "a", NODES), 150.0)
    ended = evolve(add, ended_at=159.0)

    assert ChangeOutcome.NOT_YET is keeper.follow(add, 900.0, leads)
    assert ChangeOutcome.NOT_YET is keeper.follow(ended, 160.0 + RULES.settle - 2.0, leads)
    assert ChangeOutcome.UNDONE is keeper.follow(ended, 159.0 + RULES.settle, leads)
    assert 150.0 == restarted.intents[add.key].ended_at


def test_a_list_without_its_leader_is_doubted() -> None:
    """Seed 21 found this: the list was not written, so a queue was not repaired."""
    assert {Key("/", "q")} == facts("bc", "a", NODES).doubted
    assert set() == facts("abc", "a", NODES).doubted


def test_a_stream_has_no_replica_on_a_running_node_that_denies_it() -> None:
    """Seed 174 found this: a call ended half-way, and the listed replica was awaited for ever."""
    keeper = Keeper(RULES).observe(facts("abc", "a", NODES), 0.0)
    leads, others = ("writer", "a"), ("replica", "d")
    rows = [
        {"node": node, "role": role, "offset": 9, "committed_offset": 9}
        for role, node in (leads, others)
    ]

    found = keeper.judge(Key("/", "q"), 0.0, replicas_of(Kind.STREAM, rows)).decision

    assert ("a", "b", "d") == found.situation.members


def test_a_seed_gives_the_same_run_in_every_process() -> None:
    """A lock file has the process id, and a simulated disk's draws depend on a write's length."""
    steps = set()
    for process in (1000, 10000):
        with mock.patch("os.getpid", return_value=process):
            steps.add(run(draw(343, 60)).steps)

    assert {996} == steps
