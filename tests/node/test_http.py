"""`/metrics` and `/health`, as a scraper and a supervisor see them."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request
from typing import Any

import anyio
import anyio.to_thread
import pytest
from prometheus_client.parser import text_string_to_metric_families

from joinproto import __version__
from joinproto.errors import EnvironmentProblem
from joinproto.host.process import http
from joinproto.host.process.http import CONNECTIONS_MAX, http_server
from joinproto.net.addresses import Address

pytestmark = pytest.mark.anyio

HERE = Address("127.0.0.1", 0)
SECONDS = 60
FACTS: dict[str, Any] = {
    "phase": "active",
    "serves": True,
    "view_number": 3,
    "view_members": 2,
    "peers": 1,
    "committed": 7,
    "position": 8,
    "first_frame": 1,
    "snapshot": 0,
    "journal_bytes": 700,
    "pending": 1,
    "clients": 4,
    "acknowledged": 5,
    "opened": 2,
    "refused_connections": 9,
}


@pytest.fixture
def anyio_backend() -> str:
    """Return the backend that the node runs on."""
    return "asyncio"


def ask(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def get(port: int, path: str) -> tuple[int, str]:
    return await anyio.to_thread.run_sync(ask, port, path)


def connected(port: int, said: bytes = b"") -> socket.socket:
    link = socket.create_connection(("127.0.0.1", port), SECONDS)
    link.sendall(said)
    return link


async def is_ended(link: socket.socket) -> bool:
    """Return whether the other side ends the connection; raises if it sends nothing in time."""
    try:
        return b"" == await anyio.to_thread.run_sync(link.recv, 1)
    except ConnectionResetError:
        return True


async def test_metrics_are_read_at_each_request() -> None:
    facts = dict(FACTS)
    async with http_server(HERE, lambda: facts) as port:
        facts["committed"] = 11
        status, text = await get(port, "/metrics")

    found = {
        (sample.name, sample.labels.get("phase")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert 200 == status
    assert 11 == found["joinproto_committed", None]
    assert 5 == found["joinproto_acknowledged_total", None]
    assert (1, 0) == (found["joinproto_phase", "active"], found["joinproto_phase", "frozen"])
    assert f'joinproto_build_info{{version="{__version__}"}} 1.0' in text


async def test_health_reports_whether_clients_are_served() -> None:
    facts = dict(FACTS)
    async with http_server(HERE, lambda: facts) as port:
        assert (200, "active\n") == await get(port, "/health")
        facts |= {"phase": "suspended", "serves": False}
        assert (503, "suspended\n") == await get(port, "/health")


async def test_an_address_in_use_is_reported() -> None:
    async with http_server(HERE, lambda: FACTS) as port:
        second = http_server(Address("127.0.0.1", port), lambda: FACTS)
        with pytest.raises(EnvironmentProblem, match="cannot listen for HTTP"):
            await second.__aenter__()


@pytest.mark.parametrize("said", [b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: a\r\nX: "])
async def test_a_half_open_connection_delays_no_other_connection(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It delays neither another answer, nor the end of the node."""
    monkeypatch.setattr(http, "CONNECTION_SECONDS", 3 * SECONDS)
    async with http_server(HERE, lambda: FACTS) as port:
        with connected(port, said) as half_open:
            assert (200, "active\n") == await get(port, "/health")
            began = time.monotonic()
    assert time.monotonic() - began < SECONDS
    half_open.close()


async def test_a_connection_without_a_request_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "CONNECTION_SECONDS", 0.3)
    async with http_server(HERE, lambda: FACTS) as port:
        with connected(port, b"GET /health") as slow:
            assert await is_ended(slow)


async def test_the_oldest_connection_is_closed_when_all_places_are_taken() -> None:
    async with http_server(HERE, lambda: FACTS) as port:
        idle = [connected(port) for _ in range(CONNECTIONS_MAX)]
        try:
            assert (200, "active\n") == await get(port, "/health")
            assert await is_ended(idle[0])
        finally:
            for one in idle:
                one.close()
