"""`reconcile run` with a failing broker: it does not guess facts, or make a change twice."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define, field
from prometheus_client import generate_latest

from joinproto.apps.reconcile.api import Api, NoAnswer, Refused
from joinproto.apps.reconcile.commands import Tools
from joinproto.apps.reconcile.journal import Journal
from joinproto.apps.reconcile.loop import Loop
from joinproto.apps.reconcile.reporting import Reporter
from joinproto.durable.envelope import Envelope, unseal
from joinproto.durable.filesystem import RealFileSystem
from joinproto.errors import StoreCorrupt, StoreInUse
from joinproto.reconcile.keeper import Keeper, Rules
from joinproto.reconcile.plan import Limits
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import caught_up, replicas_of
from joinproto.reconcile.timers import Timers
from tests.cli.running import Run, run_apart, run_here
from tests.reconcile.scripted import Broker, scripted

CLOSED = "http://127.0.0.1:1"


@define
class Rig:
    """A loop in this process, with a clock that a test moves by 10 seconds a round."""

    broker: Broker
    loop: Loop
    told: list[dict[str, Any]]
    now: list[float] = field(factory=list)

    def rounds(self, count: int = 1) -> list[str]:
        """Play rounds; return the tools' calls in all rounds so far."""
        for _ in range(count):
            self.now[0] += 10
            self.loop.round()
        return self.broker.calls

    def said(self, event: str, key: str) -> list[str]:
        return [one[key] for one in self.told if one["event"] == event]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with scripted(tmp_path) as found:
        found.set_nodes("abcde")
        found.set_members("q", "ab")
        yield found


def rig(
    broker: Broker, *, applies: bool = True, copies: int = 2, urls: tuple[str, ...] = ()
) -> Rig:
    told: list[dict[str, Any]] = []
    now = [1000.0]
    rules = Rules(Timers(interval=10, trigger_interval=0), limits=Limits(copies_at_once=copies))
    journal = Journal.open(broker.folder / "state.json") if applies else None
    loop = Loop(
        Api((*urls, broker.url), "u", "p", timeout=60, target=3),
        Tools((str(broker.tool),), (str(broker.tool),), timeout=60),
        Keeper(rules),
        Reporter(lambda line: told.append(json.loads(line))),
        journal,
        clock=lambda: now[0],
    )
    loop.start()
    return Rig(broker, loop, told, now)


def test_a_read_only_run_reports_changes_and_makes_none(broker: Broker) -> None:
    """Point 6: read-only unless `--apply`; a decision is reported only once."""
    found = rig(broker, applies=False)

    assert [] == found.rounds(4)
    assert ["add c"] == found.said("decision", "does")
    assert not (broker.folder / "calls").exists()


def test_no_queue_is_due_before_its_time(broker: Broker) -> None:
    """A queue's clock decides when it is due; the order decides which due queue comes first."""
    found = rig(broker)
    found.rounds(1)
    keeper = found.loop.state.keeper
    ((key, clock),) = keeper.clocks.items()
    assert clock.next is not None

    assert [] == keeper.due(clock.next - 0.1)
    assert [key] == keeper.due(clock.next)


def test_a_replica_is_added_once_and_awaited_until_it_is_caught_up(broker: Broker) -> None:
    """Q4: the next change begins only when the last replica has caught up."""
    broker.set_tool("add_member", "cp behind.json q.json")
    broker.set_leader_answer("q", "abc", at=3, file="behind.json")
    found = rig(broker)

    assert ["add_member q c"] == found.rounds(4)
    assert ["begun"] == found.said("change", "ended")

    broker.set_members("q", "abc")
    assert ["add_member q c"] == found.rounds(3)
    assert ["begun", "done"] == found.said("change", "ended")
    assert "enough" in found.said("decision", "case")


HALF: dict[str, dict[str, int | bytes]] = {
    "not JSON": {"/api/queues": b"<html>"},
    "too deep": {"/api/queues": b"[" * 100_000},
    "cut off": {"/api/queues": b'[{"name": "q", "vho'},
    "another kind": {"/api/nodes": b'{"error": "x"}'},
    "no objects": {"/api/queues": b"[1]"},
    "no name": {"/api/queues": b'[{"type": "quorum"}]'},
    "no running": {"/api/nodes": b'[{"name": "a"}]'},
    "an error": {"/api/queues": 500},
    "refused later": {"/api/nodes": 401},
}


class EndlessAnswer(BaseRequestHandler):
    """Sends a body without an end: one piece every 0.01 seconds."""

    def handle(self) -> None:
        self.request.recv(4096)
        self.request.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        with suppress(OSError):
            while True:
                self.request.sendall(b"400\r\n" + b" " * 1024 + b"\r\n")
                time.sleep(0.01)


@pytest.mark.parametrize(
    ("bytes_max", "seconds_a_look", "why"),
    [(10_000, 0, "more than 10000 bytes"), (1 << 28, 30, "no whole answer within")],
)
def test_an_endless_answer_is_given_up(
    monkeypatch: pytest.MonkeyPatch, bytes_max: int, seconds_a_look: int, why: str
) -> None:
    """Otherwise the answer would be read and kept for ever, because each piece comes in time."""
    clock = SimpleNamespace(monotonic=count(step=seconds_a_look).__next__)
    monkeypatch.setattr("joinproto.apps.reconcile.api.BYTES_MAX", bytes_max)
    monkeypatch.setattr("joinproto.apps.reconcile.api.time", clock)
    with ThreadingTCPServer(("127.0.0.1", 0), EndlessAnswer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        with pytest.raises(NoAnswer, match=why):
            Api((url,), "u", "p", timeout=60).read()
        server.shutdown()


def test_a_missing_tool_is_reported_before_any_change_begins(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 4 at the start, not at the first change."""
    state = str(broker.folder / "state.json")
    words = ("--url", broker.url, "--apply", "--state", state, "--once")
    told = run_here(capsys, "reconcile", "run", *words, "--rabbitmq-queues", "/no/such/tool")

    assert 4 == told.code
    assert "/no/such/tool: there is no such program" in told.err


@pytest.mark.parametrize("what", HALF)
def test_an_incomplete_answer_causes_no_change(broker: Broker, what: str) -> None:
    """If the API is down or gives half an answer, no fact is guessed, and the run goes on."""
    found = rig(broker)
    broker.answers.update(HALF[what])

    assert [] == found.rounds(3)
    assert ["api"] == found.said("problem", "what")

    broker.answers.clear()
    assert ["add_member q c"] == found.rounds(2)


def test_empty_lists_of_nodes_and_members_count_as_unknown_and_not_as_gone(broker: Broker) -> None:
    """Q2: an empty list means that the question failed."""
    found = rig(broker)
    broker.nodes = []
    assert [] == found.rounds(2)

    broker.set_nodes("abcde")
    del broker.queues["q"]["members"]
    assert [] == found.rounds(2)
    assert ["the nodes are not known", "the members are not known"] == found.said(
        "decision", "case"
    )


def test_a_queue_with_a_text_as_argument_is_reported_and_the_others_go_on(broker: Broker) -> None:
    """RabbitMQ 3.10 takes any value as x-quorum-target-group-size."""
    broker.set_members("bad", "ab")
    broker.queues["bad"]["arguments"] = {"x-quorum-target-group-size": "3"}
    found = rig(broker)

    assert ["add_member q c"] == found.rounds(2)
    assert ["bad"] == found.said("problem", "queue")
    assert "x-quorum-target-group-size is '3'" in found.said("problem", "message")[0]


def test_bad_credentials_at_the_start_are_a_mistake_of_the_command_line(broker: Broker) -> None:
    """The exit code is 2, and no message has the password."""
    broker.answers["/api/nodes"] = 401

    with pytest.raises(Refused) as raised:
        rig(broker, applies=False).loop.round(refused_is_fatal=True)

    assert 2 == raised.value.code
    assert "401" in raised.value.message


def test_the_next_node_is_asked_if_one_is_down(broker: Broker) -> None:
    """One of the URLs may belong to a node that is down."""
    found = rig(broker, urls=(CLOSED,))

    assert ["add_member q c"] == found.rounds(2)
    assert [] == found.said("problem", "what")


def test_the_leaders_answer_counts_more_than_the_list(broker: Broker) -> None:
    """The API's list is seconds old; by the leader's answer the queue has three replicas."""
    broker.set_leader_answer("q", "abd")
    found = rig(broker)

    assert [] == found.rounds(3)
    assert ["enough"] == found.said("decision", "case")


def test_no_change_is_made_if_the_leader_does_not_answer(broker: Broker) -> None:
    """The status fails, is not JSON, or names no leader."""
    found = rig(broker)
    for text in ("", "Error: noproc", "{}", '[{"Node Name": "a", "Raft State": "follower"}]'):
        (broker.folder / "q.json").write_text(text)
        assert [] == found.rounds(2)


def test_a_node_that_dies_during_a_change_is_given_up_after_the_interval(broker: Broker) -> None:
    """No other change begins meanwhile; then another node gets the replica, and it counts."""
    broker.set_tool("add_member", "cp half.json q.json")
    broker.set_leader_answer("q", "abc", online="ab", file="half.json")
    found = rig(broker)
    assert ["add_member q c"] == found.rounds(2)

    broker.set_nodes("abde", down="c")
    broker.set_members("q", "abc", online="ab")
    assert ["add_member q c"] == found.rounds(6)
    assert ["begun"] == found.said("change", "ended")

    assert ["add_member q c", "add_member q d"] == found.rounds(4)
    assert ["begun", "its node was lost", "begun"] == found.said("change", "ended")


def test_a_command_that_fails_is_followed_like_one_that_succeeds(broker: Broker) -> None:
    """The exit code does not show the outcome: the change is done, or tried again after a while."""
    broker.set_tool("add_member", "cp done.json q.json; exit 69")
    broker.set_leader_answer("q", "abc", file="done.json")
    found = rig(broker)
    found.rounds(3)
    assert ["begun", "done"] == found.said("change", "ended")
    assert ["command"] == found.said("problem", "what")

    broker.set_members("r", "ab")
    broker.set_tool("add_member", "exit 69")
    found.rounds(4)
    assert 2 == len(broker.calls)
    found.rounds(6)
    assert ["add_member r c"] * 2 == broker.calls[1:]


def test_a_queue_may_be_named_like_an_option(broker: Broker) -> None:
    """The tools of 3.10 take the words after `--` as they are; otherwise `-q` has no status."""
    broker.set_members("-q", "ab")
    found = rig(broker)

    assert {"add_member q c", "add_member -q c"} == set(found.rounds(2))


def test_no_node_makes_more_copies_than_its_limit(broker: Broker) -> None:
    """Q5: if a node may copy one queue, three queues that lack a replica take turns."""
    for name in ("r", "s"):
        broker.set_members(name, "ab")
    found = rig(broker, copies=1)

    assert 1 == len(found.rounds(3))
    assert "c takes part in 1 copies already, of at most 1 at a time" in found.said(
        "decision", "why"
    )


def test_the_queue_with_least_to_spare_is_changed_first_and_then_the_smallest(
    broker: Broker,
) -> None:
    """Q5: all are due; three of three may lose one replica, but two of two may lose none."""
    for name, members, size in (("a", "abc", 9), ("b", "abc", 1), ("q", "abc", 5), ("z", "ab", 99)):
        broker.set_members(name, members)
        broker.queues[name]["message_bytes_persistent"] = size
        broker.queues[name]["arguments"] = {"x-quorum-target-group-size": len(members) + 1}
    found = rig(broker, copies=8)

    assert ["z", "b", "q", "a"] == [one.split()[1] for one in found.rounds(2)]


def test_an_embedders_function_chooses_and_its_failure_stops_no_other_queue(
    broker: Broker, keep: Run, tmp_path: Path
) -> None:
    """Q3: the placement is a port here, too."""
    broker.set_members("r", "ab")
    (tmp_path / "mine.py").write_text(
        "from joinproto.reconcile.placement import Choice\n"
        "def last(candidates, situation):\n"
        "    if situation.queue.name == 'q': raise KeyError('q')\n"
        "    return Choice(candidates[-1].name, 'it is the last')\n"
    )
    done = run_apart(*one_round(broker, "--placement", "mine:last"), cwd=tmp_path)

    assert (0, ["add_member r e"]) == (done.code, broker.calls)
    assert "--placement mine:last raised KeyError" in done.out
    assert 2 == keep("--placement", "farthest").code


def test_a_node_that_left_is_dropped_after_another_node_was_added(broker: Broker) -> None:
    """Scenario One: a replica is added before the old one is removed."""
    broker.set_nodes("abde")
    broker.set_members("q", "abc", online="ab")
    broker.set_tool("add_member", "cp more.json q.json")
    broker.set_leader_answer("q", "abcd", online="abd", file="more.json")
    broker.set_tool("delete_member", "cp less.json q.json")
    broker.set_leader_answer("q", "abd", file="less.json")
    found = rig(broker)
    found.rounds(2)
    broker.set_members("q", "abcd", online="abd")

    assert ["add_member q d", "delete_member q c"] == found.rounds(3)


def lose_c(broker: Broker, *, removes: str) -> None:
    """Kill c for good; d, then e, become members when they are added."""
    broker.set_nodes("abde", down="c")
    broker.set_members("q", "abc", online="ab")
    broker.set_tool("add_member", 'cp "with-$3.json" q.json')
    broker.set_leader_answer("q", "abcd", online="abd", file="with-d.json")
    broker.set_leader_answer("q", "abcde", online="abde", file="with-e.json")
    broker.set_tool("delete_member", removes)
    broker.set_leader_answer("q", "abd", file="less.json")


def test_a_dead_member_is_dropped_as_soon_as_its_replacement_is_there(broker: Broker) -> None:
    """Q4: of a, b, c and d three run, and the failure of d would stop the queue that a and b had
    kept.
    """
    lose_c(broker, removes="cp less.json q.json")
    found = rig(broker)
    found.rounds(7)
    assert ["add_member q d"] == broker.calls

    assert ["add_member q d", "delete_member q c"] == found.rounds(1)
    broker.set_members("q", "abd")
    found.rounds(2)
    assert (
        "3 of 3 wanted replicas are there; the queue survives 1 failure"
        == (found.said("decision", "why")[-1])
    )


def test_the_number_becomes_odd_if_a_dead_replica_of_a_stream_stays(broker: Broker) -> None:
    """Q4: 3.10 removes no replica of a stream from a node that is down; four of five run then."""
    lose_c(broker, removes="exit 69")
    broker.queues["q"]["type"] = "stream"
    broker.set_tool("add_replica", 'cp "with-$3.json" q.json')
    for name in ("q", "with-d", "with-e"):
        rows = json.loads((broker.folder / f"{name}.json").read_text())
        status = [
            {"node": one["Node Name"], "role": "writer", "offset": 9, "committed_offset": 9}
            for one in rows
            if one["Log Index"]
        ]
        (broker.folder / f"{name}.json").write_text(json.dumps(status))
    found = rig(broker)
    while len(broker.calls) < 1:
        found.rounds()
    for members in ("abcd", "abcde"):
        online = [one for one in members if one != "c"]
        broker.queues["q"].update(members=list(members), online=online)
        found.rounds(8)

    assert ["add_replica q d", "delete_replica q c", "add_replica q e"] == broker.calls
    assert (
        "4 of 3 wanted replicas are there; the queue survives 1 failure"
        == (found.said("decision", "why")[-1])
    )


def test_a_wait_is_reported_once_and_waiting_queues_are_counted(broker: Broker) -> None:
    """A wait is not reported again each second; no queue waits once the node is back."""
    broker.set_nodes("abde", down="c")
    broker.set_members("q", "abc", online="ab")
    found = rig(broker, applies=False)
    found.rounds(4)
    assert ["away, not for long"] == found.said("decision", "case")

    broker.set_nodes("abcde")
    broker.set_members("q", "abc")
    found.rounds(3)
    assert ["away, not for long", "enough"] == found.said("decision", "case")
    assert b"joinproto_reconcile_queues_left 0.0" in generate_latest(found.loop.reporter.registry)


def test_metrics_count_looks_changes_and_errors(broker: Broker) -> None:
    found = rig(broker)
    found.rounds(2)
    broker.answers["/api/nodes"] = 500
    found.rounds()
    text = generate_latest(found.loop.reporter.registry).decode()

    for line in (
        'joinproto_reconcile_looks_total{action="add",rule="Q4"} 1.0',
        'joinproto_reconcile_changes_total{action="add",ended="begun"} 1.0',
        'joinproto_reconcile_errors_total{what="api"} 1.0',
        "joinproto_reconcile_queues 1.0",
        "joinproto_reconcile_queues_left 1.0",
    ):
        assert line in text


# -- kill -9 ------------------------------------------------------------------------------------


def one_round(broker: Broker, *words: str) -> tuple[str, ...]:
    """Return the command for one round; the API gets a minute, a sixth of the tools' time."""
    return (
        *("reconcile", "run", "--url", broker.url, "--target", "3", "--apply", "--once"),
        *("--state", str(broker.folder / "state.json"), "--timeout", "360"),
        *("--rabbitmq-queues", str(broker.tool), *words),
    )


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Return a function that runs the command here; afterwards Ctrl-C ends pytest again."""
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    yield partial(run_here, capsys)
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.fixture
def keep(broker: Broker, run: Run) -> Run:
    """Return a function that runs the command for one round."""
    return lambda *words: run(*one_round(broker, *words))


@pytest.mark.parametrize("effect", ["cp done.json q.json", "true"])
def test_a_run_that_was_killed_during_a_change_does_not_begin_it_twice(
    broker: Broker, keep: Run, effect: str
) -> None:
    """The tool kills the run with kill -9, after or before the effect; then the run is repeated."""
    broker.set_leader_answer("q", "abc", file="done.json")
    broker.set_tool("add_member", f"{effect}; kill -9 $PPID")

    assert -9 == run_apart(*one_round(broker)).code
    broker.set_tool("add_member", "cp done.json q.json")
    again = keep()

    assert (0, ["add_member q c"]) == (again.code, broker.calls)
    if effect == "true":
        assert 0 == keep("--settle", "0").code
        assert ["add_member q c"] * 2 == broker.calls
    broker.set_members("q", "abc")
    keep()
    kept = unseal((broker.folder / "state.json").read_bytes())
    assert isinstance(kept, Envelope)
    assert {"intents": []} == json.loads(kept.payload)


def test_a_change_of_the_list_alone_is_decided_again_by_the_leaders_answer(
    broker: Broker, keep: Run
) -> None:
    """Incident 30: the call ends, the list looks right, but the group has no new replica."""
    broker.set_nodes("abd")
    broker.set_members("q", "abc", online="ab")
    listed = broker.queues["q"]
    keep()
    assert ["add_member q d"] == broker.calls
    broker.queues["q"] = {**listed, "members": list("abd"), "online": list("abd")}

    assert 0 == keep("--settle", "0").code
    assert ["add_member q d"] * 2 == broker.calls


def test_a_status_of_4_x_is_read(broker: Broker) -> None:
    """The index has another name, and a replica that must be promoted has not caught up."""
    rows: list[dict[str, object]] = [
        {"Node Name": one, "Raft State": state, "Membership": votes, "Last Log Index": 9}
        for one, state, votes in (("a", "leader", "voter"), ("d", "follower", "promotable"))
    ]
    replicas = replicas_of(Kind.QUORUM, [{**row, "Commit Index": 9} for row in rows])

    assert [True, True] == [one.answers for one in replicas]
    assert {"a"} == caught_up(replicas)


def test_a_state_file_in_use_or_damaged_is_refused(broker: Broker, keep: Run) -> None:
    """Two keepers have the same file, or no keeper wrote the file."""
    file = broker.folder / "state.json"
    journal = Journal.open(file)
    with pytest.raises(StoreInUse):
        Journal.open(file)
    assert 4 == keep().code
    journal.close()

    file.write_text('{"intents": [{"vhost": "/"}]}')
    with pytest.raises(StoreCorrupt):
        (again := Journal.open(file)).read()
    again.close()
    assert 4 == keep().code


def test_a_change_that_cannot_be_stored_is_not_begun(
    broker: Broker, keep: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is 4: after a restart, no keeper would know of the change."""

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RealFileSystem, "create", full)
    done = keep()

    assert (4, []) == (done.code, broker.calls)
    assert "No space left on device" in done.err
    assert "so no more change is begun" in done.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--url", CLOSED, "--once"), 1, "problem"),
        (("--url", CLOSED, "--apply"), 2, "--apply without --state"),
        (("--url", CLOSED, "--zone", "a"), 2, "expected NODE=ZONE"),
        (("--url", CLOSED, "--password-file", "/no/such"), 2, "--password-file"),
        (("--url", "nonsense", "--once"), 2, "--url nonsense"),
        (("--url", CLOSED, "--poll", "1e300"), 2, "--poll"),
        (("--url", CLOSED, "--timeout", "nan"), 2, "'nan' is not a finite number"),
    ],
)
def test_a_command_that_cannot_be_run_is_reported(
    run: Run, words: tuple[str, ...], code: int, says: str
) -> None:
    """The exit code is 1 for the broker, and 2 for the command line."""
    done = run("reconcile", "run", *words)

    assert code == done.code
    assert says in done.out + done.err
