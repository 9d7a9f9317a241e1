"""`joinproto node` under the Clusterer: configs form, grow, shrink, reset and restore a cluster.

All processes, kill -9, and the frames that clients write and read are real.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import define, field

from joinproto.clusterer.config import Config
from tests.cli.running import run_here
from tools.faults.clusterer import Fleet
from tools.faults.ports import free_ports

pytestmark = pytest.mark.soak("nodes")

PATIENCE = 60.0


def config(version: int, nodes: str, gospel: str | None) -> Config:
    return Config(version, frozenset(nodes), gospel=gospel, shutdown_timeout=600)


@define
class Logs:
    """The replicated log behind the nodes, as clients see it."""

    fleet: Fleet = field(init=False)
    room: Path
    clients: dict[str, int] = field(init=False)
    members: dict[str, int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        names = tuple("abcd")
        ports = free_ports(2 * len(names))
        self.clients = dict(zip(names, ports[: len(names)], strict=True))
        self.members = dict(zip(names, ports[len(names) :], strict=True))
        self.fleet = Fleet(self.room, names, service=self.service)

    def service(self, name: str) -> str:
        places = {one: f"127.0.0.1:{port}" for one, port in self.members.items()}
        rows = "".join(f"{one} = {json.dumps(where)}\n" for one, where in places.items())
        return (
            f'[service]\nkind = "joinproto"\nlisten = "{places[name]}"\n'
            f'clients = "127.0.0.1:{self.clients[name]}"\n[service.members]\n{rows}'
        )

    def answer(self, name: str, line: str) -> list[str]:
        """Return the lines of an answer; ask again until the node serves."""
        end = time.monotonic() + PATIENCE
        said = ["nothing"]
        while time.monotonic() < end:
            try:
                with socket.create_connection(("127.0.0.1", self.clients[name]), 5) as link:
                    link.settimeout(5)
                    link.sendall(f"{line}\nquit\n".encode())
                    with link.makefile("r") as lines:
                        said = lines.read().splitlines()
            except OSError as error:
                said = [str(error)]
            if said and not said[0].startswith("no ") and said[-1].split(" ")[0] in ("ok", "end"):
                return said
            time.sleep(0.2)
        raise AssertionError(f"{name} to {line!r}: {said}\n{self.fleet.statuses()}")

    def read(self, name: str) -> list[str]:
        """Return the log's lines, as this node reads them."""
        return [line.partition(" ")[2] for line in self.answer(name, "read")[:-1]]


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    found = Logs(tmp_path)
    try:
        yield found
    finally:
        for name in found.fleet.names:
            found.fleet.stop(name)
        found.fleet.close()


def test_a_reset_elector_of_two_and_the_other_elector_say_that_they_wait(
    logs: Logs, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one has forgotten its votes, and the other is no majority, so an operator must decide."""
    fleet = logs.fleet
    for name in "ab":
        fleet.start(name, config(1, "ab", "a") if name == "a" else None)
    fleet.until_ready("ab", 1)
    logs.answer("a", "append one")
    fleet.reset("b")
    fleet.start("b")

    fleet.until("both wait", lambda: all("waits" in says(fleet, name) for name in "ab"))
    said = run_here(capsys, "clusterer", "status", "--to", str(fleet.ports["b"])).out
    assert "service waits: " in said
    said = run_here(capsys, "clusterer", "status", "--to", str(fleet.ports["a"])).out
    assert "no vote from b with store " in said


def says(fleet: Fleet, name: str) -> dict[str, str]:
    """Return the service's own facts on a node."""
    found: dict[str, str] = ((fleet.status(name) or {}).get("service") or {}).get("says", {})
    return found


def test_members_form_and_change_a_cluster_by_configs_alone(logs: Logs) -> None:
    """The clients' writes can be read after each change."""
    fleet = logs.fleet
    for name in "abc":
        fleet.start(name, config(1, "abc", "a") if name == "a" else None)
    fleet.until_ready("abc", 1)
    logs.answer("b", "append one")

    fleet.start("d")
    fleet.until_ready("d", 0)
    assert "beginning transition" == fleet.apply("c", config(2, "abcd", "a"))
    fleet.until_ready("abcd", 2)
    logs.answer("d", "append two")
    assert ["one", "two"] == logs.read("a")

    # The config stays the same: c comes back blank, and takes all data over again.
    fleet.stop("c")
    fleet.reset("c")
    fleet.start("c")
    fleet.until_ready("c", 2)
    assert ["one", "two"] == logs.read("c")

    assert "beginning transition" == fleet.apply("a", config(3, "ab", "a"))
    fleet.until_ready("ab", 3)
    fleet.until("c is out", lambda: (fleet.status("c") or {}).get("status") == "pending")
    logs.answer("a", "append three")
    assert ["one", "two", "three"] == logs.read("b")

    for name in "ab":
        assert 0 == fleet.stop(name)
    for name in "ba":
        fleet.start(name)
    fleet.until_ready("ab", 3)
    assert ["one", "two", "three"] == logs.read("a") == logs.read("b")
