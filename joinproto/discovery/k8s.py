"""Kubernetes: the endpoints of a service (up to 4.0), and the names of pods (from 4.1 on).

The lock is a Lease that a node creates, or takes over once its holder is silent.  The clocks of two
nodes are never compared: a holder counts its renewals in the Lease, and a waiting node takes the
Lease over when the Lease's version has not changed for its whole duration.  The request names that
version, so if two nodes try to take the Lease over, one is refused.  The real plugin has no such
lock; client libraries of Kubernetes elect leaders this way.

Source: the peer discovery plugin up to 4.0 and from 4.1 on; discovery, D1 and D3.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated, Any

from attrs import frozen

from joinproto.codec.json_form import AtLeast
from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.contract import Backend, BackendSettings, Done, Held, KeepingBackend, done
from joinproto.discovery.exchange import (
    Flow,
    Header,
    Refused,
    Request,
    Scheme,
    Tree,
    Wait,
    asked,
    compact,
    escaped,
    failing,
    request_to,
)
from joinproto.discovery.names import host_of, prefix_of


class AddressType(Enum):
    """The field of an address that names the node."""

    IP = "ip"
    HOSTNAME = "hostname"


@frozen(kw_only=True)
class K8s(BackendSettings):
    """The settings, and the contents of the pod's files."""

    host: Annotated[str, "the API server"] = "kubernetes.default.svc.cluster.local"
    port: Annotated[int, AtLeast(1), "the API server's port"] = 443
    scheme: Annotated[Scheme, "http or https"] = "https"
    namespace: Annotated[str, "the content of the namespace file"] = "default"
    token: Annotated[str, "the content of the token file"] = ""
    service_name: Annotated[str, "the service whose endpoints are listed"] = "rabbitmq"
    address_type: Annotated[AddressType, "the field of an address that names the node's host"] = (
        AddressType.IP
    )
    hostname_suffix: Annotated[str, "the text that is added to this host"] = ""
    not_ready: Annotated[
        bool | None,
        "whether addresses that are not ready are listed; null: no in real (3.7), yes in ours",
    ] = None

    @property
    def counts_not_ready(self) -> bool:
        # Without the addresses that are not ready, a node never sees the first pods, because a pod
        # is ready only once it serves.
        return not self.is_real if self.not_ready is None else self.not_ready

    def request(self, method: str, path: str, tree: dict[str, Any] | None = None) -> Request:
        """Return a request to the API, with the token."""
        bearer = (Header("Authorization", f"Bearer {self.token.strip()}"),)
        json = (Header("Content-Type", "application/json"),) if tree else ()
        body = compact(tree) if tree else ""
        return request_to(self, method, path, headers=(*bearer, *json), body=body)

    @property
    def core(self) -> str:
        """Return the path of the namespace's objects of API v1."""
        return f"/api/v1/namespaces/{escaped(self.namespace)}"


LIST = "the endpoints of Kubernetes"


def listing(about: K8s) -> Request:
    """Return the request for the endpoints."""
    return about.request("GET", f"{about.core}/endpoints/{escaped(about.service_name)}")


def names(about: K8s, text: str) -> tuple[str, ...]:
    """Return the nodes of an answer, each once; raises `Refused` for a malformed answer."""
    answer = Tree.read(text, LIST)
    kind = answer.get("kind", str)
    if not about.is_real and kind != "Endpoints":
        raise Refused(f"{LIST}: the answer has the kind {kind!r}, expected 'Endpoints'")
    found: dict[str, None] = {}
    for subset in answer.each("subsets"):
        addresses = subset.each("addresses")
        if about.counts_not_ready:
            addresses += subset.each("notReadyAddresses")
        for address in addresses:
            host = address.need(about.address_type.value, str)
            found[f"{prefix_of(about.node)}@{host}{about.hostname_suffix}"] = None
    return tuple(found)


WHAT = "the Lease of Kubernetes"
DURATION = 30
"""Seconds of silence after which the lock is free."""
LOCK_SECONDS = 300.0
"""For how many seconds a node tries to get the lock."""
PAUSE = 1.0
_RENEWALS = "joinproto/renewals"


def _folder(about: K8s) -> str:
    namespace = escaped(about.namespace)
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


def _path(about: K8s) -> str:
    return f"{_folder(about)}/{_name(about)}"


def _name(about: K8s) -> str:
    return f"{about.service_name}-startup-lock"


def _lease(about: K8s, *, version: str | None, renewals: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": _name(about), "namespace": about.namespace}
    if version is not None:
        metadata["resourceVersion"] = version
    metadata["annotations"] = {_RENEWALS: str(renewals)}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {"holderIdentity": about.node, "leaseDurationSeconds": DURATION},
    }


def _held(about: K8s) -> Held:
    return Held(key=_path(about), value=about.node, renew_every=DURATION / 3)


def _read(text: str) -> tuple[str, str | None, int]:
    answer = Tree.read(text, WHAT)
    metadata = answer.below("metadata")
    version = metadata.need("resourceVersion", str)
    holder = answer.below("spec").get("holderIdentity", str)
    counted = metadata.below("annotations").fields.get(_RENEWALS, "0")
    is_number = re.fullmatch(r"[0-9]{1,18}", str(counted)) is not None
    return version, holder or None, int(counted) if is_number else 0


def _own(about: K8s) -> Flow[tuple[str, int]]:
    got = yield from asked(about.request("GET", _path(about)))
    version, holder, renewals = _read(got.body)
    if holder != about.node:
        raise Refused(f"{WHAT}: {holder or 'no node'} holds it")
    return version, renewals


@frozen
class EndpointsBackend(KeepingBackend):
    """The backend up to 4.0.  Registering writes an event that no node reads."""

    about: K8s

    @failing
    def list_nodes(self) -> Flow[Listed]:
        got = yield from asked(listing(self.about))
        return Listed(names(self.about, got.body))

    @failing
    def register(self) -> Flow[Done]:
        about = self.about
        pod = host_of(about.node).partition(".")[0]
        tree = {
            "metadata": {"generateName": "rabbitmq.", "namespace": about.namespace},
            "type": "Normal",
            "reason": "Created",
            "message": f"Node {about.node} is registered",
            "count": 1,
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod,
                "namespace": about.namespace,
            },
            "source": {"component": f"{pod}/rabbitmq_peer_discovery", "host": pod},
        }
        return done(about.request("POST", f"{about.core}/events", tree), ok=(200, 201, 202))

    @failing
    def lock(self) -> Flow[Held]:
        """Return the lock, once no other node holds it."""
        about = self.about
        left, silent, seen = LOCK_SECONDS, 0.0, None
        while left > 0:
            new = _lease(about, version=None, renewals=0)
            got = yield from asked(about.request("POST", _folder(about), new), ok=(200, 201, 409))
            left -= got.took
            if got.status != 409:
                return _held(about)
            got = yield from asked(about.request("GET", _path(about)), ok=(200, 404))
            left -= got.took
            if got.status == 404:
                continue
            version, holder, _ = _read(got.body)
            silent = silent + PAUSE if version == seen else 0.0
            seen = version
            if holder in (None, about.node) or silent >= DURATION:
                own = _lease(about, version=version, renewals=0)
                got = yield from asked(about.request("PUT", _path(about), own), ok=(200, 201, 409))
                left -= got.took
                if got.status != 409:
                    return _held(about)
            yield Wait(PAUSE)
            left -= PAUSE
        raise Refused(f"{WHAT}: another node still holds it after {LOCK_SECONDS:g} s")

    @failing
    def hold(self, held: Held) -> Flow[Done]:
        """Renew the Lease: count one more renewal."""
        version, renewals = yield from _own(self.about)
        tree = _lease(self.about, version=version, renewals=renewals + 1)
        return (yield from done(self.about.request("PUT", held.key, tree), ok=(200, 201)))

    @failing
    def unlock(self, held: Held) -> Flow[Done]:
        """Remove the Lease, if it is still ours in the version that was read."""
        version, _ = yield from _own(self.about)
        options = {"preconditions": {"resourceVersion": version}}
        return (yield from done(self.about.request("DELETE", held.key, options), ok=(200, 202)))


@frozen(kw_only=True)
class Pod(BackendSettings):
    """The facts from which the names of a set's pods are computed, without a request."""

    node: Annotated[str, "this node, such as rabbit@set-2.service"]
    ordinal_start: Annotated[int, AtLeast(0), "the number of the seed's pod"] = 0
    seed_node: Annotated[str | None, "the seed; null: the pod with that number"] = None
    replicas: Annotated[
        int | None, AtLeast(1), "the number of the set's pods; null: not known (ours)"
    ] = None


PODS_MAX = 10_000
"""A set with more pods is an error."""

_POD = re.compile(r"([^@\s]+)@([^@.\s]*-)([0-9]+)((?:\.[^@\s]*)?)")


def pods(about: Pod) -> Answer:
    """Return the seed's node, or (ours) the nodes on all pods of the set, if their number is known.

    For the seed's own pod, real returns this pod's node, even if the pod has lost its volume.
    """
    if about.seed_node is not None:
        return Selected(about.seed_node)
    parts = _POD.fullmatch(about.node)
    if parts is None:
        return Failed(
            f"the first label of {about.node} does not end in -NUMBER, such as rabbit@set-0"
        )
    prefix, name, _, domain = parts.groups()

    def pod(ordinal: int) -> str:
        return f"{prefix}@{name}{ordinal}{domain}"

    if not about.is_real and about.replicas is not None:
        if about.replicas > PODS_MAX:
            return Failed(f"a set of {about.replicas} pods, expected at most {PODS_MAX}")
        numbers = range(about.ordinal_start, about.ordinal_start + about.replicas)
        return Listed(tuple(pod(one) for one in numbers))
    return Selected(pod(about.ordinal_start))


@frozen
class PodBackend(Backend):
    """The backend from 4.1 on."""

    about: Pod

    def list_nodes(self) -> Flow[Answer]:
        yield from ()
        return pods(self.about)
