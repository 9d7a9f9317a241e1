"""A lock of Kubernetes: a Lease that is created, or taken over once its holder is silent.

No two clocks are compared: a holder counts its renewals in the Lease, and who waits takes it
over when nothing in it has changed for its whole duration, by the version that it saw last; so
of two that take it over one is refused.  The real plugin has no such lock; client libraries of
Kubernetes elect leaders this way.  Source: discovery, D1 and D3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from joinproto.discovery.contract import Done, Held
from joinproto.discovery.exchange import (
    Flow,
    Refused,
    asked,
    escaped,
    failing,
    parsed,
    part,
    waited,
)

if TYPE_CHECKING:
    from joinproto.discovery.k8s import K8s

WHAT = "the Lease of Kubernetes"
DURATION = 30
"""Seconds of silence after which the lock is free."""
LOCK_SECONDS = 300.0
"""After which it is given up."""
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


@failing
def lock(about: K8s) -> Flow[Held]:
    """Return the lock, once no other node holds it."""
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
        yield from waited(PAUSE)
        left -= PAUSE
    raise Refused(f"{WHAT}: another node holds it, after {LOCK_SECONDS:g} s")


def _held(about: K8s) -> Held:
    return Held(key=_path(about), value=about.node, renew_every=DURATION / 3)


def _read(text: str) -> tuple[str, str | None, int]:
    tree = parsed(text, dict, WHAT)
    metadata = part(tree, "metadata", dict, WHAT) or {}
    version = part(metadata, "resourceVersion", str, WHAT)
    if not version:
        raise Refused(f"{WHAT}: an answer without resourceVersion")
    holder = part(part(tree, "spec", dict, WHAT) or {}, "holderIdentity", str, WHAT)
    counted = (part(metadata, "annotations", dict, WHAT) or {}).get(_RENEWALS, "0")
    return version, holder or None, int(counted) if str(counted).isdigit() else 0


def _own(about: K8s) -> Flow[tuple[str, int]]:
    got = yield from asked(about.request("GET", _path(about)))
    version, holder, renewals = _read(got.body)
    if holder != about.node:
        raise Refused(f"{WHAT}: {holder or 'no node'} holds it")
    return version, renewals


@failing
def hold(about: K8s, held: Held) -> Flow[Done]:
    """Count one more renewal."""
    version, renewals = yield from _own(about)
    tree = _lease(about, version=version, renewals=renewals + 1)
    yield from asked(about.request("PUT", held.key, tree), ok=(200, 201))
    return Done()


@failing
def unlock(about: K8s, held: Held) -> Flow[Done]:
    """Remove the Lease, if it is still ours in the version that was read."""
    version, _ = yield from _own(about)
    options = {"preconditions": {"resourceVersion": version}}
    yield from asked(about.request("DELETE", held.key, options), ok=(200, 202))
    return Done()
