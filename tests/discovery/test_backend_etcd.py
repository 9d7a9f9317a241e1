"""etcd v2 and v3: requests and results; discovery, D1 to D3."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

import pytest

from joinproto.discovery.asked import Outcome, ServerReply
from joinproto.discovery.contract import Held, Variant
from joinproto.discovery.etcd2 import Etcd2, Etcd2Backend
from joinproto.discovery.etcd3 import Etcd3, Etcd3Backend
from joinproto.discovery.exchange import Header
from joinproto.discovery.register import EtcdRegister
from tests.discovery.flows import BROKEN, LATE, lines, ok, play

REAL = Variant.REAL
V2 = Etcd2(variant=REAL, node="rabbit@a", node_ttl=30)
BASE = "/v2/keys/rabbitmq/default"
HEADER = {"header": {"revision": "5"}}


def text(encoded: str) -> str:
    """Return the text in the gateway's base64."""
    return b64decode(encoded).decode()


def record(value: Any, created: str) -> dict[str, str]:
    """Return one entry of a range, as the gateway writes it."""
    value = value if isinstance(value, str) else json.dumps(value)
    return {"value": b64encode(value.encode()).decode(), "create_revision": created}


# -- v2 ---------------------------------------------------------------------------------------


def test_v2_lists_a_directory() -> None:
    """A key that is not below `nodes` is no record."""
    keys = ["/rabbitmq/default/nodes/rabbit@b", "/rabbitmq/default/nodes/rabbit@a", "/other"]
    tree = {"action": "get", "node": {"dir": True, "nodes": [{"key": one} for one in keys]}}
    done = play(Etcd2Backend(V2).list_nodes(), ok(tree))

    assert [f"GET {BASE}/nodes?recursive=true"] == lines(done)
    assert ("rabbit@b", "rabbit@a") == done.nodes


def test_v2_lists_no_node_if_the_directory_does_not_exist() -> None:
    """Real accepts any 404, and ours only a 404 from etcd."""
    from_etcd = ok({"errorCode": 100, "message": "Key not found"}, status=404)
    from_another = ok("<html>", status=404)
    ours = Etcd2Backend(Etcd2())

    assert () == play(Etcd2Backend(V2).list_nodes(), from_another).nodes
    assert () == play(ours.list_nodes(), from_etcd).nodes
    assert Outcome.ERROR is play(ours.list_nodes(), from_another).outcome


def test_v2_records_of_real_expire_and_ours_stay_until_they_are_removed() -> None:
    """Real writes its record again after half of its time to live."""
    done = play(Etcd2Backend(V2).register(), ok(status=201))

    assert [f"PUT {BASE}/nodes/rabbit@a?ttl=30"] == lines(done)
    assert "value=enabled" == done.requests[0].body
    ours = play(Etcd2Backend(Etcd2(node="rabbit@a")).register(), ok(status=201))
    assert [f"PUT {BASE}/nodes/rabbit@a"] == lines(ours)
    gone = play(Etcd2Backend(V2).unregister(), ok())
    assert [f"DELETE {BASE}/nodes/rabbit@a?recursive=true"] == lines(gone)
    assert (15, None) == (
        Etcd2Backend(V2).keep_alive_every,
        Etcd2Backend(Etcd2()).keep_alive_every,
    )


def test_v2_keeps_the_slashes_of_the_prefix_and_the_cluster() -> None:
    about = Etcd2(key_prefix="env/qa", cluster_name="a b")

    assert "/v2/keys/env/qa/a%20b/nodes" == about.base + "/nodes"


def test_v2_waits_a_second_while_the_lock_is_held() -> None:
    """Status 412 means that the key exists."""
    done = play(Etcd2Backend(V2).lock(), ok(status=412), ok(status=201))

    assert [f"PUT {BASE}/startup_lock?ttl=30&prevExist=false"] * 2 == lines(done)
    assert f"value=rabbit%40a%20-%20{'a' * 32}" == done.requests[0].body
    assert (1.0,) == done.waits


def test_v2_gives_up_waiting_for_the_lock_after_its_timeout() -> None:
    """The timeout is 300 s."""
    done = play(Etcd2Backend(V2).lock(), *[ok(status=412)] * 300)

    assert (Outcome.ERROR, 299) == (done.outcome, len(done.waits))


def test_v2_keeps_and_gives_back_only_its_own_lock() -> None:
    """Both requests name the value that the lock must have."""
    held = Held(key=f"{BASE}/startup_lock", value="v w")
    kept = play(Etcd2Backend(V2).hold(held), ok())
    gone = play(Etcd2Backend(V2).unlock(held), ok())
    query = "ttl=30&prevExist=true&prevValue=v%20w&refresh=true"

    assert [f"PUT {BASE}/startup_lock?{query}"] == lines(kept)
    assert [f"DELETE {BASE}/startup_lock?prevExist=true&prevValue=v%20w"] == lines(gone)


# -- v3 ---------------------------------------------------------------------------------------

V3 = Etcd3(variant=REAL, node="rabbit@a", key_prefix="dropped", lock_timeout=300)
DIRECTORY = "/rabbitmq/discovery/rabbitmq/clusters/default/nodes/"
LEASE = ok({"ID": "77", "TTL": "61"})


def test_v3_puts_a_record_on_a_lease() -> None:
    done = play(Etcd3Backend(V3).register(), LEASE, ok(HEADER))

    assert ["POST /v3/lease/grant", "POST /v3/kv/put"] == lines(done)
    tree = json.loads(done.requests[1].body)
    assert f"{DIRECTORY}rabbit@a" == text(tree["key"])
    assert {"node": "rabbit@a", "lease_id": 77, "ttl": 61} == json.loads(text(tree["value"]))
    assert "77" == tree["lease"]


def test_v3_real_takes_a_failed_write_for_a_success() -> None:
    """Ours reports the error."""
    assert Outcome.DONE is play(Etcd3Backend(V3).register(), LEASE, BROKEN).outcome
    assert Outcome.ERROR is play(Etcd3Backend(Etcd3()).register(), BROKEN).outcome


def test_v3_ours_writes_a_record_that_stays() -> None:
    """D2: ours registers durable facts, below the configured prefix."""
    about = Etcd3(node="rabbit@a", key_prefix="qa")
    (request,) = play(Etcd3Backend(about).register(), ok(HEADER)).requests
    tree = json.loads(request.body)

    assert "lease" not in tree
    assert "/rabbitmq/discovery/qa/clusters/default/nodes/rabbit@a" == text(tree["key"])


def test_v3_lists_a_prefix_and_real_selects_the_first_node() -> None:
    """Real takes the lowest create_revision; records that name no node are skipped."""
    kvs = [record({"node": "rabbit@b"}, "10"), record({"node": "rabbit@a"}, "9")]
    kvs += [record({"x": 1}, "1"), record("no JSON", "2")]
    answer = ok(HEADER | {"kvs": kvs, "count": "4"})
    done = play(Etcd3Backend(V3).list_nodes(), answer)

    tree = json.loads(done.requests[0].body)
    assert (DIRECTORY, DIRECTORY[:-1] + "0") == (text(tree["key"]), text(tree["range_end"]))
    assert ("rabbit@a",) == done.nodes
    assert ("rabbit@a", "rabbit@b") == play(Etcd3Backend(Etcd3()).list_nodes(), answer).nodes


def test_v3_an_empty_list_ends_the_boot_of_the_real_node() -> None:
    """For ours, the list is empty."""
    assert Outcome.ERROR is play(Etcd3Backend(V3).list_nodes(), ok(HEADER)).outcome
    assert () == play(Etcd3Backend(Etcd3()).list_nodes(), ok(HEADER)).nodes


@pytest.mark.parametrize(
    "answer",
    [
        BROKEN,
        ok("", status=500),
        ok("{}"),
        ok("[]"),
        ok("null"),
        ok("x"),
        ok(HEADER | {"kvs": 3}),
        ok(HEADER | {"kvs": [{"value": "*"}]}),
        ok(HEADER | {"kvs": [record({"node": "a@b"}, "x")]}),
        ok(HEADER | {"more": True}),
        ok({"error": "etcdserver: request timed out", "code": 14}, status=503),
    ],
)
def test_v3_an_error_is_not_an_empty_list(answer: ServerReply) -> None:
    """`{}` is no answer of etcd, which always has a header."""
    assert Outcome.ERROR is play(Etcd3Backend(Etcd3()).list_nodes(), answer).outcome


def test_v3_leases_have_a_least_time_and_real_ignores_two_settings() -> None:
    """Real ignores key_prefix and lock_timeout."""
    assert (70, "rabbitmq") == (V3.lock_ttl, V3.prefix)
    assert (300, 30) == (Etcd3(lock_timeout=300).lock_ttl, Etcd3(lock_timeout=1).lock_ttl)
    assert 15 == Etcd3(node_ttl=1).lease_ttl


def test_v3_locks_by_a_lease_and_the_servers_own_lock() -> None:
    """The key by which a lock is unlocked is the server's."""
    done = play(Etcd3Backend(V3).lock(), LEASE, ok({"key": "a2V5"}))

    tree = json.loads(done.requests[1].body)
    assert "/rabbitmq/locks/rabbitmq/clusters/default/registration" == text(tree["name"])
    assert ("a2V5", Outcome.HELD) == (done.lock, done.outcome)
    assert 15 == done.requests[1].seconds  # less than the lock's time


def test_v3_ours_revokes_the_lease_of_a_lock_that_did_not_come() -> None:
    """Otherwise the node stays in the queue, and gets a lock that it no longer wants."""
    real = play(Etcd3Backend(V3).lock(), LEASE, LATE)
    ours = play(Etcd3Backend(Etcd3()).lock(), LEASE, LATE, ok(HEADER))

    assert "POST /v3/lock/lock" == lines(real)[-1]
    assert "POST /v3/lease/revoke" == lines(ours)[-1]
    assert Outcome.ERROR is real.outcome is ours.outcome


def test_v3_a_lease_that_has_ended_is_not_kept() -> None:
    """The answer to a keep-alive of a lease that is gone has no TTL."""
    held = Held(key="k", session="77")
    backend = Etcd3Backend(Etcd3())

    assert Outcome.DONE is play(backend.hold(held), ok({"result": {"TTL": "61"}})).outcome
    assert Outcome.ERROR is play(backend.hold(held), ok({"result": {"ID": "77"}})).outcome


@pytest.mark.parametrize("number", ["--5", "5-", "", "²", "1" * 24, "1" * 5000, True, 0.5, []])
def test_v3_a_malformed_number_is_an_error(number: object) -> None:
    """The number is not shortened or guessed, and does not end the boot with a traceback."""
    done = play(Etcd3Backend(Etcd3()).lock(), ok({"ID": number, "TTL": "61"}))

    assert (1, Outcome.ERROR) == (len(done.requests), done.outcome)


def test_v3_a_user_is_asked_for_a_token_first() -> None:
    """The next request has the token."""
    about = Etcd3(username="u", password="secret")
    done = play(Etcd3Backend(about).list_nodes(), ok({"token": "t.1"}), ok(HEADER))

    assert "POST /v3/auth/authenticate" == lines(done)[0]
    assert Header("Authorization", "t.1") in done.requests[1].headers


def test_the_register_compares_and_sets_in_one_transaction() -> None:
    """Join protocol, 3.7: the register keeps the first value."""
    register = EtcdRegister(Etcd3())
    first = play(register.set_once("x", "mine"), ok(HEADER | {"succeeded": True}))
    tree = json.loads(first.requests[0].body)
    compared = {"key": tree["compare"][0]["key"], "target": "CREATE", "result": "EQUAL"}
    assert [compared | {"create_revision": "0"}] == tree["compare"]
    assert "mine" == text(tree["success"][0]["requestPut"]["value"])

    unknown = play(register.set_once("x", "mine"), BROKEN)
    assert Outcome.ERROR is unknown.outcome
