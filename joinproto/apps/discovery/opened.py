"""Opens the backend that a file names, and completes its settings with facts of this machine."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import ssl
import string
import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from attrs import define, evolve, frozen

from joinproto.apps.discovery.aws_profile import profile
from joinproto.apps.discovery.http import Http
from joinproto.apps.discovery.perform import Exchange
from joinproto.apps.discovery.port import BackendPort
from joinproto.apps.discovery.resolver import Resolver
from joinproto.apps.discovery.successors import Successors
from joinproto.discovery import values
from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.aws import AwsBackend, Endpoint
from joinproto.discovery.aws_metadata import Metadata
from joinproto.discovery.chosen import Chosen
from joinproto.discovery.consul import ConsulBackend
from joinproto.discovery.contract import Backend, Variant
from joinproto.discovery.dns import DnsBackend
from joinproto.discovery.etcd2 import NONCE_LENGTH, Etcd2Backend
from joinproto.discovery.etcd3 import Etcd3Backend
from joinproto.discovery.exchange import Broken, Flow, Header, Request, Response, Signing
from joinproto.discovery.k8s import EndpointsBackend, PodBackend
from joinproto.discovery.names import port_of
from joinproto.discovery.register import ConsulRegister, EtcdRegister, Register
from joinproto.discovery.releases import Release
from joinproto.errors import UsageProblem

# -- several addresses of one service --------------------------------------------------------------


@frozen
class Address:
    """The address of one server of the backend."""

    host: str
    port: int


@define(eq=False)
class Failover:
    """A client for several addresses: if one does not answer, the next address is tried.

    The address that answered last is tried first.  An answer with an error status counts, except
    503, which says that the server cannot serve.
    """

    exchange: Exchange
    addresses: list[Address]

    async def __call__(self, request: Request) -> Response | Broken:
        got: Response | Broken = Broken(why="no address is set")
        for address in tuple(self.addresses):
            got = await self.exchange(evolve(request, host=address.host, port=address.port))
            if isinstance(got, Response) and got.status != 503:
                self.addresses.remove(address)
                self.addresses.insert(0, address)
                return got
        return got


def addressed(exchange: Exchange, addresses: Sequence[Address]) -> Exchange:
    """Return an exchange that tries these addresses in turn; with fewer than two, `exchange`."""
    return Failover(exchange, list(addresses)) if len(addresses) > 1 else exchange


@frozen
class ConfiguredBackend(Backend):
    """A backend whose list is written in the file."""

    nodes: tuple[str, ...]

    def list_nodes(self) -> Flow[Answer]:
        yield from ()
        return Listed(self.nodes)


@frozen
class RemadeBackend(Backend):
    """A backend that only lists nodes, and is made again for each list, so that it has new keys."""

    make: Callable[[], Backend]

    def list_nodes(self) -> Flow[Answer]:
        try:
            backend = self.make()
        except UsageProblem as problem:
            return Failed(problem.message)
        return (yield from backend.list_nodes())


V313 = Release(3, 13)
SIOCGIFADDR = 0x8915


@asynccontextmanager
async def opened(
    chosen: Chosen,
    *,
    locked: bool = True,
    resolver: Resolver | None = None,
    metadata: Metadata | None = None,
    endpoint: Endpoint | None = None,
) -> AsyncIterator[BackendPort]:
    """Open the backend; raises `UsageProblem` for settings that cannot hold on this machine.

    `locked`: take Consul's lock for a list if the release does so; False for a list that only an
    operator reads.  The other arguments replace the system's resolver, the instance's metadata, and
    AWS's addresses.
    """
    match chosen.backend:
        case values.CLASSIC:
            yield BackendPort(ConfiguredBackend(chosen.nodes))
            return
        case values.DNS:
            yield BackendPort(DnsBackend(chosen.dns), look_up=(resolver or Resolver()).look)
            return
    tls, backend, addresses = _backend(chosen, locked, metadata, endpoint)
    async with Http(chosen.proxies, tls_context(tls)) as http:
        exchange = addressed(http.exchange, addresses)
        if isinstance(backend, AwsBackend):
            backend = RemadeBackend(lambda: _aws(chosen, metadata, endpoint))
        if isinstance(backend, EndpointsBackend):
            exchange = _renewed(exchange, str(chosen.get("k8s.token_path")))
        yield BackendPort(backend, exchange)


@asynccontextmanager
async def opened_register(chosen: Chosen) -> AsyncIterator[Successors]:
    """Open the register of the view chain on etcd v3 or Consul, as this file chooses.

    Raises `UsageProblem` for any other backend, and for settings that cannot hold on this machine.
    """
    tls, backend, addresses = _backend(chosen, False, None, None)
    match backend:
        case Etcd3Backend(about):
            register: Register = EtcdRegister(about)
        case ConsulBackend(about=consul):
            register = ConsulRegister(consul)
        case _:
            raise UsageProblem(
                f"{chosen.backend} of {chosen.given.release} cannot keep a register",
                next="use etcd with a release from 3.9 on, or consul",
            )
    async with Http(chosen.proxies, tls_context(tls)) as http:
        yield Successors(register, addressed(http.exchange, addresses))


def _backend(
    chosen: Chosen, locked: bool, metadata: Metadata | None, endpoint: Endpoint | None
) -> tuple[Mapping[str, str], Backend, tuple[Address, ...]]:
    """Return the backend's TLS settings, the backend, and the addresses that the file lists."""
    match chosen.backend:
        case values.CONSUL:
            nic = chosen.consul.svc_addr_nic
            about = evolve(
                chosen.consul,
                hostname=socket.gethostname(),
                nic_address=None if nic is None else nic_address(nic),
            )
            real = chosen.variant is Variant.REAL and chosen.given.release >= V313
            return chosen.tls("consul.ssl_options"), ConsulBackend(about, locked and real), ()
        case values.ETCD if chosen.is_etcd2:
            nonce = "".join(secrets.choice(string.ascii_letters) for _ in range(NONCE_LENGTH))
            return (
                chosen.tls("etcd.ssl_options"),
                Etcd2Backend(evolve(chosen.etcd2, nonce=nonce)),
                (),
            )
        case values.ETCD:
            etcd = chosen.etcd3
            found = tuple(map(_address, chosen.endpoints))
            if found:
                etcd = evolve(etcd, host=found[0].host, port=found[0].port)
            return chosen.tls("etcd.ssl_options"), Etcd3Backend(etcd), found
        case values.K8S if chosen.is_pods:
            return {}, PodBackend(chosen.pod), ()
        case values.K8S:
            token, namespace = (
                _content(str(chosen.get(f"k8s.{name}_path"))) for name in ("token", "namespace")
            )
            k8s = evolve(chosen.k8s, token=token, namespace=namespace)
            return chosen.k8s_tls, EndpointsBackend(k8s), ()
        case values.AWS:
            return {}, _aws(chosen, metadata, endpoint), ()
    raise UsageProblem(
        f"the backend {chosen.backend} is not supported",
        next="use classic_config, dns, aws, kubernetes, consul or etcd",
    )


def _aws(chosen: Chosen, metadata: Metadata | None, endpoint: Endpoint | None) -> AwsBackend:
    access, secret = chosen.get("aws.access_key_id"), chosen.get("aws.secret_key")
    found = profile(os.environ, Path.home())
    keys = found.keys
    if access and secret:
        keys = Signing(access_key=access, secret_key=secret, region="", service="")
    region = chosen.about.values.get("aws.region") or found.region
    prefers = chosen.about.values.get("aws.prefer_imdsv2", True)
    at = found.metadata
    there = Metadata() if at is None else Metadata(host=at.host, port=at.port)
    return AwsBackend(
        evolve(chosen.aws, endpoint=endpoint or found.endpoint),
        chosen.aws_names,
        evolve(metadata or there, prefer_imdsv2=bool(prefers)),
        keys,
        region,
    )


def _address(text: str) -> Address:
    host, _, said = text.rpartition(":")
    port = port_of(said)
    host = host.removeprefix("http://").removeprefix("https://").strip("[]")
    if not host or port is None:
        raise UsageProblem(
            f"etcd.endpoints: {text!r} is not an address",
            next="write HOST:PORT, such as etcd1:2379",
        )
    return Address(host, port)


def _content(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(
            f"{path} cannot be read: {error}",
            next="run the command in the pod, or set the file's path",
        ) from None


def _renewed(exchange: Exchange, path: str) -> Exchange:
    """Return an exchange that reads the token's file for each request.

    Kubernetes replaces the token now and then.
    """

    async def asked(request: Request) -> Response | Broken:
        try:
            bearer = Header("Authorization", f"Bearer {_content(path)}")
        except UsageProblem as problem:
            return Broken(why=problem.message)
        others = tuple(one for one in request.headers if one.name != bearer.name)
        return await exchange(evolve(request, headers=(bearer, *others)))

    return asked


def nic_address(name: str) -> str | None:
    """Return the IPv4 address of a network interface; None if it has none or does not exist."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            packed = fcntl.ioctl(any_socket, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return None
    return socket.inet_ntoa(packed[20:24])


def tls_context(about: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the TLS context for these settings; None if there are no settings.

    The server's certificate is verified unless `verify` is verify_none.  Raises `UsageProblem` for
    files that cannot be read.
    """
    if not about:
        return None
    context = ssl.create_default_context()
    try:
        if "cacertfile" in about:
            context = ssl.create_default_context(cafile=about["cacertfile"])
        if "certfile" in about:
            context.load_cert_chain(
                about["certfile"], about.get("keyfile"), about.get("password", "")
            )
    except OSError as error:  # ssl.SSLError is an OSError
        raise UsageProblem(
            f"TLS: the files cannot be used: {error.strerror or error}",
            next="check the paths, and that the files are PEM",
        ) from None
    if about.get("verify") == "verify_none":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
