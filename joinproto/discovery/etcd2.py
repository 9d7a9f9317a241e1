"""etcd v2: keys with a time to live below a directory, and a lock that is a key.

Real: the record lives for node_ttl seconds, and is written again after each half of this time.
Ours: the record stays until it is removed.

Source: etcd v2 requests of the peer discovery plugin up to 3.8.3; discovery, D1 to D3.
"""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import AtLeast
from joinproto.discovery.answers import Failed, Listed
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
    escaped,
    failing,
    request_to,
)

NONCE_LENGTH = 32
_FORM = Header("Content-Type", "application/x-www-form-urlencoded")


@frozen(kw_only=True)
class Etcd2(BackendSettings):
    """The settings of the etcd v2 backend, by their names in the file.

    `nonce`: a random text, which the caller draws for each lock.
    """

    host: Annotated[str, "the server"] = "localhost"
    port: Annotated[int, AtLeast(1), "the server's port"] = 2379
    scheme: Annotated[Scheme, "http or https"] = "http"
    key_prefix: Annotated[str, "the first part of all keys; slashes are kept"] = "rabbitmq"
    cluster_name: Annotated[str, "the second part of all keys; slashes are kept"] = "default"
    node_ttl: Annotated[
        int, AtLeast(1), "for how many seconds a lock or (real) a record lives unless renewed"
    ] = 30
    lock_timeout: Annotated[
        int, AtLeast(0), "for how many seconds a node tries to get the lock"
    ] = 300
    nonce: Annotated[str, "32 random letters, which tell two locks of one node apart"] = (
        "a" * NONCE_LENGTH
    )

    @property
    def base(self) -> str:
        return escaped(f"/v2/keys/{self.key_prefix}/{self.cluster_name}", "/")

    @property
    def record(self) -> str:
        """Return the path of this node's record."""
        return f"{self.base}/nodes/{escaped(self.node, '@')}"

    @property
    def lock_key(self) -> str:
        return f"{self.base}/startup_lock"

    def request(
        self, method: str, path: str, arguments: tuple[Argument, ...], body: str = ""
    ) -> Request:
        headers = (_FORM,) if body else ()
        return request_to(self, method, path, arguments=arguments, headers=headers, body=body)


def names(text: str) -> tuple[str, ...]:
    """Return the nodes of a listing, in its order; raises `Refused` for a malformed listing."""
    answer = Tree.read(text, "the list of etcd")
    answer.need("node", dict)
    keys = (one.get("key", str) or "" for one in answer.below("node").each("nodes"))
    # Only entries below nodes/ are records.
    return tuple(key.rpartition("/nodes/")[2] for key in keys if "/nodes/" in key)


def error_code(text: str) -> int | None:
    """Return etcd's own error code, or None if the answer has none."""
    try:
        return Tree.read(text, "etcd").get("errorCode", int)
    except Refused:
        return None


KEY_NOT_FOUND = 100


@frozen
class Etcd2Backend(KeepingBackend):
    """The backend of etcd v2."""

    about: Etcd2

    @property
    def keep_alive_every(self) -> float | None:
        return self.about.node_ttl / 2 if self.about.is_real else None

    @failing
    def list_nodes(self) -> Flow[Listed]:
        about = self.about
        request = about.request("GET", f"{about.base}/nodes", arguments(("recursive", "true")))
        got = yield from asked(request, ok=(200, 404))
        if got.status == 404:
            # Ours: only etcd itself can report a missing key; an answer of a proxy or another
            # server at this address gives no information about the nodes.
            if not about.is_real and error_code(got.body) != KEY_NOT_FOUND:
                raise Refused(f"{request}: status 404, and not from etcd", 404)
            return Listed(())
        return Listed(names(got.body))

    @failing
    def register(self) -> Flow[Done]:
        about = self.about
        ttl = (("ttl", str(about.node_ttl)),) if about.is_real else ()
        request = about.request("PUT", about.record, arguments(*ttl), "value=enabled")
        return done(request, ok=(200, 201))

    def keep_alive(self) -> Flow[Done | Failed]:
        """Write the record again, even if it exists (real); do nothing (ours)."""
        return self.register() if self.keep_alive_every is not None else super().keep_alive()

    @failing
    def unregister(self) -> Flow[Done]:
        request = self.about.request("DELETE", self.about.record, arguments(("recursive", "true")))
        return done(request, ok=(200, 404))

    @failing
    def lock(self) -> Flow[Held]:
        about = self.about
        value = f"{about.node} - {about.nonce}"
        pairs = arguments(("ttl", str(about.node_ttl)), ("prevExist", "false"))
        request = about.request("PUT", about.lock_key, pairs, f"value={escaped(value)}")
        left = float(about.lock_timeout)
        while True:
            got = yield from asked(request, ok=(200, 201, 412))
            if got.status != 412:
                return Held(key=about.lock_key, value=value, renew_every=about.node_ttl / 2)
            left -= got.took + 1.0
            if left <= 0:
                held = f"another node still holds it after {about.lock_timeout} s"
                raise Refused(f"the lock of etcd: {held}")
            yield Wait(1.0)

    @failing
    def hold(self, held: Held) -> Flow[Done]:
        pairs = arguments(
            ("ttl", str(self.about.node_ttl)),
            ("prevExist", "true"),
            ("prevValue", held.value),
            ("refresh", "true"),
        )
        return done(self.about.request("PUT", held.key, pairs))

    @failing
    def unlock(self, held: Held) -> Flow[Done]:
        pairs = arguments(("prevExist", "true"), ("prevValue", held.value))
        return done(self.about.request("DELETE", held.key, pairs))
