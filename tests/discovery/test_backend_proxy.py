"""The route of a request; discovery, D1."""

from __future__ import annotations

import pytest

from joinproto.discovery.contract import Variant
from joinproto.discovery.exchange import Refused
from joinproto.discovery.proxy import Proxies, address, excludes, route_of


def test_each_scheme_has_its_proxy_and_exclusions_go_directly() -> None:
    about = Proxies(
        http_proxy="192.168.0.98",
        https_proxy="http://192.168.0.99:3128",
        exclusions=("169.254.169.254", "*.internal"),
    )

    assert "http://192.168.0.98:80" == route_of(about, "http", "consul.eng.example.local").proxy
    assert "http://192.168.0.99:3128" == route_of(about, "https", "ec2.amazonaws.com").proxy
    assert route_of(about, "http", "169.254.169.254").proxy is None
    assert route_of(about, "https", "k8s.internal").proxy is None
    assert route_of(Proxies(), "http", "anywhere").proxy is None


def test_the_environment_alone_sets_no_proxy_for_real() -> None:
    """Ours takes a proxy from the environment alone."""
    real = Proxies(variant=Variant.REAL, http_proxy="p", in_file=False)
    ours = Proxies(http_proxy="p", in_file=False)

    assert route_of(real, "http", "h").proxy is None
    assert "http://p:80" == route_of(ours, "http", "h").proxy


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "::ffff:169.254.169.254"),
        *("fd00:ec2::254", "FD00:EC2:0:0::254", "[fd00:ec2::254]", "fe80::1", "[fe80::1]"),
    ],
)
def test_a_request_to_the_metadata_service_goes_through_no_proxy(host: str) -> None:
    """The answer has secret keys; real uses the proxy unless the host is excluded."""
    assert route_of(Proxies(http_proxy="p"), "http", host).proxy is None
    assert (
        "http://p:80" == route_of(Proxies(variant=Variant.REAL, http_proxy="p"), "http", host).proxy
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.168.0.98", "http://192.168.0.98:80"),
        ("proxy:3128", "http://proxy:3128"),
        ("http://proxy:3128/", "http://proxy:3128"),
        ("https://proxy", "http://proxy:80"),
        ("[fd00::1]:3128", "http://[fd00::1]:3128"),
        ("fd00::1", "http://[fd00::1]:80"),
        ("http://user:pa@ss@proxy:1", "http://user:pa@ss@proxy:1"),
    ],
)
def test_an_address_of_a_proxy_is_read(text: str, expected: str) -> None:
    """The scheme is optional, and the default port is 80."""
    assert expected == address(text)


@pytest.mark.parametrize("text", ["", "proxy:0", "proxy:99999", "proxy:x", "a b", "p/path", ":80"])
def test_a_malformed_address_is_refused_and_the_message_does_not_repeat_it(text: str) -> None:
    """The address may contain a password."""
    with pytest.raises(Refused) as refused:
        address(f"secret@{text}")

    assert "secret" not in refused.value.why


def test_only_ours_excludes_networks() -> None:
    """Real compares texts."""
    assert excludes("169.254.0.0/16", "169.254.169.254", Variant.OURS)
    assert not excludes("169.254.0.0/16", "169.254.169.254", Variant.REAL)
    assert not excludes("169.254.0.0/16", "ec2.amazonaws.com", Variant.OURS)
    assert excludes("*", "anything", Variant.REAL)
    assert not excludes("*.local", "local", Variant.REAL)
