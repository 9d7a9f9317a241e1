"""One boot: blank nodes start at the same time, and the clusters that they form are counted.

Two nodes are in one cluster if they have the same initial signature.  While the server fails, each
node that does not serve must report why it waits.  When the server works, all must serve in one
view.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import secrets
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from joinproto.errors import EnvironmentProblem
from joinproto.host.process.control import ask_control
from tools.boots.places import BootSettings, Place
from tools.boots.running import run
from tools.boots.spaces import Spaces
from tools.faults.nodes import SECRET
from tools.faults.ports import free_ports

SERVES_SECONDS = 180.0
QUIET_SECONDS = 10.0
"""Seconds for which a node that has found the others may wait without a reason."""
ASK_SECONDS = 0.1
PRELOAD = ["joinproto.apps.node.process", "joinproto.apps.node.discovering", "tools.boots.running"]
TIMING = "patience = 0.4\nheartbeat = 0.25\nsilence = 2.0"

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(PRELOAD)


@frozen(kw_only=True)
class BootResult:
    """The result of one boot.

    `clusters`: the initial signatures.  `serving`: how many nodes serve, 0 unless all do.
    `silent`: nodes that did not serve and gave no reason.  `waits`: all given reasons.  `weather`:
    the number of requests by weather.  `log_ends`: the end of the nodes' logs if the boot failed.
    """

    clusters: tuple[str, ...]
    serving: int
    silent: tuple[str, ...]
    waits: tuple[str, ...]
    seconds: float
    weather: Mapping[str, int]
    log_ends: str = ""

    @property
    def is_well(self) -> bool:
        """Return whether there is one cluster, in which all serve, and no node was silent."""
        return len(self.clusters) == 1 and not self.silent and self.serving > 0


@define(eq=False)
class Boot:
    """One boot of blank nodes.

    `register`: votes, etcd or consul.  `storm`: seconds for which the server may fail.
    `found_with`: how many nodes must found the cluster; None means all.  `namespaces`: the nodes'
    network namespaces.
    """

    place: Place
    top: Path
    number: int
    register: str = "votes"
    storm: float = 0.0
    found_with: int | None = None
    namespaces: Spaces | None = None
    chance: random.Random = field(factory=random.Random)
    processes: dict[str, BaseProcess] = field(factory=dict)

    def run(self) -> BootResult:
        """Start the nodes, wait until all serve in one view, and end them."""
        began = time.monotonic()
        found = self.place.settings_for(f"boot{self.number}")
        self._write_files(found)
        proxy = self.place.proxy
        before = dict(proxy.seen)
        changing = threading.Thread(target=proxy.change, args=(self.storm,))
        changing.start()
        try:
            with nullcontext() if self.namespaces is None else self.namespaces.cut(self.chance):
                for name in self.chance.sample(sorted(found.hosts), len(found.hosts)):
                    self._start(name, found)
                return self._watch(found, began, changing, before)
        finally:
            for process in self.processes.values():
                process.kill()
                process.join()
            changing.join()

    def clean(self) -> None:
        shutil.rmtree(self.top, ignore_errors=True)

    # -- its parts -----------------------------------------------------------------------------

    def _file(self, name: str, what: str) -> Path:
        return self.top / f"{name.replace('@', '-')}.{what}"

    def _write_files(self, found: BootSettings) -> None:
        self.top.mkdir(parents=True)
        listen, clients = free_ports(2)
        (self.top / SECRET).touch(mode=0o600)
        (self.top / SECRET).write_text(secrets.token_hex(32))
        count = len(found.hosts)
        for name, host in found.hosts.items():
            settings = {**found.settings, **found.own.get(name, {})}
            tables = {
                "member": name,
                "cluster": f"boot{self.number}",
                "data": self._file(name, "data").name,
                "wait_for": count // 2 + 1 if self.register == "votes" else 1,
                "listen": f"{host}:{listen}",
                "clients": f"{host}:{clients}",
                "control": self._file(name, "sock").name,
                "events": "events",
            }
            lines = [f"{key} = {json.dumps(value)}" for key, value in tables.items()]
            if self.found_with is not None:
                lines.append(f"found_with = {self.found_with}")
            if self.namespaces is not None:
                lines += ["[security]", f'secret_file = "{SECRET}"', 'insecure = ["clients"]']
            lines += ["[timing]", TIMING, "[discovery]", f"expected = {count}", "interval = 0.3"]
            lines += [f'backend = "{self.place.backend}"', f'register = "{self.register}"']
            if found.nameserver:
                lines.append(f'nameserver = "{found.nameserver}"')
            lines.append("[discovery.settings]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
            lines.append("[members]")
            lines += [f'"{one}" = "{at}:{listen}"' for one, at in found.hosts.items()]
            self._file(name, "toml").write_text("\n".join([*lines, ""]))

    def _start(self, name: str, found: BootSettings) -> None:
        files = [str(self._file(name, what)) for what in ("toml", "log")]
        where = None if self.namespaces is None else self.namespaces.namespace(found.hosts[name])
        words = (*files, dict(found.environment), where)
        process = _processes.Process(target=run, args=words, daemon=True)
        process.start()
        self.processes[name] = process

    def _watch(
        self, found: BootSettings, began: float, changing: threading.Thread, before: dict[Any, int]
    ) -> BootResult:
        initials: set[str] = set()
        silent: set[str] = set()
        waits: set[str] = set()
        serving = 0
        reasoned_at: dict[str, float] = {}
        until = began + self.storm + SERVES_SECONDS
        while time.monotonic() < until:
            statuses = {name: self._status(name) for name in found.hosts}
            views = set()
            serving = 0
            for name, status in statuses.items():
                if not status:
                    reasoned_at.pop(name, None)
                    continue  # the node has not started yet, or restarts
                if status["initial"]:
                    initials.add(status["initial"])
                if status["serves"]:
                    serving += 1
                    views.add(status["view"]["id"])
                elif not (status["discovery"] or {}).get("why"):
                    silent.add(name)
                else:
                    waits.add(status["discovery"]["case"])
                now = time.monotonic()
                since = now if _gives_reason(status) else reasoned_at.get(name, now)
                reasoned_at[name] = since
                if now - since > QUIET_SECONDS:
                    silent.add(name)
            ended = [name for name, one in self.processes.items() if not one.is_alive()]
            if ended or (serving == len(found.hosts) and len(views) == 1):
                break
            time.sleep(ASK_SECONDS)
        changing.join()
        is_whole = serving == len(found.hosts)
        seen = {
            kind.value: count - before.get(kind, 0)
            for kind, count in self.place.proxy.seen.items()
            if count > before.get(kind, 0)
        }
        return BootResult(
            clusters=tuple(sorted(initials)),
            serving=serving if is_whole else 0,
            silent=tuple(sorted(silent)),
            waits=tuple(sorted(waits)),
            seconds=time.monotonic() - began,
            weather=seen,
            log_ends="" if is_whole and len(initials) == 1 else self._last_lines(found),
        )

    def _status(self, name: str) -> dict[str, Any]:
        try:
            return ask_control(self._file(name, "sock"), "status")
        except EnvironmentProblem:
            return {}

    def _last_lines(self, found: BootSettings) -> str:
        parts = []
        for name in found.hosts:
            log = self._file(name, "log")
            lines = (
                log.read_text("utf-8", "replace").splitlines() if log.exists() else ["no output"]
            )
            parts.append(f"-- {name}\n" + "\n".join(lines[-12:]))
        return "\n".join(parts)


def _gives_reason(status: Mapping[str, Any]) -> bool:
    """Return whether a node serves, has a view, still searches, or reports why it waits."""
    step = (status["discovery"] or {}).get("step")
    is_explained = step not in ("found", "join") or status["waiting"] is not None
    return bool(status["serves"] or status["view"] or is_explained)
