"""Nodes as processes that are started, stopped and killed, in a network that can be cut."""

from __future__ import annotations

import json
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from joinproto.errors import EnvironmentProblem, JoinprotoError
from joinproto.host.process.control import ask_control
from joinproto.net.addresses import Address
from tools.faults.network import Network, Proxies
from tools.faults.ports import free_ports
from tools.faults.register import Register, member

ROOT = Path(__file__).resolve().parents[2]
STEP = 0.02
CLOCK = "clock"
SECRET = "secret"
PATIENCE = 120.0
"""Seconds after which a wait fails; on a busy machine a start takes ten."""


@define
class Node:
    """One node: its files, and its present process.

    `port`, `clients`: its ports for members and for clients.  `network`: the network in which it
    runs.  `mutant`: a rule that its process does not keep.
    """

    name: str
    top: Path
    port: int
    clients: Address
    network: Network
    mutant: str | None = None
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0

    @property
    def config(self) -> Path:
        return self.top / f"{self.name}.toml"

    @property
    def data(self) -> Path:
        return self.top / self.name

    @property
    def control(self) -> Path:
        return self.top / f"{self.name}.sock"

    @property
    def log(self) -> Path:
        """Return the file for the output of all its runs."""
        return self.top / f"{self.name}.log"

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def _program(self) -> tuple[str, ...]:
        if self.mutant is None:
            return ("joinproto", "node")
        return ("tools.faults.node", "--mutant", self.mutant)

    def start(self) -> None:
        """Start a process; its output is appended to `log`."""
        self.starts += 1
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *self.network.enter(self.name),
                    *(sys.executable, "-m", *self._program, "--config", str(self.config)),
                ],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def fill_disk(self, file_bytes: int = 0) -> None:
        """Limit the size of the files that the process writes, as if the disk were full."""
        if self.process is not None and self.process.poll() is None:
            resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    def set_clock(self, seconds: float) -> None:
        """Set the offset of the clock of a node whose `clock_offset` is `CLOCK`."""
        path = self.data / CLOCK
        new = path.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(path)

    @property
    def has_ended(self) -> bool:
        """Whether a process was started, and no longer runs."""
        return self.process is not None and self.process.poll() is not None

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        """Kill the process, and wait for its end."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait until the process has ended, and return its exit code."""
        assert self.process is not None
        return self.process.wait(seconds)

    def status(self) -> dict[str, Any]:
        try:
            return ask_control(self.control, "status")
        except EnvironmentProblem:
            return {}

    def shutdown_cluster(self) -> None:
        ask_control(self.control, "shutdown")

    def said(self) -> str:
        """Return the output of all its runs."""
        return self.log.read_text("utf-8", "replace") if self.log.exists() else ""


@define
class Fleet:
    """The nodes of one cluster, and the network between them."""

    top: Path
    network: Network
    nodes: dict[str, Node] = field(factory=dict)
    register: Register | None = None

    @classmethod
    def make(
        cls,
        top: Path,
        names: Iterable[str],
        *,
        electors: Iterable[str] | None = None,
        leaves: Iterable[str] = (),
        tables: str = "",
        register: Register | None = None,
        network: Callable[[Mapping[str, int]], Network] | None = None,
        **settings: Any,
    ) -> Fleet:
        """Write the configurations of nodes, and return them with their network.

        `leaves`: nodes that leave the cluster when they are stopped; the others stay members.
        `tables`: TOML for the end of each file.  `register`: keeps the view chain, and names the
        nodes; None if the electors are configured.  `network`: makes the network from the members'
        ports; None means proxies.
        """
        names = list(names)
        voters = list(names if electors is None else electors)
        free = free_ports(2 * len(names))
        ports = dict(zip(names, free, strict=False))
        between = Proxies(ports, voters) if network is None else network(ports)
        fleet = cls(top, between, register=register)
        if between.is_open:
            (top / SECRET).touch(mode=0o600)
            (top / SECRET).write_text(secrets.token_hex(32))
        for name, port in zip(names, free[len(names) :], strict=True):
            clients = Address(between.host(name), port)
            fleet.nodes[name] = Node(name, top, ports[name], clients, between)
        for node in fleet.nodes.values():
            stop = {"stop": "leave"} if node.name in leaves else {}
            fleet._write_config(node, voters, tables, {**settings, **stop})
        return fleet

    def _write_config(
        self, node: Node, voters: list[str], tables: str, settings: dict[str, Any]
    ) -> None:
        has_register = self.register is not None
        values: dict[str, Any] = {
            "member": self.member(node.name),
            "cluster": "cluster",
            "data": node.name,
            "electors": None if has_register else voters,
            # With a register, a single remaining member continues alone.
            "wait_for": 1 if has_register else len(voters) // 2 + 1,
            "listen": str(Address(self.network.host(node.name), node.port)),
            "clients": str(node.clients),
            "control": node.control.name,
            "events": "events",
            "events_full": "end",  # `judge` needs complete logs
        } | settings
        # Texts and numbers in JSON, and lists of them, are also valid TOML.
        given = {name: value for name, value in values.items() if value is not None}
        lines = [f"{name} = {json.dumps(value)}" for name, value in given.items()]
        lines += ["[members]"]
        for other in self.nodes:
            lines.append(f'"{self.member(other)}" = "{self.network.address(node.name, other)}"')
        if self.network.is_open:
            lines += ["[security]", f'secret_file = "{SECRET}"', 'insecure = ["clients"]']
        own = "" if self.register is None else self.register.tables(node.name)
        node.config.write_text("\n".join([*lines, tables, own, ""]))

    def member(self, name: str) -> str:
        """Return the name under which a node is a member."""
        return name if self.register is None else member(name)

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def start(self, names: Iterable[str] | None = None) -> None:
        for name in self.nodes if names is None else names:
            self.nodes[name].start()

    def close(self) -> None:
        """End all processes, and remove the network."""
        try:
            for node in self.nodes.values():
                node.signal(signal.SIGCONT)
                if node.process is not None:
                    node.kill()
        finally:
            self.network.close()
            if self.register is not None:
                self.register.close()

    # -- waiting -------------------------------------------------------------------------------

    def wait_active(
        self,
        names: Iterable[str] | None = None,
        seconds: float = PATIENCE,
        *,
        gone: Iterable[str] = (),
    ) -> None:
        """Wait until these nodes serve clients in one view; raises an error with their output.

        The view must have no node whose process has ended, and none of `gone`, which hang or are
        cut off: until the other nodes notice that, they serve in the former view.
        """
        wanted = list(self.nodes if names is None else names)

        def serve() -> bool:
            found = [self.nodes[name].status() for name in wanted]
            if not all(one.get("serves") for one in found):
                return False
            away = {*gone, *(name for name, node in self.nodes.items() if node.has_ended)}
            members = {member for one in found for member in one["view"]["members"]}
            is_without = members.isdisjoint(map(self.member, away))
            return is_without and len({one["view"]["id"] for one in found}) == 1

        until(serve, seconds, lambda: f"{wanted} are not active:\n{self.said()}")

    def said(self, lines: int = 25) -> str:
        """Return the last lines of each node's output."""
        parts = [
            f"-- {name}\n" + "\n".join(node.said().splitlines()[-lines:])
            for name, node in self.nodes.items()
        ]
        return "\n".join(parts)


def until(
    holds: Callable[[], bool],
    seconds: float = PATIENCE,
    why: Callable[[], str] = lambda: "not done",
) -> float:
    """Wait until `holds` returns True; return the seconds it took.  Raises `JoinprotoError`."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:
            raise JoinprotoError(
                f"after {seconds:g} s: {why()}", next="look at the nodes' logs", code=1
            )
        time.sleep(STEP)
    return time.monotonic() - began
