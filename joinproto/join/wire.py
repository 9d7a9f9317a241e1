"""Messages as bytes, and back: the output of a host, and the input that it accepts.

    encode(message) -> bytes      decode(bytes) -> JoinMessage, or Malformed

The bytes are JSON in UTF-8 with one form for each message: an array of the message's name,
and its fields in the order of the class.  `decode` trusts no byte.  It takes only bytes that
`encode` writes, and it verifies the id of every view, because a member that receives a message
trusts the ids in it.

Source: join protocol, 3.3 to 3.5; `view.py` defines well-formed views.
"""

from __future__ import annotations

from typing import Any

from attrs import fields

from joinproto.codec.codec import Codec
from joinproto.codec.json_text import compact, parsed
from joinproto.codec.malformed import (
    INT_MAX,
    Malformed,
    Verbatim,
    require,
    require_text,
    require_type,
)
from joinproto.errors import MisuseError
from joinproto.join import messages
from joinproto.join.choice_messages import Accept, Chosen, Nack, Prepare, Promise, Voted
from joinproto.join.ids import ViewId
from joinproto.join.lineage import VIEWS_KEPT
from joinproto.join.view import FIELDS, Seat, View, shared, verify_id

BYTES_MAX = 16 * 2**20
"""The longest message in bytes: room for all kept views of a large cluster with long names."""

TEXT_MAX = 1_000
"""The most characters of one text, such as a name or a digest."""

SEATS_MAX = 1_000
"""The most members, or electors, of one view."""


MISSES = 3
"""The version of the wire that introduced `misses` in a `Promise`."""

CONFIRMS = 4
"""The version that introduced `Confirm`, `Confirmed`, `meeting` in `Hello` and `Refused`, and
`has_frames` in `Chosen`.
"""

LATEST = CONFIRMS

KINDS: dict[str, type] = {
    "prepare": Prepare,
    "promise": Promise,
    "accept": Accept,
    "voted": Voted,
    "nack": Nack,
    "chosen": Chosen,
    "hello": messages.Hello,
    "welcome": messages.Welcome,
    "refused": messages.Refused,
    "ready": messages.Ready,
    "want-update": messages.WantUpdate,
    "heartbeat": messages.Heartbeat,
    "confirm": messages.Confirm,
    "confirmed": messages.Confirmed,
}
"""The messages by their names."""

_SINCE: dict[type, tuple[int, Any]] = {
    Promise: (MISSES, []),
    Chosen: (CONFIRMS, False),
    messages.Hello: (CONFIRMS, ""),
    messages.Refused: (CONFIRMS, ""),
}
"""The version that introduced the last field of a message, and the value that an absent field
means.
"""


LATER_FIELDS = frozenset(word for word, kind in KINDS.items() if kind in _SINCE)
"""The names of the messages whose last field is unknown to earlier versions."""


def encode(message: messages.JoinMessage, *, speaks: int = MISSES - 1) -> bytes:
    """Return the message as bytes; raises `MisuseError` for a value that no member sends.

    `speaks`: the version of the wire that the receiver understands; newer fields are left out. A
    member sends `Confirm` and `Confirmed` only to peers of which `peer_up` says `confirms`.
    """
    word = _NAMES.get(type(message))
    if word is None:
        raise MisuseError(
            f"{type(message).__name__} is not a message of a member",
            next="encode what `poll` returns",
        )
    tree = [word, *_CODEC.put(message)]
    if isinstance(message, messages.Confirm | messages.Confirmed) and speaks < CONFIRMS:
        raise MisuseError(
            f"{type(message).__name__} to a member that speaks version {speaks}",
            next=f"give `encode` the version of the connection, and call `peer_up` with"
            f" confirms=False where it is less than {CONFIRMS}",
        )
    since, absent = _SINCE.get(type(message), (0, None))
    if since and (speaks < since or tree[-1] == absent):
        del tree[-1]
    data = _dumped(tree)
    if len(data) > BYTES_MAX:
        raise MisuseError(
            f"a message of {len(data)} bytes; a member takes at most {BYTES_MAX}",
            next="use shorter names",
        )
    return data


def decode(data: bytes) -> messages.JoinMessage:
    """Return the message; raises `Malformed` for bytes that no correct member sends."""
    found_bytes = Verbatim(f"{len(data)} bytes")
    require("message", len(data) <= BYTES_MAX, found_bytes, f"at most {BYTES_MAX} bytes")
    tree = parsed(data, "message")
    try:
        written = _dumped(tree)
    except RecursionError:
        raise Malformed("message", Verbatim("nested too deep to read"), "JSON") from None
    except MisuseError as error:
        raise Malformed("message", Verbatim(str(error)), "JSON") from None
    # One message has one form: no spaces, no number in two spellings, nothing after it.
    require("message", written == data, Verbatim("another spelling"), "the one that is sent")
    require_type("message", tree, list)
    require("message", len(tree) > 0, tree, "a name and fields")
    word, *found = tree
    kind = KINDS.get(word) if isinstance(word, str) else None
    if kind is None:
        raise Malformed("message", word, f"one of {' '.join(KINDS)}")
    if kind in _SINCE:
        _, absent = _SINCE[kind]
        last = fields(kind)[-1].name
        if len(found) < len(fields(kind)):
            found.append(absent)
        else:
            what = f"{kind.__name__}.{last}"
            require(what, found[-1] != absent, Verbatim("the default"), "no field in this case")
    try:
        message: messages.JoinMessage = _CODEC.take(kind, found)
    except Malformed as error:
        raise error.within(kind.__name__) from None
    return message


def _dumped(tree: object) -> bytes:
    try:
        return compact(tree)
    except (TypeError, ValueError) as error:
        raise MisuseError(
            f"a message that has no form in bytes: {error}",
            next="use texts that have a form in UTF-8",
        ) from error


# -- checks beyond the types --------------------------------------------------------------------


def _take_text(found: Any) -> str:
    require_text("", found)
    found_length = Verbatim(f"{len(found)} characters")
    require("", len(found) <= TEXT_MAX, found_length, f"at most {TEXT_MAX} characters")
    return str(found)


def _put_id(view_id: ViewId) -> str:
    # A name of a searched world has no form in bytes.
    if not isinstance(view_id, str):
        raise MisuseError(
            f"the view id {view_id} has no form in bytes",
            next="use ids by hash; by_content is for searched worlds",
        )
    return view_id


def _take_view(found: Any) -> View:
    view: View = _VIEW.take(found)
    verify_id(view)
    return view


def _take_views(found: Any) -> tuple[View, ...]:
    require_type("", found, list)
    in_bounds = 1 <= len(found) <= VIEWS_KEPT
    require("", in_bounds, Verbatim(f"{len(found)} views"), f"1 to {VIEWS_KEPT}")
    views: tuple[View, ...] = _VIEWS.take(found)
    return views


_CODEC = Codec(arrays=True, items_max=SEATS_MAX, int_max=INT_MAX, orders={View: FIELDS})
_CODEC.give(str, take=_take_text)
_CODEC.give(ViewId, _put_id, _take_text)
_SEATS = _CODEC.form_of(frozenset[Seat])
_CODEC.give(frozenset[Seat], _SEATS.put, lambda found: shared(_SEATS.take(found)))
_VIEW = _CODEC.form_of(View)
_CODEC.give(View, _VIEW.put, _take_view)
_VIEWS = _CODEC.form_of(tuple[View, ...])
_CODEC.give(tuple[View, ...], _VIEWS.put, _take_views)
for _kind in (messages.Hello, messages.Refused):
    _CODEC.give((_kind, "meeting"), take=lambda found: found if found == "" else _take_text(found))
for _name in ("found", "expected"):
    # The texts of a refusal may be long, and may be empty.
    _CODEC.give(
        (messages.Refused, _name),
        lambda text: text[:TEXT_MAX],
        lambda found: found if found == "" else _take_text(found),
    )
_NAMES = {kind: word for word, kind in KINDS.items()}
