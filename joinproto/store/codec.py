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
from typing import Any, NoReturn

from attrs import frozen
from cattrs import (
    AttributeValidationNote,
    BaseValidationError,
    Converter,
    IterableValidationError,
    IterableValidationNote,
)

from joinproto.join.ids import ViewId
from joinproto.join.lineage import Lineage, lineage_of
from joinproto.join.malformed import Malformed, Said, require, require_type, shown
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Kind, Position, Seat, View, shared, verify_id
from joinproto.store.contents import Contents, Json, verify_carried
from joinproto.store.unknown import with_unknown

# -- the file's classes --------------------------------------------------------------------


@frozen
class PositionOnDisk:
    """A frame."""

    view: str
    seq: int


@frozen
class BallotOnDisk:
    """A ballot."""

    round: int
    store_id: str


@frozen(kw_only=True)
class ViewOnDisk:
    """A view.  `members` and `electors`: each member's name with the id of its store."""

    id: str
    number: int
    kind: str
    parent: str | None
    members: frozenset[Seat]
    electors: frozenset[Seat]
    position: PositionOnDisk | None
    activated: bool
    wait_for: int
    options_digest: str
    cluster_name: str
    nonce: str
    time: int


@frozen
class AcceptedOnDisk:
    """The view that was accepted, and the ballot in which it was."""

    ballot: BallotOnDisk
    view: ViewOnDisk


@frozen(kw_only=True)
class ContentsOnDisk:
    """The whole payload; the fields mean what they mean in `Contents` and `StoreRecord`."""

    member: str
    cluster_name: str | None
    frames: str | None = None  # not written where it is None
    frames_dropped: bool = False  # nor this where it is not so
    store_id: str
    initial: str | None
    held: str | None
    position: PositionOnDisk | None
    update_unfinished: bool
    promised: BallotOnDisk | None
    accepted: AcceptedOnDisk | None
    mark: str | None
    history: tuple[Any, ...]
    views: tuple[ViewOnDisk, ...]


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
    accepted = record.accepted
    return ContentsOnDisk(
        member=contents.member,
        cluster_name=contents.cluster_name,
        frames=contents.frames,
        frames_dropped=contents.frames_dropped,
        store_id=record.store_id,
        initial=_id_or_none(record.lineage.initial),
        held=_id_or_none(record.held),
        position=_position_to_disk(record.position),
        update_unfinished=record.update_unfinished,
        promised=_ballot_to_disk(record.promised),
        accepted=None
        if accepted is None
        else AcceptedOnDisk(
            BallotOnDisk(accepted.ballot.round, accepted.ballot.store_id),
            _view_to_disk(accepted.view),
        ),
        mark=_id_or_none(record.mark),
        history=contents.history,
        views=tuple(_view_to_disk(view) for view in record.lineage.views),
    )


def _from_disk(found: ContentsOnDisk, source: Mapping[str, Json]) -> Contents:
    accepted = None
    if found.accepted is not None:
        ballot = Ballot(found.accepted.ballot.round, found.accepted.ballot.store_id)
        accepted = Accepted(ballot, _view_from_disk(found.accepted.view))
        verify_id(accepted.view)
    lineage: Lineage = lineage_of(map(_view_from_disk, found.views), found.initial)
    promised = found.promised
    record = StoreRecord(
        store_id=found.store_id,
        lineage=lineage,
        held=found.held,
        position=_position_from_disk(found.position),
        update_unfinished=found.update_unfinished,
        promised=None if promised is None else Ballot(promised.round, promised.store_id),
        accepted=accepted,
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


def _view_to_disk(view: View) -> ViewOnDisk:
    return ViewOnDisk(
        id=_id(view.id),
        number=view.number,
        kind=view.kind.value,
        parent=_id_or_none(view.parent),
        members=view.members,
        electors=view.electors,
        position=_position_to_disk(view.position),
        activated=view.activated,
        wait_for=view.wait_for,
        options_digest=view.options_digest,
        cluster_name=view.cluster_name,
        nonce=view.nonce,
        time=view.time,
    )


def _view_from_disk(found: ViewOnDisk) -> View:
    kinds = {kind.value: kind for kind in Kind}
    require("kind", found.kind in kinds, found.kind, ", ".join(kinds))
    return View(
        id=found.id,
        number=found.number,
        kind=kinds[found.kind],
        parent=found.parent,
        members=found.members,
        electors=found.electors,
        position=_position_from_disk(found.position),
        activated=found.activated,
        wait_for=found.wait_for,
        options_digest=found.options_digest,
        cluster_name=found.cluster_name,
        nonce=found.nonce,
        time=found.time,
    )


def _position_to_disk(position: Position | None) -> PositionOnDisk | None:
    return None if position is None else PositionOnDisk(_id(position.view), position.seq)


def _position_from_disk(found: PositionOnDisk | None) -> Position | None:
    return None if found is None else Position(found.view, found.seq)


def _ballot_to_disk(ballot: Ballot | None) -> BallotOnDisk | None:
    return None if ballot is None else BallotOnDisk(ballot.round, ballot.store_id)


def _id_or_none(view_id: ViewId | None) -> str | None:
    return None if view_id is None else _id(view_id)


def _id(view_id: ViewId) -> str:
    # A name of a searched world; there is no file for those.
    require_type("id of a view on disk", view_id, str)
    return str(view_id)


# -- how cattrs takes a value --------------------------------------------------------------


def _converter() -> Converter:
    """Return a converter that converts nothing: `"5"` is no number, and True is none."""
    converter = Converter()
    for kind in (int, str, bool):
        converter.register_structure_hook(kind, _unchanged)

    def views(value: Any, _: type) -> tuple[ViewOnDisk, ...]:
        require_type("value", value, list)
        return tuple(_structured(one, at, converter) for at, one in enumerate(value))

    converter.register_structure_hook_func(lambda kind: kind == frozenset[Seat], _seats)
    converter.register_structure_hook_func(lambda kind: kind == tuple[ViewOnDisk, ...], views)
    converter.register_structure_hook_func(lambda kind: kind == tuple[Any, ...], _history)
    converter.register_unstructure_hook_func(lambda kind: kind == frozenset[Seat], _seats_on_disk)
    converter.register_unstructure_hook_func(lambda kind: kind == tuple[Any, ...], list)
    return converter


def _unchanged(value: Any, kind: type) -> Any:
    require_type("value", value, kind)
    return value


def _structured(value: Any, at: int, converter: Converter) -> ViewOnDisk:
    try:
        return converter.structure(value, ViewOnDisk)
    except BaseValidationError as error:
        error.add_note(IterableValidationNote("a view", at, ViewOnDisk))
        raise IterableValidationError("views", [error], ViewOnDisk) from None


def _seats(value: Any, _: type) -> frozenset[Seat]:
    require_type("value", value, dict)
    return shared(frozenset(Seat(member, store_id) for member, store_id in value.items()))


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
        return Malformed(place, error.found, error.expected)
    if isinstance(error, KeyError):
        return Malformed(place, Said("no such field"), "every field of this format")
    return Malformed(place, Said("something else"), "an object")


_CONVERTER = _converter()
