"""`/metrics` for Prometheus and `/health` for a supervisor, on an address of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from joinproto.core.chain.phases import Phase
from joinproto.drivers.addresses import Address
from joinproto.errors import EnvironmentProblem

Facts = Callable[[], dict[str, Any]]


class _NodeCollector(Collector):
    """Reads the node when it is asked, so nothing is counted twice."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def collect(self) -> Iterable[Metric]:
        facts = self.facts()
        phase = GaugeMetricFamily("joinproto_phase", "1 for the present phase.", labels=["phase"])
        for one in Phase:
            phase.add_metric([one.value], float(facts["phase"] == one.value))
        yield phase
        for name, about in _GAUGES.items():
            yield GaugeMetricFamily(f"joinproto_{name}", about, value=float(facts[name]))
        for name, about in _COUNTERS.items():
            yield CounterMetricFamily(f"joinproto_{name}", about, value=float(facts[name]))


_GAUGES = {
    "serves": "1 while clients are served.",
    "view_number": "Number of the newest view that is known, 0 for none.",
    "view_members": "Members of that view.",
    "peers": "Members to which there is a connection.",
    "committed": "Number of the last frame that is known to be committed.",
    "position": "Number of the last frame on this disk.",
    "pending": "Frames of clients that wait to be committed.",
    "clients": "Connections of clients.",
}
_COUNTERS = {
    "acknowledged": "Frames that were acknowledged to clients of this node.",
    "opened": "How often this node began to serve clients.",
    "refused_connections": "Connections that were refused.",
}


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def http_server(address: Address, facts: Facts) -> Iterator[int]:
    """Answer in a thread of its own, which ends with the block; yields the port."""
    registry = CollectorRegistry()
    registry.register(_NodeCollector(facts))
    metrics = make_wsgi_app(registry)

    def application(environ: Any, start: Any) -> Any:
        if environ.get("PATH_INFO") != "/health":
            return metrics(environ, start)
        found = facts()
        status = "200 OK" if found["serves"] else "503 Service Unavailable"
        start(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{found['phase']}\n".encode()]

    try:
        server: WSGIServer = make_server(
            address.host, address.port, application, handler_class=_Silent
        )
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot listen for HTTP on {address}: {error.strerror or error}",
            next="look who else listens there, or configure another address",
        ) from error
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
