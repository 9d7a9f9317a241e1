"""`reconcile run --apply` with a real RabbitMQ of five nodes: the scenarios of the design.

The broker, its processes, kill -9 and forgetting a node are real; the intervals are shorter than
the defaults.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from attrs import frozen

from tests.reconcile.rabbit import Rabbits, rabbits, until
from tools.faults.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
STREAM = "-st.1"  # looks like an option, but the tools must take it for a name
THREE: dict[str, Any] = {"x-quorum-target-group-size": 3, "x-quorum-initial-group-size": 3}


@frozen
class RunningReconciler:
    """A running `reconcile run --apply`."""

    process: subprocess.Popen[bytes]
    log: Path
    metrics: int

    def lines(self, event: str = "change") -> list[dict[str, Any]]:
        told = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [one for one in told if one["event"] == event]

    def changes(self, queue: str, ended: str) -> list[str]:
        return [
            one["does"] for one in self.lines() if (one["queue"], one["ended"]) == (queue, ended)
        ]

    def case(self, queue: str) -> str:
        """Return the last case for a queue."""
        return str([one["case"] for one in self.lines("decision") if one["queue"] == queue][-1])

    def wait_for_two_more_looks(self) -> None:
        """Wait until the daemon has looked at its two queues twice more."""
        enough = self._looks() + 4
        until("the daemon looks again", lambda: self._looks() >= enough)

    def _looks(self) -> float:
        said = httpx.get(f"http://127.0.0.1:{self.metrics}/metrics", timeout=10).text
        return sum(
            map(float, re.findall(r"^joinproto_reconcile_looks_total\S* (\S+)", said, re.MULTILINE))
        )


@contextmanager
def running_reconciler(
    cluster: Rabbits,
    name: str,
    *,
    failure: float,
    queues: Path | None = None,
    zones: Mapping[str, str] | None = None,
) -> Iterator[RunningReconciler]:
    """Yield the daemon, then stop it with SIGTERM; it must end with exit code 0."""
    log = cluster.folder / f"{name}.log"
    (metrics,) = free_ports(1)
    words = [
        *("--url", f"http://127.0.0.1:{cluster.ports[cluster.names[0]]}", "--apply"),
        *("--state", str(cluster.folder / "state.json"), "--failure-interval", str(failure)),
        *("--poll", "1", "--interval", "1", "--trigger-interval", "1", "--settle", "20"),
        *("--metrics-port", str(metrics)),
        *("--rabbitmq-queues", str(queues or cluster.sbin / "rabbitmq-queues")),
        *("--rabbitmq-streams", str(cluster.sbin / "rabbitmq-streams")),
        *(f"--zone={node}={zone}" for node, zone in (zones or {}).items()),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "joinproto", "reconcile", "run", *words],
            cwd=ROOT,
            env=cluster.environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield RunningReconciler(process, log, metrics)
            process.terminate()
            assert 0 == process.wait(timeout=60), log.read_text()
        finally:
            process.kill()
            process.wait()


def victim(cluster: Rabbits, *queues: str) -> str:
    """Return a member of all these queues that leads none of them, and is not the asked node."""
    leaders = {cluster.get(f"queues/%2f/{one}")["leader"] for one in queues}
    both = set.intersection(*map(cluster.members, queues))
    return max(both - leaders - {cluster.names[0]})


def scenario_three(cluster: Rabbits) -> None:
    """C was rebooted, and came back in time, so no replica changes."""
    cluster.declare("qq.3", **THREE)
    until("qq.3 has three", lambda: 3 == len(cluster.members("qq.3")))
    before, gone = cluster.members("qq.3"), victim(cluster, "qq.3")

    with running_reconciler(cluster, "three", failure=80) as keeper:
        until("the daemon looks", lambda: keeper.lines("decision"))
        cluster.kill(gone)
        until("the loss is seen", lambda: "away, not for long" in keeper.log.read_text())
        cluster.start(gone)
        until("the node is back", lambda: gone in cluster.up())
        until(
            "the replica is back",
            lambda: gone in cluster.get("queues/%2f/qq.3").get("online", ()),
        )
        keeper.wait_for_two_more_looks()

        assert [] == keeper.lines("change")
    assert before == cluster.members("qq.3")


def scenario_one(cluster: Rabbits) -> None:
    """C is deleted from the cluster by an operator: D is chosen because of the zones.

    C's replica is dropped.
    """
    cluster.declare("qq.1", **THREE)
    until("qq.1 has three", lambda: 3 == len(cluster.members("qq.1")))
    lost = victim(cluster, "qq.1")
    kept = cluster.members("qq.1") - {lost}
    e, d = sorted(set(cluster.names) - kept - {lost})
    zones = dict(zip(sorted(kept), ("1", "2"), strict=True)) | {lost: "3", d: "3", e: "1"}

    with running_reconciler(cluster, "one", failure=900, zones=zones) as keeper:
        until("the daemon looks", lambda: keeper.lines("decision"))
        cluster.kill(lost)
        until("the loss is seen", lambda: "away, not for long" in keeper.log.read_text())
        keeper.wait_for_two_more_looks()
        assert [] == keeper.lines("change")
        cluster.tool("rabbitmqctl", "--node", cluster.names[0], "forget_cluster_node", lost)
        until("A, B and D", lambda: kept | {d} == cluster.members("qq.1"))
        until("the daemon reports the change", lambda: keeper.changes("qq.1", "done"))
        until("the case is enough", lambda: "enough" == keeper.case("qq.1"))
        keeper.wait_for_two_more_looks()

        assert [f"add {d}"] == keeper.changes("qq.1", "begun")
        assert "enough" == keeper.case("qq.1")
    cluster.start_blank(lost)
    until("a blank node in its place", lambda: set(cluster.names) == cluster.up())


def scenario_two(cluster: Rabbits) -> None:
    """C is lost for good; an operator adds a replica at the same moment as the daemon."""
    cluster.declare("qq.2", **THREE)
    until("qq.2 has three", lambda: 3 == len(cluster.members("qq.2")))
    lost = victim(cluster, "qq.2")
    free = sorted(set(cluster.names) - cluster.members("qq.2"))
    kept = cluster.members("qq.2") - {lost}
    operator = cluster.folder / "with-operator.sh"
    add = f"{cluster.sbin}/rabbitmq-queues --node {cluster.names[0]} --quiet add_member --vhost /"
    operator.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *add_member*qq.2*) if mkdir "{cluster.folder}/asked"; then\n'
        f'    for node in {" ".join(free)}; do case "$*" in *"$node") ;; *)\n'
        f"        (until {add} qq.2 $node; do sleep 1; done) & ;; esac; done; fi ;; esac\n"
        f'{cluster.sbin}/rabbitmq-queues "$@"; code=$?; wait; exit $code\n'
    )
    operator.chmod(0o700)

    with running_reconciler(cluster, "two", failure=6, queues=operator) as keeper:
        cluster.kill(lost)
        until("it is mended", lambda: keeper.changes("qq.2", "done"))
        until("the operator's replica is there", lambda: set(free) <= cluster.members("qq.2"))
        cluster.tool("rabbitmqctl", "--node", cluster.names[0], "forget_cluster_node", lost)
        until("A, B, D and E", lambda: kept | set(free) == cluster.members("qq.2"))
        until("the stream is whole", lambda: 3 == len(running_of(cluster, STREAM)))
        keeper.wait_for_two_more_looks()

        # We added one replica.  The lost one is dropped by us or by the operator.
        added, *others = keeper.changes("qq.2", "begun")
        assert added in {f"add {node}" for node in free}
        assert others in ([], [f"remove {lost}"])


def running_of(cluster: Rabbits, name: str) -> set[str]:
    return set(cluster.get(f"queues/%2f/{name}").get("online", ()))


@pytest.mark.soak("rabbitmq")
def test_the_scenarios_of_the_design_end_as_the_design_says(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Scenarios Three, One and Two in one cluster of five nodes, because it starts slowly."""
    folder = tmp_path_factory.mktemp("rabbits")
    with rabbits(folder, "abcde") as cluster:
        cluster.declare(
            STREAM,
            kind="stream",
            **{"x-initial-cluster-size": 3, "x-quorum-target-group-size": 3},
        )
        scenario_three(cluster)
        scenario_one(cluster)
        scenario_two(cluster)


@pytest.mark.soak("rabbitmq")
def test_a_queue_serves_on_when_the_added_replica_dies(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Of a, b and c, c dies and d is added: if c stays listed, the death of d stops the queue."""
    folder = tmp_path_factory.mktemp("rabbits")
    with rabbits(folder, "abcd") as cluster:
        cluster.declare("qq.7", **THREE)
        until("qq.7 has three", lambda: 3 == len(cluster.members("qq.7")))
        lost = victim(cluster, "qq.7")
        kept = cluster.members("qq.7") - {lost}
        (new,) = set(cluster.names) - kept - {lost}

        with running_reconciler(cluster, "seven", failure=6) as keeper:
            cluster.kill(lost)
            until("it is mended", lambda: f"remove {lost}" in keeper.changes("qq.7", "done"))
            assert [f"add {new}", f"remove {lost}"] == keeper.changes("qq.7", "done")
        until("the new replica is there", lambda: kept | {new} == cluster.members("qq.7"))
        cluster.kill(new)

        until("the loss is seen", lambda: kept == running_of(cluster, "qq.7"))
        assert "still here" == cluster.echoed("qq.7", "still here")
