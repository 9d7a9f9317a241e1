"""The client, its proxies, TLS and logs, and servers that misbehave; discovery, D1."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

import anyio
import pytest
import trustme

from joinproto.apps.discovery.http import Http
from joinproto.apps.discovery.opened import Address, addressed, opened
from joinproto.apps.discovery.port import BackendPort
from joinproto.discovery.answers import Failed, Listed
from joinproto.discovery.aws import Aws, AwsBackend, Endpoint, Names
from joinproto.discovery.aws_metadata import Metadata
from joinproto.discovery.chosen import chosen
from joinproto.discovery.consul import Consul, ConsulBackend
from joinproto.discovery.contract import Backend, Done, Variant
from joinproto.discovery.etcd2 import Etcd2, Etcd2Backend
from joinproto.discovery.etcd3 import Etcd3, Etcd3Backend
from joinproto.discovery.exchange import Broken, Header, Request, Response, Signing
from joinproto.discovery.k8s import EndpointsBackend, K8s
from joinproto.discovery.lint import LintInput
from joinproto.discovery.proxy import Proxies
from joinproto.discovery.releases import release
from tests.discovery.asking import PatientHttp, ask
from tests.discovery.proxying import proxy
from tests.discovery.rude import Manner, rude
from tools.boots.recorded import ConsulServer, K8sServer, serving

SECONDS = 0.4
ENDLESS = (Manner.HANGS, Manner.STALLS, Manner.DRIPS, Manner.DRIPS_HEADERS)
"""Manners that have no end unless the client hangs up."""
KEYS = Signing(access_key="AKID", secret_key="the-secret-key", region="", service="")


def aws(port: int, **more: object) -> AwsBackend:
    """Return AWS at this port of this machine."""
    at = Endpoint(scheme="http", host="127.0.0.1", port=port)
    about = Aws(instance_tags={"a": "b"}, endpoint=at, **more)  # type: ignore[arg-type]
    return AwsBackend(about, Names(), Metadata(host="127.0.0.1", port=port), KEYS, "eu-west-1")


def backends(port: int) -> dict[str, Backend]:
    """Return each backend that speaks HTTP, at this port of this machine."""
    at = {"host": "127.0.0.1", "port": port, "node": "rabbit@a"}
    return {
        "consul": ConsulBackend(Consul(**at)),  # type: ignore[arg-type]
        "etcd2": Etcd2Backend(Etcd2(**at)),  # type: ignore[arg-type]
        "etcd3": Etcd3Backend(Etcd3(**at)),  # type: ignore[arg-type]
        "k8s": EndpointsBackend(K8s(scheme="http", token="t", **at)),  # type: ignore[arg-type]
        "aws": aws(port),
    }


@pytest.mark.parametrize("manner", Manner, ids=lambda one: one.value)
def test_the_list_of_a_misbehaving_server_is_an_error_in_time(manner: Manner) -> None:
    """The server dies, hangs, or sends an error, half an answer or garbage."""
    with rude(manner) as server:
        for name, backend in backends(server.port).items():
            answer = ask(backend, lambda port: port.list_nodes(), seconds=SECONDS)

            assert isinstance(answer, Failed), (name, answer)
            if manner in ENDLESS:
                assert "no whole answer within 0.4 s" in answer.why, name


@pytest.mark.parametrize("manner", [Manner.HANGS, Manner.HALF, Manner.S500, Manner.REFUSES])
def test_a_write_to_a_misbehaving_server_is_an_error(manner: Manner) -> None:
    """A write, or a request for a lock, without a clear answer is an error."""
    with rude(manner) as server:
        for name, backend in backends(server.port).items():
            if not backend.registers:
                continue
            assert isinstance(ask(backend, lambda port: port.register(), seconds=SECONDS), Failed)
            assert isinstance(ask(backend, lambda port: port.lock(), seconds=SECONDS), Failed), name


def test_real_takes_two_errors_for_an_empty_list() -> None:
    """Real: a 404 of any server to the etcd v2 client, and an error to a query of AWS by tags."""
    with rude(Manner.S404) as server:
        real = Etcd2Backend(Etcd2(variant=Variant.REAL, host="127.0.0.1", port=server.port))
        assert Listed(()) == ask(real, lambda port: port.list_nodes())
        assert Listed(()) == ask(aws(server.port, variant=Variant.REAL), lambda it: it.list_nodes())


def exchanged(request: Request, http: Http | None = None) -> Response | Broken:
    """Send one request; return its answer."""

    async def sent() -> Response | Broken:
        async with http or Http() as client:
            return await client.exchange(request)

    return anyio.run(sent)


def get(port: int, *headers: Header, host: str = "127.0.0.1") -> Request:
    """Return a request to this port of this machine."""
    return Request(
        method="GET",
        scheme="http",
        host=host,
        port=port,
        path="/v1/kv/x",
        headers=headers,
        seconds=60.0,
    )


def test_a_request_is_sent_unchanged() -> None:
    """The client adds only the headers Host and Connection."""
    with serving(state := ConsulServer()):
        about = Consul(
            variant=Variant.REAL,
            host="127.0.0.1",
            port=state.port,
            cluster_name="a b",
            acl_token="t",
        )
        ask(ConsulBackend(about), lambda port: port.list_nodes())

    ((method, path, headers),) = state.seen
    assert ("GET", "/v1/health/service/rabbitmq?passing&tag=a%20b") == (method, path)
    assert {"host", "x-consul-token", "connection"} == set(headers)


def test_an_answer_that_is_too_long_is_given_up() -> None:
    """A server must not be able to fill the client's memory."""
    with rude(Manner.HUGE) as server:
        got = exchanged(get(server.port))

    assert isinstance(got, Broken)
    assert "longer than" in got.why


@pytest.mark.parametrize("value", ["secret\r\nX-Other: 1", "secret\x00", "secrét"])
def test_a_header_that_cannot_be_sent_is_an_error_that_does_not_repeat_it(value: str) -> None:
    """Secrets are never in a log or in an error."""
    with rude(Manner.EMPTY) as server:
        got = exchanged(get(server.port, Header("X-Consul-Token", value)))

    assert isinstance(got, Broken)
    assert "secr" not in got.why


def test_requests_and_statuses_are_logged_and_secrets_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each request is logged with its status at debug level."""
    caplog.set_level(logging.DEBUG)
    with rude(Manner.S403) as server, proxy(server.port) as way:
        http = PatientHttp(Proxies(http_proxy=f"http://user:proxy-secret@127.0.0.1:{way.port}"))
        consul = Consul(acl_token="consul-secret", host="127.0.0.1", port=server.port)
        ask(ConsulBackend(consul), lambda port: port.list_nodes(), http=http)
        ask(aws(server.port), lambda port: port.list_nodes())
        etcd = Etcd3(username="u", password="etcd-secret", host="127.0.0.1", port=server.port)
        ask(Etcd3Backend(etcd), lambda port: port.list_nodes())

    url = f"http://127.0.0.1:{server.port}"
    assert f"GET {url}/v1/health/service/rabbitmq: status 403" in caplog.messages
    assert f"POST {url}/v3/auth/authenticate: status 403" in caplog.messages
    assert not [one for one in caplog.messages if "secret" in one]


def test_http_goes_through_its_proxy_unless_the_host_is_excluded() -> None:
    with serving(state := ConsulServer()), proxy(state.port) as way:
        proxies = Proxies(http_proxy=f"127.0.0.1:{way.port}", exclusions=("127.0.0.1",))
        through = get(8500, host="consul.eng.example.local")
        assert isinstance(exchanged(through, Http(proxies)), Response)
        assert 404 == getattr(exchanged(get(state.port), Http(proxies)), "status", None)

    assert ["GET http://consul.eng.example.local:8500/v1/kv/x HTTP/1.1"] == way.asked
    assert 2 == len(state.seen)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Return a certificate authority for the tests."""
    return trustme.CA()


def server_context(authority: trustme.CA, name: str) -> ssl.SSLContext:
    """Return the context of a server with this name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """Return the context of a client that trusts this authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def test_https_goes_through_a_tunnel(authority: trustme.CA) -> None:
    """The proxy sees only the host."""
    name = "kubernetes.default.svc.cluster.local"
    state = K8sServer(endpoints={"rabbitmq": [{"addresses": [{"ip": "10.0.0.1"}]}]})
    with serving(state, server_context(authority, name)), proxy(state.port) as way:
        http = PatientHttp(Proxies(https_proxy=f"127.0.0.1:{way.port}"), trusting(authority))
        backend = EndpointsBackend(K8s(token="a-token"))
        assert Listed(("rabbit@10.0.0.1",)) == ask(backend, lambda p: p.list_nodes(), http=http)

    assert [f"CONNECT {name}:443 HTTP/1.1"] == way.asked
    assert "a-token" not in way.headers[0]


def test_a_server_that_is_not_trusted_or_has_another_name_is_an_error(
    authority: trustme.CA,
) -> None:
    """The client does not trust the authority, or the certificate names another host."""
    state = K8sServer(endpoints={"rabbitmq": []})
    for name, context in (("127.0.0.1", None), ("other.example", trusting(authority))):
        with serving(state, server_context(authority, name)):
            about = K8s(host="127.0.0.1", port=state.port, token="a-token")
            answer = ask(
                EndpointsBackend(about), lambda p: p.list_nodes(), http=PatientHttp(tls=context)
            )

        assert isinstance(answer, Failed)
        assert "certificate" in answer.why.lower()
    assert [] == state.seen


def test_the_authority_and_the_token_of_kubernetes_are_those_of_its_files(
    authority: trustme.CA, tmp_path: Path
) -> None:
    """cert_path is the authority; the token is read each time, because it is replaced."""
    ca, token, namespace = (tmp_path / one for one in ("ca.crt", "token", "namespace"))
    ca.write_bytes(authority.cert_pem.bytes())
    namespace.write_text("default")
    state = K8sServer(endpoints={"rabbitmq": [{"addresses": [{"ip": "10.0.0.1"}]}]})
    answers = []
    with serving(state, server_context(authority, "127.0.0.1")):
        settings = {
            "peer_discovery_backend": "k8s",
            "k8s.host": "127.0.0.1",
            "k8s.port": state.port,
            "k8s.cert_path": ca,
            "k8s.token_path": token,
            "k8s.namespace_path": namespace,
        }
        text = "".join(f"cluster_formation.{key} = {one}\n" for key, one in settings.items())

        async def asked() -> None:
            async with opened(chosen(text, LintInput(release=release("4.0")))) as port:
                for now in ("a-token", "another-token"):
                    token.write_text(now)
                    state.token = now
                    answers.append(await port.list_nodes())
                token.unlink()
                answers.append(await port.list_nodes())

        token.write_text("an old one")
        anyio.run(asked)

    assert [Listed(("rabbit@10.0.0.1",))] * 2 == answers[:2]
    assert isinstance(answers[2], Failed)
    assert "token cannot be read" in answers[2].why


@pytest.mark.parametrize("host", ["a..b", "xn--a", "h o", "\ud800", "x" * 70, "[::1"])
def test_a_malformed_host_is_an_error(host: str) -> None:
    assert isinstance(exchanged(get(1, host=host)), Broken)


def test_a_proxy_that_is_down_is_an_error() -> None:
    """The request never goes around the proxy."""
    with serving(state := ConsulServer()), rude(Manner.REFUSES) as way:
        http = PatientHttp(Proxies(http_proxy=f"127.0.0.1:{way.port}"))
        assert isinstance(exchanged(get(state.port), http), Broken)

    assert [] == state.seen


def test_the_next_address_is_asked_if_one_gives_no_answer() -> None:
    """The endpoint of etcd that answered is asked first the next time."""
    with rude(Manner.CLOSES) as bad, rude(Manner.S503) as busy, serving(good := ConsulServer()):
        addresses = [Address("127.0.0.1", one.port) for one in (bad, busy, good)]

        async def twice() -> list[Done | Failed]:
            async with PatientHttp() as http:
                port = BackendPort(ConsulBackend(Consul()), addressed(http.exchange, addresses))
                return [await port.register(), await port.register()]

        assert [Done(), Done()] == anyio.run(twice)

    assert (1, 1, 2) == (len(bad.requests), len(busy.requests), len(good.seen))
