"""Consul: what is asked of its agent, and what follows from the answers.

Real: a node's record lives as long as its check passes; the oldest passing record is selected,
under a lock whose wait ends with the request.  Ours: a record stays until it is removed, all
that are registered are listed, and no node is chosen by what passes at the moment.

Source: Consul requests of the peer discovery plugin; discovery, D1 and D2.
"""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from joinproto.discovery import consul_lock
from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.consul_settings import REQUEST_SECONDS, Consul
from joinproto.discovery.contract import Backend, Done, Held, Variant
from joinproto.discovery.exchange import (
    Flow,
    Refused,
    Request,
    arguments,
    asked,
    compact,
    escaped,
    failing,
    fitting,
    parsed,
    part,
    waited,
)
from joinproto.discovery.names import host_of, node_of, prefix_of

NOTES = "RabbitMQ Consul-based peer discovery plugin TTL check"
RETRIES_MAX = 60
"""Listings after a record was lost, before it is given up."""


def address(about: Consul) -> str | None:
    """Return the address that is registered; None: Consul takes its agent's."""
    if about.svc_addr_nic is not None and about.nic_address is not None:
        return about.nic_address
    if about.svc_addr_auto:
        return host_of(about.node) if about.svc_addr_use_nodename else about.hostname
    return about.svc_addr


def service_id(about: Consul) -> str:
    """Return under which id: real: the service, with its address where there is one."""
    if about.svc_id is not None:
        return about.svc_id
    if about.variant is Variant.OURS:
        # Several nodes of one agent would overwrite each other's record.
        return f"{about.svc}:{about.node}"
    own = address(about)
    return about.svc if own is None else f"{about.svc}:{own}"


def registration(about: Consul) -> Request:
    """Return the request that writes the record."""
    tree: dict[str, Any] = {"ID": service_id(about), "Name": about.svc}
    own = address(about)
    if own is not None:
        tree["Address"] = own
    tree["Port"] = about.svc_port
    real = about.variant is Variant.REAL
    if about.svc_ttl is not None and (real or about.svc_ttl > 0):
        check: dict[str, Any] = {
            "Notes": NOTES,
            "TTL": f"{about.svc_ttl}s",
            "Status": "passing",
        }
        if real and about.deregister_after is not None:
            check["DeregisterCriticalServiceAfter"] = f"{about.deregister_after}s"
        tree["Check"] = check
    named = about.cluster_name != "default"
    tags = ((about.cluster_name,) if named else ()) + about.svc_tags
    if tags:
        tree["Tags"] = list(tags)
    meta = dict(about.svc_meta)
    if named:
        meta["cluster"] = about.cluster_name
    tree["Meta"] = meta | {"erlang-node-name": about.node}
    return about.request("PUT", "/v1/agent/service/register", body=compact(tree))


def listing(about: Consul) -> Request:
    """Return the request that lists; ours asks for all, whether they pass or not."""
    passing = about.variant is Variant.REAL and not about.include_nodes_with_warnings
    named = about.cluster_name != "default"
    return about.request(
        "GET",
        f"/v1/health/service/{escaped(about.svc)}",
        arguments=arguments(
            *((("passing", None),) if passing else ()),
            *((("tag", about.cluster_name),) if named else ()),
        ),
    )


@frozen
class Record:
    """One record: the node, when it was created (None: not said), what its checks say."""

    node: str
    created: int | None
    checks: tuple[str, ...]


def records(about: Consul, text: str) -> tuple[Record, ...]:
    """Return the records of an answer, in its order; raises `Refused` for one that is none."""
    what = "the list of Consul"
    return tuple(_record(about, fitting(one, dict, what), what) for one in parsed(text, list, what))


def _record(about: Consul, tree: dict[str, Any], what: str) -> Record:
    service = part(tree, "Service", dict, what)
    if service is None:
        raise Refused(f"{what}: an entry without Service")
    checks = part(tree, "Checks", list, what) or []
    return Record(
        _node(about, tree, service, what),
        part(service, "CreateIndex", int, what),
        tuple(part(fitting(one, dict, what), "Status", str, what) or "" for one in checks),
    )


def _node(about: Consul, tree: dict[str, Any], service: dict[str, Any], what: str) -> str:
    meta = part(service, "Meta", dict, what) or {}
    named = part(meta, "erlang-node-name", str, what)
    if named:
        return named
    host = part(service, "Address", str, what)
    if not host:
        host = part(part(tree, "Node", dict, what) or {}, "Node", str, what)
        if not host:
            raise Refused(f"{what}: an entry without a name, an address and a node")
        if about.long_names:
            host = f"{host}.node.{about.domain_suffix}"
    return node_of(prefix_of(about.node), host, long_names=about.long_names)


def selected(about: Consul, found: tuple[Record, ...]) -> Answer:
    """Return what follows from the records: real: the one created first; ours: all, by name."""
    if about.variant is Variant.OURS:
        return Listed(tuple(sorted({one.node for one in found})))
    if about.include_nodes_with_warnings:
        found = tuple(one for one in found if {*one.checks} <= {"passing", "warning"})
    # A record that does not say when it was created comes last.
    if not about.selects:
        return Listed(tuple(dict.fromkeys(one.node for one in found)))
    order = sorted(found, key=lambda one: (one.created is None, one.created or 0))
    return Selected(order[0].node) if order else Listed(())


@frozen
class ConsulBackend(Backend):
    """See the head of this file.  `locked`: real lists under the lock, from 3.13 on."""

    about: Consul
    locked: bool = False
    registers: bool = field(default=True, init=False)
    locks: bool = field(default=True, init=False)

    @property
    def keep_alive_every(self) -> float | None:  # type: ignore[override]
        """Real: every 15 s, whatever the time of the check is."""
        if not self.about.svc_ttl:
            return None
        return 15.0 if self.about.variant is Variant.REAL else self.about.svc_ttl / 2

    @failing
    def list_nodes(self) -> Flow[Answer]:
        if not self.locked:
            return (yield from self._listed())
        held = yield from consul_lock.lock(self.about)
        if isinstance(held, Failed):
            return held
        try:
            found: Answer = yield from self._listed()
        except Refused as refused:
            found = Failed(refused.why)
        yield from consul_lock.unlock(self.about, held)
        return found

    def _listed(self) -> Flow[Answer]:
        got = yield from asked(listing(self.about))
        return selected(self.about, records(self.about, got.body))

    @failing
    def register(self) -> Flow[Done]:
        yield from asked(registration(self.about))
        return Done()

    @failing
    def keep_alive(self) -> Flow[Done | Failed]:
        about = self.about
        path = f"/v1/agent/check/pass/service:{escaped(service_id(about), ':@')}"
        # 429 says that the agent is busy, and nothing of the record.
        got = yield from asked(about.request("PUT", path), ok=(200, 429, 404, 500))
        if got.status in (200, 429):
            return Done()
        if about.variant is Variant.REAL and not (yield from self._is_wanted()):
            return Failed(f"the record is gone ({got.status}), and is not written again")
        yield from asked(registration(about))
        return Done(again=True)

    def _is_wanted(self) -> Flow[bool]:
        """Real: the lost record is written again unless the node itself is selected, or no node."""
        for _ in range(RETRIES_MAX):
            found = yield from self.list_nodes()
            if isinstance(found, Selected):
                return found.node != self.about.node
            if isinstance(found, Listed):
                return True
            yield from waited(self.about.retry_interval)
        return False

    @failing
    def unregister(self) -> Flow[Done]:
        path = f"/v1/agent/service/deregister/{escaped(service_id(self.about), ':@')}"
        yield from asked(self.about.request("PUT", path))
        return Done()

    def lock(self) -> Flow[Held | Failed]:
        return consul_lock.lock(self.about)

    def hold(self, held: Held) -> Flow[Done | Failed]:
        return consul_lock.hold(self.about, held)

    def unlock(self, held: Held) -> Flow[Done | Failed]:
        return consul_lock.unlock(self.about, held)


__all__ = ["REQUEST_SECONDS", "ConsulBackend"]
