"""From a rabbitmq.conf to a backend that is asked; discovery, D1 and D6."""

from __future__ import annotations

import logging
from pathlib import Path

import anyio
import pytest

from joinproto.apps.discovery import opened as opening
from joinproto.apps.discovery.conformance import server_of
from joinproto.apps.discovery.listing import Listing, list_file
from joinproto.apps.discovery.opened import nic_address, opened, tls_context
from joinproto.apps.discovery.port import Port
from joinproto.discovery import proxy
from joinproto.discovery.chosen import Chosen, chosen
from joinproto.discovery.contract import Done, Variant
from joinproto.discovery.exchange import Refused
from joinproto.discovery.lint import LintInput
from joinproto.discovery.releases import release
from joinproto.errors import UsageProblem
from tools.boots.recorded import ConsulServer, serving

C = "cluster_formation."


def conf(backend: str, **keys: object) -> str:
    """Return a file with this backend and its keys; `__` is a dot."""
    lines = [f"{C}peer_discovery_backend = {backend}"]
    lines += [f"{C}{key.replace('__', '.')} = {value}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def of(text: str, at: str = "4.2", variant: Variant = Variant.OURS, **env: str) -> Chosen:
    """Return the backend that a file chooses, in a release and with an environment."""
    given = LintInput(release=release(at), environment=env, node="rabbit@a.example")
    return chosen(text, given, variant=variant)


def listing(text: str, at: str = "4.2") -> Listing:
    """Return the nodes that are listed."""
    return list_file(text, LintInput(release=release(at), node="rabbit@a"))


def test_the_configured_nodes_are_listed_in_the_order_of_their_numbers() -> None:
    text = conf(
        "classic_config",
        classic_config__nodes__10="rabbit@c",
        classic_config__nodes__2="rabbit@b",
        classic_config__nodes__1="rabbit@a",
    )

    assert ("rabbit@a", "rabbit@b", "rabbit@c") == listing(text).nodes


def test_a_file_asks_its_consul_and_writes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """`joinproto discovery list FILE` asks the real backend; the token is never in a log."""
    caplog.set_level(logging.DEBUG)
    with serving(state := ConsulServer()):
        text = conf(
            "consul",
            consul__host="127.0.0.1",
            consul__port=state.port,
            consul__acl_token="a-secret",
            consul__cluster_name="qa",
            consul__svc_addr="10.0.0.1",
        )

        async def registers() -> Done:
            async with opened(of(text)) as port:
                done = await port.register()
                assert isinstance(done, Done)
                return done

        anyio.run(registers)
        found = listing(text)

    assert (("rabbit@a.example",), None) == (found.nodes, found.error)
    assert ["PUT", "GET"] == [method for method, _, _ in state.seen]
    assert {"a-secret"} == {headers["x-consul-token"] for _, _, headers in state.seen}
    assert "a-secret" not in caplog.text
    down = listing(text)
    assert down.nodes is None
    assert "attempts failed" in (down.error or "")


def test_the_secret_of_the_environment_wins_over_the_files() -> None:
    text = conf("consul", consul__acl_token="of-the-file")

    assert "of-the-file" == of(text).consul.acl_token
    assert "of-env" == of(text, RABBITMQ_CONSUL_ACL_TOKEN="of-env").consul.acl_token


def test_each_release_has_its_own_etcd_and_kubernetes() -> None:
    """The client speaks etcd v3 since 3.8.4, and computes the names of pods since 4.1."""
    etcd, k8s = conf("etcd", etcd__host="e"), conf("k8s")

    assert (True, False) == (of(etcd, "3.8").is_etcd2, of(etcd, "3.8.4").is_etcd2)
    assert (False, True) == (of(k8s, "4.0").is_pods, of(k8s, "4.1").is_pods)
    numbered = conf("k8s", k8s__ordinal_start=3)
    given = LintInput(release=release("4.1"), node="rabbit@r-7")
    found = list_file(numbered, given)
    assert (("rabbit@r-3",), True) == (found.nodes, found.selected)


def test_settings_reach_their_backend() -> None:
    consul = of(
        conf(
            "consul",
            consul__svc="mq",
            consul__svc_tags__1="qa",
            consul__svc_meta__owner="team",
            consul__svc_ttl=40,
            consul__deregister_after=90,
            consul__lock_prefix="env",
            consul__lock_wait_time=7,
            consul__include_nodes_with_warnings="true",
        )
    ).consul
    assert ("mq", ("qa",), 40, 90, "env", 7, True, True) == (
        consul.svc,
        consul.svc_tags,
        consul.svc_ttl,
        consul.deregister_after,
        consul.lock_prefix,
        consul.lock_timeout,
        consul.include_nodes_with_warnings,
        consul.long_names,
    )
    assert {"owner": "team"} == dict(consul.svc_meta)

    etcd = of(conf("etcd", etcd__endpoints__1="e1:1", etcd__username="u", etcd__password="p"))
    assert (("e1:1",), "u", "p") == (etcd.endpoints, etcd.etcd3.username, etcd.etcd3.password)
    aws = of(
        conf(
            "aws",
            aws__instance_tags__service="rabbitmq",
            aws__hostname_path__2="privateIpAddress",
            aws__hostname_path__1="networkInterfaceSet,1,privateDnsName",
            aws__ec2_instance_states__1="running",
        ),
        "4.3",
    )
    paths = (("networkInterfaceSet", "1", "privateDnsName"), ("privateIpAddress",))
    assert (paths, ("running",)) == (aws.aws_names.paths, aws.aws.states)
    assert of(conf("aws"), "4.2").aws.states is None


def test_one_variable_of_the_environment_holds_a_whole_map_or_list() -> None:
    """AWS_EC2_TAGS is JSON, and CONSUL_SVC_TAGS a list with commas."""
    aws = of(conf("aws", aws__instance_tags__a="file"), AWS_EC2_TAGS='{"b": "c", "a": "d"}').aws
    consul = of(conf("consul", consul__host="h"), CONSUL_SVC_TAGS="qa, 3.8").consul

    assert [("a", "d"), ("b", "c")] == list(aws.instance_tags.items())
    assert ("qa", "3.8") == consul.svc_tags
    with pytest.raises(UsageProblem, match="not a JSON object"):
        of(conf("aws"), AWS_EC2_TAGS='{"b": 1}').aws.states  # noqa: B018


def test_pods_that_are_not_ready_count_from_a_release_on() -> None:
    """Real counts them in 3.9, and ours in 3.7 already."""
    k8s = conf("k8s")
    counts = [of(k8s, at, Variant.REAL).k8s.counts_not_ready for at in ("3.7", "3.8", "3.9")]

    assert [False, False, True] == counts
    assert of(k8s, "3.7").k8s.counts_not_ready


def test_a_file_with_which_no_node_starts_is_refused_with_its_line() -> None:
    with pytest.raises(UsageProblem, match="line 2"):
        of(conf("consul", consul__hots="x"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (conf("etcd", etcd__endpoints__1="nowhere"), "etcd.endpoints"),
        (conf("my_own_backend"), "my_own_backend"),
        (conf("consul", consul__ssl_options__cacertfile="/missing"), "TLS"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(text: str, said: str) -> None:
    """There is no traceback and no silent default."""
    with pytest.raises(UsageProblem, match=said):
        listing(text)


def test_a_token_file_of_a_pod_that_is_missing_is_reported(tmp_path: Path) -> None:
    missing = conf("k8s", k8s__token_path=tmp_path / "token")
    with pytest.raises(UsageProblem, match="cannot be read"):
        listing(missing, "4.0")


def test_verify_none_checks_no_host_name_and_without_options_there_is_no_context() -> None:
    assert tls_context({}) is None
    context = tls_context({"verify": "verify_none"})
    assert context is not None
    assert not context.check_hostname


def test_the_address_of_an_interface_is_found() -> None:
    assert "127.0.0.1" == nic_address("lo")
    assert nic_address("no-such-nic") is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://h:1",
        "consul+ftp://h",
        "x+http://h:1",
        "consul+http://h:0",
        "etcd3+http://",
        "consul+http://h:²",
        f"consul+http://h:{'1' * 5_000}",
    ],
)
def test_a_malformed_address_of_a_server_is_refused(url: str) -> None:
    """The form is KIND+http://HOST:PORT, or https."""
    with pytest.raises(UsageProblem, match="not the address of a server"):
        server_of(url)


@pytest.mark.parametrize("port", ["", "0", "²", "70000", "1" * 5_000])
def test_a_malformed_port_is_refused(port: str) -> None:
    """`int` raises one error for a text that is no number, and another for too many digits."""
    with pytest.raises(UsageProblem, match="is not an address"):
        opening._address(f"etcd1:{port}")
    with pytest.raises(Refused, match="cannot be read"):
        proxy.address(f"proxy:{port or 0}")


def test_a_server_is_read_from_its_address() -> None:
    """The port may be left out."""
    assert 8500 == server_of("consul+http://localhost").port
    assert ("fd00::1", 1) == (server_of("etcd2+https://[fd00::1]:1").host, 1)


def test_a_backend_without_records_and_locks_says_so() -> None:
    """The contract: an operation that a backend lacks counts as done; a missing lock fails."""

    async def story() -> tuple[object, object]:
        async with opened(of(conf("classic_config"))) as port:
            plain: Port = port
            assert (False, False, None) == (plain.registers, plain.locks, plain.keep_alive_every)
            return await plain.register(), await plain.lock()

    registered, locked = anyio.run(story)
    assert Done() == registered
    assert "no lock" in str(locked)
