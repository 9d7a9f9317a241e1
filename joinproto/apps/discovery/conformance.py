"""Whether a server answers as a backend must: `joinproto discovery conformance URL`.

Each check is a sentence that holds or does not.  Records are written under a cluster's name that
is used nowhere else, and removed at the end.  A program with a backend of its own, in Python, gives
`conform` a function that makes one for a node.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Annotated

import anyio
from attrs import evolve, frozen

from joinproto.apps.discovery.http import Http
from joinproto.apps.discovery.perform import perform
from joinproto.apps.discovery.port import Port, Served
from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.consul import Consul, ConsulBackend
from joinproto.discovery.contract import Backend, Done, Held
from joinproto.discovery.etcd2 import Etcd2, Etcd2Backend
from joinproto.discovery.etcd3 import Etcd3, Etcd3Backend, after, key
from joinproto.discovery.exchange import Broken, Request, Response, arguments
from joinproto.discovery.names import port_of
from joinproto.discovery.register import ConsulRegister, EtcdRegister, Register, Stands
from joinproto.errors import EnvironmentProblem, UsageProblem

LOCK_WAIT = 3.0
"""Seconds that a node waits for a lock that another node holds."""
WRITERS = 8


@frozen(kw_only=True)
class Check:
    """One sentence, and whether it holds."""

    name: Annotated[str, "what must hold"]
    holds: Annotated[bool, "whether it does"]
    found: Annotated[str, "what came"]


@frozen(kw_only=True)
class Conformance:
    """The checks of one server."""

    server: Annotated[str, "the address that was asked"]
    checks: Annotated[tuple[Check, ...], "in the order in which they were made"]

    @property
    def conforms(self) -> Annotated[bool, "all hold"]:
        return all(one.holds for one in self.checks)


Make = Callable[[str], Port]
"""Makes the backend of a node, as `rabbit@one`."""
ONE, TWO = "rabbit@one", "rabbit@two.example-x.org"


async def conform(server: str, make: Make) -> Conformance:
    """Return the checks of a backend; `make` returns it for a node's name."""
    one, two = make(ONE), make(TWO)
    checks: list[Check] = []

    def told(name: str, holds: bool, found: object) -> None:
        checks.append(Check(name=name, holds=holds, found=str(found)))

    async def lists(name: str, *nodes: str) -> None:
        answer = await one.list_nodes()
        told(name, _names(answer) == set(nodes) and _count(answer) == len(nodes), answer)

    empty = await one.list_nodes()
    told("before any node registers, the list is empty and no error", empty == Listed(()), empty)
    if one.registers:
        try:
            got = await one.register()
            told("a node can register", isinstance(got, Done), got)
            await lists("a node that is registered is listed", ONE)
            got = await one.register()
            told("registering again is no error", isinstance(got, Done), got)
            await lists("a node that registers twice is listed once", ONE)
            await two.register()
            await lists("two nodes are both listed, with their names as they are", ONE, TWO)
            if one.keep_alive_every is not None:
                got = await one.keep_alive()
                told("a record can be kept alive", got == Done(), got)
            got = await one.unregister()
            told("a node can unregister", isinstance(got, Done), got)
            await lists("a node that has unregistered is not listed, the other still is", TWO)
        finally:
            with anyio.CancelScope(shield=True):
                await one.unregister()
                await two.unregister()
        await lists("after all have unregistered, the list is empty again")
    if one.locks:
        checks += await locks(one, two)
    return Conformance(server=server, checks=tuple(checks))


async def require_answer(port: Served, server: str) -> None:
    """List the nodes once; raises `EnvironmentProblem` where no request has a whole answer."""
    answers: list[Response] = []

    async def noted(request: Request) -> Response | Broken:
        got = await port.exchange(request)
        if isinstance(got, Response):
            answers.append(got)
        return got

    said = await Served(port.backend, noted).list_nodes()
    if isinstance(said, Failed) and not answers:
        raise unreached(server, said.why)


def unreached(server: str, why: str) -> EnvironmentProblem:
    """Return the report about a server that does not answer."""
    return EnvironmentProblem(
        f"{server} gives no answer, so nothing is known of it: {why}",
        next="check that it runs, and that this machine reaches it",
    )


async def locks(one: Port, two: Port) -> list[Check]:
    """Return the checks of the lock that both nodes ask for; no node holds it afterwards."""
    checks: list[Check] = []

    def told(name: str, holds: bool, found: object) -> None:
        checks.append(Check(name=name, holds=holds, found=str(found)))

    held = await one.lock()
    told("a free lock is given", isinstance(held, Held), held)
    if not isinstance(held, Held):
        return checks
    kept = await one.hold(held)
    told("a lock can be kept", isinstance(kept, Done), kept)
    second: Held | Failed | None = None
    with anyio.move_on_after(LOCK_WAIT):
        second = await two.lock()
    told(
        "a lock that is held is not given again",
        not isinstance(second, Held),
        second or f"waits, after {LOCK_WAIT:g} s",
    )
    given = await one.unlock(held)
    told("a lock can be given back", isinstance(given, Done), given)
    third = await two.lock()
    told("a lock that was given back is given to the next", isinstance(third, Held), third)
    if isinstance(third, Held):
        await two.unlock(third)
    return checks


async def conform_register(register: Register, http: Http, name: str) -> tuple[Check, ...]:
    """Return the checks of a server's compare-and-set; the key is there afterwards."""
    before = await perform(register.read(name), http.exchange)
    said: list[Stands | Failed] = []

    async def writes(value: str) -> None:
        said.append(await perform(register.set_once(name, value), http.exchange))

    async with anyio.create_task_group() as group:
        for number in range(WRITERS):
            group.start_soon(writes, f"value-{number}")
    after = await perform(register.read(name), http.exchange)
    different = sorted({str(one) for one in said})
    is_one = len(different) == 1 and all(isinstance(one, Stands) for one in said)
    return (
        Check(
            name="a key that was never set is free",
            holds=before == Stands(None),
            found=str(before),
        ),
        Check(
            name=f"of {WRITERS} writers that set a key at once, one succeeds, and all read it",
            holds=is_one,
            found=", ".join(different),
        ),
        Check(
            name="the value that was set is read again",
            holds=is_one and after == said[0],
            found=str(after),
        ),
    )


# -- servers by their address ---------------------------------------------------------------


@frozen
class Server:
    """`KIND+http://HOST:PORT`."""

    kind: str
    scheme: str
    host: str
    port: int


PORTS = {"consul": 8500, "etcd2": 2379, "etcd3": 2379}


def server_of(url: str) -> Server:
    """Return the server; raises `UsageProblem` for another address."""
    kind, plus, rest = url.partition("+")
    scheme, slashes, place = rest.partition("://")
    host, _, said = place.rstrip("/").rpartition(":")
    if not host:
        host, said = said, str(PORTS.get(kind, 0))
    port = port_of(said)
    host = host.strip("[]")
    fits = plus and slashes and kind in PORTS and scheme in ("http", "https")
    if not fits or not host or port is None or "/" in place:
        raise UsageProblem(
            f"{url!r} is not a server that can be asked",
            next=f"write KIND+http://HOST:PORT, with KIND {', '.join(PORTS)}",
        )
    return Server(kind, scheme, host, port)


def _backends(server: Server, cluster: str) -> tuple[Callable[[str], Backend], Register | None]:
    more = {"host": server.host, "port": server.port, "scheme": server.scheme}
    match server.kind:
        case "consul":
            consul = Consul(cluster_name=cluster, svc=cluster, **more)  # type: ignore[arg-type]
            return lambda node: ConsulBackend(evolve(consul, node=node)), ConsulRegister(consul)
        case "etcd2":
            etcd2 = Etcd2(cluster_name=cluster, node_ttl=10, **more)  # type: ignore[arg-type]
            return (
                lambda node: Etcd2Backend(evolve(etcd2, node=node, nonce=secrets.token_hex(16))),
                None,
            )
    etcd3 = Etcd3(cluster_name=cluster, **more)  # type: ignore[arg-type]
    return lambda node: Etcd3Backend(evolve(etcd3, node=node)), EtcdRegister(etcd3)


def _sweep(server: Server, cluster: str) -> Request:
    """Return the request that removes all keys of this cluster."""
    at = {"host": server.host, "port": server.port, "scheme": server.scheme}
    match server.kind:
        case "consul":
            consul = Consul(**at)  # type: ignore[arg-type]
            path = f"/v1/kv/{consul.lock_prefix}/{cluster}/"
            return consul.request("DELETE", path, arguments=arguments(("recurse", None)))
        case "etcd2":
            etcd2 = Etcd2(cluster_name=cluster, **at)  # type: ignore[arg-type]
            return etcd2.request("DELETE", etcd2.base, arguments(("recursive", "true")))
    etcd3 = Etcd3(**at)  # type: ignore[arg-type]
    keys = f"/joinproto/{etcd3.prefix}/{cluster}/"
    tree = {"key": key(keys), "range_end": key(after(keys))}
    return etcd3.post("/v3/kv/deleterange", tree, None)


@asynccontextmanager
async def _http() -> AsyncIterator[Http]:
    async with Http() as http:
        yield http


def conformance(
    url: str, http: Callable[[], AbstractAsyncContextManager[Http]] = _http
) -> Conformance:
    """Return the checks of the server at this address.

    Raises `UsageProblem` for a malformed address, and `EnvironmentProblem` where no
    server answers there.
    """
    server = server_of(url)
    cluster = f"joinproto-conformance-{secrets.token_hex(8)}"
    backend, register = _backends(server, cluster)

    async def asked() -> Conformance:
        async with http() as open_http:
            first = Served(backend(ONE), open_http.exchange)
            await require_answer(first, url)
            try:
                done = await conform(url, lambda node: Served(backend(node), open_http.exchange))
                if register is None:
                    return done
                more = await conform_register(register, open_http, "conformance")
                return evolve(done, checks=done.checks + more)
            finally:
                with anyio.CancelScope(shield=True):
                    await open_http.exchange(_sweep(server, cluster))

    return anyio.run(asked)


def _names(answer: Answer) -> set[str] | None:
    return set(answer.nodes) if isinstance(answer, Listed) else None


def _count(answer: Answer) -> int:
    return len(answer.nodes) if isinstance(answer, Listed) else -1
