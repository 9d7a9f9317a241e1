"""etcd v3: settings, keys and requests of its JSON gateway; records under a prefix, and its lock.

Real: a record ends with its lease, and the record created first is selected; an error when a record
is written is ignored; an empty list ends the boot; the lock's lease is not kept alive.  Ours: a
record stays until it is removed, all nodes are listed by name, and no error is ignored.  The plugin
speaks gRPC; the gateway is the same service in JSON.

Source: etcd v3 requests and keys (from 3.8.4 on) of the peer discovery plugin; etcd's own API
reference for its gateway; discovery, D1 to D3.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from typing import Annotated, Any

from attrs import field, frozen

from joinproto.codec.json_form import AtLeast
from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.contract import BackendSettings, Done, Held, KeepingBackend
from joinproto.discovery.exchange import (
    SECONDS,
    Flow,
    Header,
    Refused,
    Request,
    Scheme,
    Tree,
    asked,
    compact,
    failing,
    request_to,
)

NODE_TTL, NODE_TTL_LEAST = 61, 15
LOCK_TTL, LOCK_TTL_LEAST = 70, 30
LOCK_CALL_SECONDS = 15.0
"""The real client's limit for the call that waits for the lock, less than the lock's time."""


@frozen(kw_only=True)
class Etcd3(BackendSettings):
    """The settings of the etcd v3 backend, by their names in the file."""

    host: Annotated[str, "the server"] = "localhost"
    port: Annotated[int, AtLeast(1), "the server's port"] = 2379
    scheme: Annotated[Scheme, "http or https"] = "http"
    key_prefix: Annotated[str, "a part of all keys; real ignores it"] = "rabbitmq"
    cluster_name: Annotated[str, "a part of all keys"] = "default"
    node_ttl: Annotated[int, AtLeast(0), "the lease of a record in seconds, at least 15 (real)"] = (
        NODE_TTL
    )
    lock_timeout: Annotated[
        int,
        AtLeast(0),
        "the lease of the lock in seconds, at least 30; real ignores the setting, and has 70",
    ] = LOCK_TTL
    username: Annotated[str | None, "the user; null: no user"] = None
    password: Annotated[str | None, "the user's password"] = None
    selects: Annotated[
        bool, "real: whether one node is selected, as since 3.13.5, or all are listed"
    ] = True

    @property
    def prefix(self) -> str:
        # The plugin does not pass the prefix and the lock's time to the real client.
        return "rabbitmq" if self.is_real else self.key_prefix

    @property
    def lease_ttl(self) -> int:
        return max(self.node_ttl, NODE_TTL_LEAST)

    @property
    def lock_ttl(self) -> int:
        return max(LOCK_TTL if self.is_real else self.lock_timeout, LOCK_TTL_LEAST)

    @property
    def directory(self) -> str:
        """Return the prefix of the keys of all records."""
        return f"/rabbitmq/discovery/{self.prefix}/clusters/{self.cluster_name}/nodes/"

    @property
    def record(self) -> str:
        return f"{self.directory}{self.node}"

    @property
    def lock_name(self) -> str:
        return f"/rabbitmq/locks/{self.prefix}/clusters/{self.cluster_name}/registration"

    def post(
        self, path: str, tree: dict[str, Any], token: str | None, seconds: float = SECONDS
    ) -> Request:
        """Return a request to the gateway."""
        kind = Header("Content-Type", "application/json")
        headers = (kind, Header("Authorization", token)) if token else (kind,)
        return request_to(self, "POST", path, headers=headers, body=compact(tree), seconds=seconds)


def encoded(text: str) -> str:
    """Return a key or a value in the gateway's form, base64."""
    return b64encode(text.encode()).decode()


def plain(text: str, what: str) -> str:
    """Return the text of a server's base64; raises `Refused` if it is malformed."""
    try:
        return b64decode(text, validate=True).decode()
    except ValueError:
        raise Refused(f"{what}: expected a text in base64") from None


def after(prefix: str) -> str:
    """Return the first key after all keys with this prefix, which must end below U+007F."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def whole(tree: Tree, name: str) -> int | None:
    """Return a number of 64 bits, which the gateway writes as text, or None if it is absent."""
    value = tree.fields.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value):
        return int(value)
    raise Refused(f"{tree.what}: {name} is not a number")


def answer_of(text: str, what: str) -> Tree:
    """Return an answer of etcd, which always has a header; raises `Refused` for any other."""
    answer = Tree.read(text, what)
    answer.need("header", dict)
    return answer


def authenticated(about: Etcd3) -> Flow[str | None]:
    """Return the token of the user, or None if no user is set."""
    if about.username is None:
        return None
    tree = {"name": about.username, "password": about.password or ""}
    got = yield from asked(about.post("/v3/auth/authenticate", tree, None))
    return Tree.read(got.body, "the token of etcd").need("token", str)


def granted(about: Etcd3, ttl: int, token: str | None) -> Flow[str]:
    """Return the id of a new lease."""
    got = yield from asked(about.post("/v3/lease/grant", {"TTL": str(ttl)}, token))
    lease = whole(Tree.read(got.body, LEASE), "ID")
    if not lease:
        raise Refused(f"{LEASE}: an answer without ID")
    return str(lease)


LEASE, LIST = "the lease of etcd", "the list of etcd"


@frozen
class Record:
    """One record.

    `created`: the store's revision in which it was first written; `lease`: the id of its lease.
    """

    node: str
    created: int
    lease: str


def records(text: str) -> tuple[Record, ...]:
    """Return the records of a range, in its order; records that name no node are skipped.

    Raises `Refused` for an incomplete or malformed answer, such as one without etcd's header.
    """
    answer = answer_of(text, LIST)
    found = []
    for one in answer.each("kvs"):
        node = _node(plain(one.get("value", str) or "", LIST))
        created = whole(one, "create_revision")
        if node is not None:
            if created is None:
                raise Refused(f"{LIST}: an entry without create_revision")
            found.append(Record(node, created, str(whole(one, "lease") or "0")))
    if answer.fields.get("more"):
        raise Refused(f"{LIST}: the list is incomplete, the rest was not sent")
    return tuple(found)


def _node(value: str) -> str | None:
    try:
        tree: Any = json.loads(value)
    except (ValueError, RecursionError):
        return None
    node = tree.get("node") if isinstance(tree, dict) else None
    return node if isinstance(node, str) and node else None


def selected(about: Etcd3, found: tuple[Record, ...]) -> Answer:
    """Return the node whose record is the oldest (real, since 3.13.5), or all nodes by name.

    Without a record, real fails.
    """
    if not about.is_real or not about.selects:
        return Listed(tuple(sorted({one.node for one in found})))
    if not found:
        return Failed("no record: the boot of the real node ends here, no clause matches []")
    return Selected(min(found, key=lambda one: one.created).node)


@frozen
class Etcd3Backend(KeepingBackend):
    """The backend of etcd v3.

    `lease`: the lease of this node's record, as a list of one; empty before the lease is granted.
    """

    about: Etcd3
    lease: list[str] = field(factory=list)

    @property
    def keep_alive_every(self) -> float | None:
        return self.about.lease_ttl / 3 if self.about.is_real else None

    @failing
    def list_nodes(self) -> Flow[Answer]:
        about = self.about
        token = yield from authenticated(about)
        tree = {"key": encoded(about.directory), "range_end": encoded(after(about.directory))}
        got = yield from asked(about.post("/v3/kv/range", tree, token))
        return selected(about, records(got.body))

    def register(self) -> Flow[Done | Failed]:
        return self._registered_as_real() if self.about.is_real else self._registered()

    @failing
    def _registered(self) -> Flow[Done]:
        about = self.about
        token = yield from authenticated(about)
        value = compact({"node": about.node})
        tree = {"key": encoded(about.record), "value": encoded(value)}
        got = yield from asked(about.post("/v3/kv/put", tree, token))
        answer_of(got.body, "the record")
        return Done()

    def _registered_as_real(self) -> Flow[Done | Failed]:
        """Write the record as real does: only the connection and the lease can fail."""
        about = self.about
        try:
            token = yield from authenticated(about)
            lease = yield from granted(about, about.lease_ttl, token)
        except Refused as refused:
            return Failed(f"not connected: {refused.why}")
        self.lease[:] = [lease]
        value = compact({"node": about.node, "lease_id": int(lease), "ttl": about.lease_ttl})
        tree = {"key": encoded(about.record), "value": encoded(value), "lease": lease}
        yield about.post("/v3/kv/put", tree, token)
        return Done()

    @failing
    def keep_alive(self) -> Flow[Done]:
        """Keep the lease alive (real); a record whose lease has ended is not written again."""
        if self.about.is_real and self.lease:
            yield from self._keep_lease(self.lease[0])
        return Done()

    def _keep_lease(self, lease: str) -> Flow[None]:
        about = self.about
        token = yield from authenticated(about)
        got = yield from asked(about.post("/v3/lease/keepalive", {"ID": lease}, token))
        if not whole(Tree.read(got.body, LEASE).below("result"), "TTL"):
            raise Refused(f"{LEASE}: it has ended")

    @failing
    def unregister(self) -> Flow[Done]:
        about = self.about
        token = yield from authenticated(about)
        got = yield from asked(
            about.post("/v3/kv/deleterange", {"key": encoded(about.record)}, token)
        )
        answer_of(got.body, "the removal")
        return Done()

    @failing
    def lock(self) -> Flow[Held]:
        about = self.about
        token = yield from authenticated(about)
        lease = yield from granted(about, about.lock_ttl, token)
        real = about.is_real
        # Ours waits for less than the lease's time, because the lease is not renewed meanwhile.
        seconds = LOCK_CALL_SECONDS if real else about.lock_ttl * 0.8
        tree = {"name": encoded(about.lock_name), "lease": lease}
        try:
            got = yield from asked(about.post("/v3/lock/lock", tree, token, seconds))
            name = Tree.read(got.body, "the lock of etcd").need("key", str)
        except Refused:
            if not real:
                # The place in the queue ends with the lease.  Otherwise this node would get the
                # lock later without knowing it.
                yield about.post("/v3/lease/revoke", {"ID": lease}, token)
            raise
        return Held(key=name, session=lease, renew_every=None if real else about.lock_ttl / 3)

    @failing
    def hold(self, held: Held) -> Flow[Done]:
        if not self.about.is_real:
            yield from self._keep_lease(held.session)
        return Done()

    @failing
    def unlock(self, held: Held) -> Flow[Done]:
        about = self.about
        token = yield from authenticated(about)
        yield from asked(about.post("/v3/lock/unlock", {"key": held.key}, token))
        if not about.is_real:
            yield from asked(about.post("/v3/lease/revoke", {"ID": held.session}, token))
        return Done()
