"""A register in etcd or Consul: a key that is set once, by compare-and-set.

Only a node that finds the key absent sets it; a later node gets the key's value.  If no answer
comes, the key may be set or not, and must be read again.

Source: join protocol, 3.7; the transactions of etcd v3, the check-and-set of Consul.
"""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

from joinproto.discovery.answers import Failed
from joinproto.discovery.consul import Consul, key_entry
from joinproto.discovery.etcd3 import Etcd3, answer_of, authenticated, encoded, plain
from joinproto.discovery.exchange import (
    Flow,
    Refused,
    Tree,
    arguments,
    asked,
    escaped,
    failing,
    parsed,
)

WHAT = "the register"


@frozen
class RegisterValue:
    """The value of a key in a register; None if the key is not set."""

    value: str | None


class Register(Protocol):
    """A service that keeps keys which are set once."""

    def set_once(self, name: str, value: str) -> Flow[RegisterValue | Failed]:
        """Set the key if it is absent; return the key's value, which another node may have set."""

    def read(self, name: str) -> Flow[RegisterValue | Failed]:
        """Return the present value, never an earlier one."""


@frozen
class EtcdRegister:
    """A register in etcd v3, in which one transaction compares and sets, or reads."""

    about: Etcd3

    def _key(self, name: str) -> str:
        return f"/joinproto/{self.about.prefix}/{self.about.cluster_name}/successors/{name}"

    @failing
    def set_once(self, name: str, value: str) -> Flow[RegisterValue]:
        at = encoded(self._key(name))
        tree = {
            "compare": [{"key": at, "target": "CREATE", "result": "EQUAL", "create_revision": "0"}],
            "success": [{"requestPut": {"key": at, "value": encoded(value)}}],
            "failure": [{"requestRange": {"key": at}}],
        }
        token = yield from authenticated(self.about)
        got = yield from asked(self.about.post("/v3/kv/txn", tree, token))
        answer = answer_of(got.body, WHAT)
        if answer.get("succeeded", bool):
            return RegisterValue(value)
        first = (answer.each("responses") or [Tree(WHAT, {})])[0]
        present = _first(first.below("response_range"))
        if present.value is None:
            raise Refused(_gone(self._key(name)))
        return present

    @failing
    def read(self, name: str) -> Flow[RegisterValue]:
        token = yield from authenticated(self.about)
        # The read is not "serializable": the quorum answers, not one server's memory.
        tree = {"key": encoded(self._key(name))}
        got = yield from asked(self.about.post("/v3/kv/range", tree, token))
        return _first(answer_of(got.body, WHAT))


def _gone(key: str) -> str:
    return f"{WHAT}: {key} was set before, but has no value now; was it removed?"


def _first(answer: Tree) -> RegisterValue:
    entries = answer.each("kvs")
    return RegisterValue(plain(entries[0].get("value", str) or "", WHAT) if entries else None)


@frozen
class ConsulRegister:
    """A register in Consul, in which a write with cas=0 takes place only where there is no key."""

    about: Consul

    def _path(self, name: str) -> str:
        place = f"{self.about.lock_prefix}/{self.about.cluster_name}/successors/{name}"
        return f"/v1/kv/{escaped(place, '/')}"

    @failing
    def set_once(self, name: str, value: str) -> Flow[RegisterValue | Failed]:
        put = self.about.request(
            "PUT", self._path(name), arguments=arguments(("cas", "0")), body=value
        )
        got = yield from asked(put)
        if parsed(got.body, bool, WHAT):
            return RegisterValue(value)
        present = yield from self.read(name)
        if isinstance(present, RegisterValue) and present.value is None:
            raise Refused(_gone(self._path(name)))
        return present

    @failing
    def read(self, name: str) -> Flow[RegisterValue]:
        # Consistent: a leader that was cut off must not answer from its memory.
        get = self.about.request("GET", self._path(name), arguments=arguments(("consistent", None)))
        got = yield from asked(get, ok=(200, 404))
        if got.status == 404:
            if got.body.strip():  # an answer of Consul for a missing key has no body
                raise Refused(f"{get}: status 404, and not from Consul", 404)
            return RegisterValue(None)
        return RegisterValue(plain(key_entry(got.body, WHAT).get("Value", str) or "", WHAT))
