"""MariaDB nodes with Galera for histories: start them from copies, signal them, write to them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import SystemRandom

from attrs import define, field, frozen

from joinproto.errors import EnvironmentProblem
from tools.fixtures.galera import PROVIDER, RECOVERED, Cluster
from tools.fixtures.servers import Servers, require, run, wait_until

NODES = ("db1", "db2", "db3", "db4", "db5")
PATIENCE_SECONDS = 60.0
ROWS_MAX = 20_000
MARK = re.compile(rb"safe_to_bootstrap: \d")

# MariaDB 11.8 has a variable for each option of Galera except gmcast.isolate, and while it has
# them, no option can be set by its name.
SERVER_OPTIONS = ("--loose-plugin-wsrep-provider=OFF",)

# Galera waits 5 and 15 seconds for a silent node; a history has less time.
PROVIDER_OPTIONS = (
    "evs.keepalive_period=PT0.5S",
    "evs.inactive_check_period=PT0.5S",
    "evs.suspect_timeout=PT3S",
    "evs.inactive_timeout=PT6S",
    "evs.install_timeout=PT6S",
)


@frozen
class Nodes(Cluster):
    """Nodes of a history, and the actions on them."""

    def launched(self, *nodes: str) -> list[str]:
        """Start nodes at once and return those that serve; the others have ended."""
        started = [node for node in nodes if self.as_debian(node)]
        return [node for node in started if self.joins(node)]

    def as_debian(self, node: str, *, found: bool = False) -> bool:
        """Start a node as Debian's service does; return whether its position could be read.

        After a crash the service reads the position from the data and gives it to the server.
        Without the position, the server founds a new history, or asks for a full copy.
        """
        state = self.data(node) / "grastate.dat"
        position = ""
        if not state.exists() or re.search(rb"seqno: +-1", state.read_bytes()):
            try:
                log = self.recovered(node, self.data(node))
            except EnvironmentProblem:
                return False
            *_, position = "", *RECOVERED.findall(log)
        self.launch(node, found=found, position=position)
        return True

    def joins(self, node: str) -> bool:
        """Return whether a started node comes to serve; end a node that does not."""
        served = False

        def settled() -> bool:
            nonlocal served
            served = self.status(node, "local_state_comment") == "Synced"
            return served or not self.servers.runs(node)

        try:
            wait_until(f"{node} is synced", settled, seconds=PATIENCE_SECONDS)
        except EnvironmentProblem:
            served = False
        if not served:
            self.servers.kill(node)
        return served

    def founds(self, node: str) -> bool:
        """Mark a node as safe, and start it with --wsrep-new-cluster; return whether it serves."""
        state = self.data(node) / "grastate.dat"
        if state.exists():
            state.write_bytes(MARK.sub(b"safe_to_bootstrap: 1", state.read_bytes()))
        return self.as_debian(node, found=True) and self.joins(node)

    def signal(self, number: int, *nodes: str) -> None:
        """Send a signal to nodes and to all processes that they started."""
        for node in nodes:
            os.killpg(self.servers.running[node].pid, number)

    def stop(self, node: str) -> None:
        """Stop a node in order, by a signal: if it is not primary, it accepts no statement."""
        self.servers.running[node].terminate()
        self.servers.wait(node, seconds=PATIENCE_SECONDS)

    def set_provider(self, node: str, option: str) -> None:
        """Set an option of Galera in a running node."""
        self.ask(node, f"SET GLOBAL wsrep_provider_options='{option}'")

    def bootstrap(self, node: str) -> None:
        """Make a node's component primary by hand; Galera refuses until the component settles."""

        def done() -> bool:
            try:
                self.set_provider(node, "pc.bootstrap=YES")
            except EnvironmentProblem:
                return False
            return True

        wait_until(f"pc.bootstrap of {node}", done, seconds=PATIENCE_SECONDS)

    @property
    def fresh(self) -> Path:
        """Return a directory that mariadb-install-db has made and no server has used."""
        data = self.root / "fresh"
        if not data.exists():
            self.install_at(data)
        return data

    def make(self, data: Path) -> None:
        """Make an empty directory, for the servers' user."""
        run(["mkdir", str(data)], user=self.user)

    def remove(self, data: Path) -> None:
        shutil.rmtree(data)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def rows(self, node: str) -> frozenset[str]:
        """Return the rows that a node shows to clients."""
        return frozenset(self.ask(node, "SET wsrep_on=OFF; SELECT k FROM d.t").split())

    def go_on(self, *nodes: str) -> None:
        """Wait until these nodes serve in a group of exactly them."""
        for node in nodes:
            wait_until(
                f"{node} in a group of {len(nodes)}",
                lambda node=node: (  # type: ignore[misc]
                    self.status(node, "cluster_status") == "Primary"
                    and self.status(node, "cluster_size") == str(len(nodes))
                    and self.is_synced(node)
                ),
                seconds=PATIENCE_SECONDS,
            )

    def hold_still(self, *nodes: str) -> None:
        """Wait until each of these nodes knows that it is not in a primary component."""
        for node in nodes:
            wait_until(
                f"{node} is not primary",
                lambda node=node: self.status(node, "cluster_status") == "non-Primary",  # type: ignore[misc]
                seconds=PATIENCE_SECONDS,
            )


@define
class Clients:
    """Clients, each of which inserts rows over one connection, as fast as possible."""

    cluster: Nodes
    next_row: int = 1
    acknowledged: set[str] = field(factory=set)
    _running: Servers = field(factory=Servers)

    def insert_few(self, node: str, count: int) -> int:
        """Insert rows at a node, one command each, up to the first error.

        Returns the number of acknowledged rows.
        """
        before = len(self.acknowledged)
        for _ in range(count):
            row, self.next_row = self.next_row, self.next_row + 1
            try:
                self.cluster.ask(node, f"INSERT INTO d.t VALUES ({row})")
            except EnvironmentProblem:
                break
            self.acknowledged.add(str(row))
        return len(self.acknowledged) - before

    def start(self, *nodes: str) -> None:
        """Start a client at each of these nodes."""
        for node in nodes:
            first, self.next_row = self.next_row, self.next_row + ROWS_MAX
            statements = self.cluster.root / f"{node}.sql"
            # A row's number is printed once its insertion was acknowledged.  A client that reads
            # its standard input ends at the first error; with `source` it would go on, and a node
            # that no longer serves still answers SELECT 1.
            statements.write_text(
                "".join(
                    f"INSERT INTO d.t VALUES ({row}); SELECT {row};\n"
                    for row in range(first, self.next_row)
                ),
                "utf-8",
            )
            self.answers(node).unlink(missing_ok=True)
            client = [require("mariadb", "mariadb-client"), "--no-defaults", "--batch"]
            client += [
                "--unbuffered",
                "--skip-column-names",
                f"--socket={self.cluster.root / node}.sock",
            ]
            self._running.start(
                node,
                client,
                output=self.answers(node),
                env=self.cluster.environment(),
                stdin=statements,
            )

    def end(self) -> int:
        """End the clients; return the number of rows acknowledged to them."""
        nodes = [*self._running.running]
        self._running.kill(*nodes)
        lines = [
            line
            for node in nodes
            for line in self.answers(node).read_text("utf-8").split("\n")[:-1]
        ]
        rows = {line for line in lines if line.isdecimal()}
        self.acknowledged |= rows
        return len(rows)

    def answers(self, node: str) -> Path:
        """Return the file of a node's answers to its client."""
        return self.cluster.root / f"{node}.answers"


def free_ports(count: int, held: ExitStack) -> int:
    """Return the first of `count` free ports; the port after them is bound while `held` is open."""
    for _ in range(200):
        first = SystemRandom().randrange(20_000, 32_000 - count)
        with ExitStack() as tried:
            try:
                for port in range(first, first + count):
                    tried.enter_context(_bound(port))
                held.enter_context(_bound(first + count))
            except OSError:
                continue
            return first
    raise EnvironmentProblem(f"no {count} free ports in a row")


def _bound(port: int) -> socket.socket:
    bound = socket.socket()
    try:
        bound.bind(("127.0.0.1", port))
    except OSError:
        bound.close()
        raise
    return bound


@contextmanager
def nodes_in(root: Path, count: int, *more: str) -> Iterator[Nodes]:
    """Yield nodes below `root` that were never started; they end with the context."""
    require(PROVIDER, "galera-4")
    require("rsync", "rsync")
    user = "mysql" if os.geteuid() == 0 else None  # the server and rsync should not run as root
    root.mkdir(parents=True, exist_ok=True)
    if user:
        shutil.chown(root, user)
    with ExitStack() as held, Servers() as servers:
        ports = free_ports(10 * count, held)
        yield Nodes(
            *(root, servers, user, NODES[:count], ports),
            (*SERVER_OPTIONS, *more),
            PROVIDER_OPTIONS,
        )


def interrupted(nodes: Nodes, node: str, *, after_seconds: float) -> str:
    """Start a node without a position, and kill it, perhaps while it gets a copy of the state.

    Returns the text of its `grastate.dat`.  `after_seconds`: the time from the beginning of the
    transfer to the kill.
    """
    nodes.launch(node)
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end and nodes.servers.runs(node):
        if (nodes.data(node) / "sst_in_progress").exists():
            time.sleep(after_seconds)
            break
        time.sleep(0.02)
    nodes.servers.kill(node)
    return (nodes.data(node) / "grastate.dat").read_text("utf-8", "replace")


FREEZE, THAW = signal.SIGSTOP, signal.SIGCONT
