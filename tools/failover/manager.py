"""A resource manager as a script: it calls the agent as Pacemaker does, one action at a time.

It promotes the first broker that does not refuse, and fences a broker only by killing it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field

from joinproto.apps.standby.agent import ActionResult, Agent, Exit, call
from joinproto.apps.standby.settings import read_settings
from tools.faults.network import Direct, Network, Proxies
from tools.faults.ports import free_ports

TIMEOUT_MS = "180000"
PATIENCE_SECONDS = 60.0
"""Seconds to wait for events that must come; a busy machine may take long."""


@define
class Manager:
    """The script and its brokers.

    `files`: each broker's configuration.  `networks`: the networks of their links.  `is_built_in`:
    whether brokers promote themselves.  `primary`: the last primary that the script knows.
    `refusals`: brokers that refused a promotion, with the reason.
    """

    files: Mapping[str, Path]
    networks: tuple[Network, ...] = ()
    is_built_in: bool = False
    primary: str = ""
    refusals: list[tuple[str, str]] = field(factory=list)

    @classmethod
    def of(
        cls,
        top: Path,
        names: str,
        *,
        more: str = "",
        tables: str = "",
        built_in: bool = False,
        cuts: bool = False,
    ) -> Manager:
        """Write the files of brokers with these names, one letter each, and return their manager.

        `more`: lines of the top level of each file; `tables`: lines after those of `[timing]`.
        `built_in`: the brokers promote themselves.  `cuts`: the links between brokers can be cut.
        """
        ports = iter(free_ports(3 * len(names)))
        clients = {name: next(ports) for name in names}
        sections = ("brokers", "chain") if built_in else ("brokers",)
        networks: dict[str, Network] = {}
        for section in sections:
            listens = {name: next(ports) for name in names}
            networks[section] = Proxies(listens, names) if cuts else Direct(listens)
        files = {}
        for name in names:
            found = [
                f"[{section}]\n{_addresses(name, names, network)}\n"
                for section, network in networks.items()
            ]
            files[name] = top / f"{name}.toml"
            files[name].write_text(
                f'broker = "{name}"\ncluster = "storm"\ndata = "{name}"\n'
                f'manager = "{"built-in" if built_in else "outside"}"\n'
                f'clients = "127.0.0.1:{clients[name]}"\n{more}\n{"".join(found)}'
                f"[timing]\nbackups = 2.0\nretry = 0.1\n{tables}"
            )
        return cls(files, tuple(networks.values()), built_in)

    def call(self, name: str, action: str) -> ActionResult:
        environment = {
            "OCF_RESKEY_config": str(self.files[name]),
            "OCF_RESKEY_CRM_meta_timeout": TIMEOUT_MS,
        }
        return call(action, environment)

    def start(self, *names: str) -> None:
        """Start brokers; raises `RuntimeError` if one does not start."""
        for name in names or self.files:
            said = self.call(name, "start")
            if said.code is not Exit.SUCCESS:
                raise RuntimeError(f"start of {name}: {said}")

    def promote(self, *order: str) -> str:
        """Promote the first broker in this order that does not refuse; return its name, or ""."""
        for name in order or tuple(self.files):
            said = self.call(name, "promote")
            if said.code is Exit.SUCCESS:
                self.primary = name
                return name
            self.refusals.append((name, said.why))
        return ""

    def wait_primary(self, seconds: float = PATIENCE_SECONDS, *, but: str = "") -> str:
        """Wait for a primary that is the only broker that serves; return its name, or "".

        `but`: a broker that is not asked, because it may be stopped or cut off.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            status = {name: self.status(name) for name in self.files if name != but}
            serving = [name for name, one in status.items() if one.get("serves")]
            if len(serving) == 1 and status[serving[0]]["role"] == "primary":
                self.primary = serving[0]
                return self.primary
            time.sleep(0.1)
        return ""

    def isolate(self, name: str) -> None:
        """Block all traffic between this broker and the others."""
        for network in self.networks:
            network.isolate({name})

    def heal(self) -> None:
        """End all blocks."""
        for network in self.networks:
            network.heal()

    def kill(self, name: str) -> None:
        pid = self.agent(name)._pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            self.agent(name)._until(lambda: self.agent(name)._pid() is None)

    def agent(self, name: str) -> Agent:
        return Agent(read_settings(self.files[name]), self.files[name])

    def status(self, name: str) -> dict[str, object]:
        """Return a broker's status; {} if it does not answer."""
        return self.agent(name)._status() or {}

    def wait_role(self, name: str, role: str, seconds: float = PATIENCE_SECONDS) -> bool:
        """Wait until a broker has this role; return whether it has."""
        return self.agent(name)._until(lambda: self.status(name).get("role") == role, seconds)

    def wait_backup(self, name: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until a broker is a backup; raises `RuntimeError` with its status."""
        if not self.wait_role(name, "backup", seconds):
            raise RuntimeError(f"{name} has not become a backup: {self.status(name)}")

    def wait_view(self, primary: str, names: str, seconds: float = PATIENCE_SECONDS) -> bool:
        """Wait until the last view that a primary has written has exactly these brokers.

        A new backup reports the role `backup` a moment earlier, because it stores the view
        first (H4).
        """
        return self.agent(primary)._until(
            lambda: self.status(primary).get("up_to_date") == [*names], seconds
        )

    def url(self, name: str) -> str:
        """Return a broker's address for clients."""
        return str(read_settings(self.files[name]).clients)

    def urls(self) -> list[str]:
        return [*map(self.url, self.files)]


@contextmanager
def running(manager: Manager) -> Iterator[Manager]:
    """Yield the manager; at the end kill all its brokers that still run."""
    try:
        yield manager
    finally:
        for name in manager.files:
            manager.kill(name)
        for network in manager.networks:
            network.close()


def _addresses(name: str, names: str, network: Network) -> str:
    """Return lines with the addresses at which this broker reaches each broker, or listens."""
    found = {other: network.address(name, other) for other in names}
    return "\n".join(f'{other} = "{at}"' for other, at in found.items())
