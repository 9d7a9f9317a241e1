"""Messages as bytes, and back: what a host sends and what it lets in.

    encode(message) -> bytes      decode(bytes) -> Message, or Malformed

The bytes are JSON in UTF-8 with one form for each message: an array of the message's name,
and its fields in the order of the class.  `decode` believes nothing.  It takes only what
`encode` writes, up to the last byte, and it verifies the id of every view, because whoever
receives a message believes the ids in it.

What a field may be is said once, in `_FORMS`, and both directions read it there.  It is apart
from the codec of the store, whose file people read and whose older versions must be read, too.

Source: join protocol, 3.3 to 3.5; what a view must be says `view.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from attrs import frozen

from joinproto.codec.malformed import (
    Malformed,
    Said,
    require,
    require_int,
    require_text,
    require_type,
)
from joinproto.errors import MisuseError
from joinproto.join.answers import Answer
from joinproto.join.choice_messages import Accept, Chosen, Nack, Prepare, Promise, Voted
from joinproto.join.ids import ViewId
from joinproto.join.lineage import VIEWS_KEPT
from joinproto.join.messages import (
    Heartbeat,
    Hello,
    Message,
    Ready,
    Refused,
    WantUpdate,
    Welcome,
)
from joinproto.join.store import Accepted, Ballot
from joinproto.join.view import Kind, Position, Seat, View, shared, verify_id
from joinproto.machine.vocabulary import Reason

BYTES_MAX = 16 * 2**20
"""Longest message: all the views that are kept, in a large cluster with long names."""

TEXT_MAX = 1_000
"""Characters of one text, as a name or a digest."""

SEATS_MAX = 1_000
"""Members, or electors, of one view."""


MISSES = 3
"""The version of the wire from which on it is understood what a `Promise` says of `misses`."""


def encode(message: Message, *, speaks: int = MISSES - 1) -> bytes:
    """Return the message as bytes; raises `MisuseError` for what no member sends.

    `speaks`: the version of the wire that the receiver understands; what it would not is left out.
    """
    word = _NAMES.get(type(message))
    if word is None:
        raise MisuseError(
            f"{type(message).__name__} is not a message of a member",
            next="encode what `poll` returns",
        )
    data = _dumped([word, *_MESSAGES[word].put(message, whole=speaks >= MISSES)])
    if len(data) > BYTES_MAX:
        raise MisuseError(
            f"a message of {len(data)} bytes; others take {BYTES_MAX}", next="use shorter names"
        )
    return data


def decode(data: bytes) -> Message:
    """Return the message; raises `Malformed` for whatever no correct member sends."""
    require("message", len(data) <= BYTES_MAX, Said(f"{len(data)} bytes"), f"up to {BYTES_MAX}")
    tree = _parsed(data)
    require_type("message", tree, list)
    require("message", len(tree) > 0, tree, "a name and fields")
    word, *fields = tree
    form = _MESSAGES.get(word) if isinstance(word, str) else None
    if form is None:
        raise Malformed("message", word, f"one of {' '.join(_MESSAGES)}")
    message: Message = form.take(form.kind.__name__, fields)
    return message


# -- JSON ------------------------------------------------------------------------------------


def _dumped(tree: object) -> bytes:
    try:
        text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise MisuseError(
            f"a message that has no form in bytes: {error}",
            next="use texts that have a form in UTF-8",
        ) from error


def _parsed(data: bytes) -> Any:
    try:
        tree = json.loads(data.decode("utf-8"), parse_constant=_no_number)
        written = _dumped(tree)
    except UnicodeDecodeError as error:
        raise Malformed("message", Said(f"{error.reason} at byte {error.start}"), "UTF-8") from None
    except RecursionError:
        raise Malformed("message", Said("nested too deep to read"), "JSON") from None
    except Malformed:
        raise
    except (ValueError, MisuseError) as error:
        raise Malformed("message", Said(str(error)), "JSON") from None
    # One message has one form: no spaces, no number in two spellings, nothing behind it.
    require("message", written == data, Said("another spelling"), "the one that is sent")
    return tree


def _no_number(text: str) -> NoReturn:
    raise Malformed("message", Said(text), "a finite number")


# -- what a field may be -----------------------------------------------------------------------


@frozen
class _Field:
    """A value in both directions: as JSON, and as what the member has."""

    put: Callable[[Any], Any]
    take: Callable[[str, Any], Any]


@frozen
class _Form:
    """A class whose fields are written one after the other, without their names."""

    kind: type
    fields: dict[str, _Field]
    last: tuple[str, _Field] | None = None

    def put(self, value: Any, *, whole: bool = True) -> list[Any]:
        """`whole`: with the last field, which older versions do not know, if it says anything."""
        put = [field.put(getattr(value, name)) for name, field in self.fields.items()]
        if self.last is not None and whole and getattr(value, self.last[0]):
            name, field = self.last
            put.append(field.put(getattr(value, name)))
        return put

    def take(self, what: str, found: Any) -> Any:
        require_type(what, found, list)
        fields = list(self.fields.items())
        expected = f"{len(fields)} fields"
        if self.last is not None and len(found) == len(fields) + 1:
            fields.append(self.last)
            require(f"{what}.{self.last[0]}", found[-1] != [], Said("none"), "it is left out then")
        require(what, len(found) == len(fields), Said(f"{len(found)} fields"), expected)
        taken = {
            name: field.take(f"{what}.{name}", one)
            for (name, field), one in zip(fields, found, strict=True)
        }
        try:
            return self.kind(**taken)
        except Malformed as error:
            raise Malformed(f"{what}, {error.what}", error.found, error.expected) from None


def _same(value: Any) -> Any:
    return value


def _take_text(what: str, found: Any) -> str:
    require_text(what, found)
    require(what, len(found) <= TEXT_MAX, Said("more"), f"at most {TEXT_MAX} characters")
    return str(found)


def _take_said(what: str, found: Any) -> str:
    # What a refusal found may be nothing at all.
    return "" if found == "" else _take_text(what, found)


def _take_flag(what: str, found: Any) -> bool:
    require_type(what, found, bool)
    return bool(found)


def _count(at_least: int) -> _Field:
    def take(what: str, found: Any) -> int:
        require_int(what, found, at_least=at_least)
        return int(found)

    return _Field(_same, take)


def _or_none(field: _Field) -> _Field:
    return _Field(
        lambda value: None if value is None else field.put(value),
        lambda what, found: None if found is None else field.take(what, found),
    )


def _whole(form: _Form) -> _Field:
    return _Field(form.put, form.take)


def _named(kind: type[Kind] | type[Reason]) -> _Field:
    words = {one.value: one for one in kind}

    def take(what: str, found: Any) -> Kind | Reason:
        known = isinstance(found, str) and found in words
        require(what, known, found, ", ".join(words))
        return words[found]

    return _Field(lambda one: one.value, take)


def _put_seats(seats: frozenset[Seat]) -> list[list[str]]:
    return sorted([seat.member, seat.store_id] for seat in seats)


def _take_seats(what: str, found: Any) -> frozenset[Seat]:
    require_type(what, found, list)
    require(what, len(found) <= SEATS_MAX, Said(f"{len(found)}"), f"at most {SEATS_MAX}")
    seats = [_SEAT.take(what, one) for one in found]
    pairs = [(seat.member, seat.store_id) for seat in seats]
    require(what, pairs == sorted(set(pairs)), Said("another order"), "each once, sorted")
    return shared(frozenset(seats))


def _take_names(what: str, found: Any) -> frozenset[str]:
    require_type(what, found, list)
    require(what, len(found) <= SEATS_MAX, Said(f"{len(found)}"), f"at most {SEATS_MAX}")
    names = [_take_text(what, one) for one in found]
    require(what, names == sorted(set(names)), Said("another order"), "each once, sorted")
    return frozenset(names)


def _take_view(what: str, found: Any) -> View:
    view: View = _VIEW.take(what, found)
    verify_id(view)
    return view


def _put_views(views: tuple[View, ...]) -> list[list[Any]]:
    return [_VIEW.put(view) for view in views]


def _take_views(what: str, found: Any) -> tuple[View, ...]:
    require_type(what, found, list)
    in_bounds = 1 <= len(found) <= VIEWS_KEPT
    require(what, in_bounds, Said(f"{len(found)} views"), f"1 to {VIEWS_KEPT}")
    return tuple(_take_view(f"{what}[{at}]", one) for at, one in enumerate(found))


def _put_id(view_id: ViewId) -> str:
    # A name of a searched world has no form in bytes.
    if not isinstance(view_id, str):
        raise MisuseError(
            f"a view called {view_id} has no form in bytes",
            next="use ids by hash; by_content is for searched worlds",
        )
    return view_id


_TEXT = _Field(_same, _take_text)
_SAID = _Field(lambda text: text[:TEXT_MAX], _take_said)
_FLAG = _Field(_same, _take_flag)
_ID = _Field(_put_id, _take_text)
_ID_OR_NONE = _or_none(_ID)

_SEAT = _Form(Seat, {"member": _TEXT, "store_id": _TEXT})
_POSITION = _or_none(_whole(_Form(Position, {"view": _ID, "seq": _count(1)})))
_BALLOT = _whole(_Form(Ballot, {"round": _count(1), "store_id": _TEXT}))
_SEATS = _Field(_put_seats, _take_seats)
_NAMES_HEARD = _Field(sorted, _take_names)
_VIEW = _Form(
    View,
    {
        "id": _ID,
        "number": _count(1),
        "kind": _named(Kind),
        "parent": _ID_OR_NONE,
        "members": _SEATS,
        "electors": _SEATS,
        "position": _POSITION,
        "activated": _FLAG,
        "wait_for": _count(1),
        "options_digest": _TEXT,
        "cluster_name": _TEXT,
        "nonce": _TEXT,
        "time": _count(0),
    },
)
_ONE_VIEW = _Field(_VIEW.put, _take_view)
_VIEWS = _Field(_put_views, _take_views)
_ACCEPTED = _or_none(_whole(_Form(Accepted, {"ballot": _BALLOT, "view": _ONE_VIEW})))
_ANSWER = _whole(
    _Form(
        Answer,
        {
            "seat": _whole(_SEAT),
            "transient": _FLAG,
            "held": _ID_OR_NONE,
            "position": _POSITION,
            "update_unfinished": _FLAG,
            "ran_on": _FLAG,
            "was_active": _FLAG,
            "options": _TEXT,
            "is_marked": _FLAG,
            "leaves": _FLAG,
        },
    )
)
_PARENT = {"parent": _ID_OR_NONE}

_MESSAGES = {
    "prepare": _Form(Prepare, {**_PARENT, "ballot": _BALLOT}),
    "promise": _Form(
        Promise,
        {
            **_PARENT,
            "ballot": _BALLOT,
            "voter": _whole(_SEAT),
            "accepted": _ACCEPTED,
            "answer": _or_none(_ANSWER),
        },
        last=("misses", _NAMES_HEARD),
    ),
    "accept": _Form(Accept, {**_PARENT, "ballot": _BALLOT, "view": _ONE_VIEW}),
    "voted": _Form(Voted, {**_PARENT, "ballot": _BALLOT, "voter": _whole(_SEAT)}),
    "nack": _Form(Nack, {**_PARENT, "ballot": _BALLOT, "promised": _BALLOT}),
    "chosen": _Form(Chosen, {**_PARENT, "views": _VIEWS, "initial": _ID_OR_NONE}),
    "hello": _Form(
        Hello,
        {
            "status": _ANSWER,
            "tip": _ID_OR_NONE,
            "number": _count(0),
            "initial": _ID_OR_NONE,
            "cluster_name": _TEXT,
            "hears": _NAMES_HEARD,
        },
    ),
    "welcome": _Form(Welcome, {"view": _ID}),
    "refused": _Form(Refused, {"reason": _named(Reason), "found": _SAID, "expected": _SAID}),
    "ready": _Form(Ready, {"view": _ID, "seat": _whole(_SEAT)}),
    "want-update": _Form(WantUpdate, {"view": _ID}),
    "heartbeat": _Form(
        Heartbeat,
        {"tip": _ID_OR_NONE, "number": _count(0), "seat": _whole(_SEAT), "is_frozen": _FLAG},
    ),
}
_NAMES = {form.kind: word for word, form in _MESSAGES.items()}
