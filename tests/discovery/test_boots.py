"""Nodes as processes that start at once and find each other by a server; discovery, D1 to D3.

The command `python -m tools.boots` repeats each start two or five times.  Consul and Kubernetes are
servers made from recorded shapes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from joinproto.errors import EnvironmentProblem
from joinproto.host.process.control import ask_control
from tests.needs import need
from tools.boots.places import BACKENDS
from tools.boots.recorded import ConsulServer, serving
from tools.faults.ports import free_ports

pytestmark = pytest.mark.soak("boots")
WITHIN = 120.0
# The programs that a word of the command needs.
NEEDS = {
    "aws": ("moto",),
    "dns": ("dnsmasq",),
    "etcd": ("etcd",),
    "--spaces": ("ip", "unshare", "network namespaces"),
}


def boots(*words: str) -> dict[str, Any]:
    """Run the command, and return its output."""
    need(*(name for word in words for name in NEEDS.get(word, ())))
    command = [sys.executable, "-m", "tools.boots", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_five_nodes_started_at_once_are_one_cluster(backend: str) -> None:
    assert {"1": 5} == boots("--backend", backend, "--times", "5")["clusters"]


@pytest.mark.parametrize("backend", ["etcd", "dns", "consul"])
def test_a_server_that_fails_in_every_manner_still_leads_to_one_cluster(
    backend: str,
) -> None:
    """Killed, hanging, 500, half an answer, garbage, an empty list, at random moments."""
    told = boots("--backend", backend, "--times", "2", "--weather", "any", "--seed", "4")

    assert {"1": 2} == told["clusters"]
    assert set(told["requests"]) - {"fair"}
    # Which wait of a node is seen is random, but a wait is always reported.
    assert told["waited for"]


@pytest.mark.parametrize("backend", ["etcd", "consul"])
def test_nodes_that_start_at_once_with_a_register_are_one_cluster(backend: str) -> None:
    """The first view is a key that is set once; a later node reads it."""
    told = boots("--backend", backend, "--register", backend, "--times", "2", "--weather", "500")

    assert {"1": 2} == told["clusters"]


@pytest.mark.parametrize("backend", ["config", "etcd", "dns"])
def test_nodes_in_namespaces_of_their_own_are_one_cluster_though_one_is_cut_off(
    backend: str,
) -> None:
    """As with machines, a link is down, or peers that the server still names cannot be reached."""
    told = boots("--backend", backend, "--spaces", "--cut-off", "--times", "2", "--seed", "2")

    assert {"1": 2} == told["clusters"]
    assert {"from all": 1, "from the nodes": 1} == told["cut off"]
    assert told["waited for"]


def test_a_node_that_comes_back_is_admitted_by_the_cluster_founded_without_it() -> None:
    """Four of five may found a cluster; the fifth finds a member, and founds no cluster."""
    words = ("--spaces", "--cut-off", "--found-with", "4", "--weather", "any", "--times", "2")
    told = boots("--backend", "etcd", *words)

    assert {"1": 2} == told["clusters"]


# -- single nodes --------------------------------------------------------------------------------


class Nodes:
    """Some nodes on loopback, started by the shipped command."""

    def __init__(self, top: Path, settings: str, *, expected: int, register: str = "votes") -> None:
        self.top, self.settings, self.expected, self.register = top, settings, expected, register
        self.interval = 0.3
        self.ports = free_ports(2)
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, at: int) -> None:
        listen, clients = self.ports
        host = f"127.0.0.{30 + at}"
        lines = [
            f'member = "n@{host}"\ncluster = "c"\ndata = "{at}"\ncontrol = "{at}.sock"',
            f"wait_for = {1 if self.register != 'votes' else self.expected // 2 + 1}",
            f'listen = "{host}:{listen}"\nclients = "{host}:{clients}"\nevents = "events"',
            "[timing]\npatience = 0.4\nheartbeat = 0.25\nsilence = 1.5",
            f"[discovery]\nexpected = {self.expected}\ninterval = {self.interval}",
            f'register = "{self.register}"\n{self.settings.format(host=host)}',
        ]
        file = self.top / f"{at}.toml"
        file.write_text("\n".join(lines))
        with (self.top / f"{at}.log").open("ab") as log:
            self.processes[at] = subprocess.Popen(
                [sys.executable, "-m", "joinproto", "node", "--config", str(file)],
                stdout=log,
                stderr=log,
                env=os.environ | {"JOINPROTO_DEBUG": "1"},
            )

    def status(self, at: int) -> Mapping[str, Any]:
        try:
            return ask_control(self.top / f"{at}.sock", "status")
        except EnvironmentProblem:
            return {}

    def log_of(self, at: int) -> str:
        return (self.top / f"{at}.log").read_text("utf-8", "replace")

    def all_serve(self, *which: int) -> bool:
        found = [self.status(at) for at in which]
        return all(one.get("serves") for one in found) and 1 == len(
            {one["view"]["id"] for one in found}
        )

    def is_alone(self, at: int) -> bool:
        return self.all_serve(at) and 1 == len(self.status(at)["view"]["members"])

    def until(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + WITHIN
        while not holds():
            assert time.monotonic() < until, "\n".join(
                self.log_of(at)[-2000:] for at in self.processes
            )
            time.sleep(0.05)

    def kill(self, at: int) -> None:
        self.processes[at].kill()
        self.processes[at].wait()

    def close(self) -> None:
        for at in self.processes:
            self.kill(at)


@contextmanager
def nodes(top: Path, settings: str, **more: Any) -> Iterator[Nodes]:
    """Return the nodes, and end them."""
    found = Nodes(top, settings, **more)
    try:
        yield found
    finally:
        found.close()


def consul(state: ConsulServer) -> str:
    """Return the settings of a node that asks this server."""
    return (
        f'backend = "consul"\n[discovery.settings.consul]\nhost = "127.0.0.1"\n'
        f"port = {state.port}\n"
        'svc_addr = "{host}"'
    )


def test_two_members_with_a_register_survive_the_loss_of_one(tmp_path: Path) -> None:
    """Each is killed in turn; the other serves alone, and admits it again; the logs are valid."""
    with (
        serving(state := ConsulServer()),
        nodes(tmp_path, consul(state), expected=2, register="consul") as both,
    ):
        both.start(1)
        both.start(2)
        both.until(lambda: both.all_serve(1, 2))
        for gone, left in ((2, 1), (1, 2)):
            both.kill(gone)
            both.until(partial(both.is_alone, left))
            both.start(gone)
            both.until(lambda: both.all_serve(1, 2))
    valid = subprocess.run(
        [sys.executable, "-m", "joinproto", "validate", str(tmp_path / "events")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == valid.returncode, valid.stdout + valid.stderr


def test_a_node_registers_a_forgotten_record_again_and_unregisters_at_its_end(
    tmp_path: Path,
) -> None:
    """Case 9: a record that is gone is written again, and no node crashes; SIGTERM removes it."""
    with (
        serving(state := ConsulServer()),
        nodes(tmp_path, consul(state), expected=1) as one,
    ):
        one.start(1)
        one.until(lambda: one.all_serve(1))
        assert 1 == len(state.services)
        state.services.clear()
        one.until(lambda: len(state.services) == 1)
        assert one.all_serve(1)
        one.processes[1].send_signal(signal.SIGTERM)
        assert 0 == one.processes[1].wait(WITHIN)
        assert not state.services


def test_a_node_refuses_if_more_nodes_are_listed_than_expected(tmp_path: Path) -> None:
    """Otherwise two clusters might be founded: exit code 2, the names, and the next step."""
    settings = (
        'backend = "config"\n[discovery.settings]\nclassic_config.nodes ='
        ' ["n@127.0.0.31", "n@127.0.0.32", "n@127.0.0.33"]'
    )
    with nodes(tmp_path, settings, expected=2) as some:
        some.start(1)
        some.start(2)
        assert [2, 2] == [some.processes[at].wait(WITHIN) for at in (1, 2)]
        assert "3 nodes are listed, with n@127.0.0.31" in some.log_of(1)
        assert "nothing was founded" in some.log_of(1)


def test_a_record_that_names_no_host_does_not_end_a_node(tmp_path: Path) -> None:
    """Any node may write a record; a record that cannot be called is logged."""
    names = ["n@127.0.0.31", "n@a..b", "n@ho st", "n@xn--a", "n@\\u0001"]
    settings = (
        'backend = "config"\n[discovery.settings]\nclassic_config.nodes ='
        f" [{', '.join(f'{chr(34)}{one}{chr(34)}' for one in names)}]"
    )
    with nodes(tmp_path, settings, expected=5) as one:
        one.start(1)
        one.until(lambda: "no connection to n@a..b" in one.log_of(1))
        with pytest.raises(subprocess.TimeoutExpired):
            one.processes[1].wait(3.0)
        assert "no majority answers" == one.status(1)["discovery"]["case"]


def test_a_node_that_gives_up_has_its_own_exit_code(tmp_path: Path) -> None:
    """Case 18: with `timing.wait` a node that finds no other ends with code 3, never with 0."""
    settings = 'backend = "config"\n[discovery.settings]\nclassic_config.nodes = ["n@127.0.0.31"]'
    with nodes(tmp_path, settings, expected=3) as one:
        one.start(1)
        one.until(lambda: one.status(1).get("discovery", {}).get("case", "").startswith("fewer"))
        (tmp_path / "1.toml").write_text(
            (tmp_path / "1.toml").read_text().replace("[timing]", "[timing]\nwait = 1.0")
        )
        one.kill(1)
        process = subprocess.run(
            [sys.executable, "-m", "joinproto", "node", "--config", str(tmp_path / "1.toml")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert 3 == process.returncode
        assert "1 nodes are listed, but 3 are expected" in process.stderr


def test_a_node_that_founds_at_once_listens_on_the_same_address(tmp_path: Path) -> None:
    """The member starts again in the same process, as soon as it has begun to listen."""
    settings = 'backend = "config"\n[discovery.settings]\nclassic_config.nodes = ["n@127.0.0.31"]'
    with nodes(tmp_path, settings, expected=1) as one:
        for _ in range(3):
            one.start(1)
            one.until(lambda: one.all_serve(1))
            one.kill(1)
            shutil.rmtree(tmp_path / "1")


def test_a_newcomer_beyond_the_expected_number_is_admitted_if_a_cluster_answers(
    tmp_path: Path,
) -> None:
    """A newcomer joins if a member answers; the number of founders does not limit later members."""
    with serving(state := ConsulServer()), nodes(tmp_path, consul(state), expected=2) as some:
        some.start(1)
        some.start(2)
        some.until(lambda: some.all_serve(1, 2))
        some.interval = 0.02  # its list is too long many times before a node is connected
        some.start(3)
        some.until(lambda: some.all_serve(1, 2, 3))
        assert 1 == len({some.status(at)["initial"] for at in (1, 2, 3)})
