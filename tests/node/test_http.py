"""`/metrics` and `/health`, as a scraper and a supervisor see them."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from joinproto.drivers.addresses import Address
from joinproto.errors import EnvironmentProblem
from joinproto.node.http import http_server

FACTS: dict[str, Any] = {
    "phase": "active",
    "serves": True,
    "view_number": 3,
    "view_members": 2,
    "peers": 1,
    "committed": 7,
    "position": 8,
    "pending": 1,
    "clients": 4,
    "acknowledged": 5,
    "opened": 2,
    "refused_connections": 9,
}


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_metrics_are_read_when_they_are_asked_for() -> None:
    facts = dict(FACTS)
    with http_server(Address("127.0.0.1", 0), lambda: facts) as port:
        facts["committed"] = 11
        status, text = get(port, "/metrics")

    found = {
        (sample.name, sample.labels.get("phase")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert 200 == status
    assert 11 == found["joinproto_committed", None]
    assert 5 == found["joinproto_acknowledged_total", None]
    assert (1, 0) == (found["joinproto_phase", "active"], found["joinproto_phase", "frozen"])


def test_health_is_whether_clients_are_served() -> None:
    facts = dict(FACTS)
    with http_server(Address("127.0.0.1", 0), lambda: facts) as port:
        assert (200, "active\n") == get(port, "/health")
        facts |= {"phase": "suspended", "serves": False}
        assert (503, "suspended\n") == get(port, "/health")


def test_an_address_in_use_is_said() -> None:
    with http_server(Address("127.0.0.1", 0), lambda: FACTS) as port:
        second = http_server(Address("127.0.0.1", port), lambda: FACTS)
        with pytest.raises(EnvironmentProblem, match="cannot listen for HTTP"):
            second.__enter__()
