"""Real RabbitMQ nodes: configs alone form, grow, shrink, reset and restore a cluster.

The servers, `rabbitmqctl`, kill -9 and the data (one virtual host for each node) are real.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from attrs import define

from joinproto.clusterer.config import Config
from tests.reconcile.rabbit import home
from tools.faults.clusterer import Fleet
from tools.faults.ports import free_ports
from tools.fixtures.rabbitmq_node import files_in, write_cookie

pytestmark = pytest.mark.soak("rabbitmq")

PATIENCE = 150.0
LATE_SECONDS = 4.0
"""Longer than the two seconds by which Mnesia may write its log late."""
TIMING = "[timing]\npoll = 0.5\nretry = 2\nheartbeat = 1\nsilence = 10\n"


def named(letters: str) -> tuple[str, ...]:
    return tuple(f"{letter}@localhost" for letter in letters)


def config(version: int, letters: str, gospel: str | None) -> Config:
    whose = None if gospel is None else f"{gospel}@localhost"
    return Config(version, frozenset(named(letters)), gospel=whose, shutdown_timeout=600)


@define
class Rabbits:
    fleet: Fleet
    sbin: Path
    environment: dict[str, str]

    def ctl(self, letter: str, *words: str) -> str:
        done = subprocess.run(
            [self.sbin / "rabbitmqctl", "--node", f"{letter}@localhost", "--quiet", *words],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert 0 == done.returncode, done.stderr or done.stdout
        return done.stdout

    def vhosts(self, letter: str) -> set[str]:
        """Return the virtual hosts that a node knows, which stand for its data."""
        return set(self.ctl(letter, "list_vhosts", "--no-table-headers").split()) - {"/"}

    def members(self, letter: str) -> tuple[set[str], set[str]]:
        """Return the members, and the running members, as RabbitMQ reports them."""
        found = json.loads(self.ctl(letter, "cluster_status", "--formatter", "json"))
        return {*found["disk_nodes"], *found["ram_nodes"]}, {*found["running_nodes"]}

    def until(self, letters: str, version: int) -> None:
        self.fleet.until_ready(named(letters), version, PATIENCE)


@pytest.fixture
def rabbits(tmp_path: Path) -> Iterator[Rabbits]:
    sbin = home()
    (epmd_port,) = free_ports(1)
    write_cookie(tmp_path)
    environment = {"HOME": str(tmp_path), "ERL_EPMD_PORT": str(epmd_port)}

    def service(name: str) -> str:
        place = tmp_path / name.replace("@", "-")
        amqp, distribution = free_ports(2)
        (place / "enabled").write_text("[].")
        (place / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{amqp}\nlog.console = false\n"
            "mnesia_table_loading_retry_timeout = 5000\n"
        )
        own = {"RABBITMQ_DIST_PORT": str(distribution), **files_in(place)}
        rows = "".join(f"{key} = {json.dumps(value)}\n" for key, value in own.items())
        return (
            f'[service]\nkind = "rabbitmq"\nserver = ["{sbin}/rabbitmq-server"]\n'
            f'ctl = ["{sbin}/rabbitmqctl"]\n[service.environment]\n{rows}'
        )

    epmd = subprocess.Popen(["epmd", "-port", str(epmd_port), "-address", "127.0.0.1"])
    fleet = Fleet(tmp_path, named("abcd"), service=service, timing=TIMING, environment=environment)
    try:
        yield Rabbits(fleet, sbin, environment)
    finally:
        for name in fleet.names:
            fleet.kill(name)
            end_server(fleet.place(name))
        fleet.close()
        epmd.terminate()
        epmd.wait()


def end_server(place: Path) -> None:
    """End the server of a node, whose process may have been killed before."""
    for file in place.glob("*.pid"):
        if number := file.read_text().strip():
            # `kill` of procps 4.0.2 reads `-12345` as `-1`, which means every process.
            for end in (os.killpg, os.kill):
                with suppress(ProcessLookupError):
                    end(int(number), signal.SIGKILL)


def refuse_while_stopped(rabbits: Rabbits) -> None:
    """A broker that `pause_minority` has stopped takes no config, though its server runs on.

    `stop_app` stops it in the same way.
    """
    fleet = rabbits.fleet
    fleet.start("a@localhost")
    rabbits.until("a", 0)
    rabbits.ctl("a", "stop_app")

    refused = "refused: the broker does not run"
    fleet.until(
        "the refusal is reported",
        lambda: fleet.apply("a@localhost", config(0, "ab", "a")) == refused,
    )
    rabbits.ctl("a", "start_app")
    fleet.until(
        "the config is accepted",
        lambda: fleet.apply("a@localhost", config(1, "a", "a")) != refused,
        PATIENCE,
    )
    rabbits.until("a", 1)


def follow_configs(rabbits: Rabbits) -> None:
    """A cluster is formed, grows and shrinks, and its nodes come back.

    In the end they have only the gospel's data.
    """
    fleet = rabbits.fleet
    for letter in "bcd":
        fleet.start(f"{letter}@localhost")
    rabbits.until("bcd", 0)
    for letter in "ab":
        rabbits.ctl(letter, "add_vhost", f"of-{letter}")

    assert "beginning transition" == fleet.apply("b@localhost", config(2, "abc", "a"))
    rabbits.until("abc", 2)
    assert set(named("abc")) == rabbits.members("c")[1]
    assert {"of-a"} == rabbits.vhosts("b")

    assert "beginning transition" == fleet.apply("a@localhost", config(3, "abcd", "a"))
    rabbits.until("abcd", 3)
    assert set(named("abcd")) == rabbits.members("d")[1]

    # The gospel changes to c, whose data are a's; a is among the nodes that leave.
    assert "beginning transition" == fleet.apply("d@localhost", config(4, "cd", "c"))
    rabbits.until("cd", 4)
    both = set(named("cd"))
    fleet.until("c and d alone", lambda: (both, both) == rabbits.members("c"), PATIENCE)

    # d is killed with its server, and its data are gone; no operator gives it a config.
    fleet.kill("d@localhost")
    end_server(fleet.place("d@localhost"))
    fleet.reset("d@localhost")
    fleet.start("d@localhost")
    rabbits.until("cd", 4)
    assert both == rabbits.members("d")[1]

    # All nodes stop, and one is killed; they come back with their data.
    fleet.kill("c@localhost")
    end_server(fleet.place("c@localhost"))
    assert 0 == fleet.stop("d@localhost")
    for letter in "cd":
        fleet.start(f"{letter}@localhost")
    rabbits.until("cd", 4)
    assert both == rabbits.members("c")[1]
    assert {"of-a"} == rabbits.vhosts("c") == rabbits.vhosts("d")


def cut_power(rabbits: Rabbits) -> None:
    """c and d go down at one moment, and c's disk lacks the last writes: d starts first.

    Both lists of running nodes are equal.  Otherwise: c starts first because of its name, and d
    gives up the definitions that c lacks.
    """
    fleet = rabbits.fleet
    data = fleet.place("c@localhost") / "data"
    assert (data / "nodes_running_at_shutdown").exists()

    def cut() -> None:
        for letter in "cd":
            fleet.kill(f"{letter}@localhost")
            end_server(fleet.place(f"{letter}@localhost"))

    def back() -> None:
        for letter in "cd":
            fleet.start(f"{letter}@localhost")
        rabbits.until("cd", 4)

    cut()
    shutil.copytree(data, data.with_name("older"))
    back()
    rabbits.ctl("d", "add_vhost", "later")
    time.sleep(LATE_SECONDS)
    cut()
    shutil.rmtree(data)
    data.with_name("older").rename(data)
    back()

    assert {"of-a", "later"} == rabbits.vhosts("c") == rabbits.vhosts("d")
    asked = "application:get_env(mnesia, max_wait_for_decision)."
    assert "{ok,10000}" == rabbits.ctl("d", "eval", asked).strip()


def test_real_nodes_follow_their_configs_alone(rabbits: Rabbits) -> None:
    """The parts share their nodes, because starting a node takes long."""
    refuse_while_stopped(rabbits)
    follow_configs(rabbits)
    cut_power(rabbits)
