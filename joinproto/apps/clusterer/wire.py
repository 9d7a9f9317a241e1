"""Messages as bytes: one JSON object in each frame, read strictly.

A proved connection begins with a hello of each side; an operator's hello has no node.

Source: Clusterer, U7.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from attrs import evolve, frozen

from joinproto.clusterer.config import Held, Notes
from joinproto.clusterer.messages import (
    AskAwaited,
    AskLock,
    AskService,
    AskStatus,
    Awaited,
    Content,
    Locked,
    NewConfig,
    ServiceTold,
    Told,
    Unlock,
)
from joinproto.clusterer.reading import NotConfig, Release, of_json
from joinproto.clusterer.writing import as_json
from joinproto.codec.codec import Codec
from joinproto.codec.json_text import ascii_line, parsed
from joinproto.codec.malformed import Malformed, Verbatim
from joinproto.codec.marks import Count
from joinproto.net.refused import Refused, one_line

PROTOCOL = "joinproto-clusterer"
VERSIONS = (1, 1)
"""Versions of the protocol: the oldest and the newest that this program speaks."""
FRAME_BYTES_MAX = 2**20
NAME_CHARS_MAX = 255


@frozen(kw_only=True)
class Hello:
    """The hello of one side.  `node`: None means an operator.  `run`: the id of its process.

    `listen`: its address.  `newest`: the newest version that this side speaks; in a result of
    `hello_of`, the newest version that both sides speak.
    """

    node: str | None
    release: Release
    run: str = ""
    listen: str | None = None
    newest: Count = VERSIONS[1]


KINDS: Mapping[str, type] = {
    "status?": AskStatus,
    "status": Told,
    "awaited?": AskAwaited,
    "awaited": Awaited,
    "config": NewConfig,
    "lock?": AskLock,
    "lock": Locked,
    "unlock": Unlock,
    "service?": AskService,
    "service": ServiceTold,
}
"""The classes of messages between nodes, by their words on the wire."""
_WORDS = {kind: word for word, kind in KINDS.items()}


def unpacked(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body; raises `Refused`."""
    try:
        found = parsed(body)
    except Malformed:
        found = None
    if not isinstance(found, dict):
        raise Refused(f"not a JSON object: {one_line(repr(body[:40]))}")
    return found


def hello(said: Hello, oldest: int = VERSIONS[0]) -> bytes:
    """Return the first body of a connection."""
    # `version` is the oldest version, because programs of the first version accept no other.
    tree = {"protocol": PROTOCOL, "version": oldest} | _codec(said.release).put(said)
    if said.newest == oldest:
        del tree["newest"]  # as in the hello of programs of the first version
    return ascii_line(tree)


def hello_of(body: bytes, release: Release, versions: tuple[int, int] = VERSIONS) -> Hello:
    """Return the other side's hello; raises `Refused` for another protocol, version, release."""
    found = unpacked(body)
    if found.get("protocol") != PROTOCOL:
        raise Refused(f"it speaks another protocol, expected {PROTOCOL}")
    if "refused" in found:
        raise Refused(f"it refuses us: {one_line(str(found['refused']))}")
    oldest = found.get("version")
    if type(oldest) is not int:
        raise Refused(f"version {one_line(repr(oldest), 60)} of the protocol, expected a number")
    said: Hello = _read(Hello, {"newest": oldest} | found, release)
    if max(oldest, versions[0]) > min(said.newest, versions[1]):
        its, ours = (f"{one} to {other}" for one, other in ((oldest, said.newest), versions))
        raise Refused(f"it speaks the versions {its} of the protocol, this node speaks {ours}")
    said = evolve(said, newest=min(said.newest, versions[1]))
    if said.node is not None and said.release is not release:
        raise Refused(f"it has release {said.release.value!r}, this node has {release.value!r}")
    return said


def refusal(why: str) -> bytes:
    """Return the body that tells the other side why this side ends the connection."""
    return ascii_line({"protocol": PROTOCOL, "version": VERSIONS[0], "refused": why})


def put(content: Content) -> bytes:
    """Return the body of a message."""
    kind = type(content)
    return ascii_line({"kind": _WORDS[kind]} | _codec(Release.SEED).put(content))


def taken(body: bytes, release: Release) -> Any:
    """Return the message in a body; raises `Refused`."""
    found = unpacked(body)
    kind = KINDS.get(str(found.get("kind")))
    if kind is None:
        raise Refused(f"a message of the unknown kind {one_line(repr(found.get('kind')), 60)}")
    return _read(kind, found, release)


def _read(kind: type, tree: Any, release: Release) -> Any:
    try:
        return _codec(release).take(kind, tree)
    except Malformed as error:
        raise Refused(one_line(str(error))) from None


# -- checks beyond the types ---------------------------------------------------------------------


@cache
def _codec(release: Release) -> Codec:
    """Return the codec for messages with configs of this release."""
    codec = Codec()
    codec.give((Hello, "node"), take=lambda found: None if found is None else _take_name(found))
    codec.give(Held, _put_held, lambda found: _take_held(found, release))
    says = codec.form_of(Mapping[str, str])
    codec.give(
        (ServiceTold, "says"),
        lambda found: says.put(dict(found.pairs)),
        lambda found: Notes.of(says.take(found)),
    )
    names = codec.form_of(frozenset[str])
    codec.give(
        frozenset[str], names.put, lambda found: frozenset(map(_take_name, names.take(found)))
    )
    return codec


def _put_held(held: Held) -> dict[str, Any]:
    return {
        "config": as_json(held.config),
        "ids": dict(held.ids.pairs),
        "since": dict(held.since.pairs),
    }


def _take_held(found: Any, release: Release) -> Held:
    raw: _Held = _HELD.take(found)
    try:
        config = of_json(raw.config, release).config
    except NotConfig as error:
        raise Malformed("config", Verbatim(error.found), error.write) from None
    for name in config.nodes:
        _take_name(name)
    return Held(config, Notes.of(raw.ids), Notes.of(raw.since))


@frozen
class _Held:
    """A config as it is sent, with the notes of the node that has it."""

    config: Mapping[str, Any]
    ids: Mapping[str, str]
    since: Mapping[str, Count]


_HELD = Codec().form_of(_Held)


def _take_name(found: Any) -> str:
    is_text = isinstance(found, str)
    if not is_text or not 0 < len(found) <= NAME_CHARS_MAX or not found.isprintable():
        raise Malformed("", found, f"1 to {NAME_CHARS_MAX} printable characters")
    return str(found)
