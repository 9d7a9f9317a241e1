"""Nodes of the Clusterer as processes, with links between them that can be cut."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, field

from joinproto.apps.clusterer.operator import ask
from joinproto.clusterer.config import Config, Held
from joinproto.clusterer.writing import as_erlang
from joinproto.errors import JoinprotoError
from joinproto.net.addresses import Address
from tools.faults import clusterer_broker as broker
from tools.faults.ports import free_ports
from tools.faults.proxy import Link

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
TIMING = "[timing]\npoll = 0.1\npoke = 0.4\nretry = 0.3\nheartbeat = 0.2\nsilence = 1.5\n"
LABELLED = """[service]
kind = "python"
object = "tools.faults.clusterer_service:Labelled"
settings = { seconds = "%s" }
"""


@define
class Fleet:
    """The nodes and links of one cluster.

    `service`: returns the service's table for a node's file.  `mutant`: a rule that no node keeps.
    `addresses`: (node, peer) to an address of the peer, in place of the link between them.
    """

    folder: Path
    names: tuple[str, ...]
    service: Callable[[str], str] = lambda _: LABELLED % "0.02"
    timing: str = TIMING
    mutant: str | None = None
    environment: Mapping[str, str] = field(factory=dict)
    addresses: Mapping[tuple[str, str], str] = field(factory=dict)
    secret: bytes = b""
    ports: dict[str, int] = field(init=False)
    links: dict[tuple[str, str], Link] = field(init=False)
    running: dict[str, subprocess.Popen[bytes]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.ports = dict(zip(self.names, free_ports(len(self.names)), strict=True))
        self.links = {
            (one, other): Link(self.ports[other])
            for one in self.names
            for other in self.names
            if one != other
        }

    # -- nodes -------------------------------------------------------------------------------

    def place(self, name: str) -> Path:
        return self.folder / name.replace("@", "-")

    def start(self, name: str, given: Config | None = None) -> None:
        """Start a node, unless it runs, without waiting for it."""
        if self.is_up(name):
            return
        place = self.place(name)
        place.mkdir(parents=True, exist_ok=True)
        nodes = "".join(
            f'"{other}" = "{self.addresses.get((name, other), self._link_address(name, other))}"\n'
            for other in self.names
            if other != name
        )
        file = place / "node.toml"
        file.write_text(
            f'node = "{name}"\ndata = "data"\nlisten = "127.0.0.1:{self.ports[name]}"\n'
            f'events = "../events"\n{self._secret(place)}{self.timing}[nodes]\n{nodes}'
            f"{self.service(name)}"
        )
        words = ["joinproto", "clusterer", "node"]
        if self.mutant is not None:
            words = ["tools.faults.clusterer_node", "--mutant", self.mutant]
        words += ["--config", str(file)]
        if given is not None:
            (place / "given.config").write_text(as_erlang(Held(given)))
            words += ["--given", str(place / "given.config")]
        with (place / "out").open("ab") as out:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-m", *words],
                cwd=ROOT,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _secret(self, place: Path) -> str:
        if not self.secret:
            return ""
        (place / "secret").write_bytes(self.secret)
        return 'secret_file = "secret"\n'

    def _link_address(self, one: str, other: str) -> str:
        return f"127.0.0.1:{self.links[one, other].port}"

    def is_up(self, name: str) -> bool:
        return name in self.running and self.running[name].poll() is None

    def kill(self, name: str) -> None:
        process = self.running.pop(name, None)
        if process is not None:
            process.kill()
            process.wait()

    def stop(self, name: str) -> int | None:
        """Stop a node with SIGTERM; return its exit code, or None if it does not run."""
        process = self.running.pop(name, None)
        if process is None:
            return None
        process.send_signal(signal.SIGTERM)
        return process.wait(PATIENCE)

    def reset(self, name: str) -> None:
        """Kill a node and its broker, and remove its files."""
        self.kill(name)
        self.end_broker(name)
        with suppress(FileNotFoundError):
            shutil.rmtree(self.place(name))

    def end_broker(self, name: str) -> None:
        """End a broker that a killed node has left running, and wait until its lock is free."""
        broker.ask(str(self.place(name) / "broker.sock"), "end")
        with suppress(FileNotFoundError), (self.place(name) / "broker.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    def cut(self, one: Iterable[str], other: Iterable[str]) -> None:
        for pair in [(a, b) for a in one for b in other if a != b]:
            self.links[pair].cut()
            self.links[pair[1], pair[0]].cut()

    def heal(self) -> None:
        for link in self.links.values():
            link.heal()

    # -- questions and commands ----------------------------------------------------------------

    def address(self, name: str) -> Address:
        return Address("127.0.0.1", self.ports[name])

    def status(self, name: str) -> dict[str, Any] | None:
        try:
            return ask(self.address(name), {"op": "status"}, 10.0, self.secret)
        except JoinprotoError:
            return None

    def apply(self, name: str, config: Config) -> str:
        """Return a node's answer to a config."""
        try:
            request = {"op": "apply", "config": as_erlang(Held(config))}
            return str(ask(self.address(name), request, 30.0, self.secret)["reply"])
        except JoinprotoError as error:
            return f"no answer: {error.message}"

    def is_ready(self, name: str, version: int) -> bool:
        found = self.status(name)
        return found is not None and (found["status"], found["version"]) == ("ready", version)

    def until(self, what: str, holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until `holds` returns True, at most `seconds`; raises `AssertionError`.

        `what`: the awaited condition in words, for the error.
        """
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds:g} s: {what}\n{self.statuses()}")
            time.sleep(0.1)

    def until_ready(self, names: Iterable[str], version: int, seconds: float = PATIENCE) -> None:
        """Return once all of these nodes are ready with this version."""
        for name in names:
            self.until(
                f"{name} ready with version {version}",
                lambda name=name: self.is_ready(name, version),  # type: ignore[misc]
                seconds,
            )

    def statuses(self) -> str:
        """Return a line with the status of each node."""
        rows = []
        for name in self.names:
            found = self.status(name)
            said = "no answer" if found is None else (
                f"{found['status']} version {found['version']}, waits for {found['waits_for']}:"
                f" {found['why']} {found['service']['failure'] or ''}"
            )  # fmt: skip
            rows.append(f"  {name}: {said}")
        return "\n".join(rows)

    def label(self, name: str) -> str | None:
        """Return the label of the data on a node's disk; None if there are none."""
        return next(iter(self.data(name)), None)

    def data(self, name: str) -> list[str]:
        """Return the label and all messages of the data on a node's disk."""
        try:
            return (self.place(name) / "data" / "messages").read_text().splitlines()
        except FileNotFoundError:
            return []

    def publish(self, name: str, message: str) -> bool:
        """Publish a message at a node's broker; return whether the broker acknowledged it."""
        place = str(self.place(name) / "broker.sock")
        return broker.ask(place, f"publish {message}") == "kept\n"

    def events(self) -> dict[str, list[dict[str, Any]]]:
        """Return the lines of all event logs, one list for each run of a node."""
        found = {}
        for path in sorted((self.folder / "events").glob("*.jsonl")):
            lines = path.read_text().splitlines()
            found[path.stem] = [json.loads(line) for line in lines if line.endswith("}")]
        return found

    def close(self) -> None:
        for name in list(self.running):
            self.kill(name)
        for name in self.names:
            self.end_broker(name)
        for link in self.links.values():
            link.close()
