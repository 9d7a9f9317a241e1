"""A real DNS server (dnsmasq), and a server that does not run; discovery, D1."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

from joinproto.apps.discovery.conform_file import StandIns, conform_file
from joinproto.apps.discovery.port import BackendPort
from joinproto.apps.discovery.resolver import Resolver
from joinproto.discovery import dns
from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.contract import Variant
from joinproto.discovery.lint import LintInput
from joinproto.errors import EnvironmentProblem
from tests.needs import need
from tools.boots.servers import dnsmasq
from tools.faults.ports import free_ports

RECORDS = (
    "host-record=node1.eng.example.local,192.168.100.1",
    "host-record=node2.eng.example.local,192.168.100.2,fd00::2",
    "address=/discovery.eng.example.local/192.168.100.1",
    "address=/discovery.eng.example.local/192.168.100.2",
    "address=/discovery.eng.example.local/fd00::2",
    "address=/partly.eng.example.local/192.168.100.1",
    "address=/partly.eng.example.local/192.168.100.77",
    "txt-record=empty.eng.example.local,nothing",
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Return the port of a DNS server with these records."""
    need("dnsmasq")
    with dnsmasq(tmp_path_factory.mktemp("dns"), *RECORDS) as found:
        yield found


def listed(port: int, name: str, variant: Variant = Variant.OURS, seconds: float = 60.0) -> Answer:
    """Return the nodes that the server at this port names."""
    about = dns.Dns(variant=variant, hostname=f"{name}.eng.example.local", long_names=True)
    resolver = Resolver(servers=("127.0.0.1",), port=port, seconds=seconds)
    return anyio.run(BackendPort(dns.DnsBackend(about), look_up=resolver.look).list_nodes)


@pytest.mark.parametrize("variant", Variant)
def test_the_names_of_all_addresses_are_listed(port: int, variant: Variant) -> None:
    """An IPv6 address is added to the two addresses of the guide's example."""
    found = listed(port, "discovery", variant)

    expected = ("rabbit@node1.eng.example.local", "rabbit@node2.eng.example.local")
    assert isinstance(found, Listed)
    assert expected == tuple(sorted(found.nodes))


def test_an_address_without_a_name_is_skipped_by_real_alone(port: int) -> None:
    """For ours, a list that lacks a node is an error."""
    found = listed(port, "partly", Variant.REAL)
    assert Listed(("rabbit@node1.eng.example.local",)) == found

    ours = listed(port, "partly")
    assert isinstance(ours, Failed)
    assert "192.168.100.77" in ours.why


def test_a_name_without_addresses_is_an_empty_list_and_a_missing_name_an_error(port: int) -> None:
    """The server reports that there is no node; a missing name tells nothing about nodes."""
    assert Listed(()) == listed(port, "empty")
    assert isinstance(listed(port, "missing"), Failed)
    assert Listed(()) == listed(port, "missing", Variant.REAL)


def test_a_server_that_is_down_is_an_error() -> None:
    """The answer is never an empty list, except in the real variant."""
    (unused,) = free_ports(1)

    assert isinstance(listed(unused, "discovery", seconds=0.5), Failed)
    assert Listed(()) == listed(unused, "discovery", Variant.REAL, seconds=0.5)


@pytest.mark.parametrize("name", ["a..b", "x" * 64, "ü" * 300, " "])
def test_a_name_that_no_server_can_have_is_an_error(port: int, name: str) -> None:
    """There is no traceback."""
    assert isinstance(listed(port, name), Failed)


def test_a_real_dns_conforms_and_a_name_without_records_does_not(port: int) -> None:
    """The conformance suite runs for a file."""
    stand_ins = StandIns(resolver=Resolver(servers=("127.0.0.1",), port=port, seconds=60.0))

    def conforms(name: str) -> bool:
        text = (
            "cluster_formation.peer_discovery_backend = dns\n"
            f"cluster_formation.dns.hostname = {name}.eng.example.local\n"
        )
        return conform_file(text, LintInput(node="rabbit@a.b"), stand_ins=stand_ins).conforms

    assert conforms("discovery")
    assert not conforms("empty")
    assert not conforms("partly")


def test_a_dns_server_that_is_down_is_not_judged() -> None:
    """The error is the environment's: exit code 4."""
    (unused,) = free_ports(1)
    stand_ins = StandIns(resolver=Resolver(servers=("127.0.0.1",), port=unused, seconds=0.5))
    backend = "cluster_formation.peer_discovery_backend = dns"
    text = f"{backend}\ncluster_formation.dns.hostname = a.example\n"
    with pytest.raises(EnvironmentProblem, match="does not answer"):
        conform_file(text, LintInput(node="rabbit@a.b"), stand_ins=stand_ins)
