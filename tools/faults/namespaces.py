"""A separate network: a namespace for each node, and a bridge between them.

Needs Linux with `ip`, `unshare` and `nsenter`, and either root or user namespaces.  The machine's
own network is not changed, because the bridge is also in a namespace: `begin_inside` starts the
program again there.

A direction is dropped by a neighbour entry with a false address, so that the packets reach no node.
A single node is isolated by setting its link down.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import NoReturn

from joinproto.errors import EnvironmentProblem
from joinproto.net.addresses import Address
from tools.faults.network import Network

BRIDGE, FALSE_ADDRESS = "bridge", "02:00:00:00:00:00"
BRIDGE_HOST = "10.77.0.254"
"""The bridge's address, at which nodes reach servers outside their namespaces."""
MARK = "JOINPROTO_TORTURE_INSIDE"
PROBE = f"""
ip link add dev {BRIDGE} type bridge
ip link add dev one type veth peer name other
ip link set one master {BRIDGE}
unshare --net nsenter --net=/proc/self/ns/net -- ip link set lo up
"""


def missing() -> str:
    """Return "" if this machine can make namespaces, else a sentence with the reason."""
    lacks = [name for name in ("ip", "unshare", "nsenter") if shutil.which(name) is None]
    if lacks:
        return f"not installed: {', '.join(lacks)}"
    done = subprocess.run(
        [*_unshare(), "sh", "-ec", PROBE], capture_output=True, text=True, check=False
    )
    said = done.stderr.strip()
    return f"a namespace gets no network: {said or done.returncode}" if done.returncode else ""


def _unshare() -> list[str]:
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *rights, "--net"]


def choose_network(wanted: str) -> str:
    """Return the network to use, "namespaces" or "proxy".  `wanted`: one of these, or "auto"."""
    if wanted == "proxy" or is_inside():
        return "proxy" if wanted == "proxy" else "namespaces"
    lacks = missing()
    if lacks and wanted != "auto":
        raise EnvironmentProblem(lacks, next="install iproute2 and util-linux, or --network proxy")
    return "proxy" if lacks else "namespaces"


def is_inside() -> bool:
    return MARK in os.environ


def begin_inside(module: str, arguments: list[str]) -> NoReturn:
    """Replace this process by a new start of the program in a network namespace."""
    words = [*_unshare(), sys.executable, "-m", module, *arguments]
    sys.stdout.flush()
    os.execvpe("unshare", words, {**os.environ, MARK: "1"})


class Namespaces(Network):
    """The network.  `ports`: the nodes' ports; each node has its own address."""

    is_open = True

    def __init__(self, ports: Mapping[str, int]) -> None:
        self.names, self._ports = tuple(ports), ports
        self._hosts = {name: f"10.77.0.{at}" for at, name in enumerate(ports, 1)}
        self._holders: dict[str, subprocess.Popen[bytes]] = {}
        self._dropped: set[tuple[str, str]] = set()
        self._down: set[str] = set()
        _ip("link", "set", "lo", "up")
        _ip("link", "add", BRIDGE, "type", "bridge")
        _ip("addr", "add", f"{BRIDGE_HOST}/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        try:
            for name in ports:
                self._join(name)
        except BaseException:
            self.close()
            raise

    def _join(self, name: str) -> None:
        # A namespace exists only while a process is in it, and nodes end and start again.  This
        # process keeps it open, and ends with ours.
        words = ["unshare", "--net", "sh", "-c", "echo; exec cat >&2"]
        holder = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._holders[name] = holder
        if holder.stdout is None or not holder.stdout.readline():
            raise EnvironmentProblem(
                f"unshare --net ended for node {name}", next="--network proxy needs no namespaces"
            )
        port, place = _port(name), str(holder.pid)
        _ip("link", "add", "dev", port, "type", "veth", "peer", "name", "eth0", "netns", place)
        _ip("link", "set", port, "master", BRIDGE)
        _ip("link", "set", port, "up")
        self._ip_at(name, "addr", "add", f"{self._hosts[name]}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            self._ip_at(name, "link", "set", device, "up")

    def _ip_at(self, name: str, *words: str) -> None:
        _run([*self.enter(name), "ip", *words])

    def host(self, name: str) -> str:
        return self._hosts[name]

    def address(self, caller: str, called: str) -> Address:
        return Address(self._hosts[called], self._ports[called])

    def enter(self, name: str) -> list[str]:
        return ["nsenter", f"--net={self.namespace(name)}", "--"]

    def namespace(self, name: str) -> str:
        return f"/proc/{self._holders[name].pid}/ns/net"

    def drop(self, sender: str, receiver: str) -> None:
        self._dropped.add((sender, receiver))
        false = ("lladdr", FALSE_ADDRESS, "dev", "eth0", "nud", "permanent")
        self._ip_at(sender, "neigh", "replace", self._hosts[receiver], *false)

    def isolate(self, names: Collection[str]) -> None:
        """Cut nodes off from all others; several nodes stay connected to each other."""
        if len(names) > 1:
            super().isolate(names)
            return
        for name in names:
            self._down.add(name)
            _ip("link", "set", _port(name), "down")

    def heal(self) -> None:
        while self._dropped:
            sender, receiver = self._dropped.pop()
            self._ip_at(sender, "neigh", "del", self._hosts[receiver], "dev", "eth0")
        while self._down:
            _ip("link", "set", _port(self._down.pop()), "up")

    def close(self) -> None:
        for holder in self._holders.values():
            with suppress(ProcessLookupError):
                holder.kill()
            holder.wait()
            for pipe in (holder.stdin, holder.stdout):
                if pipe is not None:
                    pipe.close()
        for name in (*map(_port, self._holders), BRIDGE):
            subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)


def _port(name: str) -> str:
    return f"port-{name}"


def _ip(*words: str) -> None:
    _run(["ip", *words])


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EnvironmentProblem(
            f"{' '.join(words)}: {done.stderr.strip() or done.returncode}",
            next="--network proxy needs no namespaces",
        )
