"""Our clients run against servers that reply like Consul and Kubernetes (`recorded.py`).

These servers are ours: a test here shows that our client follows the recorded replies, not that
Consul or Kubernetes do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from joinproto.apps.discovery.conform_file import conform_file
from joinproto.apps.discovery.conformance import conformance
from joinproto.apps.discovery.http import Http
from joinproto.apps.discovery.port import BackendPort
from joinproto.discovery import k8s
from joinproto.discovery.answers import Failed, Listed, Selected
from joinproto.discovery.consul import Consul, ConsulBackend
from joinproto.discovery.contract import Done, Held, Variant
from joinproto.discovery.exchange import Broken, Request, Response
from joinproto.discovery.k8s import EndpointsBackend, K8s
from joinproto.discovery.lint import LintInput
from joinproto.discovery.releases import release
from joinproto.errors import EnvironmentProblem
from tests.discovery.asking import PatientHttp, ask, directly, hurried
from tests.discovery.rude import Manner, rude
from tools.boots.recorded import Answer, ConsulServer, K8sServer, serving
from tools.swarms.virtual import VIRTUAL


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the wait of the conformance suite for a lock that it does not get."""
    monkeypatch.setattr("joinproto.apps.discovery.conformance.LOCK_WAIT", 0.5)


@pytest.fixture
def consul() -> Iterator[ConsulServer]:
    """Return an agent that replies as recorded."""
    with serving(state := ConsulServer()):
        yield state


def consul_backend(
    state: ConsulServer, name: str, variant: Variant = Variant.OURS
) -> ConsulBackend:
    """Return a node's backend at this agent."""
    about = Consul(
        variant=variant,
        node=name,
        host="127.0.0.1",
        port=state.port,
        svc_addr=name.partition("@")[2],
        lock_timeout=60,
    )
    return ConsulBackend(about)


def test_a_server_that_replies_as_recorded_conforms(consul: ConsulServer) -> None:
    """The conformance suite runs over real sockets."""
    done = conformance(f"consul+http://127.0.0.1:{consul.port}", PatientHttp)

    assert [] == [one for one in done.checks if not one.holds]
    assert 15 < len(done.checks)
    assert ({}, {}, set()) == (consul.services, consul.keys, consul.sessions)


class ForgetfulAgent(ConsulServer):
    """An agent that keeps no record."""

    def answer(self, method: str, path: list[str], query: dict[str, str], body: str) -> Answer:
        got = super().answer(method, path, query, body)
        self.services.clear()
        return got


def test_a_server_that_forgets_does_not_conform() -> None:
    """The suite must be able to fail."""
    with serving(state := ForgetfulAgent()):
        done = conformance(f"consul+http://127.0.0.1:{state.port}", PatientHttp)

    assert not done.conforms
    wrong = {one.name for one in done.checks if not one.holds}
    assert "a node that is registered is listed" in wrong
    assert "a node can register" not in wrong


def test_a_server_that_is_down_is_not_judged() -> None:
    """A server that answers garbage is judged, and does not conform."""
    with (
        rude(Manner.REFUSES) as server,
        pytest.raises(EnvironmentProblem, match=f"{server.port} does not answer"),
    ):
        conformance(f"etcd3+http://127.0.0.1:{server.port}")

    with rude(Manner.GARBAGE) as server:
        done = conformance(f"etcd3+http://127.0.0.1:{server.port}", PatientHttp)

    assert not any(one.holds for one in done.checks)


def test_real_selects_the_oldest_passing_record_and_then_its_own(consul: ConsulServer) -> None:
    """If all older records are critical, a blank node selects itself although a cluster runs."""
    first, blank = (
        consul_backend(consul, "rabbit@a", Variant.REAL),
        consul_backend(consul, "rabbit@b", Variant.REAL),
    )
    ask(first, lambda port: port.register())
    ask(blank, lambda port: port.register())
    assert Selected("rabbit@a") == ask(blank, lambda port: port.list_nodes())

    consul.status["rabbitmq:a"] = "critical"

    assert Selected("rabbit@b") == ask(blank, lambda port: port.list_nodes())
    ours = ask(consul_backend(consul, "rabbit@b"), lambda port: port.list_nodes())
    assert Listed(("rabbit@a", "rabbit@b")) == ours


def test_two_nodes_of_one_agent_overwrite_each_other_in_real_but_not_in_ours(
    consul: ConsulServer,
) -> None:
    """Without an address, real's id of a record is the name of the service."""
    at = {"host": "127.0.0.1", "port": consul.port}
    for variant, expected in ((Variant.REAL, 1), (Variant.OURS, 2)):
        consul.services.clear()
        for name in ("rabbit@a", "rabbit@b"):
            about = Consul(variant=variant, node=name, **at)  # type: ignore[arg-type]
            ask(ConsulBackend(about), lambda port: port.register())
        assert expected == len(consul.services)


def test_a_forgotten_record_is_written_again(consul: ConsulServer) -> None:
    """Consul forgets the service (docs/discovery.md, case 9)."""
    ours = consul_backend(consul, "rabbit@a")
    ask(ours, lambda port: port.register())
    consul.services.clear()

    assert Done(again=True) == ask(ours, lambda port: port.keep_alive())
    assert Done() == ask(ours, lambda port: port.keep_alive())


class UntimedCondition(threading.Condition):
    """A server's lock with which a blocking read ends only when a key changes, not by its time."""

    def wait(self, timeout: float | None = None) -> bool:
        del timeout
        return super().wait()


def test_the_wait_for_a_lock_ends_when_it_is_given_back() -> None:
    """The blocking read is answered as soon as the key changes."""
    consul = ConsulServer(lock=UntimedCondition())

    async def story() -> list[Held | Failed]:
        async with PatientHttp() as http:
            first, second = (
                BackendPort(consul_backend(consul, f"rabbit@{it}"), http.exchange) for it in "ab"
            )
            held = await first.lock()
            assert isinstance(held, Held)
            got: list[Held | Failed] = []

            async def waits() -> None:
                got.append(await second.lock())

            async with anyio.create_task_group() as group:
                group.start_soon(waits)
                # The server is a thread, and cannot report its requests.
                while not any("index=" in at for _, at, _ in consul.seen):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
                assert [] == got
                await first.unlock(held)
            return got

    with serving(consul):
        (got,) = anyio.run(story)
    assert isinstance(got, Held)
    assert 1 == len(consul.sessions)


def test_real_leaves_its_session_behind(consul: ConsulServer) -> None:
    """Real's request ends before the lock is free (consul#30); ours ends its session."""

    async def story() -> None:
        async with Http() as http, PatientHttp() as patient:
            short = hurried(http.exchange, 0.5)

            async def exchange(request: Request) -> Response | Broken:
                return await (short if "index=" in request.target else patient.exchange)(request)

            def at(name: str, variant: Variant = Variant.OURS) -> BackendPort:
                return BackendPort(consul_backend(consul, name, variant), exchange)

            assert isinstance(await at("rabbit@a").lock(), Held)
            for one in (at("rabbit@b", Variant.REAL), at("rabbit@c")):
                assert isinstance(await one.lock(), Failed)
                assert 2 == len(consul.sessions)

    anyio.run(story)


# -- Kubernetes -------------------------------------------------------------------------------


def test_endpoints_are_listed_and_a_wrong_token_is_an_error() -> None:
    """403 is not an empty list."""
    state = K8sServer(endpoints={"rabbitmq": [{"addresses": [{"ip": "10.0.0.1"}]}]})
    with serving(state):
        at = {"scheme": "http", "host": "127.0.0.1", "port": state.port}
        right = EndpointsBackend(K8s(token="a-token", **at))  # type: ignore[arg-type]
        wrong = EndpointsBackend(K8s(token="another", **at))  # type: ignore[arg-type]

        assert Listed(("rabbit@10.0.0.1",)) == ask(right, lambda port: port.list_nodes())
        assert isinstance(ask(wrong, lambda port: port.list_nodes()), Failed)
        assert Done() == ask(right, lambda port: port.register())
        assert 1 == len(state.events)


def k8s_backend(state: K8sServer, name: str) -> BackendPort:
    """Return a node's backend, which calls `state` directly, without a socket."""
    about = K8s(token=state.token, node=name)
    return BackendPort(EndpointsBackend(about), directly(state))


def test_each_of_five_nodes_that_lock_a_lease_holds_it_alone() -> None:
    """D3: five nodes at once take a lock that is a Lease."""
    state, inside, most = K8sServer(), 0, 0

    async def one(port: BackendPort) -> None:
        nonlocal inside, most
        held = await port.lock()
        assert isinstance(held, Held), held
        inside += 1
        most = max(most, inside)
        await anyio.sleep(1.0)
        assert Done() == await port.hold(held)
        inside -= 1
        assert Done() == await port.unlock(held)

    async def story() -> None:
        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(one, k8s_backend(state, f"rabbit@n{number}"))

    anyio.run(story, backend_options=VIRTUAL)
    assert (1, {}) == (most, state.leases)


def test_the_lease_of_a_dead_holder_is_taken_over_after_its_silence() -> None:
    """A node that waits for a dead holder takes the Lease over after its whole duration."""
    state, got = K8sServer(), []

    async def locks(name: str) -> None:
        got.append(await k8s_backend(state, name).lock())

    async def story() -> float:
        await locks("rabbit@dead")
        began = anyio.current_time()
        async with anyio.create_task_group() as group:
            group.start_soon(locks, "rabbit@a")
            await anyio.sleep(k8s.DURATION / 2)
            assert 1 == len(got)
        return anyio.current_time() - began

    silent = anyio.run(story, backend_options=VIRTUAL)
    assert [True, True] == [isinstance(one, Held) for one in got]
    assert k8s.DURATION <= silent < k8s.DURATION + 2


def test_kubernetes_that_replies_as_recorded_conforms(tmp_path: Path) -> None:
    """The conformance suite runs for a configuration file, and removes its Lease."""
    (tmp_path / "token").write_text("a-token")
    state = K8sServer(endpoints={"mine": [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}]})
    keys = {
        "host": "127.0.0.1",
        "scheme": "http",
        "service_name": "mine",
        "token_path": tmp_path / "token",
        "namespace_path": tmp_path / "token",
    }
    with serving(state):
        lines = [f"cluster_formation.k8s.{key} = {value}" for key, value in keys.items()]
        lines.append(f"cluster_formation.k8s.port = {state.port}")
        lines.append("cluster_formation.peer_discovery_backend = kubernetes")
        done = conform_file(
            "\n".join(lines), LintInput(release=release("4.0")), node="rabbit@10.0.0.1"
        )

        assert done.conforms, done
        assert any("lock" in one.name for one in done.checks)
        assert {} == state.leases
        state.endpoints["mine"] = []
        assert not conform_file("\n".join(lines), LintInput(release=release("4.0"))).conforms
