"""A resource manager as a script: it calls the agent as Pacemaker does, one action at a time.

It promotes the first broker that does not refuse, and fences nobody but by its own kills.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field

from joinproto.standby.serving.agent import Agent, Exit, Said, call
from joinproto.standby.serving.settings import read_settings

TIMEOUT_MS = "60000"


def free_ports(count: int) -> list[int]:
    """Return ports that nobody has now."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


@define
class Manager:
    """`files`: of each broker's configuration.  `refusals`: who refused, and why."""

    files: Mapping[str, Path]
    primary: str = ""
    refusals: list[tuple[str, str]] = field(factory=list)

    @classmethod
    def of(cls, top: Path, names: str, *, more: str = "") -> Manager:
        """Return one for brokers with these names; writes their files."""
        ports = free_ports(2 * len(names))
        brokers = "\n".join(
            f'{name} = "127.0.0.1:{port}"' for name, port in zip(names, ports, strict=False)
        )
        files = {}
        for name, clients in zip(names, ports[len(names) :], strict=True):
            files[name] = top / f"{name}.toml"
            files[name].write_text(
                f'broker = "{name}"\ncluster = "storm"\ndata = "{name}"\n'
                f'clients = "127.0.0.1:{clients}"\n{more}\n[brokers]\n{brokers}\n'
                "[timing]\nbackups = 2.0\nretry = 0.1\n"
            )
        return cls(files)

    def call(self, name: str, action: str) -> Said:
        """Call the agent for one broker."""
        environment = {
            "OCF_RESKEY_config": str(self.files[name]),
            "OCF_RESKEY_CRM_meta_timeout": TIMEOUT_MS,
        }
        return call(action, environment)

    def start(self, *names: str) -> None:
        """Start brokers; raises if one does not."""
        for name in names or self.files:
            said = self.call(name, "start")
            if said.code is not Exit.SUCCESS:
                raise RuntimeError(f"start of {name}: {said}")

    def promote(self, *order: str) -> str:
        """Promote the first that takes it, in this order; return its name, "" for none."""
        for name in order or tuple(self.files):
            said = self.call(name, "promote")
            if said.code is Exit.SUCCESS:
                self.primary = name
                return name
            self.refusals.append((name, said.why))
        return ""

    def kill(self, name: str) -> None:
        """Kill a broker, with -9."""
        pid = self.agent(name)._pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            self.agent(name)._until(lambda: self.agent(name)._pid() is None)

    def agent(self, name: str) -> Agent:
        return Agent(read_settings(self.files[name]), self.files[name])

    def status(self, name: str) -> dict[str, object]:
        """Return what a broker says of itself; empty if it says nothing."""
        return self.agent(name)._status() or {}

    def until(self, name: str, role: str, seconds: float = 20.0) -> bool:
        """Wait until a broker has this role."""
        return self.agent(name)._until(lambda: self.status(name).get("role") == role, seconds)

    def urls(self) -> list[str]:
        """Return the list of addresses that clients have."""
        return [str(read_settings(path).clients) for path in self.files.values()]


@contextmanager
def running(manager: Manager) -> Iterator[Manager]:
    """Kill what still runs at the end."""
    try:
        yield manager
    finally:
        for name in manager.files:
            manager.kill(name)
