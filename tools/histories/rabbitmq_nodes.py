"""Three RabbitMQ nodes of a history: functions that start, stop, cut off and ask them.

The nodes of one root share a cookie.  Nodes of different roots have different cookies, so they do
not connect, and each one can be started alone while the others run, too.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from attrs import field, frozen

from joinproto.errors import EnvironmentProblem
from tools.faults.ports import free_ports
from tools.fixtures.rabbitmq import NODES, PROGRAMS, Cluster
from tools.fixtures.servers import Servers, require, wait_until
from tools.histories.control import Control

# One scheduler for each node, which sleeps when it has nothing to do.
FLAGS = "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none"
# `CONFIGURATION` ends a start that waits for others after 25 s.
# A node that was killed between the two phases of a commit asks the others for the transaction's
# outcome before it loads anything, even after force_boot (`mnesia_recover`, `wait_for_decision`).
# A node that is started alone gets no answer, and aborts the transaction after this time.
DECIDES_ALONE = "-mnesia max_wait_for_decision 1000"
CONFIGURATION = """\
log.console = false
mnesia_table_loading_retry_timeout = 5000
mnesia_table_loading_retry_limit = 5
"""
FORCE = "force_load"
MIRRORED = '{"ha-mode":"all"}'


def full(node: str) -> str:
    """Return RabbitMQ's name of a node."""
    return f"{node}@localhost"


def copy(directory: Path, place: Path) -> None:
    """Copy a data directory, and the list of feature flags next to it."""
    shutil.copytree(directory, place)
    with suppress(FileNotFoundError):
        shutil.copy2(_flags(directory), _flags(place))


def remove(directory: Path) -> None:
    """Remove a data directory, and the list of feature flags next to it."""
    shutil.rmtree(directory, ignore_errors=True)
    _flags(directory).unlink(missing_ok=True)


def _flags(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}-feature_flags")


@frozen
class Nodes(Cluster):
    """The nodes below `root`.  `alone`: each node is started without the others."""

    control: Control = field(kw_only=True)
    alone: bool = False

    @property
    def cookie(self) -> str:
        return "root_" + "".join(filter(str.isalnum, "_".join(self.root.parts[-2:]))).lower()

    def environment(self, node: str) -> Mapping[str, str]:
        return {
            **super().environment(node),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"{FLAGS} {DECIDES_ALONE * self.alone}",
            # Without the ending, the file is not found.
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.root / "advanced.config"),
            "RABBITMQ_PID_FILE": str(self.root / node / "pid"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(self.root / node / "generated"),
        }

    def prepare(self, directories: Mapping[str, Path] | None = None) -> None:
        """Write the nodes' configuration, and copy their data directories to their places."""
        self.root.mkdir(parents=True)
        cookie = self.root / ".erlang.cookie"
        cookie.write_text(self.cookie, "utf-8")
        cookie.chmod(0o400)
        (self.root / "enabled_plugins").write_text("[].\n", "utf-8")
        (self.root / "rabbitmq.conf").write_text(CONFIGURATION, "utf-8")
        for name, directory in (directories or {}).items():
            copy(directory, self.directories()[name])

    def directory(self, node: str) -> Path:
        return self.directories()[full(node)]

    def ask(self, node: str, text: str, *, seconds: float = 20.0) -> str:
        """Return the value of an Erlang expression on a node."""
        return self.control.ask(full(node), self.cookie, text, seconds=seconds)

    def is_up(self, node: str) -> bool:
        try:
            return self.ask(node, "rabbit_boot_state:get().", seconds=5) == "ready"
        except EnvironmentProblem:
            return False

    def come_up(self, *nodes: str, seconds: float = 40.0) -> bool:
        """Wait until these nodes serve or have ended; return whether all serve."""
        rest = set(nodes)

        def settled() -> bool:
            rest.difference_update([node for node in rest if self.is_up(node)])
            return not any(self.servers.runs(node) for node in rest)

        try:
            wait_until("nodes are up or ended", settled, seconds=seconds)
        except EnvironmentProblem:
            return False
        return not rest

    def stop(self, node: str) -> None:
        """Stop a node in order, like `rabbitmqctl stop`."""
        self.ask(node, "spawn(rabbit, stop_and_halt, []).")
        self.servers.wait(node, seconds=60)

    def exchanges(self, node: str) -> frozenset[str]:
        """Return the names of the clients' exchanges that a node has."""
        names = "lists:sort([N || {resource, _, exchange, N} <- rabbit_exchange:list_names()])"
        listed = self.ask(node, f'lists:flatten(lists:join(<<" ">>, {names})).')
        return frozenset(word for word in _words(listed) if word.startswith("x-"))

    def publish(self, node: str, count: int) -> Mapping[str, int]:
        """Publish messages to each queue at a node; return how many each queue confirmed."""
        port = self.port(node)
        return {
            queue: self.control.publish(port, kind, queue, count)
            for queue, kind in queues().items()
        }

    def messages(self, node: str, *, seconds: float = 30.0) -> Mapping[str, int]:
        """Return the number of messages in each queue by a node's count; 0 without an answer."""
        found = dict.fromkeys(queues(), 0)

        def answers() -> bool:
            for queue in found:
                name = f'rabbit_misc:r(<<"/">>, queue, <<"{queue}">>)'
                stat = "fun(Q) -> element(2, rabbit_amqqueue:stat(Q)) end"
                with suppress(EnvironmentProblem, ValueError):
                    found[queue] = int(self.ask(node, f"rabbit_amqqueue:with({name}, {stat})."))
            return all(found.values())

        with suppress(EnvironmentProblem):
            wait_until("the queues have a leader", answers, seconds=seconds)
        return found

    def has_khepri(self, node: str) -> bool:
        """Return whether a node has its metadata in Khepri."""
        if release() < (3, 13):
            return False
        return self.ask(node, "rabbit_khepri:is_enabled().") == "true"

    def force(self, node: str) -> None:
        """Act like `rabbitmqctl force_boot`: the node's next start waits for no other node."""
        (self.directory(node) / FORCE).touch()

    def part(self, lone: str, *others: str) -> None:
        for other in others:
            for node, peer in ((lone, other), (other, lone)):
                self.ask(node, f"erlang:set_cookie('{full(peer)}', only_{node}).")
        self.ask(lone, "[erlang:disconnect_node(N) || N <- nodes()].")

    def mend(self, running: Collection[str]) -> None:
        """Reconnect all nodes."""
        for node in running:
            for peer in NODES:
                if peer != node:
                    self.ask(node, f"erlang:set_cookie('{full(peer)}', {self.cookie}).")

    def at(self, root: Path, *, alone: bool = False) -> Nodes:
        """Return nodes of another root, with the same ports and another cookie."""
        return Nodes(root, self.servers, self.ports_from, control=self.control, alone=alone)


def _words(listed: str) -> list[str]:
    return listed.replace('<<"', " ").replace('">>', " ").replace(",", " ").split()


@cache
def _ports_from() -> int:
    """Return the second of seven adjacent free ports; the first is for epmd."""
    row = free_ports(7)
    while row[-1] - row[0] != 6:
        row = [*row[1:], *free_ports(1)]
    return row[1]


def _plugins() -> Path:
    """Return the folder of RabbitMQ's own Erlang applications."""
    found = sorted(Path(PROGRAMS).parent.glob("lib/rabbitmq_server-*/plugins"))
    if not found:
        raise EnvironmentProblem(f"no plugins folder below {Path(PROGRAMS).parent}/lib")
    return found[-1]


@cache
def release() -> tuple[int, ...]:
    """Return the installed release of RabbitMQ, such as (4, 0, 5)."""
    return tuple(map(int, re.findall(r"\d+", _plugins().parent.name)))


def queues() -> Mapping[str, str]:
    """Return the x-queue-type of each queue to which clients publish."""
    mirrored = {"mirrored": "classic"} if release() < (4,) else {}
    return {**mirrored, "quorum": "quorum"}


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def nodes(root: Path) -> Iterator[Nodes]:
    """Yield nodes that were never started; they and our epmd end with the context."""
    require(f"{PROGRAMS}/rabbitmq-server", "rabbitmq-server")
    first = _ports_from()
    path = {"PATH": os.environ["PATH"], "ERL_EPMD_ADDRESS": "127.0.0.1", "HOME": str(root.parent)}
    with Servers() as servers:
        servers.start(
            "epmd",
            [require("epmd", "erlang-base"), "-port", str(first - 1)],
            output=root.parent / "epmd.out",
            env=path,
        )
        # A node that finds no epmd would start one, which is never ended.
        wait_until("epmd listens", lambda: _listens(first - 1))
        with Control({**path, "ERL_EPMD_PORT": str(first - 1)}, _plugins()) as control:
            yield Nodes(root, servers, first, control=control)
