"""etcd v3: records under a prefix, and the server's own lock.

Real: a record hangs on a lease, and the one created first is selected; an error of writing it is
ignored; an empty list ends the boot; the lock's lease is not kept alive.  Ours: a record stays
until it is removed, all are listed by name, and each error is one.

Source: etcd v3 requests of the peer discovery plugin; discovery, D1 to D3.
"""

from __future__ import annotations

import json
from typing import Any

from attrs import field, frozen

from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.contract import Backend, Done, Held, Variant
from joinproto.discovery.etcd3_settings import (
    LOCK_CALL_SECONDS,
    Etcd3,
    after,
    authenticated,
    granted,
    key,
    plain,
    whole,
)
from joinproto.discovery.exchange import (
    Flow,
    Refused,
    asked,
    compact,
    failing,
    fitting,
    parsed,
    part,
)

LIST = "the list of etcd"


@frozen
class Record:
    """One record.  `created`: the revision of the store in which it was written first."""

    node: str
    created: int
    lease: str


def records(text: str) -> tuple[Record, ...]:
    """Return the records of a range, in its order; what names no node is skipped.

    Raises `Refused` for an answer that is none: one without a header is not etcd's.
    """
    tree = parsed(text, dict, LIST)
    if part(tree, "header", dict, LIST) is None:
        raise Refused(f"{LIST}: an answer without header")
    found = []
    for entry in part(tree, "kvs", list, LIST) or []:
        one = fitting(entry, dict, LIST)
        node = _node(plain(part(one, "value", str, LIST) or "", LIST))
        created = whole(one, "create_revision", LIST)
        if node is not None:
            if created is None:
                raise Refused(f"{LIST}: an entry without create_revision")
            found.append(Record(node, created, str(whole(one, "lease", LIST) or "0")))
    if tree.get("more"):
        raise Refused(f"{LIST}: it goes on, and the rest was not sent")
    return tuple(found)


def _node(value: str) -> str | None:
    try:
        tree: Any = json.loads(value)
    except (ValueError, RecursionError):
        return None
    node = tree.get("node") if isinstance(tree, dict) else None
    return node if isinstance(node, str) and node else None


def selected(about: Etcd3, found: tuple[Record, ...]) -> Answer:
    """Return what follows: real: the one created first since 3.13.5; else all, by name."""
    if about.variant is Variant.OURS or not about.selects:
        return Listed(tuple(sorted({one.node for one in found})))
    if not found:
        return Failed("no record: the boot of the real node ends here, no clause matches []")
    return Selected(min(found, key=lambda one: one.created).node)


@frozen
class Etcd3Backend(Backend):
    """See the head of this file.  `lease`: the lease of its own record, once it is known."""

    about: Etcd3
    lease: list[str] = field(factory=list)
    registers: bool = field(default=True, init=False)
    locks: bool = field(default=True, init=False)

    @property
    def keep_alive_every(self) -> float | None:  # type: ignore[override]
        return self.about.lease_ttl / 3 if self.about.variant is Variant.REAL else None

    @failing
    def list_nodes(self) -> Flow[Answer]:
        about = self.about
        token = yield from authenticated(about)
        tree = {"key": key(about.directory), "range_end": key(after(about.directory))}
        got = yield from asked(about.post("/v3/kv/range", tree, token))
        return selected(about, records(got.body))

    def register(self) -> Flow[Done | Failed]:
        return self._registered() if self.about.variant is Variant.OURS else self._hoped()

    @failing
    def _registered(self) -> Flow[Done]:
        about = self.about
        token = yield from authenticated(about)
        value = compact({"node": about.node})
        tree = {"key": key(about.record), "value": key(value)}
        got = yield from asked(about.post("/v3/kv/put", tree, token))
        _from_etcd(got.body, "the record")
        return Done()

    def _hoped(self) -> Flow[Done | Failed]:
        """Real: whatever writing comes to, it is ok; only the connection's lease can fail."""
        about = self.about
        try:
            token = yield from authenticated(about)
            lease = yield from granted(about, about.lease_ttl, token)
        except Refused as refused:
            return Failed(f"not connected: {refused.why}")
        self.lease[:] = [lease]
        value = compact({"node": about.node, "lease_id": int(lease), "ttl": about.lease_ttl})
        tree = {"key": key(about.record), "value": key(value), "lease": lease}
        yield about.post("/v3/kv/put", tree, token)
        return Done()

    @failing
    def keep_alive(self) -> Flow[Done]:
        """Real: the lease is kept alive; the record is not written again once that has ended."""
        if self.about.variant is Variant.REAL and self.lease:
            yield from self._kept(self.lease[0])
        return Done()

    def _kept(self, lease: str) -> Flow[None]:
        about = self.about
        token = yield from authenticated(about)
        what = "the lease of etcd"
        got = yield from asked(about.post("/v3/lease/keepalive", {"ID": lease}, token))
        result = part(parsed(got.body, dict, what), "result", dict, what) or {}
        if not whole(result, "TTL", what):
            raise Refused(f"{what}: it has ended")

    @failing
    def unregister(self) -> Flow[Done]:
        about = self.about
        token = yield from authenticated(about)
        got = yield from asked(about.post("/v3/kv/deleterange", {"key": key(about.record)}, token))
        _from_etcd(got.body, "the removal")
        return Done()

    @failing
    def lock(self) -> Flow[Held]:
        about = self.about
        token = yield from authenticated(about)
        lease = yield from granted(about, about.lock_ttl, token)
        real = about.variant is Variant.REAL
        # Ours waits no longer than the lease lives: who is asked meanwhile keeps nothing alive.
        seconds = LOCK_CALL_SECONDS if real else about.lock_ttl * 0.8
        tree = {"name": key(about.lock_name), "lease": lease}
        what = "the lock of etcd"
        try:
            got = yield from asked(about.post("/v3/lock/lock", tree, token, seconds))
            name = part(parsed(got.body, dict, what), "key", str, what)
            if not name:
                raise Refused(f"{what}: an answer without key")
        except Refused:
            if not real:
                # With its lease goes the place in the queue; otherwise a lock that no node
                # holds is handed to us later.
                yield about.post("/v3/lease/revoke", {"ID": lease}, token)
            raise
        return Held(key=name, session=lease, renew_every=None if real else about.lock_ttl / 3)

    @failing
    def hold(self, held: Held) -> Flow[Done]:
        if self.about.variant is Variant.OURS:
            yield from self._kept(held.session)
        return Done()

    @failing
    def unlock(self, held: Held) -> Flow[Done]:
        about = self.about
        token = yield from authenticated(about)
        yield from asked(about.post("/v3/lock/unlock", {"key": held.key}, token))
        if about.variant is Variant.OURS:
            yield from asked(about.post("/v3/lease/revoke", {"ID": held.session}, token))
        return Done()


def _from_etcd(text: str, what: str) -> None:
    """Raise `Refused` unless this is an answer of etcd, which always has a header."""
    if part(parsed(text, dict, what), "header", dict, what) is None:
        raise Refused(f"{what}: an answer without header")
