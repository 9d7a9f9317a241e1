"""Checks that a server answers as a backend must: `joinproto discovery conformance URL`.

Each check is a sentence that holds or does not hold.  The checks write records under a cluster name
that is used nowhere else, and remove them at the end.  A program with its own backend in Python
gives `conform` a function that makes this backend for a node.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

import anyio
from attrs import evolve, field, frozen

from joinproto.apps.discovery.http import Http
from joinproto.apps.discovery.perform import perform
from joinproto.apps.discovery.port import BackendPort, Port
from joinproto.discovery.answers import Failed, Listed
from joinproto.discovery.consul import Consul, ConsulBackend
from joinproto.discovery.contract import Backend, Done, Held
from joinproto.discovery.etcd2 import Etcd2, Etcd2Backend
from joinproto.discovery.etcd3 import Etcd3, Etcd3Backend, after, encoded
from joinproto.discovery.exchange import Broken, Request, Response, arguments
from joinproto.discovery.names import port_of
from joinproto.discovery.register import ConsulRegister, EtcdRegister, Register, RegisterValue
from joinproto.errors import EnvironmentProblem, UsageProblem

LOCK_WAIT = 3.0
"""Seconds that a node waits for a lock that another node holds."""
WRITERS = 8


@frozen
class Check:
    """A sentence about a server, and whether it holds."""

    name: Annotated[str, "the sentence that must hold"]
    holds: Annotated[bool, "whether it holds"]
    found: Annotated[str, "the server's answer"] = field(converter=str)


@frozen(kw_only=True)
class Conformance:
    """The checks of one server."""

    server: Annotated[str, "the address that was asked"]
    checks: Annotated[tuple[Check, ...], "in the order in which they were made"]

    @property
    def conforms(self) -> Annotated[bool, "whether all checks hold"]:
        return all(one.holds for one in self.checks)


MakeBackend = Callable[[str], Port]
"""Makes the backend of a node, given the node's name, for example `rabbit@one`."""
ONE, TWO = "rabbit@one", "rabbit@two.example-x.org"


async def conform(server: str, make: MakeBackend) -> Conformance:
    """Return the checks of a backend.  `make`: makes the backend of a node."""
    one, two = make(ONE), make(TWO)
    checks: list[Check] = []

    def check(name: str, holds: bool, found: object) -> None:
        checks.append(Check(name, holds, found))

    async def lists(name: str, *nodes: str) -> None:
        answer = await one.list_nodes()
        found = sorted(answer.nodes) if isinstance(answer, Listed) else None
        check(name, found == sorted(nodes), answer)

    empty = await one.list_nodes()
    check(
        "before any node registers, the server answers with an empty list, and not with an error",
        empty == Listed(()),
        empty,
    )
    if one.registers:
        try:
            got = await one.register()
            check("a node can register", isinstance(got, Done), got)
            await lists("a node that is registered is listed", ONE)
            got = await one.register()
            check("registering again is no error", isinstance(got, Done), got)
            await lists("a node that registers twice is listed once", ONE)
            await two.register()
            await lists("both nodes are listed, with their names unchanged", ONE, TWO)
            if one.keep_alive_every is not None:
                got = await one.keep_alive()
                check("a record can be kept alive", got == Done(), got)
            got = await one.unregister()
            check("a node can unregister", isinstance(got, Done), got)
            await lists(
                "a node that has unregistered is not listed, and the other node still is listed",
                TWO,
            )
        finally:
            with anyio.CancelScope(shield=True):
                await one.unregister()
                await two.unregister()
        await lists("after all nodes have unregistered, the list is empty again")
    if one.locks:
        checks += await locks(one, two)
    return Conformance(server=server, checks=tuple(checks))


async def require_answer(port: BackendPort, server: str) -> None:
    """List the nodes once; raises `EnvironmentProblem` if no request got a complete answer."""
    answers: list[Response] = []

    async def noted(request: Request) -> Response | Broken:
        got = await port.exchange(request)
        if isinstance(got, Response):
            answers.append(got)
        return got

    said = await BackendPort(port.backend, noted).list_nodes()
    if isinstance(said, Failed) and not answers:
        raise unreached(server, said.why)


def unreached(server: str, why: str) -> EnvironmentProblem:
    """Return the error about a server that does not answer."""
    return EnvironmentProblem(
        f"{server} does not answer, so no check was made: {why}",
        next="check that the server runs, and that this machine reaches it",
    )


async def locks(one: Port, two: Port) -> list[Check]:
    """Return the checks of the lock for which both nodes ask.

    The lock is released afterwards, also if the server gave it to both nodes.
    """
    held = await one.lock()
    is_given = Check("a free lock is given", isinstance(held, Held), held)
    if not isinstance(held, Held):
        return [is_given]
    kept = await one.hold(held)
    second: Held | Failed | None = None
    with anyio.move_on_after(LOCK_WAIT):
        second = await two.lock()
    waits = second or f"the second node still waits after {LOCK_WAIT:g} s"
    if isinstance(second, Held):
        await two.unlock(second)
    given = await one.unlock(held)
    third = await two.lock()
    if isinstance(third, Held):
        await two.unlock(third)
    return [
        is_given,
        Check("a lock can be kept", isinstance(kept, Done), kept),
        Check("a lock that is held is not given again", not isinstance(second, Held), waits),
        Check("a lock can be given back", isinstance(given, Done), given),
        Check(
            "a lock that was given back is given to the next node", isinstance(third, Held), third
        ),
    ]


async def conform_register(register: Register, http: Http, name: str) -> tuple[Check, ...]:
    """Return the checks of a server's compare-and-set; the key `name` remains set."""
    before = await perform(register.read(name), http.exchange)
    said: list[RegisterValue | Failed] = []

    async def writes(value: str) -> None:
        said.append(await perform(register.set_once(name, value), http.exchange))

    async with anyio.create_task_group() as group:
        for number in range(WRITERS):
            group.start_soon(writes, f"value-{number}")
    after = await perform(register.read(name), http.exchange)
    different = sorted({str(one) for one in said})
    is_one = len(different) == 1 and all(isinstance(one, RegisterValue) for one in said)
    return (
        Check("a key that was never set is free", before == RegisterValue(None), before),
        Check(
            f"of {WRITERS} writers that set a key at once, one succeeds, and all get that writer's"
            " value",
            is_one,
            ", ".join(different),
        ),
        Check("the value that was set is read again", is_one and after == said[0], after),
    )


# -- servers by their address ---------------------------------------------------------------


@frozen
class Server:
    """A server, written as `KIND+http[s]://HOST[:PORT]`."""

    kind: str
    scheme: str
    host: str
    port: int


PORTS = {"consul": 8500, "etcd2": 2379, "etcd3": 2379}


def server_of(url: str) -> Server:
    """Return the server; raises `UsageProblem` if `url` is not `KIND+http[s]://HOST[:PORT]`."""
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
            f"{url!r} is not the address of a server that can be checked",
            next=f"write KIND+http://HOST:PORT (or https); KIND is one of {', '.join(PORTS)}",
        )
    return Server(kind, scheme, host, port)


@frozen
class _Cluster:
    """A cluster's backends and register on a server; `sweep` removes all keys of the cluster."""

    backend: Callable[[str], Backend]
    register: Register | None
    sweep: Request


def _cluster_on(server: Server, name: str) -> _Cluster:
    at: dict[str, Any] = {"host": server.host, "port": server.port, "scheme": server.scheme}
    match server.kind:
        case "consul":
            consul = Consul(cluster_name=name, svc=name, **at)
            path = f"/v1/kv/{consul.lock_prefix}/{name}/"
            return _Cluster(
                lambda node: ConsulBackend(evolve(consul, node=node)),
                ConsulRegister(consul),
                consul.request("DELETE", path, arguments=arguments(("recurse", None))),
            )
        case "etcd2":
            etcd2 = Etcd2(cluster_name=name, node_ttl=10, **at)
            return _Cluster(
                lambda node: Etcd2Backend(evolve(etcd2, node=node, nonce=secrets.token_hex(16))),
                None,
                etcd2.request("DELETE", etcd2.base, arguments(("recursive", "true"))),
            )
    etcd3 = Etcd3(cluster_name=name, **at)
    keys = f"/joinproto/{etcd3.prefix}/{name}/"
    tree = {"key": encoded(keys), "range_end": encoded(after(keys))}
    return _Cluster(
        lambda node: Etcd3Backend(evolve(etcd3, node=node)),
        EtcdRegister(etcd3),
        etcd3.post("/v3/kv/deleterange", tree, None),
    )


def conformance(
    url: str, http: Callable[[], AbstractAsyncContextManager[Http]] = Http
) -> Conformance:
    """Return the checks of the server at this address.

    Raises `UsageProblem` for a malformed address, and `EnvironmentProblem` if no server answers
    there.
    """
    server = server_of(url)
    cluster = _cluster_on(server, f"joinproto-conformance-{secrets.token_hex(8)}")

    async def asked() -> Conformance:
        async with http() as open_http:

            def port(node: str) -> BackendPort:
                return BackendPort(cluster.backend(node), open_http.exchange)

            await require_answer(port(ONE), url)
            try:
                done = await conform(url, port)
                if cluster.register is None:
                    return done
                more = await conform_register(cluster.register, open_http, "conformance")
                return evolve(done, checks=done.checks + more)
            finally:
                with anyio.CancelScope(shield=True):
                    await open_http.exchange(cluster.sweep)

    return anyio.run(asked)
