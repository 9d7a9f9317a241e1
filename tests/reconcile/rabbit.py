"""A real RabbitMQ cluster on this machine: nodes as processes, with their own epmd.

A node can be started, killed, and removed from the cluster; its management API has its own port.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from attrs import define, field

from tests.needs import need
from tools.faults.ports import free_ports
from tools.fixtures.rabbitmq_node import all_in, scripts, write_cookie

PATIENCE = 300.0  # 4.0 answers late while it lists a node that was killed


def home() -> Path:
    """Return the folder of the broker's scripts; skip the test if RabbitMQ is not installed."""
    need("rabbitmq-server")
    return scripts()


def until(what: str, says: Callable[[], Any]) -> Any:
    """Return the first true answer of `says`; fail after `PATIENCE` seconds."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if answer := says():
                return answer
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"never: {what}")


@define
class Rabbits:
    """A cluster of RabbitMQ nodes.

    `names`: the names of all nodes, such as `a@localhost`; requests go to the first node.
    """

    folder: Path
    sbin: Path
    names: tuple[str, ...]
    ports: dict[str, int]
    epmd: int
    running: dict[str, subprocess.Popen[bytes]] = field(factory=dict)

    def start(self, name: str) -> None:
        """Start a node, without waiting for it."""
        place = self.folder / name.partition("@")[0]
        place.mkdir(exist_ok=True)
        (place / "enabled").write_text("[rabbitmq_management].")
        amqp, distribution = free_ports(2)
        # Only the first node is listed: 4.0 looks for minutes for a listed node that does not run.
        seeds = f"cluster_formation.classic_config.nodes.1 = {self.names[0]}\n"
        (place / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{amqp}\nmanagement.tcp.ip = 127.0.0.1\n"
            f"management.tcp.port = {self.ports[name]}\ncollect_statistics_interval = 1000\n"
            f"cluster_formation.peer_discovery_backend = classic_config\n{seeds}"
            "log.console = false\nmnesia_table_loading_retry_timeout = 5000\n"
        )
        environment = {
            **self.environment,
            "RABBITMQ_NODENAME": name,
            "RABBITMQ_DIST_PORT": str(distribution),
            **all_in(place),
        }
        out = (place / "out").open("ab")
        with out:
            self.running[name] = subprocess.Popen(
                [self.sbin / "rabbitmq-server"],
                cwd=place,  # a node that fails writes MnesiaCore files where it was started
                env=environment,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """Kill the server, and the shell that started it, with kill -9."""
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def start_blank(self, name: str) -> None:
        """Start a node that was killed and forgotten, with an empty disk."""
        shutil.rmtree(self.folder / name.partition("@")[0])
        self.start(name)

    def tool(self, program: str, *words: str) -> str:
        done = subprocess.run(
            [self.sbin / program, "--quiet", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert 0 == done.returncode, done.stderr or done.stdout
        return done.stdout

    def get(self, path: str) -> Any:
        url = f"http://127.0.0.1:{self.ports[self.names[0]]}/api/{path}"
        return httpx.get(url, auth=("guest", "guest"), timeout=10).json()

    def declare(self, name: str, *, kind: str = "quorum", **arguments: object) -> None:
        answer = httpx.put(
            f"http://127.0.0.1:{self.ports[self.names[0]]}/api/queues/%2f/{name}",
            auth=("guest", "guest"),
            json={"durable": True, "arguments": {"x-queue-type": kind, **arguments}},
            timeout=30,
        )
        assert answer.is_success, answer.text

    def echoed(self, queue: str, text: str) -> str:
        """Return a message that the queue took and gave back; fail without a majority."""
        base = f"http://127.0.0.1:{self.ports[self.names[0]]}/api"

        def posted(path: str, **body: object) -> Any:
            answer = httpx.post(f"{base}/{path}", auth=("guest", "guest"), json=body, timeout=30)
            assert answer.is_success, answer.text
            return answer.json()

        message = {"payload": text, "payload_encoding": "string", "properties": {}}
        posted("exchanges/%2f/amq.default/publish", routing_key=queue, **message)
        asked = {"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"}
        return str(posted(f"queues/%2f/{queue}/get", **asked)[0]["payload"])

    def members(self, name: str) -> set[str]:
        return set(self.get(f"queues/%2f/{name}").get("members", ()))

    def up(self) -> set[str]:
        return {one["name"] for one in self.get("nodes") if one["running"]}

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.folder), "ERL_EPMD_PORT": str(self.epmd)}


@contextmanager
def rabbits(folder: Path, envelopes: str) -> Iterator[Rabbits]:
    """Yield a cluster whose nodes all run; the first founds it, the others join it."""
    sbin = home()
    names = tuple(f"{envelope}@localhost" for envelope in envelopes)
    epmd_port, *ports = free_ports(1 + len(names))
    write_cookie(folder)
    epmd = subprocess.Popen(["epmd", "-port", str(epmd_port), "-address", "127.0.0.1"])
    cluster = Rabbits(folder, sbin, names, dict(zip(names, ports, strict=True)), epmd_port)
    try:
        first, *others = names
        cluster.start(first)
        until("the first node runs", lambda: {first} == cluster.up())
        for name in others:
            cluster.start(name)
        until("all nodes run", lambda: set(names) == cluster.up())
        yield cluster
    finally:
        for name in list(cluster.running):
            cluster.kill(name)
        epmd.terminate()
        epmd.wait()
