"""One real etcd, and a cluster of three; discovery, D1 to D3, and the register of join, 3.7."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import anyio
import pytest

from joinproto.apps.discovery.conformance import conformance
from joinproto.apps.discovery.http import Http
from joinproto.apps.discovery.opened import Address, addressed
from joinproto.apps.discovery.perform import perform
from joinproto.apps.discovery.port import BackendPort
from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.contract import Done, Held, Variant
from joinproto.discovery.etcd2 import Etcd2, Etcd2Backend
from joinproto.discovery.etcd3 import Etcd3, Etcd3Backend, plain
from joinproto.discovery.exchange import Response, arguments
from joinproto.discovery.register import EtcdRegister, RegisterValue
from tests.discovery.asking import ask, hurried
from tools.boots.servers import Etcd, etcds

pytestmark = [pytest.mark.landing, pytest.mark.needs("etcd")]
REAL = Variant.REAL


def v3(etcd: Etcd, name: str, cluster: str, variant: Variant = Variant.OURS) -> Etcd3Backend:
    """Return a node's backend at this etcd."""
    about = Etcd3(
        variant=variant, node=name, host="127.0.0.1", port=etcd.client, cluster_name=cluster
    )
    return Etcd3Backend(about)


@pytest.mark.parametrize("kind", ["etcd2", "etcd3"])
def test_a_real_etcd_conforms(etcd: Etcd, kind: str) -> None:
    """The conformance suite runs for v2 and v3."""
    done = conformance(f"{kind}+http://127.0.0.1:{etcd.client}")

    assert [] == [one for one in done.checks if not one.holds]
    assert 13 < len(done.checks)
    assert "conformance" not in whole(etcd)


def whole(etcd: Etcd) -> str:
    """Return all keys of this etcd, v3 and v2, as text."""
    about = Etcd3(host="127.0.0.1", port=etcd.client)
    everything = about.post("/v3/kv/range", {"key": "AA==", "range_end": "AA=="}, None)
    directory = Etcd2(host="127.0.0.1", port=etcd.client).request(
        "GET", "/v2/keys/", arguments(("recursive", "true"))
    )

    async def asked() -> str:
        async with Http() as http:
            found = [await http.exchange(one) for one in (everything, directory)]
        assert all(isinstance(one, Response) and one.status == 200 for one in found)
        bodies = [one.body for one in found if isinstance(one, Response)]
        keys = [plain(one["key"], "a key") for one in json.loads(bodies[0]).get("kvs", ())]
        return " ".join((*keys, bodies[1]))

    return anyio.run(asked)


def test_real_selects_the_record_that_was_created_first(etcd: Etcd) -> None:
    """The lowest create_revision counts, not the name; a renewed record keeps its revision."""
    for name in ("rabbit@b", "rabbit@a", "rabbit@b"):
        assert Done() == ask(v3(etcd, name, "first", REAL), lambda port: port.register())
    assert Selected("rabbit@b") == ask(v3(etcd, "x@y", "first", REAL), lambda p: p.list_nodes())

    assert Done() == ask(v3(etcd, "rabbit@b", "first", REAL), lambda port: port.unregister())
    assert Selected("rabbit@a") == ask(v3(etcd, "x@y", "first", REAL), lambda p: p.list_nodes())


def test_real_keeps_its_record_alive_by_its_lease(etcd: Etcd) -> None:
    """A lease is granted and kept alive; the record of a revoked lease is not written again."""
    backend = v3(etcd, "rabbit@a", "lease", REAL)
    ask(backend, lambda port: port.register())
    assert Done() == ask(backend, lambda port: port.keep_alive())
    tree = {"ID": backend.lease[0]}

    async def revoked() -> None:
        async with Http() as http:
            await http.exchange(backend.about.post("/v3/lease/revoke", tree, None))

    anyio.run(revoked)
    assert isinstance(ask(backend, lambda port: port.keep_alive()), Failed)
    assert isinstance(ask(backend, lambda port: port.list_nodes()), Failed)  # [], so it ends


def test_a_node_that_does_not_get_a_lock_in_time_leaves_the_queue(etcd: Etcd) -> None:
    """Otherwise a third node would wait behind it for the lock that the holder gives back."""
    one, two = v3(etcd, "rabbit@a", "lock"), v3(etcd, "rabbit@b", "lock")
    held = ask(one, lambda port: port.lock())
    assert isinstance(held, Held)
    waited = ask(two, lambda port: port.lock(), seconds=1.0)
    assert isinstance(waited, Failed)
    assert "no whole answer within 1 s" in waited.why

    assert Done() == ask(one, lambda port: port.unlock(held))
    third = ask(v3(etcd, "rabbit@c", "lock"), lambda port: port.lock(), seconds=5.0)
    assert isinstance(third, Held)


def test_v2_records_of_real_end_and_ours_stay(etcd: Etcd) -> None:
    at = {"host": "127.0.0.1", "port": etcd.client, "cluster_name": "ttl"}
    real = Etcd2Backend(Etcd2(variant=REAL, node="rabbit@real", node_ttl=1, **at))  # type: ignore[arg-type]
    ours = Etcd2Backend(Etcd2(node="rabbit@ours", **at))  # type: ignore[arg-type]
    until = time.monotonic() + 60
    assert Done() == ask(ours, lambda port: port.register())
    listed: Answer = Listed(())
    while not isinstance(listed, Listed) or {*listed.nodes} != {"rabbit@ours", "rabbit@real"}:
        # On a busy machine, a record that lives for a second may end before it is listed.
        assert time.monotonic() < until, listed
        assert Done() == ask(real, lambda port: port.register())
        listed = ask(ours, lambda port: port.list_nodes())

    while listed != Listed(("rabbit@ours",)):
        assert time.monotonic() < until
        time.sleep(0.2)
        listed = ask(ours, lambda port: port.list_nodes())


def test_a_list_comes_without_one_of_three_etcds_and_an_error_without_two(tmp_path: Path) -> None:
    """The first is killed, and the second hangs for a while; the error comes in time."""
    with etcds(tmp_path, 3) as (one, two, three):
        backend = v3(one, "rabbit@a", "three")
        addresses = [Address("127.0.0.1", it.client) for it in (one, two, three)]

        async def story(*questions: str) -> list[Answer | Done | Failed]:
            async with Http() as http:
                exchange = addressed(hurried(http.exchange, 3.0), addresses)
                port = BackendPort(backend, exchange)
                return [await getattr(port, question)() for question in questions]

        assert [Done(), Listed(("rabbit@a",))] == anyio.run(story, "register", "list_nodes")
        one.stop()
        assert [Listed(("rabbit@a",))] == _retried(story, "list_nodes")
        two.pause()
        began = time.monotonic()
        (alone,) = anyio.run(story, "list_nodes")
        assert isinstance(alone, Failed)
        assert time.monotonic() - began < 3 * 3.0 + 3
        (written,) = anyio.run(story, "register")
        assert isinstance(written, Failed)
        two.go_on()
        assert [Listed(("rabbit@a",))] == _retried(story, "list_nodes")


def _retried(story: object, *questions: str) -> list[Answer | Done | Failed]:
    """Ask until there is no error, while the servers elect another leader."""
    until = time.monotonic() + 60
    while True:
        found: list[Answer | Done | Failed] = anyio.run(story, *questions)  # type: ignore[arg-type]
        if not any(isinstance(one, Failed) for one in found):
            return found
        assert time.monotonic() < until, found


def test_five_nodes_at_once_are_all_listed_and_each_locks_alone(etcd: Etcd) -> None:
    """Each of the five registers and takes the lock; the last one lists all."""
    inside, most, seen = 0, 0, []

    async def node(number: int, http: Http) -> None:
        nonlocal inside, most
        port = BackendPort(v3(etcd, f"rabbit@n{number}", "five"), http.exchange)
        assert Done() == await port.register()
        held = await port.lock()
        assert isinstance(held, Held), held
        inside += 1
        most = max(most, inside)
        seen.append(await port.list_nodes())
        inside -= 1
        assert Done() == await port.unlock(held)

    async def story() -> None:
        async with Http() as http, anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(node, number, http)

    anyio.run(story)
    assert 1 == most
    assert Listed(tuple(f"rabbit@n{n}" for n in range(5))) == seen[-1]


def test_one_of_many_nodes_that_set_a_key_sets_it(etcd: Etcd) -> None:
    """Join protocol, 3.7: the register keeps the first value."""
    register = EtcdRegister(Etcd3(host="127.0.0.1", port=etcd.client, cluster_name="once"))
    name = f"view-{os.getpid()}"

    async def story() -> tuple[list[object], object, object]:
        async with Http() as http:
            before = await perform(register.read(name), http.exchange)
            said: list[object] = []

            async def sets(value: str) -> None:
                said.append(await perform(register.set_once(name, value), http.exchange))

            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(sets, f"v{number}")
            return said, before, await perform(register.read(name), http.exchange)

    said, before, after = anyio.run(story)
    assert RegisterValue(None) == before
    assert isinstance(after, RegisterValue)
    assert after.value is not None
    assert {after} == set(said)
