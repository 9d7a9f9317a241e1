"""The servers of the backends, the nodes' names, and the settings by which nodes find each other.

A node's name ends in its host.  The file's table `[members]` has the addresses.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from tools.boots.recorded import ConsulServer, K8sServer, serving
from tools.boots.servers import REGION, aws, dnsmasq, etcds, instances
from tools.boots.spaces import Spaces
from tools.boots.weather import FOUL, ProxyState, Weather, before_dns, before_tcp

RECORDED = ("consul", "k8s")
"""Backends whose servers are simulated from recorded answers: no package has them."""
REAL = ("config", "dns", "aws", "etcd")
BACKENDS = (*REAL, *RECORDED)
HEADER = b'{"header": {"cluster_id": "1", "member_id": "1", "revision": "1", "raft_term": "1"}}'
EMPTY_LISTS = {
    "config": b"",
    "dns": b"",
    "aws": b'<DescribeInstancesResponse xmlns="x"><reservationSet/></DescribeInstancesResponse>',
    "etcd": HEADER,
    "consul": b"[]",
    "k8s": b'{"kind": "Endpoints", "subsets": []}',
}


@frozen(kw_only=True)
class BootSettings:
    """Names and settings of the nodes of one boot.

    `hosts`: node to the host where it listens.  `settings`: the table `[discovery.settings]`;
    `own`: additional settings of a node.
    """

    hosts: Mapping[str, str]
    settings: Mapping[str, Any]
    own: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    nameserver: str | None = None
    environment: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True)
class Place:
    """A running backend.  `proxy`: the proxy before its server.  `server`: its port, or 0.

    `hosts`: the hosts where the nodes listen.
    """

    backend: str
    proxy: ProxyState
    hosts: tuple[str, ...]
    server: int = 0
    names: tuple[str, ...] = ()
    token: Path | None = None
    state: K8sServer | None = None

    def settings_for(self, cluster: str) -> BootSettings:
        """Return the names and settings for the nodes of a new cluster."""
        hosts = self.hosts
        names = [f"n@{host}" for host in hosts]
        where = dict(zip(names, hosts, strict=True))
        at = {"host": self.proxy.host, "port": self.proxy.port}
        match self.backend:
            case "config":
                return BootSettings(hosts=where, settings={"classic_config.nodes": names})
            case "etcd":
                return BootSettings(hosts=where, settings=_below("etcd", at))
            case "consul":
                own = {name: {"consul.svc_addr": host} for name, host in where.items()}
                return BootSettings(hosts=where, settings=_below("consul", at), own=own)
            case "k8s":
                assert self.state is not None
                addresses = [{"ip": host} for host in hosts]
                self.state.endpoints[cluster] = [{"notReadyAddresses": addresses}]
                more = {
                    **at,
                    "scheme": "http",
                    "service_name": cluster,
                    "address_type": "ip",
                    "token_path": str(self.token),
                    "namespace_path": str(self.token),
                }
                return BootSettings(hosts=where, settings=_below("k8s", more))
            case "dns":
                named = [f"n@n{number}.example.local" for number, _ in enumerate(hosts, 1)]
                return BootSettings(
                    hosts=dict(zip(named, hosts, strict=True)),
                    settings={"dns.hostname": "all.example.local"},
                    nameserver=f"{self.proxy.host}:{self.proxy.port}",
                )
            case _:
                named = [f"n@{name}" for name in self.names]
                settings = {
                    "aws.access_key_id": "testing",
                    "aws.secret_key": "testing",
                    "aws.region": REGION,
                    "aws.instance_tags.service": "boots",
                }
                environment = {"AWS_ENDPOINT_URL": f"http://{self.proxy.host}:{self.proxy.port}"}
                return BootSettings(
                    hosts=dict(zip(named, hosts, strict=True)),
                    settings=settings,
                    environment=environment,
                )


def _below(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{name}.{key}": value for key, value in values.items()}


def foul(backend: str, kinds: tuple[Weather, ...]) -> tuple[Weather, ...]:
    """Return the faults that are possible with a backend; a file has no server that can fail."""
    return () if backend == "config" else tuple(one for one in kinds if one in FOUL)


@contextmanager
def place(
    backend: str,
    size: int,
    chance: random.Random,
    kinds: tuple[Weather, ...] = (),
    apart: Spaces | None = None,
) -> Iterator[Place]:
    """Start the server of a backend; raises `MissingProgram` if it is not installed.

    `apart`: the namespaces of the nodes; None means that each has a loopback address.
    """
    proxy = ProxyState(chance, EMPTY_LISTS[backend], foul(backend, kinds))
    hosts = [f"127.0.0.{10 + at}" for at in range(1, size + 1)]
    if apart is not None:
        proxy.host, hosts = apart.server, apart.hosts
    one = Place(backend=backend, proxy=proxy, hosts=tuple(hosts))
    with tempfile.TemporaryDirectory(prefix="joinproto-boots-") as folder:
        top = Path(folder)
        match backend:
            case "config":
                yield one
            case "etcd":
                with etcds(top) as (etcd,), before_tcp(proxy, etcd.client):
                    yield _with(one, etcd.client)
            case "consul":
                with serving(consul := ConsulServer()), before_tcp(proxy, consul.port):
                    yield _with(one, consul.port)
            case "k8s":
                (top / "token").write_text("a-token")
                with serving(k8s := K8sServer()), before_tcp(proxy, k8s.port):
                    yield _with(one, k8s.port, token=top / "token", state=k8s)
            case "dns":
                lines = [f"host-record=all.example.local,{host}" for host in hosts]
                for at, host in enumerate(hosts, 1):
                    back = ".".join(reversed(host.split(".")))
                    lines.append(f"ptr-record={back}.in-addr.arpa,n{at}.example.local")
                with dnsmasq(top, *lines) as port, before_dns(proxy, port):
                    yield _with(one, port)
            case "aws":
                with aws() as port, before_tcp(proxy, port):
                    yield _with(one, port, names=tuple(instances(port, size, "boots")))


def _with(one: Place, server: int, **more: Any) -> Place:
    return evolve(one, server=server, **more)
