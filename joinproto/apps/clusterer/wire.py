"""Messages as bytes: one JSON object in each frame, and nothing is taken that is not as written.

A connection that is proved (`channel.py`) begins with a hello of either side; an operator's has no
node.

Source: Clusterer, U7.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from joinproto.clusterer.config import Held, Notes
from joinproto.clusterer.messages import (
    AskAwaited,
    AskLock,
    AskStatus,
    Awaited,
    Locked,
    NewConfig,
    Told,
    Unlock,
)
from joinproto.clusterer.reading import NotConfig, Release, of_json
from joinproto.clusterer.status import Status
from joinproto.clusterer.writing import as_json
from joinproto.net.lines import one_line
from joinproto.net.refused import Refused

PROTOCOL = "joinproto-clusterer"
VERSION = 1
FRAME_BYTES_MAX = 2**20
NAME_CHARS_MAX = 255


@frozen(kw_only=True)
class Hello:
    """Who speaks.  `node` None: an operator.  `run`: of its process; `listen`: where it answers."""

    node: str | None
    release: Release
    run: str = ""
    listen: str | None = None


@frozen
class AskService:
    """Asks whether the broker of a node runs, and what it says of itself."""

    number: int


@frozen
class ServiceTold:
    """The answer.  `coeval`: it runs with this config.  `says`: only that kind of service knows."""

    number: int
    runs: bool
    version: int
    says: Mapping[str, str]


def packed(value: Mapping[str, Any]) -> bytes:
    """Return one body."""
    return json.dumps(value, separators=(",", ":")).encode()


def unpacked(body: bytes) -> dict[str, Any]:
    """Return the object of a body; raises `Refused`."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(f"not a JSON object: {one_line(repr(body[:40]))}") from None
    if not isinstance(found, dict):
        raise Refused(f"not a JSON object: {one_line(repr(body[:40]))}")
    return found


def hello(said: Hello) -> bytes:
    """Return the first body of a connection."""
    return packed(
        {
            "protocol": PROTOCOL,
            "version": VERSION,
            "node": said.node,
            "release": said.release.value,
            "run": said.run,
            "listen": said.listen,
        }
    )


def hello_of(body: bytes, release: Release) -> Hello:
    """Return the other side's hello; raises `Refused` for another protocol, version, release."""
    found = unpacked(body)
    if found.get("protocol") != PROTOCOL:
        raise Refused(f"another protocol: expected {PROTOCOL}")
    if "refused" in found:
        raise Refused(f"it refuses us: {one_line(str(found['refused']))}")
    if found.get("version") != VERSION:
        raise Refused(f"version {found.get('version')!r} of the protocol, expected {VERSION}")
    node = found.get("node")
    if node is not None and found.get("release") != release.value:
        raise Refused(f"release {found.get('release')!r}, and this node has {release.value}")
    if node is not None:
        _name(node)
    listen = found.get("listen")
    return Hello(
        node=node,
        release=release,
        run=_is(found, "run", str),
        listen=listen if isinstance(listen, str) else None,
    )


def refusal(why: str) -> bytes:
    """Return the body that says why a connection is given up."""
    return packed({"protocol": PROTOCOL, "version": VERSION, "refused": why})


# -- what nodes say to each other ----------------------------------------------------------------


def put(content: Any) -> bytes:
    """Return the body of a message."""
    return packed({"kind": _KINDS[type(content)]} | _fields(content))


def _fields(content: Any) -> dict[str, Any]:
    match content:
        case AskStatus(identity, token):
            return {"identity": identity, "token": token}
        case Told(token, held, status):
            return {"token": token, "held": held_as_json(held), "status": status.value}
        case Awaited(token, nodes):
            return {"token": token, "nodes": None if nodes is None else sorted(nodes)}
        case NewConfig(held, achieved):
            return {"held": held_as_json(held), "achieved": achieved}
        case Locked(token, granted):
            return {"token": token, "granted": granted}
        case AskAwaited(token) | AskLock(token) | Unlock(token):
            return {"token": token}
        case AskService(number):
            return {"number": number}
        case ServiceTold(number, runs, version, says):
            return {"number": number, "runs": runs, "version": version, "says": dict(says)}
    raise AssertionError(f"not a message: {content!r}")


def taken(body: bytes, release: Release) -> Any:
    """Return the message of a body; raises `Refused`."""
    found = unpacked(body)
    read = _READ.get(str(found.get("kind")))
    if read is None:
        raise Refused(f"a message of kind {one_line(repr(found.get('kind')), 60)}")
    return read(found, release)


def held_as_json(held: Held | None) -> dict[str, Any] | None:
    """Return a config with what its holder knows."""
    if held is None:
        return None
    return {
        "config": as_json(held.config),
        "ids": dict(held.ids.pairs),
        "since": dict(held.since.pairs),
    }


def _held(found: Any, release: Release) -> Held:
    if not isinstance(found, dict):
        raise Refused("a message without its config")
    try:
        config = of_json(found.get("config"), release).config
    except NotConfig as error:
        raise Refused(f"a config that is not valid: {one_line(error.found)}") from None
    for name in config.nodes:
        _name(name)
    ids, since = _is(found, "ids", dict), _is(found, "since", dict)
    if not all(isinstance(one, str) for one in ids.values()):
        raise Refused("an identity that is not text")
    if not all(type(one) is int and one >= 0 for one in since.values()):
        raise Refused("a version that is not a number")
    return Held(config, Notes.of(ids), Notes.of(since))


def _name(found: Any) -> str:
    is_name = isinstance(found, str) and 0 < len(found) <= NAME_CHARS_MAX and found.isprintable()
    if not is_name:
        raise Refused(f"a node named {one_line(repr(found), 60)}")
    return str(found)


def _is(found: Mapping[str, Any], key: str, kind: type) -> Any:
    value = found.get(key)
    if type(value) is not kind:
        raise Refused(f"{key} is {one_line(repr(value), 60)}, expected {kind.__name__}")
    return value


def _status(found: Mapping[str, Any], release: Release) -> Told:
    said = found.get("status")
    if not isinstance(said, str) or said not in {one.value for one in Status}:
        raise Refused(f"status {one_line(repr(said), 60)}")
    held = None if found.get("held") is None else _held(found["held"], release)
    return Told(_is(found, "token", int), held, Status(said))


def _awaited(found: Mapping[str, Any], _: Release) -> Awaited:
    nodes = found.get("nodes")
    if nodes is not None and not isinstance(nodes, list):
        raise Refused("nodes is not a list")
    return Awaited(
        _is(found, "token", int), None if nodes is None else frozenset(map(_name, nodes))
    )


def _service(found: Mapping[str, Any], _: Release) -> ServiceTold:
    says = _is(found, "says", dict)
    if not all(isinstance(one, str) for one in says.values()):
        raise Refused("a service that says what is not text")
    return ServiceTold(
        _is(found, "number", int), _is(found, "runs", bool), _is(found, "version", int), says
    )


_KINDS: Mapping[type, str] = {
    AskStatus: "status?",
    Told: "status",
    AskAwaited: "awaited?",
    Awaited: "awaited",
    NewConfig: "config",
    AskLock: "lock?",
    Locked: "lock",
    Unlock: "unlock",
    AskService: "service?",
    ServiceTold: "service",
}
_READ: Mapping[str, Callable[[Mapping[str, Any], Release], Any]] = {
    "status?": lambda found, _: AskStatus(_is(found, "identity", str), _is(found, "token", int)),
    "status": _status,
    "awaited?": lambda found, _: AskAwaited(_is(found, "token", int)),
    "awaited": _awaited,
    "config": lambda found, release: NewConfig(
        _held(found.get("held"), release), _is(found, "achieved", bool)
    ),
    "lock?": lambda found, _: AskLock(_is(found, "token", int)),
    "lock": lambda found, _: Locked(_is(found, "token", int), _is(found, "granted", bool)),
    "unlock": lambda found, _: Unlock(_is(found, "token", int)),
    "service?": lambda found, _: AskService(_is(found, "number", int)),
    "service": _service,
}
