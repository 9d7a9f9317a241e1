"""RabbitMQ (3.10, 4.0) with Mnesia as the service: a server process, and calls of `rabbitmqctl`.

RabbitMQ's node has the name that configs use (rabbit@hostA); its Mnesia directory is `data`.  A
server that a killed node left running is found by its name, and its broker is stopped.

    found   force_boot, start_app; the former members are forgotten
    join    (after reset) join_cluster, start_app
    own     start_app, while other members run
    first   force_boot, start_app; nodes that no longer count are forgotten.  The first of the nodes
            that went down together has the definitions of all of them (`definitions.py`)

Source: Clusterer, U4 and U5.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import define, field

from joinproto.apps.clusterer import definitions
from joinproto.apps.clusterer.service import (
    Booting,
    ServiceFailed,
    ServiceStatus,
    empty,
    spawned,
)
from joinproto.clusterer.messages import Boot
from joinproto.durable.filesystem import reason
from joinproto.net.refused import one_line

log = logging.getLogger("joinproto.clusterer")

SAID_CHARS_MAX = 400
LOOK_SECONDS = 2.0
PAUSE_SECONDS = 10.0
"""Seconds between two checks for a pause; each check starts an Erlang VM."""
ERL_LAST = "ERL_ZFLAGS"
"""The environment variable whose words Erlang appends to all other arguments."""
DECISION_MS = 10_000
NOT_MEMBER = ("not_a_cluster_node", "not in the cluster", "not a member")


@define
class RabbitMQ:
    """RabbitMQ as a service of the Clusterer.

    `server`, `ctl`: commands with their first words.  `timeout`: the most seconds for each.
    """

    node: str
    data: Path
    server: Sequence[str] = ("rabbitmq-server",)
    ctl: Sequence[str] = ("rabbitmqctl",)
    environment: Mapping[str, str] = field(factory=dict)
    timeout: float = 120.0
    _process: subprocess.Popen[bytes] | None = None
    _paused: bool = False
    _looked: float = 0.0

    # -- the port ----------------------------------------------------------------------------

    def boot(self, booting: Booting) -> None:
        self._boot(booting)
        self._paused, self._looked = False, time.monotonic()

    def _boot(self, booting: Booting) -> None:
        how, others = booting.how, booting.members - {self.node}
        if how is Boot.JOIN:
            self._join(min(booting.running), ram=self.node in booting.ram)
            return
        if how is not Boot.OWN and others:
            self._ctl("force_boot")
        self._start(decides=how is Boot.FIRST)
        if how is not Boot.OWN:
            for name in sorted(others if how is Boot.FOUND else booting.forget & others):
                self._forget(name)
            definitions.choice_file(self.data).unlink(missing_ok=True)

    def _join(self, to: str, *, ram: bool) -> None:
        with suppress(ServiceFailed):  # `to` knows this node only if it missed this node's reset
            self._ctl("forget_cluster_node", self.node, at=to)
        if not self._is_up():
            self._start()  # the server cannot be started without its broker
            self._ctl("stop_app")
        self._ctl("join_cluster", *(["--ram"] if ram else []), to)
        self._ctl("start_app")

    def stop(self, *, leaves: bool) -> None:
        if self._is_up():
            self._ctl("stop_app")

    def wipe(self) -> None:
        if not self._is_up():
            empty(self.data)
            return
        try:
            self._ctl("reset")
        except ServiceFailed as error:
            log.info("reset failed, so it is forced, without asking the others: %s", error.message)
            self._ctl("force_reset")

    def holds(self) -> Mapping[str, str]:
        return definitions.tables_of(self.data)

    def look(self, others: Mapping[str, Mapping[str, str] | None]) -> None:
        definitions.require_first(self.node, self.data, others)

    def status(self) -> ServiceStatus:
        # A server that a killed node left running is no child process of this node.
        process = self._process
        runs = self._is_up() if process is None else process.poll() is None
        return ServiceStatus(runs=runs, paused=runs and self._is_paused())

    def _is_paused(self) -> bool:
        """Return whether the server runs without its broker, which partition handling may stop."""
        if time.monotonic() - self._looked >= PAUSE_SECONDS:
            self._looked = time.monotonic()
            with suppress(ServiceFailed):  # after a failure the last answer counts
                self._paused = self._ctl("eval", "rabbit:is_running().").strip() == "false"
        return self._paused

    def forget(self, nodes: frozenset[str]) -> None:
        for name in sorted(nodes):
            self._forget(name)

    def end(self) -> None:
        if self._is_up():
            self._ctl("stop")
        elif self._process is not None:
            self._process.terminate()  # the server does not answer yet
        if self._process is not None:
            try:
                self._process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    # -- the server and its tool -------------------------------------------------------------

    def _forget(self, name: str) -> None:
        try:
            self._ctl("forget_cluster_node", name)
        except ServiceFailed as error:
            if not any(said in error.message for said in NOT_MEMBER):
                raise

    def _is_up(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            self._process = None
        try:
            self._ctl("ping")
        except ServiceFailed:
            return False
        return True

    def _start(self, *, decides: bool = False) -> None:
        """Start the broker in the running server or in a new one; return when the broker runs.

        `decides`: end transactions that were under way without asking the other nodes.
        """
        if self._is_up():
            self._ctl("start_app")
            return
        self.data.parent.mkdir(parents=True, exist_ok=True)
        place = self.data.parent / f"{self.data.name}-server.out"
        with place.open("ab") as out:
            environment = self._environment() | (self._decides_alone() if decides else {})
            self._process = process = spawned(
                self.server[0], self.server, out, environment, next="check service.server"
            )
        end = time.monotonic() + self.timeout
        while time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
            if process.poll() is not None:
                raise ServiceFailed(
                    f"{self.server[0]} ended with code {process.returncode}; see {place}",
                    next="repair the server",
                )
            with suppress(ServiceFailed):
                self._ctl("await_startup")
                return
        raise ServiceFailed(
            f"{self.server[0]}: not started after {self.timeout:g} s; see {place}",
            next="repair the server",
        )

    def _decides_alone(self) -> dict[str, str]:
        """Return settings for the start of a first node that was killed within a transaction.

        Otherwise Mnesia asks the other nodes forever how the transaction ended, even with
        `force_boot`, while they wait for this node.  With these settings Mnesia gives it up.
        """
        former = self.environment.get(ERL_LAST, os.environ.get(ERL_LAST, ""))
        return {ERL_LAST: f"{former} -mnesia max_wait_for_decision {DECISION_MS}".strip()}

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "RABBITMQ_LOG_BASE": str(self.data.parent / f"{self.data.name}-log"),
            "RABBITMQ_PID_FILE": str(self.data.parent / f"{self.data.name}.pid"),
            **self.environment,
            "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_MNESIA_BASE": str(self.data.parent),
            "RABBITMQ_MNESIA_DIR": str(self.data),
        }

    def _ctl(self, *words: str, at: str | None = None) -> str:
        line = [*self.ctl, "--node", at or self.node, "--quiet", *words]
        try:
            done = subprocess.run(
                line,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ServiceFailed(
                f"{words[0]}: not ended after {self.timeout:g} s", next="repair the server"
            ) from None
        except OSError as error:
            raise ServiceFailed(f"{self.ctl[0]}: {reason(error)}", next="check service.ctl") from (
                error
            )
        if done.returncode != 0:
            said = one_line(" ".join((done.stderr or done.stdout).split()), SAID_CHARS_MAX)
            raise ServiceFailed(
                f"{words[0]}: exit code {done.returncode}: {said}", next="repair the server"
            )
        return done.stdout
