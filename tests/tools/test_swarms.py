"""Random runs of hot standby: claims hold, runs repeat, and faults that are put back are found.

Source: hot standby, H2 to H4, H8 to H10; LM3, LM4.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest import mock

import pytest
from attrs import evolve
from click.testing import CliRunner

from joinproto.apps.standby.acting import BrokerPorts
from joinproto.apps.standby.links import Outgoing
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation
from tools.swarms import reconcile
from tools.swarms.__main__ import main
from tools.swarms.shrink import fewer
from tools.swarms.standby.oracle import Oracle, SentMessage, Violation
from tools.swarms.standby.run import run
from tools.swarms.standby.scenario import Action, ActionKind, draw


def test_every_claim_holds_in_eight_random_runs() -> None:
    """In these runs messages are confirmed and brokers promoted; the soak has many more seeds."""
    found = [run(draw(seed, 60)) for seed in range(8)]

    assert [""] * len(found) == [one.error for one in found]
    assert sum(one.confirmed for one in found) > 500
    assert sum(one.generations for one in found) > 20


def test_a_marked_primary_serves_although_the_brokers_that_it_left_still_run() -> None:
    """H3: this seed's last primary continues alone, and loses its power."""
    found = run(draw(624, 100))

    assert ("", 1) == (found.claim, found.persons)


def test_a_promoted_broker_without_confirmations_follows_another_of_its_generation() -> None:
    """H2, seed 21080: c waits for b, whose disk is slow, and is killed; then b is promoted."""
    actions = (
        Action(0.2, ActionKind.PROMOTE, "a"),
        Action(5.514, ActionKind.SLOW, "b", 4.0),
        Action(11.439, ActionKind.PUBLISH, "b", 3),
        Action(11.997, ActionKind.PROMOTE, "c"),
        Action(12.624, ActionKind.PROMOTE, "b"),
    )
    drawn = evolve(draw(21080, 1), latency=0.0, actions=actions)
    found = run(drawn)

    assert ("abc", False, 2) == (drawn.names, drawn.built_in, found.generations)
    assert ("", 0) == (found.claim, found.persons)


def test_the_same_seed_gives_the_same_run() -> None:
    assert run(draw(3, 40)) == run(draw(3, 40))
    assert draw(3, 40) != draw(4, 40)


@pytest.mark.parametrize(
    ("change", "claim"),
    [
        ({"confirmed": True}, "nothing is lost"),
        ({"acknowledged": 1, "queue": "r"}, "gone is gone"),
        ({"whole": frozenset({1, 2})}, "transactions are whole"),
    ],
)
def test_the_oracle_reports_a_message_that_is_lost_comes_back_or_is_half_of_a_transaction(
    change: dict[str, object], claim: str
) -> None:
    """Message 1 was confirmed, acknowledged, or sent in a transaction with message 2."""
    oracle = Oracle()
    oracle.sent[1] = evolve(SentMessage("q", True), **change)  # type: ignore[arg-type]
    oracle.sent[2] = SentMessage("r", True)

    with pytest.raises(Violation, match=claim):
        oracle.check_end({"r": [1, 2] if "queue" in change else [2]})


def test_the_oracle_reports_two_primaries_a_wrong_order_or_queue_and_an_unmarked_delivery() -> None:
    oracle = Oracle(sent={1: SentMessage("q", True), 2: SentMessage("q", True)})
    oracle.note_confirmed("a", 1, [1])
    oracle.note_confirmed("b", 2, [2])
    oracle.note_delivery("q", 1, 1, marked=False)
    oracle.note_delivery("q", 1, 1, marked=True)

    with pytest.raises(Violation, match="marked"):
        oracle.note_delivery("q", 1, 1, marked=False)
    with pytest.raises(Violation, match="one primary"):
        oracle.note_confirmed("b", 1, [2])
    with pytest.raises(Violation, match="in order"):
        oracle.check_end({"q": [2, 1]})
    with pytest.raises(Violation, match="its own queue"):
        oracle.note_delivery("r", 2, 2, marked=True)


def test_only_a_former_primary_may_deliver_an_acknowledged_message_again() -> None:
    oracle = Oracle(sent={1: SentMessage("q", True)})
    oracle.note_delivery("q", 1, 2, marked=True)
    oracle.note_acknowledged(1, 3)

    oracle.note_delivery("q", 1, 2, marked=True)
    for generation, marked in ((3, True), (2, False)):
        with pytest.raises(Violation, match="gone is gone"):
            oracle.note_delivery("q", 1, generation, marked=marked)


def test_shrinking_leaves_out_items_that_the_failure_does_not_need() -> None:
    tried: list[int] = []

    def fails(items: tuple[int, ...]) -> bool:
        tried.append(len(items))
        return {3, 11} <= {*items}

    assert (3, 11) == fewer(tuple(range(20)), fails)
    assert len(tried) < 60


def test_the_command_reports_seeds_and_steps() -> None:
    found = CliRunner().invoke(main, ["standby", "--events", "20", "--runs", "2", "--json"])

    assert 0 == found.exit_code, found.output
    said = json.loads(found.output)
    assert [0, 1] == said["seeds"]
    assert said["steps"] > said["ticks"] > 0
    assert said["failed"] is None


def test_a_broken_claim_is_reported_with_exit_code_1() -> None:
    """The text has the seed and a shorter run; JSON has all keys, and no run."""
    names = ["runs", "seeds", "steps", "commands", "hours", "cpu_seconds", "failed"]
    with applied(mutation("next-at-once")):
        as_json = CliRunner().invoke(main, ["reconcile", "--runs", "5", "--json"])
        as_text = CliRunner().invoke(main, ["reconcile", "--events", "20", "--shrink", "0"])

    assert (1, 1) == (as_json.exit_code, as_text.exit_code)
    said = json.loads(as_json.output)
    assert (names, 1, [0, 0]) == ([*said], said["runs"], said["seeds"])
    assert "while another command is under way" in said["failed"]
    assert "\n--seed 0 --events 20: " in as_text.output
    assert "the run, shortened if possible:" in as_text.output


def test_a_signal_ends_the_command_with_a_report_of_the_runs_until_then() -> None:
    """The exit code is 0; a wrong option gives exit code 2, and the help names exit codes."""
    real = reconcile.run
    with mock.patch.object(
        reconcile, "run", side_effect=[real(reconcile.draw(0, 5)), KeyboardInterrupt]
    ):
        ended = CliRunner().invoke(main, ["reconcile", "--events", "5", "--runs", "9", "--json"])

    assert 0 == ended.exit_code, ended.output
    assert "ended by a signal" in ended.stderr
    assert 1 == json.loads(ended.stdout)["runs"]
    assert 2 == CliRunner().invoke(main, ["reconcile", "--runs", "0"]).exit_code
    assert "Exit code 0" in CliRunner().invoke(main, ["--help"]).output


FAULTS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    # H4: a backup says that it has a message before its disk has it.
    "says-at-once": lambda: mock.patch.object(BrokerPorts, "_send", _sends_at_once),
    # H4: a message is confirmed before the backups have it.
    "transfers-at-once": lambda: applied(mutation("transfers-at-once")),
    # H5: a backup counts as up to date before its copy has ended.
    "level-at-once": lambda: applied(mutation("level-at-once")),
    # H2: an older generation is not refused.
    "no-generations": lambda: applied(mutation("no-generations")),
}


def _sends_at_once(self: BrokerPorts, one: Outgoing) -> None:
    self.core.links.send(one)


@pytest.mark.soak("swarm-rules")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_is_put_back_is_found(fault: str) -> None:
    """One of a hundred seeds finds it."""
    with FAULTS[fault]():
        found = (run(draw(seed, 100)) for seed in range(100))
        failed = next((one for one in found if one.claim), None)

    assert failed is not None
