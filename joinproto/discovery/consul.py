"""Consul: requests to its agent, the nodes that its answers list, and its lock.

Real: only records whose check passes are asked for; the oldest of them is selected, under a lock
whose wait ends with the request.  Ours: a record stays until it is removed, all registered nodes
are listed, and no node is chosen because its check happens to pass.

To lock, a node makes a session, lets it acquire a key, and waits in a blocking read until the key
is free.  Real: every request ends after 2250 ms, even the blocking read.  Therefore the lock fails
if another node holds it for that long, and the session is left behind.  Ours: the reads may take
all the time that is left for the lock, and a session that did not get the lock is ended.

Source: the settings and Consul requests of the peer discovery plugin; discovery, D1 to D3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from attrs import field, frozen

from joinproto.codec.json_form import AtLeast
from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.contract import BackendSettings, Done, Held, KeepingBackend, done
from joinproto.discovery.exchange import (
    Argument,
    Flow,
    Header,
    Refused,
    Request,
    Scheme,
    Tree,
    Wait,
    arguments,
    asked,
    compact,
    escaped,
    failing,
    parsed,
    request_to,
)
from joinproto.discovery.names import host_of, node_of, prefix_of

BLOCK_MAX = 60
"""The longest blocking read of ours, in seconds; a longer wait takes several reads."""
NOTES = "RabbitMQ Consul-based peer discovery plugin TTL check"
RETRIES_MAX = 60
"""How many listings may fail after a record was lost, before real gives the record up."""
REQUEST_SECONDS = 2.25
"""The real client's limit, in seconds, for every request, including a blocking one."""


@frozen(kw_only=True)
class Consul(BackendSettings):
    """The settings, by their names in the file, and the facts about the node and its host."""

    host: Annotated[str, "the host of the agent"] = "localhost"
    port: Annotated[int, AtLeast(1), "the agent's port"] = 8500
    scheme: Annotated[Scheme, "http or https"] = "http"
    acl_token: Annotated[str | None, "the token, sent as X-Consul-Token; null: none"] = None
    cluster_name: Annotated[str, "the tag of records; `default`: records have no such tag"] = (
        "default"
    )
    svc: Annotated[str, "the name of the service"] = "rabbitmq"
    svc_id: Annotated[str | None, "the id of the record; null: derived from other settings"] = None
    svc_port: Annotated[int, AtLeast(1), "the service's port"] = 5672
    svc_addr: Annotated[str | None, "the address, if no other setting gives one"] = None
    svc_addr_auto: Annotated[
        bool, "whether the address is the machine's or the node's host name"
    ] = False
    svc_addr_nic: Annotated[str | None, "the interface whose address is registered"] = None
    svc_addr_use_nodename: Annotated[
        bool, "with svc_addr_auto: the host of the node's name, not the machine's host name"
    ] = False
    hostname: Annotated[str, "the host name of this machine"] = "localhost"
    nic_address: Annotated[str | None, "the interface's IPv4 address"] = None
    svc_ttl: Annotated[
        int | None, AtLeast(0), "the time to live of the check, in seconds; null: no check"
    ] = 30
    deregister_after: Annotated[
        int | None, AtLeast(0), "a failing record is removed after so many seconds; null: never"
    ] = None
    svc_tags: Annotated[tuple[str, ...], "further tags of the record, in their order"] = ()
    svc_meta: Annotated[Mapping[str, str], "further metadata of the service"] = field(factory=dict)
    domain_suffix: Annotated[str, "the domain after .node, for long names"] = "consul"
    long_names: Annotated[bool, "whether names keep their dots"] = False
    include_nodes_with_warnings: Annotated[
        bool, "whether to list records whose check is in the warning state"
    ] = False
    lock_prefix: Annotated[str, "the first part of the lock's key"] = "rabbitmq"
    lock_timeout: Annotated[
        int, AtLeast(0), "for how many seconds a node tries to get the lock"
    ] = 300
    selects: Annotated[
        bool, "real: whether one node is selected, as since 3.13.5, or all are listed"
    ] = True
    retry_interval: Annotated[float, AtLeast(0), "seconds between two listings"] = 1.0

    def request(
        self,
        method: str,
        path: str,
        *,
        arguments: tuple[Argument, ...] = (),
        body: str = "",
        seconds: float = REQUEST_SECONDS,
    ) -> Request:
        """Return a request to the agent, with the token."""
        token = (Header("X-Consul-Token", self.acl_token),) if self.acl_token else ()
        kind = (Header("Content-Type", "application/json"),) if body else ()
        headers = (*token, *kind)
        return request_to(
            self, method, path, arguments=arguments, headers=headers, body=body, seconds=seconds
        )


def address(about: Consul) -> str | None:
    """Return the address that is registered, or None if Consul takes its agent's address."""
    if about.svc_addr_nic is not None and about.nic_address is not None:
        return about.nic_address
    if about.svc_addr_auto:
        return host_of(about.node) if about.svc_addr_use_nodename else about.hostname
    return about.svc_addr


def service_id(about: Consul) -> str:
    """Return the record's id.

    Without a configured id, it is the service's name with the node's name (ours), or with the
    registered address, if there is one (real).
    """
    if about.svc_id is not None:
        return about.svc_id
    if not about.is_real:
        # With real's id, several nodes of one agent would overwrite each other's record.
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
    real = about.is_real
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
    """Return the request for the list; ours asks for all records, not only passing records."""
    passing = about.is_real and not about.include_nodes_with_warnings
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
    """One record.

    `created`: the index of its creation, or None; `checks`: the states of its checks.
    """

    node: str
    created: int | None
    checks: tuple[str, ...]


def records(about: Consul, text: str) -> tuple[Record, ...]:
    """Return the records of an answer, in its order; raises `Refused` for malformed records."""
    return tuple(_record(about, one) for one in Tree.read_list(text, "the list of Consul"))


def _record(about: Consul, entry: Tree) -> Record:
    service = Tree(entry.what, entry.need("Service", dict))
    return Record(
        _node(about, entry, service),
        service.get("CreateIndex", int),
        tuple(one.get("Status", str) or "" for one in entry.each("Checks")),
    )


def _node(about: Consul, entry: Tree, service: Tree) -> str:
    named = service.below("Meta").get("erlang-node-name", str)
    if named:
        return named
    host = service.get("Address", str)
    if not host:
        host = entry.below("Node").get("Node", str)
        if not host:
            raise Refused(f"{entry.what}: an entry without a name, an address and a node")
        if about.long_names:
            host = f"{host}.node.{about.domain_suffix}"
    return node_of(prefix_of(about.node), host, long_names=about.long_names)


def selected(about: Consul, found: tuple[Record, ...]) -> Answer:
    """Return the answer: all nodes, sorted by name (ours), or the oldest record's node (real).

    Real before 3.13.5: all nodes, in the order of the records.
    """
    if not about.is_real:
        return Listed(tuple(sorted({one.node for one in found})))
    if about.include_nodes_with_warnings:
        found = tuple(one for one in found if {*one.checks} <= {"passing", "warning"})
    if not about.selects:
        return Listed(tuple(dict.fromkeys(one.node for one in found)))
    # A record without the index of its creation comes last.
    order = sorted(found, key=lambda one: (one.created is None, one.created or 0))
    return Selected(order[0].node) if order else Listed(())


def _key(about: Consul) -> str:
    names = f"{about.lock_prefix}/{about.cluster_name}/startup_lock"
    return f"/v1/kv/{escaped(names, '/')}"


def key_entry(text: str, what: str) -> Tree:
    """Return the entry in an answer about one key; raises `Refused` for an empty answer."""
    entries = Tree.read_list(text, what)
    if not entries:
        raise Refused(f"{what}: an empty list")
    return entries[0]


def _ttl(about: Consul) -> int:
    return about.svc_ttl or 30


def _acquired(about: Consul, session: str) -> Flow[None]:
    left = float(about.lock_timeout)
    what = "the lock of Consul"
    while True:
        acquire = about.request("PUT", _key(about), arguments=arguments(("acquire", session)))
        got = yield from asked(acquire)
        left -= got.took
        if parsed(got.body, bool, what):
            return
        if left <= 0:
            raise Refused(f"{what}: another node still holds it after {about.lock_timeout} s")
        got = yield from asked(about.request("GET", _key(about)), ok=(200, 404))
        left -= got.took
        if got.status == 404:  # the key is gone: acquire it again, after a short pause
            yield Wait(0.1)
            left -= 0.1
            continue
        entry = key_entry(got.body, what)
        index = entry.get("ModifyIndex", int)
        if entry.fields.get("Session") is None or index is None:
            # The key is free, or in the delay that Consul keeps after a session's end.
            yield Wait(1.0)
            left -= 1.0
            continue
        left -= yield from _blocked(about, index, left, session)


def _blocked(about: Consul, index: int, left: float, session: str) -> Flow[float]:
    """Wait until the key changes, or for the longest read; return how many seconds that took."""
    real = about.is_real
    if real:
        wait, seconds = about.lock_timeout, REQUEST_SECONDS
    else:
        # The session is renewed before it ends: a read takes at most half of its time to live.
        wait = max(1, min(int(left), BLOCK_MAX, _ttl(about) // 2))
        seconds = wait * 1.1 + REQUEST_SECONDS  # Consul adds up to a sixteenth
    pairs = arguments(("index", str(index)), ("wait", f"{wait}s"))
    read = about.request("GET", _key(about), arguments=pairs, seconds=seconds)
    got = yield from asked(read, ok=(200, 404))
    if real:
        return got.took
    renewed = yield from asked(about.request("PUT", _renewal(session)))
    return got.took + renewed.took


def _renewal(session: str) -> str:
    return f"/v1/session/renew/{escaped(session)}"


@frozen
class ConsulBackend(KeepingBackend):
    """The backend of Consul.  `locked`: list the nodes under the lock (as real does since 3.13)."""

    about: Consul
    locked: bool = False

    @property
    def keep_alive_every(self) -> float | None:
        """Return the seconds between two keep-alives, or None without a check.

        Real always waits for 15 s.
        """
        if not self.about.svc_ttl:
            return None
        return 15.0 if self.about.is_real else self.about.svc_ttl / 2

    @failing
    def list_nodes(self) -> Flow[Answer]:
        if not self.locked:
            return (yield from self._listed())
        held = yield from self.lock()
        if isinstance(held, Failed):
            return held
        try:
            found: Answer = yield from self._listed()
        except Refused as refused:
            found = Failed(refused.why)
        yield from self.unlock(held)
        return found

    def _listed(self) -> Flow[Answer]:
        got = yield from asked(listing(self.about))
        return selected(self.about, records(self.about, got.body))

    @failing
    def register(self) -> Flow[Done]:
        return done(registration(self.about))

    @failing
    def keep_alive(self) -> Flow[Done | Failed]:
        about = self.about
        path = f"/v1/agent/check/pass/service:{escaped(service_id(about), ':@')}"
        # With 429 the agent is busy, and does not say whether it has the record.
        got = yield from asked(about.request("PUT", path), ok=(200, 429, 404, 500))
        if got.status in (200, 429):
            return Done()
        if about.is_real and not (yield from self._is_wanted()):
            return Failed(f"the record is gone ({got.status}), and is not written again")
        yield from asked(registration(about))
        return Done(again=True)

    def _is_wanted(self) -> Flow[bool]:
        """Return whether the real broker writes a lost record again.

        It does not if the node itself is selected, or if each of `RETRIES_MAX` listings fails.
        """
        for _ in range(RETRIES_MAX):
            found = yield from self.list_nodes()
            if isinstance(found, Selected):
                return found.node != self.about.node
            if isinstance(found, Listed):
                return True
            yield Wait(self.about.retry_interval)
        return False

    @failing
    def unregister(self) -> Flow[Done]:
        path = f"/v1/agent/service/deregister/{escaped(service_id(self.about), ':@')}"
        return done(self.about.request("PUT", path))

    @failing
    def lock(self) -> Flow[Held]:
        """Return the lock, once no other node holds it."""
        about = self.about
        body = compact({"Name": about.node, "TTL": f"{_ttl(about)}s"})
        got = yield from asked(about.request("PUT", "/v1/session/create", body=body))
        session = Tree.read(got.body, "the session of Consul").need("ID", str)
        try:
            yield from _acquired(about, session)
        except Refused:
            if not about.is_real:
                yield about.request("PUT", f"/v1/session/destroy/{escaped(session)}")
            raise
        return Held(key=_key(about), session=session, renew_every=_ttl(about) / 2)

    @failing
    def hold(self, held: Held) -> Flow[Done]:
        """Renew the session."""
        return done(self.about.request("PUT", _renewal(held.session)))

    @failing
    def unlock(self, held: Held) -> Flow[Done]:
        """Release the key; ours ends the session, too."""
        about = self.about
        release = about.request("PUT", held.key, arguments=arguments(("release", held.session)))
        yield from asked(release)
        if not about.is_real:
            yield from asked(about.request("PUT", f"/v1/session/destroy/{escaped(held.session)}"))
        return Done()
