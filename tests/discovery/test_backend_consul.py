"""Consul: requests, selection, lock; discovery, D1 to D3."""

from __future__ import annotations

import json

import pytest

from joinproto.discovery.asked import Outcome, ServerReply
from joinproto.discovery.consul import Consul, ConsulBackend, address, service_id
from joinproto.discovery.contract import Variant
from joinproto.discovery.exchange import Header
from tests.discovery.flows import BROKEN, LATE, lines, ok, play

REAL = Variant.REAL
WHOLE = Consul(
    variant=REAL,
    node="rabbit@a",
    acl_token="a-token",
    cluster_name="qa",
    svc_addr="10.0.0.1",
    svc_tags=("x", "3.8"),
    svc_meta={"owner": "team-xyz"},
    deregister_after=90,
)


def entry(node: str, created: int | None, *checks: str, **service: object) -> dict[str, object]:
    """Return one entry of the health list."""
    meta = {"Meta": {"erlang-node-name": node}} if node else {}
    own = {"CreateIndex": created} if created is not None else {}
    return {
        "Node": {"Node": "machine"},
        "Service": {"Address": ""} | meta | own | service,
        "Checks": [{"Status": one} for one in checks or ("passing",)],
    }


def listed(about: Consul, *entries: dict[str, object]) -> tuple[str, ...] | None:
    """Return the nodes in a list."""
    return play(ConsulBackend(about).list_nodes(), ok(list(entries))).nodes


def test_the_record_has_its_keys_in_order() -> None:
    done = play(ConsulBackend(WHOLE).register(), ok())

    (request,) = done.requests
    assert ("PUT", "/v1/agent/service/register") == (request.method, request.target)
    assert Header("X-Consul-Token", "a-token") == request.headers[0]
    assert 2.25 == request.seconds
    tree = json.loads(request.body)
    assert ["ID", "Name", "Address", "Port", "Check", "Tags", "Meta"] == list(tree)
    assert ["Notes", "TTL", "Status", "DeregisterCriticalServiceAfter"] == list(tree["Check"])
    assert ("30s", "passing", "90s") == tuple(tree["Check"].values())[1:]
    assert ["qa", "x", "3.8"] == tree["Tags"]
    assert {"owner": "team-xyz", "cluster": "qa", "erlang-node-name": "rabbit@a"} == tree["Meta"]
    assert ("rabbitmq:10.0.0.1", 5672) == (tree["ID"], tree["Port"])


def test_unset_settings_are_left_out_of_requests() -> None:
    """The cluster name `default` is not a tag, and is not asked for."""
    plain = Consul(variant=REAL, node="rabbit@a", svc_ttl=None)
    tree = json.loads(play(ConsulBackend(plain).register(), ok()).requests[0].body)

    assert ["ID", "Name", "Port", "Meta"] == list(tree)
    assert {"erlang-node-name": "rabbit@a"} == tree["Meta"]
    assert ["GET /v1/health/service/rabbitmq?passing"] == lines(
        play(ConsulBackend(plain).list_nodes(), ok("[]"))
    )


def test_two_nodes_of_one_agent_overwrite_each_other_in_real_but_not_in_ours() -> None:
    """Without an address, real's id of a record is the name of the service."""
    assert "rabbitmq" == service_id(Consul(variant=REAL, node="rabbit@a"))
    assert "rabbitmq" == service_id(Consul(variant=REAL, node="rabbit@b"))
    assert service_id(Consul(node="rabbit@a")) != service_id(Consul(node="rabbit@b"))
    assert "own" == service_id(Consul(svc_id="own"))


def test_ours_registers_a_durable_record() -> None:
    """D2: ours registers durable facts, so no record is removed because its time ran out."""
    ours = Consul(node="rabbit@a", deregister_after=90)
    tree = json.loads(play(ConsulBackend(ours).register(), ok()).requests[0].body)

    assert "DeregisterCriticalServiceAfter" not in tree["Check"]


def test_the_list_asks_for_the_cluster_and_for_nodes_that_pass() -> None:
    """With `include_nodes_with_warnings`, it asks for nodes in every state."""
    found = ok("[]")
    with_warnings = Consul(variant=REAL, cluster_name="qa", include_nodes_with_warnings=True)

    assert ["GET /v1/health/service/rabbitmq?passing&tag=qa"] == lines(
        play(ConsulBackend(WHOLE).list_nodes(), found)
    )
    assert ["GET /v1/health/service/rabbitmq?tag=qa"] == lines(
        play(ConsulBackend(with_warnings).list_nodes(), found)
    )


def test_real_selects_the_node_whose_record_was_created_first() -> None:
    """A record without CreateIndex comes last."""
    real = Consul(variant=REAL)
    entries = (entry("rabbit@c", None), entry("rabbit@b", 7), entry("rabbit@a", 5))

    assert ("rabbit@a",) == listed(real, *entries)
    assert ("rabbit@c",) == listed(real, entries[0])
    assert () == listed(real)


def test_ours_lists_all_records_whether_their_checks_pass_or_not() -> None:
    """D2: ours never chooses by facts that change in time."""
    entries = (entry("rabbit@b", 7, "critical"), entry("rabbit@a", 5))

    assert ("rabbit@a", "rabbit@b") == listed(Consul(), *entries)
    assert "passing" not in lines(play(ConsulBackend(Consul()).list_nodes(), ok("[]")))[0]


def test_a_blank_node_elects_itself_when_older_records_are_critical() -> None:
    """The node registers before it lists, and the list has only records whose checks pass."""
    assert ("rabbit@new",) == listed(Consul(variant=REAL), entry("rabbit@new", 99))


def test_with_warnings_included_a_critical_record_is_not_selected() -> None:
    about = Consul(variant=REAL, include_nodes_with_warnings=True)
    warning = entry("rabbit@w", 2, "passing", "warning")

    assert ("rabbit@w",) == listed(about, entry("rabbit@x", 1, "critical"), warning)


def test_a_node_without_metadata_is_named_by_its_address_or_its_machine() -> None:
    """With long names, the machine's name gets the domain."""
    short = Consul(variant=REAL, node="bunny@x")
    long = Consul(variant=REAL, node="bunny@x", long_names=True, domain_suffix="example.local")
    by_address, by_machine = entry("", 1, Address="192.168.100.1"), entry("", 1)

    assert ("bunny@192.168.100.1",) == listed(short, by_address)
    assert ("bunny@machine",) == listed(short, by_machine)
    assert ("bunny@machine.node.example.local",) == listed(long, by_machine)


def test_the_address_of_the_interface_wins_even_without_svc_addr_auto() -> None:
    """Without an interface, svc_addr_auto comes before svc_addr."""
    nic = {"svc_addr_nic": "en0", "nic_address": "10.1.1.1"}
    own = {"node": "rabbit@h.example", "hostname": "machine", "svc_addr": "set"}

    assert "10.1.1.1" == address(Consul(**nic, **own))  # type: ignore[arg-type]
    assert "machine" == address(Consul(svc_addr_auto=True, **own))  # type: ignore[arg-type]
    by_name = Consul(svc_addr_auto=True, svc_addr_use_nodename=True, **own)  # type: ignore[arg-type]
    assert "h.example" == address(by_name)
    assert "set" == address(Consul(**own))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer",
    [BROKEN, ok("", status=500), ok("{}"), ok("nothing"), ok([1]), ok([{}]), ok([{"Service": 1}])],
)
def test_a_failed_listing_is_not_an_empty_list(answer: ServerReply) -> None:
    for variant in Variant:
        done = play(ConsulBackend(Consul(variant=variant)).list_nodes(), answer)
        assert Outcome.ERROR is done.outcome


def test_real_keeps_its_record_alive_every_15_seconds_despite_svc_ttl() -> None:
    """Ours waits for half of svc_ttl, and sends no keep-alive without it."""
    assert 15 == ConsulBackend(Consul(variant=REAL, svc_ttl=10)).keep_alive_every
    assert 20 == ConsulBackend(Consul(svc_ttl=40)).keep_alive_every
    assert ConsulBackend(Consul(svc_ttl=None)).keep_alive_every is None


def test_a_record_is_kept_alive_and_429_is_ignored() -> None:
    """With 429 the agent is busy, and does not say whether it has the record."""
    about = Consul(variant=REAL)
    done = play(ConsulBackend(about).keep_alive(), ok(status=429))

    assert ["PUT /v1/agent/check/pass/service:rabbitmq"] == lines(done)
    assert Outcome.DONE is done.outcome


def test_a_lost_record_is_written_again() -> None:
    """Real does not write it again if the backend selects this node itself."""
    real = ConsulBackend(Consul(variant=REAL, node="rabbit@a"))
    other = ok([entry("rabbit@b", 1)])
    again = play(real.keep_alive(), ok(status=404), other, ok())
    assert again.again
    assert "PUT /v1/agent/service/register" == lines(again)[-1]

    own = play(real.keep_alive(), ok(status=500), ok([entry("rabbit@a", 1)]))
    assert Outcome.ERROR is own.outcome
    ours = play(ConsulBackend(Consul()).keep_alive(), ok(status=404), ok())
    assert ours.again


def test_a_listing_that_fails_is_tried_sixty_times() -> None:
    """After that, real does not write the lost record again."""
    real = ConsulBackend(Consul(variant=REAL))
    done = play(real.keep_alive(), ok(status=404), *[BROKEN] * 60)

    assert (61, 60, Outcome.ERROR) == (len(done.requests), len(done.waits), done.outcome)


SESSION = ok({"ID": "s-1"})
HELD_BY_OTHER = ok([{"Session": "s-0", "ModifyIndex": 12}])
LOCK = "/v1/kv/rabbitmq/default/startup_lock"


def test_the_lock_is_a_key_that_a_session_acquires() -> None:
    about = Consul(variant=REAL, node="rabbit@a", svc_ttl=20)
    done = play(ConsulBackend(about).lock(), SESSION, ok("true"))

    assert ["PUT /v1/session/create", f"PUT {LOCK}?acquire=s-1"] == lines(done)
    assert {"Name": "rabbit@a", "TTL": "20s"} == json.loads(done.requests[0].body)


def test_a_held_lock_is_waited_for_by_a_blocking_read() -> None:
    """The read waits until the key has a later index than 12."""
    real = ConsulBackend(Consul(variant=REAL))
    done = play(real.lock(), SESSION, ok("false"), HELD_BY_OTHER, ok("[]"), ok("true"))

    assert f"GET {LOCK}?index=12&wait=300s" == lines(done)[3]
    assert Outcome.HELD is done.outcome


def test_the_wait_of_real_ends_with_the_request_and_leaves_the_session() -> None:
    """Real's requests end after 2.25 s (consul#30); ours waits longer, and ends its session."""
    held = (SESSION, ok("false"), HELD_BY_OTHER)
    real = play(ConsulBackend(Consul(variant=REAL)).lock(), *held, LATE)
    assert Outcome.ERROR is real.outcome
    assert 2.25 == real.requests[-1].seconds

    ours = play(ConsulBackend(Consul()).lock(), *held, LATE, ok("true"))
    assert ours.requests[3].seconds > 15
    assert "PUT /v1/session/destroy/s-1" == lines(ours)[-1]


def test_a_node_stops_waiting_for_the_lock_in_time() -> None:
    """There is no endless wait: the node gives up after lock_timeout."""
    about = Consul(lock_timeout=40)
    round_ = (ok("false"), HELD_BY_OTHER, ok("[]", took=15.0), ok())
    done = play(ConsulBackend(about).lock(), SESSION, *round_ * 3, ok("false"), ok())

    assert Outcome.ERROR is done.outcome
    assert "after 40 s" in (done.error or "")


def test_real_lists_under_the_lock_and_gives_it_back_after_an_error() -> None:
    """Since 3.13, real holds the lock while it lists the nodes."""
    locked = ConsulBackend(Consul(variant=REAL), locked=True)
    done = play(locked.list_nodes(), SESSION, ok("true"), ok("", status=500), ok("true"))

    assert Outcome.ERROR is done.outcome
    assert f"PUT {LOCK}?release=s-1" == lines(done)[-1]
