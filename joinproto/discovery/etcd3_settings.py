"""What is set for etcd v3, its keys, and the form of every request to its JSON gateway.

Source: keys of the peer discovery plugin from 3.8.4 on; etcd's own API reference for its gateway.
The plugin speaks gRPC; the gateway is the same service with JSON in place of its encoding.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Annotated, Any

from attrs import frozen

from joinproto.codec.json_form import AtLeast
from joinproto.discovery.contract import Variant
from joinproto.discovery.exchange import (
    SECONDS,
    Flow,
    Header,
    Refused,
    Request,
    Scheme,
    asked,
    compact,
    parsed,
    part,
    request_to,
)

NODE_TTL, NODE_TTL_LEAST = 61, 15
LOCK_TTL, LOCK_TTL_LEAST = 70, 30
LOCK_CALL_SECONDS = 15.0
"""The real client's limit for the call that waits for the lock; it is less than the lock's time."""


@frozen(kw_only=True)
class Etcd3:
    """The settings, by their names in the file."""

    variant: Annotated[Variant, "whose rules"] = Variant.OURS
    node: Annotated[str, "this node, as rabbit@host"] = "rabbit@localhost"
    host: Annotated[str, "the server"] = "localhost"
    port: Annotated[int, AtLeast(1), "its port"] = 2379
    scheme: Annotated[Scheme, "http or https"] = "http"
    key_prefix: Annotated[str, "a part of all keys; real: dropped"] = "rabbitmq"
    cluster_name: Annotated[str, "a part of all keys"] = "default"
    node_ttl: Annotated[int, AtLeast(0), "seconds of a record (real); 15 at least"] = NODE_TTL
    lock_timeout: Annotated[
        int, AtLeast(0), "seconds of the lock's lease, and of the wait for it; real: dropped, 70"
    ] = LOCK_TTL
    username: Annotated[str | None, "null: no user"] = None
    password: Annotated[str | None, "of the user"] = None
    selects: Annotated[bool, "real: it names one node, as since 3.13.5; false: all"] = True

    @property
    def prefix(self) -> str:
        # The settings that reach the real client have neither the prefix nor the lock's time.
        return "rabbitmq" if self.variant is Variant.REAL else self.key_prefix

    @property
    def lease_ttl(self) -> int:
        return max(self.node_ttl, NODE_TTL_LEAST)

    @property
    def lock_ttl(self) -> int:
        real = self.variant is Variant.REAL
        return max(LOCK_TTL if real else self.lock_timeout, LOCK_TTL_LEAST)

    @property
    def directory(self) -> str:
        """Below this the records stand."""
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


def key(text: str) -> str:
    """Return a key or a value as the gateway writes it."""
    return b64encode(text.encode()).decode()


def plain(text: str, what: str) -> str:
    """Return what the gateway wrote; raises `Refused` for what it cannot have written."""
    try:
        return b64decode(text, validate=True).decode()
    except ValueError:
        raise Refused(f"{what}: not base64 of a text") from None


def after(prefix: str) -> str:
    """Return the first key behind all that begin so; the last character is below U+007F."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def whole(tree: dict[str, Any], name: str, what: str) -> int | None:
    """Return a number of 64 bits, which the gateway writes as text."""
    value = tree.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str) and value.isascii() and value.lstrip("-").isdigit():
        return int(value[:20])
    raise Refused(f"{what}: {name} is not a number")


def authenticated(about: Etcd3) -> Flow[str | None]:
    """Return the token of the user; None where no user is set."""
    if about.username is None:
        return None
    tree = {"name": about.username, "password": about.password or ""}
    what = "the token of etcd"
    got = yield from asked(about.post("/v3/auth/authenticate", tree, None))
    token = part(parsed(got.body, dict, what), "token", str, what)
    if not token:
        raise Refused(f"{what}: an answer without token")
    return token


def granted(about: Etcd3, ttl: int, token: str | None) -> Flow[str]:
    """Return the id of a new lease."""
    what = "the lease of etcd"
    got = yield from asked(about.post("/v3/lease/grant", {"TTL": str(ttl)}, token))
    lease = whole(parsed(got.body, dict, what), "ID", what)
    if not lease:
        raise Refused(f"{what}: an answer without ID")
    return str(lease)
