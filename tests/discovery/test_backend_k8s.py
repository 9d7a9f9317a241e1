"""Kubernetes: endpoints, pods and the lock that is a Lease; discovery, D1 and D3."""

from __future__ import annotations

import json

import pytest

from joinproto.discovery import k8s
from joinproto.discovery.answers import Failed, Listed, Selected
from joinproto.discovery.asked import Outcome
from joinproto.discovery.contract import Held, Variant
from joinproto.discovery.exchange import Header
from joinproto.discovery.k8s import AddressType, EndpointsBackend, K8s, Pod, pods
from tests.discovery.flows import BROKEN, lines, ok, play

SUBSETS = [
    {
        "addresses": [{"ip": "172.17.0.5", "hostname": "rabbit-0"}],
        "notReadyAddresses": [{"ip": "172.17.0.6", "hostname": "rabbit-1"}],
    },
    {"addresses": [{"ip": "172.17.0.5", "hostname": "rabbit-0"}]},
]
ENDPOINTS = ok({"kind": "Endpoints", "subsets": SUBSETS})


def test_endpoints_are_asked_for_with_the_token() -> None:
    """The newline at the end of the token's file is not sent."""
    about = K8s(namespace="qa", service_name="rmq", token="a-token\n", node="rabbit@x")
    done = play(EndpointsBackend(about).list_nodes(), ENDPOINTS)

    (request,) = done.requests
    assert ("https", "kubernetes.default.svc.cluster.local", 443) == (
        request.scheme,
        request.host,
        request.port,
    )
    assert ["GET /api/v1/namespaces/qa/endpoints/rmq"] == lines(done)
    assert (Header("Authorization", "Bearer a-token"),) == request.headers


def test_ours_lists_a_node_that_is_not_ready_and_the_first_release_does_not() -> None:
    """Without such nodes, the first pods never see each other (operators' case 19)."""
    ours = play(EndpointsBackend(K8s()).list_nodes(), ENDPOINTS)
    real = play(EndpointsBackend(K8s(variant=Variant.REAL)).list_nodes(), ENDPOINTS)
    later = K8s(variant=Variant.REAL, not_ready=True)

    assert ("rabbit@172.17.0.5", "rabbit@172.17.0.6") == ours.nodes
    assert ("rabbit@172.17.0.5",) == real.nodes
    assert ours.nodes == play(EndpointsBackend(later).list_nodes(), ENDPOINTS).nodes


def test_the_suffix_is_added_to_host_names_unchanged() -> None:
    about = K8s(address_type=AddressType.HOSTNAME, hostname_suffix=".rmq.eng.example.local")
    done = play(EndpointsBackend(about).list_nodes(), ENDPOINTS)

    assert ("rabbit@rabbit-0.rmq.eng.example.local",) == (done.nodes or ())[:1]


def test_an_error_is_not_an_empty_list() -> None:
    """After an empty list, cleanup removes healthy nodes (operators' case 10)."""
    wrong = [ok(status=403), ok(status=404), ok(status=500), ok(""), ok("[]"), BROKEN]
    wrong += [ok({"kind": "Status"}), ok({"kind": "Endpoints", "subsets": [{"addresses": [{}]}]})]
    for one in wrong:
        done = play(EndpointsBackend(K8s()).list_nodes(), one)
        assert Outcome.ERROR is done.outcome, one

    # The shipped plugin does not check the kind: any answer without subsets is an empty list.
    real = play(EndpointsBackend(K8s(variant=Variant.REAL)).list_nodes(), ok({"kind": "Status"}))
    assert () == real.nodes
    empty = play(EndpointsBackend(K8s()).list_nodes(), ok({"kind": "Endpoints", "subsets": None}))
    assert () == empty.nodes


def test_registering_writes_an_event() -> None:
    done = play(EndpointsBackend(K8s(node="rabbit@r-1.x")).register(), ok(status=201))

    assert ["POST /api/v1/namespaces/default/events"] == lines(done)
    assert "r-1" == json.loads(done.requests[0].body)["involvedObject"]["name"]


@pytest.mark.parametrize(
    ("node", "start", "seed"),
    [
        ("rabbit@rabbit-server-2", 0, "rabbit@rabbit-server-0"),
        ("rabbit@r-12.nodes.default.svc", 3, "rabbit@r-3.nodes.default.svc"),
        ("x@a-0", 0, "x@a-0"),
    ],
)
def test_the_seed_is_the_pod_with_the_first_number(node: str, start: int, seed: str) -> None:
    """The number at the end of the first label is replaced by ordinal_start."""
    assert Selected(seed) == pods(Pod(node=node, ordinal_start=start, variant=Variant.REAL))


@pytest.mark.parametrize(
    "node", ["rabbit@server", "rabbit@", "rabbit", "rabbit@s-1x", "rabbit@s.x-1"]
)
def test_a_name_without_a_number_is_an_error(node: str) -> None:
    assert isinstance(pods(Pod(node=node)), Failed)


def test_real_selects_pod_zero_and_ours_lists_all_pods_of_the_set() -> None:
    """Real: pod 0 selects itself, even if it has lost its volume.  A configured seed counts."""
    assert Selected("rabbit@r-0") == pods(Pod(node="rabbit@r-0", variant=Variant.REAL))
    ours = Pod(node="rabbit@r-0.n", replicas=3)
    assert Listed(("rabbit@r-0.n", "rabbit@r-1.n", "rabbit@r-2.n")) == pods(ours)
    assert Selected("rabbit@s") == pods(Pod(node="rabbit@r-0", seed_node="rabbit@s"))


def lease(holder: str | None, version: str = "7") -> dict[str, object]:
    """Return a Lease as the API prints it."""
    return {
        "metadata": {"name": "rabbitmq-startup-lock", "resourceVersion": version},
        "spec": {"holderIdentity": holder},
    }


def test_a_missing_lease_is_created() -> None:
    done = play(EndpointsBackend(K8s(node="rabbit@a")).lock(), ok(status=201))

    assert Outcome.HELD is done.outcome
    assert ["POST /apis/coordination.k8s.io/v1/namespaces/default/leases"] == lines(done)


def test_another_nodes_lease_is_taken_over_only_after_a_silence_of_its_duration() -> None:
    """The request names the version seen last, so one of two nodes is refused."""
    conflict = ok(status=409)
    busy = [answer for n in range(40) for answer in (conflict, ok(lease("rabbit@b", str(n))))]
    done = play(EndpointsBackend(K8s(node="rabbit@a")).lock(), *busy)
    assert Outcome.ASKS is done.outcome
    assert "PUT" not in {one.method for one in done.requests}

    rounds = [answer for _ in range(31) for answer in (conflict, ok(lease("rabbit@b")))]
    silent = play(
        EndpointsBackend(K8s(node="rabbit@a")).lock(), *rounds, ok(lease("rabbit@a", "8"))
    )
    assert Outcome.HELD is silent.outcome
    assert "7" == json.loads(silent.requests[-1].body)["metadata"]["resourceVersion"]
    assert k8s.DURATION == sum(silent.waits)


def test_a_holder_does_not_renew_or_remove_a_lease_that_was_taken_over() -> None:
    """Its former holder gets an error."""
    held = Held(key="/x", value="rabbit@a")

    backend = EndpointsBackend(K8s(node="rabbit@a"))
    for flow in (backend.hold, backend.unlock):
        done = play(flow(held), ok(lease("rabbit@b")))
        assert Outcome.ERROR is done.outcome
        assert "rabbit@b holds it" in (done.error or "")


@pytest.mark.parametrize("renewals", ["²", "-1", "1" * 5000, None, [], 1.5])
def test_a_lease_with_a_malformed_count_of_renewals_counts_as_never_renewed(
    renewals: object,
) -> None:
    """Anybody may write annotations; a boot does not end with a traceback because of one."""
    held = lease("rabbit@a")
    held["metadata"] = {**held["metadata"], "annotations": {k8s._RENEWALS: renewals}}  # type: ignore[dict-item]

    done = play(
        EndpointsBackend(K8s(node="rabbit@a")).hold(Held(key="/x", value="rabbit@a")),
        ok(held),
        ok(held),
    )

    assert Outcome.DONE is done.outcome
    assert "1" == json.loads(done.requests[-1].body)["metadata"]["annotations"][k8s._RENEWALS]


def test_a_set_of_too_many_pods_is_refused() -> None:
    """A server may answer any number, and the names of 10^12 pods would take all the memory."""
    assert isinstance(pods(Pod(node="rabbit@r-0.n", replicas=10_000)), Listed)
    assert isinstance(pods(Pod(node="rabbit@r-0.n", replicas=10**12)), Failed)
