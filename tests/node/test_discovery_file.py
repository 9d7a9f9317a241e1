"""`[discovery]` in node.toml has the guide's names; errors name their place, with exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.apps.node.settings import read_settings
from joinproto.errors import UsageProblem
from joinproto.net.addresses import Address

GOOD = """\
member = "n@127.0.0.1"
cluster = "demo"
data = "data"
wait_for = 2
listen = "127.0.0.1:7101"
clients = "127.0.0.1:7201"
[members]
"n@far" = "127.0.0.9:99"
[discovery]
backend = "etcd"
expected = 3
[discovery.settings]
etcd.host = "etcd.example"
etcd.port = 2380
"""


def read(folder: Path, text: str = GOOD) -> object:
    path = folder / "node.toml"
    path.write_text(text)
    return read_settings(path)


def test_discovery_settings_are_read_with_the_keys_of_the_guide(tmp_path: Path) -> None:
    """Keys are as in docs/discovery.md; the cluster's name separates two clusters on one etcd."""
    path = tmp_path / "node.toml"
    path.write_text(GOOD)
    found = read_settings(path).discovery

    assert found is not None
    etcd = found.backend.etcd3
    assert ("etcd.example", 2380, "demo") == (etcd.host, etcd.port, etcd.cluster_name)
    assert Address("127.0.0.9", 99) == found.address("n@far")
    assert Address("10.0.0.2", 7101) == found.address("n@10.0.0.2")


def test_before_peers_are_found_the_electors_are_placeholders(tmp_path: Path) -> None:
    """This member is none of them, so it cannot found a cluster."""
    path = tmp_path / "node.toml"
    path.write_text(GOOD)
    config = read_settings(path).config

    assert 3 == len(config.electors)
    assert config.member not in config.electors


LISTED = """\
[discovery]
backend = "config"
expected = 2
[discovery.settings]
classic_config.nodes = ["n@a", "n@b"]
"""


def test_the_items_of_a_list_are_numbered_as_in_the_guide(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text(GOOD.partition("[discovery]")[0] + LISTED)
    found = read_settings(path).discovery

    assert found is not None
    assert ("n@a", "n@b") == found.backend.nodes


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("n@127.0.0.1", "n", "PREFIX@HOST"),
        ("expected = 3", "expected = 0", "discovery.expected is 0"),
        ("expected = 3", "expected = 1", "wait_for is 2"),
        ("expected = 3", "expected = 3\ninterval = 0", "discovery.interval"),
        ("expected = 3", "expected = 3\nport = 70000", "discovery.port"),
        ("expected = 3", 'expected = 3\nregister = "zookeeper"', "discovery.register"),
        ("expected = 3", 'expected = 3\nrelease = "2.0"', "release 2.0"),
        ('backend = "etcd"', 'backend = "zookeeper"', "zookeeper"),
        ("etcd.port = 2380", 'etcd.port = "many"', "etcd.port"),
        ("etcd.port = 2380", 'etcd.prot = "x"', "etcd.port"),
        ("etcd.port = 2380", "etcd.port = 2.5", "etcd.port is 2.5"),
        ("expected = 3", 'expected = 3\nnameserver = "one:53"', "nameserver is 'one:53'"),
        ("expected = 3", 'expected = 3\nregister = "consul"', "do not give its address"),
        ("wait_for = 2", 'wait_for = 2\nelectors = ["a"]', "both name the founders"),
        ("wait_for = 2", "wait_for = 4", "would never be served"),
    ],
)
def test_an_error_names_its_setting(tmp_path: Path, before: str, after: str, said: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        read(tmp_path, GOOD.replace(before, after, 1))

    assert said in f"{raised.value.message} {raised.value.next}"


@pytest.mark.parametrize(
    ("backend", "settings", "said"),
    [
        ("dns", "", "dns.hostname is not set"),
        ("dns", 'dns.hostname = "x y..z"', "'x y..z' is not a name that DNS can look up"),
        ("config", "", "classic_config.nodes is not set"),
        ("config", 'classic_config.nodes = ["n@a", "b"]', "'b' is not the name of a node"),
        ("config", "classic_config.nodes.3 = 7", "'7' is not the name of a node"),
        ("aws", 'aws.region = "eu-west-1"', "aws.instance_tags or"),
    ],
)
def test_a_backend_that_can_name_no_member_is_refused(
    tmp_path: Path, backend: str, settings: str, said: str
) -> None:
    """Otherwise the node would wait for ever."""
    table = f'[discovery]\nbackend = "{backend}"\nexpected = 3\n[discovery.settings]\n{settings}\n'
    with pytest.raises(UsageProblem, match=said) as raised:
        read(tmp_path, GOOD.partition("[discovery]")[0] + table)

    assert 2 == raised.value.code


def test_a_file_without_discovery_must_name_the_electors(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="no electors"):
        read(tmp_path, GOOD.partition("[discovery]")[0])
