"""`/metrics` for Prometheus and `/health` for a supervisor, on their own address.

uvicorn serves them in the node's event loop (asyncio).  A connection lasts at most
`CONNECTION_SECONDS`, and when there are `CONNECTIONS_MAX`, the oldest is closed.  Therefore idle or
slow clients cannot keep a supervisor from its answer, or the node from its end.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from enum import Enum
from typing import Any

import anyio
import uvicorn
from attrs import frozen
from prometheus_client import CollectorRegistry, make_asgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from uvicorn.protocols.http.h11_impl import H11Protocol

from joinproto import __version__
from joinproto.errors import EnvironmentProblem
from joinproto.join.phases import Phase
from joinproto.net.addresses import Address

CONNECTIONS_MAX = 64
CONNECTION_SECONDS = 10.0
HEADER_BYTES_MAX = 16 * 2**10

Facts = Callable[[], dict[str, Any]]


@frozen
class Measures:
    """The metrics of a process for Prometheus, taken from its facts.  `name`: their prefix.

    `phase`: the metric's name for the fact `phase`, which is its label, too, and the enum of the
    fact's values.  `gauges`, `counters`: the help text of each fact.
    """

    name: str
    phase: tuple[str, type[Enum]]
    gauges: Mapping[str, str]
    counters: Mapping[str, str]


@frozen(eq=False)
class _Reader(Collector):
    """The metrics of a process, made from its facts at each request."""

    facts: Facts
    measures: Measures

    def collect(self) -> Iterable[Metric]:
        facts, (label, kind), name = self.facts(), self.measures.phase, self.measures.name
        build = GaugeMetricFamily("joinproto_build_info", "1.", labels=["version"])
        build.add_metric([__version__], 1.0)
        yield build
        phase = GaugeMetricFamily(f"{name}_{label}", f"1 for the present {label}.", labels=[label])
        for one in kind:
            phase.add_metric([one.value], float(facts["phase"] == one.value))
        yield phase
        for key, about in self.measures.gauges.items():
            yield GaugeMetricFamily(f"{name}_{key}", about, value=float(facts[key]))
        for key, about in self.measures.counters.items():
            yield CounterMetricFamily(f"{name}_{key}", about, value=float(facts[key]))


_GAUGES = {
    "serves": "1 while clients are served.",
    "view_number": "Number of the newest view that is known, 0 for none.",
    "view_members": "Members of that view.",
    "peers": "Members to which there is a connection.",
    "committed": "Number of the last frame that is known to be committed.",
    "position": "Number of the last frame on this disk.",
    "first_frame": "Number of the first frame on this disk that was not dropped.",
    "snapshot": "Number of the last frame in a snapshot, 0 for none.",
    "journal_bytes": "Size of frames.log.",
    "pending": "Frames of clients that wait to be committed.",
    "clients": "Connections of clients.",
}
_COUNTERS = {
    "acknowledged": "Frames that were acknowledged to clients of this node.",
    "opened": "How often this node began to serve clients.",
    "refused_connections": "Connections that were refused.",
}
NODE = Measures("joinproto", ("phase", Phase), _GAUGES, _COUNTERS)


@asynccontextmanager
async def http_server(
    address: Address, facts: Facts, measures: Measures = NODE
) -> AsyncIterator[int]:
    """Answer requests while the block runs; yields the port.

    `facts`: returns at least `serves`, `phase`, and the facts that `measures` names.
    """
    listener = _listen(address)
    open_now: dict[asyncio.BaseTransport, None] = {}
    server = _Server(
        uvicorn.Config(
            _application(_Reader(facts, measures)),
            http=_limited_protocol(open_now),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_keep_alive=int(CONNECTION_SECONDS),
            h11_max_incomplete_event_size=HEADER_BYTES_MAX,
        )
    )

    async def serve() -> None:
        # The server is not cancelled but told to end, so that it closes its sockets.
        with anyio.CancelScope(shield=True):
            await server.serve(sockets=[listener])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            for transport in list(open_now):
                _abort(transport)


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=128)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot listen for HTTP on {address}: {error.strerror or error}",
            next="look which process listens there, or configure another address",
        ) from error


def _application(reader: _Reader) -> Any:
    registry = CollectorRegistry()
    registry.register(reader)
    metrics = make_asgi_app(registry)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] != "/health":
            await metrics(scope, receive, send)
            return
        found = reader.facts()
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        status = 200 if found["serves"] else 503
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": f"{found['phase']}\n".encode()})

    return application


class _Server(uvicorn.Server):
    """uvicorn without signal handlers, because the node handles the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _limited_protocol(open_now: dict[asyncio.BaseTransport, None]) -> type[H11Protocol]:
    """Return a protocol with limits on the time and the number of connections."""

    class Bounded(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            open_now[transport] = None
            if len(open_now) > CONNECTIONS_MAX:
                _abort(next(iter(open_now)))
            self._limit = self.loop.call_later(CONNECTION_SECONDS, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            self._limit.cancel()
            open_now.pop(self.transport, None)
            super().connection_lost(exc)

    return Bounded


def _abort(transport: asyncio.BaseTransport) -> None:
    assert isinstance(transport, asyncio.Transport)
    transport.abort()
