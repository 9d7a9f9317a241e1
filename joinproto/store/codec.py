"""The payload: the contents of a store as JSON, and back.

The classes below are the file's own.  Their fields are the names on disk, in the order in
which they are written: first what an operator looks for, the long list of views last.
They are apart from the member's classes because a name there may change and a name on
a disk may not.

Reading believes nothing: types are not converted, no key may stand twice, and
`lineage_of` looks at every id and every link.  Whatever is wrong is a `Malformed`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from operator import attrgetter, eq
from typing import Any, NoReturn, TypeAlias

from attrs import fields, frozen
from cattrs import (
    AttributeValidationNote,
    BaseValidationError,
    Converter,
    IterableValidationError,
    IterableValidationNote,
)

from joinproto.codec.malformed import Malformed, Said, require, require_type, shown
from joinproto.join.ids import Name
from joinproto.join.lineage import lineage_of
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Kind, Position, Seat, View, shared, verify_id
from joinproto.store.contents import Contents, Json, verify_carried
from joinproto.store.unknown import with_unknown

Id: TypeAlias = str | Name
"""As `ViewId`: a name has no form in a file, and is refused."""

# -- the file's classes --------------------------------------------------------------------


@frozen(kw_only=True)
class ViewOnDisk:
    """A view.  `members` and `electors`: each member's name with the id of its store."""

    id: Id
    number: int
    kind: Kind
    parent: Id | None
    members: frozenset[Seat]
    electors: frozenset[Seat]
    position: Position | None
    activated: bool
    wait_for: int
    options_digest: str
    cluster_name: str
    nonce: str
    time: int


@frozen(kw_only=True)
class ContentsOnDisk:
    """The whole payload; the fields mean what they mean in `Contents` and `StoreRecord`."""

    member: str
    cluster_name: str | None
    frames: str | None = None  # not written where it is None
    frames_dropped: bool = False  # nor this where it is not so
    store_id: str
    initial: Id | None
    held: Id | None
    position: Position | None
    update_unfinished: bool
    promised: Ballot | None
    accepted: Accepted | None
    mark: Id | None
    history: tuple[Any, ...]
    views: tuple[View, ...]


# -- between the two -----------------------------------------------------------------------


def encode(contents: Contents) -> bytes:
    """Return the payload; raises `Malformed` for a record that has no form on a disk."""
    tree = _CONVERTER.unstructure(_to_disk(contents))
    if contents.frames is None:
        del tree["frames"]
    if not contents.frames_dropped:
        del tree["frames_dropped"]
    text = json.dumps(with_unknown(tree, contents.source), ensure_ascii=False, indent=2)
    return f"{text}\n".encode()


def decode(payload: bytes) -> Contents:
    """Return what the payload says; raises `Malformed` for whatever no version of us wrote."""
    tree = _parsed(payload)
    try:
        verify_carried("payload", tree)
        on_disk = _CONVERTER.structure(tree, ContentsOnDisk)
    except BaseValidationError as error:
        raise _first_fault(error) from None
    return _from_disk(on_disk, tree)


def _parsed(payload: bytes) -> dict[str, Json]:
    try:
        tree = json.loads(
            payload.decode("utf-8"), object_pairs_hook=_without_doubles, parse_constant=_no_number
        )
    except UnicodeDecodeError as error:
        raise Malformed("payload", Said(f"{error.reason} at byte {error.start}"), "UTF-8") from None
    except RecursionError:
        raise Malformed("payload", Said("nested too deep to read"), "JSON") from None
    except Malformed:
        raise
    except ValueError as error:
        raise Malformed("payload", Said(str(error)), "JSON") from None
    require("payload", isinstance(tree, dict), tree, "an object")
    parsed: dict[str, Json] = tree
    return parsed


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Python would take the last of two equal keys, and a person who reads takes the first.
    tree = dict(pairs)
    if len(tree) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise Malformed("payload", Said(f"the key {shown(double)} twice"), "each key once")
    return tree


def _no_number(text: str) -> NoReturn:
    raise Malformed("payload", Said(text), "a finite number")


def _to_disk(contents: Contents) -> ContentsOnDisk:
    record = contents.record
    return ContentsOnDisk(
        member=contents.member,
        cluster_name=contents.cluster_name,
        frames=contents.frames,
        frames_dropped=contents.frames_dropped,
        store_id=record.store_id,
        initial=record.lineage.initial,
        held=record.held,
        position=record.position,
        update_unfinished=record.update_unfinished,
        promised=record.promised,
        accepted=record.accepted,
        mark=record.mark,
        history=contents.history,
        views=record.lineage.views,
    )


def _from_disk(found: ContentsOnDisk, source: Mapping[str, Json]) -> Contents:
    if found.accepted is not None:
        verify_id(found.accepted.view)
    record = StoreRecord(
        store_id=found.store_id,
        lineage=lineage_of(found.views, found.initial),
        held=found.held,
        position=found.position,
        update_unfinished=found.update_unfinished,
        promised=found.promised,
        accepted=found.accepted,
        mark=found.mark,
    )
    return Contents(
        member=found.member,
        record=record,
        cluster_name=found.cluster_name,
        frames=found.frames,
        frames_dropped=found.frames_dropped,
        history=found.history,
        source=source,
    )


# -- how cattrs takes a value --------------------------------------------------------------


def _converter() -> Converter:
    """Return a converter that converts nothing: `"5"` is not a number, and True is none."""
    converter = Converter()
    for kind in (int, str, bool):
        converter.register_structure_hook(kind, _unchanged)
    converter.register_structure_hook(Kind, partial(_kind, {kind.value: kind for kind in Kind}))

    def view(value: Any, _: type) -> View:
        found = converter.structure(value, ViewOnDisk)
        return View(**dict(zip(_NAMES, _values(found), strict=True)))

    def views(value: Any, _: type) -> tuple[View, ...]:
        require_type("value", value, list)
        return tuple(_at(at, converter, one) for at, one in enumerate(value))

    for kinds, there, back in (
        (frozenset[Seat], _seats, _seats_on_disk),
        (tuple[Any, ...], _history, list),
        (Id, _text, _id),
        (Id | None, _text_or_none, _id_or_none),
    ):
        converter.register_structure_hook_func(partial(eq, kinds), there)
        converter.register_unstructure_hook_func(partial(eq, kinds), back)
    # What reads the fields of the file's class reads those of a view, which has them, too.
    of_view = converter.get_unstructure_hook(ViewOnDisk)
    converter.register_unstructure_hook_func(partial(eq, View), of_view)
    converter.register_structure_hook_func(partial(eq, View), view)
    converter.register_structure_hook_func(partial(eq, tuple[View, ...]), views)
    return converter


def _unchanged(value: Any, kind: type) -> Any:
    require_type("value", value, kind)
    return value


def _kind(kinds: Mapping[str, Kind], value: Any, _: type) -> Kind:
    require_type("value", value, str)
    require("kind", value in kinds, value, ", ".join(kinds))
    return kinds[value]


def _text(value: Any, _: Any) -> Any:
    return _unchanged(value, str)


def _text_or_none(value: Any, _: Any) -> Any:
    return None if value is None else _unchanged(value, str)


def _id(view_id: Id) -> str:
    # A name of a searched world; there is no file for those.
    require_type("id of a view on disk", view_id, str)
    return str(view_id)


def _id_or_none(view_id: Id | None) -> str | None:
    return None if view_id is None else _id(view_id)


def _at(at: int, converter: Converter, value: Any) -> View:
    try:
        return converter.structure(value, View)
    except BaseValidationError as error:
        error.add_note(IterableValidationNote("a view", at, View))
        raise IterableValidationError("views", [error], View) from None


def _seats(value: Any, _: type) -> frozenset[Seat]:
    require_type("value", value, dict)
    try:
        return shared(frozenset(Seat(member, store_id) for member, store_id in value.items()))
    except Malformed as error:
        raise Malformed("value", error.found, error.expected) from None


def _seats_on_disk(seats: frozenset[Seat]) -> dict[str, str]:
    return {seat.member: seat.store_id for seat in sorted(seats, key=lambda seat: seat.member)}


def _history(value: Any, _: type) -> tuple[Any, ...]:
    require_type("value", value, list)
    return tuple(value)


def _first_fault(group: BaseValidationError) -> Malformed:
    """Return the first of the faults that cattrs found, with the way to it."""
    place = "payload"
    error: Exception = group
    while isinstance(error, BaseValidationError):
        error = error.exceptions[0]
        for note in getattr(error, "__notes__", ()):
            if isinstance(note, AttributeValidationNote):
                place += f".{note.name}"
            elif isinstance(note, IterableValidationNote):
                place += f"[{note.index}]"
    if isinstance(error, Malformed):
        # What a view, a position or a ballot refuses says itself what it is about.
        return Malformed(place, error.found, error.expected) if error.what == "value" else error
    if isinstance(error, KeyError):
        return Malformed(place, Said("no such field"), "every field of this format")
    return Malformed(place, Said("something else"), "an object")


_NAMES = tuple(field.name for field in fields(ViewOnDisk))
_values = attrgetter(*_NAMES)
_CONVERTER = _converter()
