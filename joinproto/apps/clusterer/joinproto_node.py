"""The service `joinproto node`: each start writes its configuration, then starts the process.

The electors are the disc nodes of the founding config.  A node that joins later has no vote; it
takes the electors from a node that runs.  A node that is left out is started once more with
`stop = "leave"`, so that the others no longer need its vote.

Source: running, "Changing a cluster".
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, field

from joinproto.apps.clusterer.keeping.electors import ElectorsFile, electors_of
from joinproto.apps.clusterer.service import (
    Booting,
    ServiceFailed,
    ServiceStatus,
    empty,
    spawned,
)
from joinproto.clusterer.messages import Boot
from joinproto.durable.filesystem import REAL, put, reason
from joinproto.errors import EnvironmentProblem, StoreError, StoreWriteFailed
from joinproto.host.process.control import ask_control
from joinproto.net.addresses import Address

log = logging.getLogger("joinproto.clusterer")

LOOK_SECONDS = 0.1
LEAVE_SECONDS = 20.0
SOCKET_SECONDS = 5.0


@define
class JoinprotoNode:
    """`joinproto node` as a service of the Clusterer.

    `members`: the address where each node's member listens.  `timeout`: the most seconds to wait
    until the process answers, and until the process has ended.
    """

    node: str
    data: Path
    listen: Address
    clients: Address
    members: Mapping[str, Address] = field(factory=dict)
    cluster: str = "clusterer"
    timeout: float = 30.0
    _process: subprocess.Popen[bytes] | None = None
    _known: tuple[str, ...] = ()  # the electors on the disk; () if they were not read yet

    @property
    def _file(self) -> Path:
        return self.data.parent / f"{self.data.name}-node.toml"

    @property
    def _kept(self) -> ElectorsFile:
        return ElectorsFile(self.data)

    # -- the port ----------------------------------------------------------------------------

    def boot(self, booting: Booting) -> None:
        says: Mapping[str, str] = next(
            (one for _, one in sorted(booting.running.items()) if "electors" in one), {}
        )
        if booting.how is Boot.JOIN and not says:
            raise ServiceFailed("no running node names electors", next="wait: this node asks again")
        if says:
            self._keep_electors(_names(says["electors"]))
        elif not self._found():
            self._keep_electors(sorted(booting.nodes - booting.ram))
        self._start(leaves=False)

    def stop(self, *, leaves: bool) -> None:
        runs = self._ask_status() is not None
        self._end_process()
        if leaves and runs:
            self._start(leaves=True)
            if not self._until(
                LEAVE_SECONDS, lambda: bool((self._ask_status() or {}).get("serves"))
            ):
                log.warning("the node was not taken in again, so its vote stays in the cluster")
            self._end_process()

    def wipe(self) -> None:
        empty(self.data)
        self._known = ()
        with _store_errors_raised():
            self._kept.remove()

    def status(self) -> ServiceStatus:
        found = self._ask_status()
        if found is None:
            return ServiceStatus(runs=False)
        says = {"electors": json.dumps(self._electors()), "phase": str(found.get("phase"))}
        waiting = found.get("waiting")
        if not found.get("serves") and isinstance(waiting, dict):
            said = (waiting.get("case"), waiting.get("detail"), waiting.get("next"))
            says["waits"] = "; ".join(str(one) for one in said if one)
        return ServiceStatus(runs=True, says=says)

    def forget(self, nodes: frozenset[str]) -> None:
        """Do nothing: a node that leaves tells the others itself."""

    def end(self) -> None:
        """Do nothing: `stop` has already ended the process."""

    # -- its files ---------------------------------------------------------------------------

    def _found(self) -> tuple[str, ...]:
        with _store_errors_raised():
            self._known = self._known or self._kept.load()
        return self._known

    def _electors(self) -> tuple[str, ...]:
        if not self._found():
            raise ServiceFailed(f"{self._kept.path}: is missing", next="restore the file")
        return self._known

    def _keep_electors(self, electors: Sequence[str]) -> None:
        self._known = ()
        with _store_errors_raised():
            self._kept.keep(electors)

    def _write(self, *, leaves: bool) -> None:
        electors = self._electors()
        members = {self.node: self.listen, **self.members}
        lacking = [name for name in electors if name not in members]
        if lacking:
            raise ServiceFailed(
                f"no address of {', '.join(lacking)}", next="write it under service.members"
            )
        quoted = partial(json.dumps, ensure_ascii=False)  # TOML knows no surrogate pairs
        rows = [
            f"member = {quoted(self.node)}",
            f"cluster = {quoted(self.cluster)}",
            f"data = {quoted(str(self.data.resolve()))}",
            f"electors = {quoted(electors)}",
            f"wait_for = {len(electors) // 2 + 1}",
            f"listen = {quoted(str(self.listen))}",
            f"clients = {quoted(str(self.clients))}",
            f"stop = {quoted('leave' if leaves else 'away')}",
            'total_failure = "automatic"',
            "[members]",
            *(f"{quoted(name)} = {quoted(str(where))}" for name, where in sorted(members.items())),
        ]
        with _store_errors_raised():
            put(REAL, self._file, ("\n".join(rows) + "\n").encode())

    # -- its process -------------------------------------------------------------------------

    def _start(self, *, leaves: bool) -> None:
        self._write(leaves=leaves)
        place = self.data.parent / f"{self.data.name}-node.out"
        words = [sys.executable, "-m", "joinproto", "node", "--config", str(self._file)]
        try:
            out = place.open("ab")
        except OSError as error:
            raise ServiceFailed(f"{place}: {reason(error)}", next="check the disk") from error
        with out:
            self._process = process = spawned(words[0], words, out, next="check the machine")
        if self._until(
            self.timeout, lambda: self._ask_status() is not None or process.poll() is not None
        ):
            if process.poll() is None:
                return
            raise ServiceFailed(
                f"joinproto node ended with code {process.returncode}; see {place}",
                next="read that file",
            )
        self._end_process()
        raise ServiceFailed(f"joinproto node does not answer; see {place}", next="read that file")

    def _end_process(self) -> None:
        pid = self._running()
        if pid is None:
            return
        for number, seconds in ((signal.SIGTERM, self.timeout), (signal.SIGKILL, self.timeout)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            if self._until(seconds, lambda: self._running() is None):
                self._process = None
                return
        raise ServiceFailed(
            f"process {pid} does not end", next="end the process, then start the node again"
        )

    def _running(self) -> int | None:
        """Return the id of the process, even if a former run started it; None if none runs."""
        if self._process is not None:
            return self._process.pid if self._process.poll() is None else None
        # A file with the id is not enough: a node that is killed after it starts the process and
        # before it writes the file would never end the process.
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = place.read_bytes().split(b"\0")
                if {b"joinproto", b"node", os.fsencode(self._file)} <= {*words}:
                    return int(place.parent.name)
        return None

    def _ask_status(self) -> dict[str, Any] | None:
        """Return the answer of the process's control socket; None if there is no answer."""
        with suppress(EnvironmentProblem):
            return ask_control(self.data.resolve() / "control.sock", "status", SOCKET_SECONDS)
        return None

    @staticmethod
    def _until(seconds: float, says: Callable[[], bool]) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if says():
                return True
            time.sleep(LOOK_SECONDS)
        return says()


def _names(text: str) -> tuple[str, ...]:
    """Return the electors in another node's facts; raises `ServiceFailed`."""
    try:
        return electors_of(text.encode())
    except ValueError as error:
        raise ServiceFailed(str(error), next="check the nodes that run") from error


@contextmanager
def _store_errors_raised() -> Iterator[None]:
    """Raise a file's error as `ServiceFailed`, so that the boot is tried again."""
    try:
        yield
    except StoreWriteFailed as error:
        raise ServiceFailed(error.message, next="repair the disk; the boot is tried again") from (
            error
        )
    except StoreError as error:
        raise ServiceFailed(error.message, next=error.next) from error
