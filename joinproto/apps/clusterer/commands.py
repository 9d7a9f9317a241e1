"""A service that is managed by the operator's commands: start, stop, wipe, status, and maybe join.

The commands get their input from environment variables: CLUSTERER_NODE, CLUSTERER_DATA, and for
start and join CLUSTERER_HOW (join, found, own, first), CLUSTERER_NODES, CLUSTERER_RAM,
CLUSTERER_RUNNING, CLUSTERER_MEMBERS and CLUSTERER_FORGET, each with names separated by commas.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import field, frozen

from joinproto.apps.clusterer.service import Booting, ServiceFailed, ServiceStatus, spawned
from joinproto.clusterer.messages import Boot
from joinproto.net.refused import one_line

SAID_CHARS_MAX = 300
OUTPUT_BYTES_MAX = 65_536


@frozen(kw_only=True)
class Commands:
    """The commands, each a list of words.

    `status` exits with 0 if the service runs, else with another code.  Its KEY=VALUE lines are
    passed to the other nodes' commands as CLUSTERER_SAYS_KEY_OF_NODE.  PAUSED=yes means that
    another program has stopped the service and will start it again.  If `join` is None, `start` is
    called with CLUSTERER_HOW=join.
    """

    node: str
    data: Path
    start: Sequence[str]
    stop_command: Sequence[str]
    wipe_command: Sequence[str]
    status_command: Sequence[str]
    join: Sequence[str] | None = None
    timeout: float = 60.0
    environment: Mapping[str, str] = field(factory=dict)

    def boot(self, booting: Booting) -> None:
        joins = booting.how is Boot.JOIN and self.join is not None
        words = self.join if joins and self.join is not None else self.start
        told = {
            "HOW": booting.how.value,
            "NODES": _names(booting.nodes),
            "RAM": _names(booting.ram),
            "RUNNING": _names(booting.running),
            "MEMBERS": _names(booting.members),
            "FORGET": _names(booting.forget),
        }
        for name, says in booting.running.items():
            told |= {f"SAYS_{key}_OF_{name}": value for key, value in says.items()}
        self._run("join" if joins else "start", words, told)

    def stop(self, *, leaves: bool) -> None:
        self._run("stop", self.stop_command, {"LEAVES": "yes" if leaves else "no"})

    def wipe(self) -> None:
        self._run("wipe", self.wipe_command, {})

    def status(self) -> ServiceStatus:
        code, out = self._end("status", self.status_command, {})
        says = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
        paused = code == 0 and says.pop("PAUSED", "no") == "yes"
        return ServiceStatus(runs=code == 0, paused=paused, says=says if code == 0 else {})

    def forget(self, nodes: frozenset[str]) -> None:
        """Do nothing: the next start gets the remaining members."""

    def end(self) -> None:
        """Do nothing: no process of the service belongs to this node."""

    def _run(self, what: str, words: Sequence[str], told: Mapping[str, str]) -> None:
        code, out = self._end(what, words, told)
        if code != 0:
            said = one_line(" ".join(out.split()), SAID_CHARS_MAX) or "nothing"
            raise ServiceFailed(
                f"{what} ended with code {code}, and said: {said}", next="repair the service"
            )

    def _end(self, what: str, words: Sequence[str], told: Mapping[str, str]) -> tuple[int, str]:
        own = {"NODE": self.node, "DATA": str(self.data)} | dict(told)
        environment = {**os.environ, **self.environment}
        environment |= {f"CLUSTERER_{key}": value for key, value in own.items()}
        # A file, not a pipe: a service that a command starts may keep the output open forever.
        with tempfile.TemporaryFile() as out:
            process = spawned(f"{what}: {words[0]}", words, out, environment, next="check the path")
            try:
                code = process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise ServiceFailed(
                    f"{what} has not ended after {self.timeout:g} s", next="repair the service"
                ) from None
            out.seek(0)
            return code, out.read(OUTPUT_BYTES_MAX).decode("utf-8", "replace")


def _names(names: object) -> str:
    return ",".join(sorted(names))  # type: ignore[call-overload]
