"""Real servers as context managers.

etcd and dnsmasq are those of Debian; moto's server replaces AWS.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
from attrs import define

from joinproto.errors import EnvironmentProblem
from tools.faults.ports import free_ports

START_SECONDS = 120.0


class MissingProgram(EnvironmentProblem):
    """A program that is not installed."""


def program(name: str, package: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        raise MissingProgram(f"{name} is not installed", next=f"apt-get install {package}")
    return found


@define
class Etcd:
    """One etcd process.  `words`: the command that starts it; `place`: the folder of its log."""

    name: str
    client: int
    words: list[str]
    place: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start the server with the data on its disk, unless it runs."""
        if not self.is_up:
            with (self.place / f"{self.name}.log").open("ab") as log:
                self.process = subprocess.Popen(
                    self.words, stdout=log, stderr=log, start_new_session=True
                )

    def end(self) -> None:
        if self.process is not None:
            _end(self.process)

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Send the process a signal that ends it, and wait for its end."""
        self._signal(how)
        if self.process is not None:
            self.process.wait()

    def pause(self) -> None:
        """Make the process hang: its sockets accept connections, and do not answer."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, how: signal.Signals) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(how)


@contextmanager
def etcds(place: Path, count: int = 1) -> Iterator[list[Etcd]]:
    """Start `count` etcd servers as one cluster, and end them."""
    binary = program("etcd", "etcd-server")
    ports = free_ports(2 * count)
    peers = ",".join(f"n{n}=http://127.0.0.1:{ports[2 * n + 1]}" for n in range(count))
    with ExitStack() as stack:
        found = []
        for n in range(count):
            client, peer = (f"http://127.0.0.1:{port}" for port in ports[2 * n : 2 * n + 2])
            words = [
                binary,
                *("--name", f"n{n}", "--data-dir", str(place / f"n{n}")),
                *("--listen-client-urls", client, "--advertise-client-urls", client),
                *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
                *("--initial-cluster", peers, "--initial-cluster-state", "new"),
                "--enable-v2=true",
            ]
            one = Etcd(f"n{n}", ports[2 * n], words, place)
            stack.callback(one.end)
            one.start()
            found.append(one)
        for one in found:
            _await_health(one)
        yield found


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()


def _await_health(one: Etcd) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        with suppress(httpx.HTTPError):
            got = httpx.get(f"http://127.0.0.1:{one.client}/health", timeout=1, trust_env=False)
            if got.status_code == 200:
                return
        assert one.is_up, f"{one.name} has ended"
        time.sleep(0.05)
    raise AssertionError(f"{one.name} is not healthy after {START_SECONDS:g} s")


@contextmanager
def dnsmasq(place: Path, *lines: str) -> Iterator[int]:
    """Start dnsmasq with these lines of configuration, and return its port."""
    binary = program("dnsmasq", "dnsmasq-base")
    (port,) = free_ports(1)
    file = place / "dnsmasq.conf"
    own = ("no-resolv", "no-hosts", f"port={port}", "listen-address=127.0.0.1", "bind-interfaces")
    # Only this server answers for its zone and private addresses, so unknown addresses have no
    # name.
    file.write_text("\n".join((*own, "local=/example.local/", "bogus-priv", *lines)) + "\n")
    words = [binary, "--keep-in-foreground", f"--conf-file={file}", "--pid-file"]
    with _running(words, port):
        yield port


@contextmanager
def _running(words: list[str], port: int, **more: str) -> Iterator[None]:
    """Start a server, and end it; `more`: variables of its environment."""
    process = subprocess.Popen(
        words,
        env=os.environ | more,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _await_port(process, port)
        yield
    finally:
        _end(process)


def _await_port(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert process.poll() is None, "the server has ended"
        time.sleep(0.02)
    raise AssertionError(f"no process listens on {port} after {START_SECONDS:g} s")


REGION = "eu-west-1"


@contextmanager
def aws() -> Iterator[int]:
    """Start moto's server as a process, and return its port."""
    (port,) = free_ports(1)
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running(words, port, MOTO_EC2_LOAD_DEFAULT_AMIS="false"):
        yield port


def instances(port: int, count: int, tag: str) -> list[str]:
    """Run `count` instances whose tag `service` is `tag`; return their private names."""
    import boto3

    client = boto3.client(
        "ec2",
        region_name=REGION,
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "service", "Value": tag}]}]
    made = client.run_instances(
        ImageId="ami-12c6146b", MinCount=count, MaxCount=count, TagSpecifications=tags
    )
    ids = [one["InstanceId"] for one in made["Instances"]]
    found = client.describe_instances(InstanceIds=ids)["Reservations"]
    return sorted(one["PrivateDnsName"] for each in found for one in each["Instances"])
