"""`python -m tools.starts`: first starts of the installed RabbitMQ, compared with our verdict.

Blank nodes start in network namespaces, in which some nodes may be cut off from others, and the
clusters that they form are compared with the verdict of `joinproto discovery would-it-split` about
the same facts: if it predicts one cluster, the nodes must not form two.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from joinproto.errors import EnvironmentProblem
from tools.faults.namespaces import BRIDGE_HOST, Namespaces, begin_inside, is_inside
from tools.fixtures.rabbitmq_node import all_in, scripts, write_cookie
from tools.fixtures.servers import Servers, require, run

NAMES = ("n1", "n2", "n3")
# Groups of nodes that reach only each other.
CUTS: Mapping[str, list[list[str]]] = {
    "none": [],
    "first": [["n1"], ["n2", "n3"]],
    "last": [["n1", "n2"], ["n3"]],
    "all": [["n1"], ["n2"], ["n3"]],
}
BACKENDS = ("classic_config", "etcd")
TRIES = 3
SETTLE_SECONDS = 240.0
CONFIGURATION = f"""\
listeners.tcp.1 = 127.0.0.1:5672
log.console = false
cluster_formation.peer_discovery_backend = %s
cluster_formation.discovery_retry_limit = {TRIES}
cluster_formation.discovery_retry_interval = 500
"""


@frozen
class Start:
    """One start.  `healed`: seconds after which the network is whole again; None: at the end."""

    backend: str
    cut: str
    healed: float | None
    seed: int

    def __str__(self) -> str:
        after = "" if self.healed is None else f" that heals after {self.healed:.1f} s"
        return f"{self.backend}, cut {self.cut}{after}, seed {self.seed}"

    def facts(self, release: str) -> dict[str, Any]:
        """Return the start as `would-it-split` reads it."""
        return {
            "nodes": list(NAMES),
            "release": release,
            "backend": self.backend,
            "tries": TRIES,
            "cut": CUTS[self.cut],
        }


@click.command(epilog="Example: python -m tools.starts --cut first --times 5")
@click.option(
    "--backend",
    type=click.Choice([*BACKENDS, "any"]),
    default="any",
    show_default=True,
    help="The backend.",
)
@click.option(
    "--cut",
    type=click.Choice([*CUTS, "any"]),
    default="any",
    show_default=True,
    help="The cut-off nodes.",
)
@click.option(
    "--heals", is_flag=True, help="End the cut while nodes look for peers, not after the start."
)
@click.option(
    "--times", type=click.IntRange(1), default=1, show_default=True, help="How many starts."
)
@click.option(
    "--minutes",
    type=click.FloatRange(0),
    help="Begin no start that might end after so many minutes.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="The first start's seed.")
def main(backend: str, cut: str, heals: bool, times: int, minutes: float | None, seed: int) -> None:
    """Start three blank nodes `--times` times, each node within a second of the others.

    The seed draws a value "any"; the next start has the next seed.  Exit code 0: no verdict was
    wrong; 1: an outcome was not predicted, or no start settled; 4: RabbitMQ is not installed.
    """
    if not is_inside():
        begin_inside("tools.starts", sys.argv[1:])
    try:
        sbin = _sbin()
        release = sbin.parent.name.rpartition("-")[2]
        wrong = settled = 0
        end = math.inf if minutes is None else time.monotonic() + 60 * minutes - SETTLE_SECONDS
        for number in range(seed, seed + times):
            if number > seed and time.monotonic() > end:
                break
            one = draw(number, backend, cut, heals)
            predicted, clusters = predict(one, release), play(one, sbin)
            verdict = "may split" if predicted["splits"] else "one cluster"
            if clusters is None:
                click.echo(f"{release} {one}: {verdict}; real: not settled in {SETTLE_SECONDS:g} s")
                continue
            settled += 1
            is_wrong = not agrees(clusters, predicted)
            wrong += is_wrong
            formed = " | ".join(" ".join(names) for names in sorted(map(sorted, clusters)))
            click.echo(f"{release} {one}: {verdict}; real: {formed}" + ": WRONG" * is_wrong)
    except EnvironmentProblem as error:
        click.echo(f"starts: {error.message}\n  next: {error.next}", err=True)
        sys.exit(error.code)
    sys.exit(1 if wrong or not settled else 0)


def draw(seed: int, backend: str, cut: str, heals: bool) -> Start:
    """Return the start of a seed, which draws a value "any"."""
    chance = random.Random(seed)
    kind, apart = chance.choice(BACKENDS), chance.choice([*CUTS])
    return Start(
        kind if backend == "any" else backend,
        apart if cut == "any" else cut,
        chance.uniform(1, 15) if heals else None,
        seed,
    )


def agrees(clusters: set[frozenset[str]], verdict: Mapping[str, Any]) -> bool:
    """Return whether `would-it-split --json` predicts this outcome."""
    if len(clusters) == 1 and frozenset(NAMES) in clusters:
        return verdict["joins"] is not False
    return len(clusters) == 1 or (len(clusters) > 1 and bool(verdict["splits"]))


def predict(start: Start, release: str) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(start.facts(release), file)
        file.flush()
        words = [sys.executable, "-m", "joinproto", "discovery", "would-it-split", file.name]
        done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise EnvironmentProblem(
            f"would-it-split failed: {done.stderr.strip()}", next="mend the command"
        )
    verdict: dict[str, Any] = json.loads(done.stdout)
    return verdict


def play(start: Start, sbin: Path) -> set[frozenset[str]] | None:
    """Start the nodes; return the clusters that serve, each as a set of nodes.

    None if the nodes have not settled within `SETTLE_SECONDS`.
    """
    chance = random.Random(start.seed)
    with tempfile.TemporaryDirectory(prefix="joinproto-starts-") as top, Servers() as servers:
        network = Namespaces(dict.fromkeys(NAMES, 25672))
        try:
            for one, other in _cut_pairs(CUTS[start.cut]):
                network.cut(one, other)
            with _backend(start.backend, Path(top), servers):
                began = time.monotonic()
                for name in sorted(NAMES, key=lambda _: chance.random()):
                    _start(name, start.backend, Path(top), servers, network, sbin)
                    time.sleep(chance.random())
                if start.healed is not None:
                    time.sleep(max(0.0, began + start.healed - time.monotonic()))
                    network.heal()
                end = time.monotonic() + SETTLE_SECONDS
                while any(servers.runs(one) and not _serves(Path(top), one) for one in NAMES):
                    if time.monotonic() > end:
                        return None
                    time.sleep(0.5)
                up = [one for one in NAMES if servers.runs(one)]
                return {_cluster(one, Path(top), network, sbin) for one in up}
        finally:
            servers.kill(*servers.running)
            network.close()


def _cut_pairs(groups: list[list[str]]) -> Iterator[tuple[str, str]]:
    for at, group in enumerate(groups):
        for other in groups[at + 1 :]:
            yield from ((one, two) for one in group for two in other)


def _sbin() -> Path:
    require("rabbitmq-server", "rabbitmq-server")
    return scripts()


@contextmanager
def _backend(backend: str, top: Path, servers: Servers) -> Iterator[None]:
    if backend == "etcd":
        at = f"http://{BRIDGE_HOST}:2379"
        words = [require("etcd", "etcd-server"), "--data-dir", str(top / "etcd")]
        words += ["--listen-client-urls", at, "--advertise-client-urls", at]
        servers.start("etcd", words, output=top / "etcd.out", env={"PATH": os.environ["PATH"]})
        time.sleep(2)
    yield


def _node_name(name: str, network: Namespaces) -> str:
    return f"rabbit@{network.host(name)}"


def _environment(name: str, top: Path, network: Namespaces) -> dict[str, str]:
    place = top / name
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(place),
        "RABBITMQ_NODENAME": _node_name(name, network),
        "RABBITMQ_USE_LONGNAME": "true",
        "RABBITMQ_LOGS": str(place / "log" / "node.log"),
        **all_in(place),
    }


def _start(
    name: str, backend: str, top: Path, servers: Servers, network: Namespaces, sbin: Path
) -> None:
    place = top / name
    (place / "log").mkdir(parents=True)
    write_cookie(place)
    lines = [CONFIGURATION % backend]
    if backend == "etcd":
        lines += [f"cluster_formation.etcd.endpoints.1 = {BRIDGE_HOST}:2379"]
    else:
        lines += [
            f"cluster_formation.classic_config.nodes.{at} = {_node_name(one, network)}"
            for at, one in enumerate(NAMES, 1)
        ]
    plugins = "rabbitmq_peer_discovery_etcd" if backend == "etcd" else ""
    (place / "enabled").write_text(f"[{plugins}].", "utf-8")
    (place / "rabbitmq.conf").write_text("\n".join(lines) + "\n", "utf-8")
    servers.start(
        name,
        [*network.enter(name), str(sbin / "rabbitmq-server")],
        output=place / "out",
        env=_environment(name, top, network),
    )


def _serves(top: Path, name: str) -> bool:
    file = top / name / "log" / "node.log"
    return file.is_file() and "startup complete" in file.read_text("utf-8", "replace")


def _cluster(name: str, top: Path, network: Namespaces, sbin: Path) -> frozenset[str]:
    words = [str(sbin / "rabbitmqctl"), "--quiet", "--longnames", "cluster_status"]
    status = json.loads(
        run(
            [*network.enter(name), *words, "--formatter", "json"],
            env=_environment(name, top, network),
            seconds=120,
        )
    )
    hosts = {_node_name(one, network): one for one in NAMES}
    return frozenset(hosts[one] for one in status["disk_nodes"])


if __name__ == "__main__":
    main()
