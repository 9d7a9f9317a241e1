"""Files as they are found in public repositories, and the problems that `lint` reports in them.

Source: discovery, D1 and D6.
"""

from __future__ import annotations

import pytest

from joinproto.cli.first_start import start_of
from joinproto.discovery.lint import LintInput, lint
from joinproto.discovery.releases import release
from joinproto.errors import UsageProblem

F = "cluster_formation"
RAM = "[{rabbit, [{cluster_nodes, {['rabbit@hare-1', 'rabbit@hare-2'], ram}}]}]."


def said(text: str, at: str) -> list[tuple[str, str, str]]:
    """Return each problem's severity, reason and advice."""
    found = lint(text, LintInput(release=release(at)))
    return [(one.severity.value, one.why, one.next) for one in found.problems]


def of(backend: str, *lines: str) -> str:
    return "\n".join(f"{F}.{one}" for one in (f"peer_discovery_backend = {backend}", *lines))


@pytest.mark.parametrize(
    ("backend", "line", "at", "severity"),
    [
        ("etcd", "etcd.host = etcd:2379", "3.7", "error"),
        ("etcd", "etcd.host = etcd:2379", "3.12", "error"),
        ("etcd", "etcd.endpoints.1 = http://one:2379", "4.2", "error"),
        ("etcd", "etcd.endpoints.1 = one", "4.2", "error"),
        ("consul", "consul.host = http://consul", "3.12", "error"),
        ("consul", "consul.host = consul:8500", "4.2", "unsafe"),
        ("k8s", "k8s.host = https://kubernetes.default", "4.0", "unsafe"),
    ],
)
def test_a_host_with_a_scheme_or_a_port_is_reported(
    backend: str, line: str, at: str, severity: str
) -> None:
    """The broker adds a port to the value; etcd's client splits it at each colon, and fails."""
    value = line.partition(" = ")[2]

    found = [one for one, why, _ in said(of(backend, line), at) if repr(value) in why]

    assert [severity] == found


@pytest.mark.parametrize(
    ("backend", "line", "at"),
    [
        ("etcd", "etcd.endpoints.1 = one.example:2379", "4.2"),
        ("etcd", "etcd.host = 10.0.0.1", "3.12"),
        ("consul", "consul.host = fd00::1", "3.12"),
        ("k8s", "k8s.host = kubernetes.default", "4.0"),
    ],
)
def test_a_plain_host_is_accepted(backend: str, line: str, at: str) -> None:
    assert [] == said(of(backend, line), at)


def test_a_file_with_which_the_boot_crashes_is_not_searched() -> None:
    """Such a file is refused, like a file that the schema refuses."""
    text = of("etcd", "etcd.host = etcd:2379").encode()

    with pytest.raises(UsageProblem, match=r"line 2: .*the boot crashes"):
        start_of(text, "3.12", 3)


def test_a_ram_node_does_not_start_since_4_3() -> None:
    """No schema refuses the type in Erlang terms."""
    other = f"[{{rabbit, [{{{F}, [{{node_type, ram}}]}}]}}]."

    assert ["error"] == [one for one, why, _ in said(RAM, "4.3") if "RAM" in why]
    assert ["error"] == [one for one, why, _ in said(other, "4.3") if "RAM" in why]
    assert [] == [one for one in said(RAM, "4.2") if one[0] == "error"]


@pytest.mark.parametrize(
    ("inside", "next"),
    [
        ('{k8s, [{host, "k"}]}', "peer_discovery_k8s, with k8s_host and so on in it"),
        ('{peer_discovery_consul, [{host, "c"}]}', "consul_host in peer_discovery_consul"),
        ('{peer_discovery_aws, [{region, "r"}]}', "aws_ec2_region in peer_discovery_aws"),
        ('{peer_discovery_aws, [{aws_ec2_regions, "r"}]}', "aws_ec2_region in peer_discovery_aws"),
        ("{discovery_retry_limits, 3}", "discovery_retry_limit"),
    ],
)
def test_an_unread_term_is_reported_with_the_name_that_is_read(inside: str, next: str) -> None:
    found = said(f"[{{rabbit, [{{{F}, [{inside}]}}]}}].", "3.12")

    assert f"did you mean {next}?" in [one for _, _, one in found]


def test_a_list_of_terms_with_misspelt_names_is_still_a_list() -> None:
    """The backend then asks with its defaults; without the list it would list no node."""
    terms = "[{{rabbit, [{{cluster_formation, [{{peer_discovery_backend, "
    terms += "rabbit_peer_discovery_consul}}, {{{0}, [{{host, 1}}]}}]}}]}}]."
    without = [
        [why for _, why, _ in said(terms.format(name), "4.1") if why.startswith("without any")]
        for name in ("peer_discovery_consul", "consul")
    ]

    assert [0, 1] == [len(one) for one in without]


@pytest.mark.parametrize(
    ("key", "next"),
    [
        ("peer_discovery_k8s.host", "k8s.host"),
        ("classic_config.node.2", "classic_config.nodes.2"),
    ],
)
def test_a_name_of_erlang_terms_or_a_label_is_reported_as_a_key(key: str, next: str) -> None:
    assert f"did you mean {F}.{next}?" == said(f"{F}.{key} = x", "4.3")[0][2]


@pytest.mark.parametrize("text", ["k8s.address_type = hostname", "consul.host = consul"])
def test_settings_of_a_backend_that_is_not_chosen_are_reported_as_unsafe(text: str) -> None:
    found = said(f"{F}.{text}", "3.7")

    assert ["unsafe"] == [one for one, why, _ in found if "each node stands alone" in why]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (of("classic_config"), ("n1",)),
        ("default_user = admin", ("n1",)),
        (of("consul", "consul.host = consul"), None),
        (of("aws"), None),
    ],
)
def test_a_search_has_no_list_if_no_setting_names_a_server(
    text: str, told: tuple[str, ...] | None
) -> None:
    """Otherwise all nodes would count as listed, and three single brokers as one cluster."""
    start = start_of(text.encode(), "4.2", 3)

    first = start.answers.get("n1")
    if told is None:
        assert first is None
    else:
        assert first is not None
        assert {"n1", "n2", "n3"} == set(start.answers)
        assert told == first.list


def test_one_problem_is_reported_in_the_singular() -> None:
    one = lint(f"{F}.foo = 1", LintInput())

    assert one.why == "1 line keeps the node from starting; 0 other problems"
