"""The payload: the contents of a store as JSON, and back.

`ContentsOnDisk` has the names on disk as its fields, in the order in which they are written: first
the fields that an operator looks for, the long list of views last.  It is separate from the
member's classes, because a name in those classes may change, and a name on a disk must not.

Reading converts no types, refuses a key that occurs twice, and checks every view's id and its link
to the view before.  Any error is a `Malformed`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from attrs import frozen

from joinproto.codec.codec import Codec
from joinproto.codec.json_form import filled
from joinproto.codec.json_text import parsed
from joinproto.codec.malformed import Malformed, require, require_type
from joinproto.codec.marks import Absent
from joinproto.join.ids import ViewId
from joinproto.join.lineage import lineage_of
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import FIELDS, Position, Seat, View, shared, verify_id
from joinproto.store.contents import Contents, Json, verify_carried

# Fields that a later version wrote and this version does not know survive a rewrite.
#
# Otherwise a member that runs the older version for an hour would erase fields that the newer
# version needs.  Unknown fields of the whole payload are kept for ever, those of a view as long as
# the view is kept, and those of any other object as long as its known fields do not change.


def with_unknown(tree: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """Return `tree`, a payload of known fields only, with the fields that only `source` has.

    Known fields come first, in a fixed order, so that equal contents give equal bytes.
    """
    kept = {view.get("id"): view for view in _views(source)}

    def view_of(view: dict[str, Any]) -> Any:
        return _old_or_new(view, kept.get(view["id"]))

    merged = {key: _old_or_new(value, source.get(key)) for key, value in tree.items()}
    merged["views"] = [view_of(view) for view in tree["views"]]
    # A view keeps its fields if it is first accepted and then learned, or the other way round.
    if merged["accepted"] is not None:
        merged["accepted"] = {**merged["accepted"], "view": view_of(tree["accepted"]["view"])}
    unknown = {key: value for key, value in source.items() if key not in tree}
    return merged | unknown


def _views(source: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from source.get("views", ())
    accepted = source.get("accepted")
    if accepted is not None:
        yield accepted["view"]


def _old_or_new(new: Any, old: Any) -> Any:
    """Return `old` if it contains all that `new` contains, else `new`."""
    return old if isinstance(new, dict) and _contains(old, new) else new


def _contains(old: Any, new: Any) -> bool:
    if isinstance(new, dict):
        return isinstance(old, dict) and all(
            key in old and _contains(old[key], value) for key, value in new.items()
        )
    return bool(old == new) and type(old) is type(new)


@frozen(kw_only=True)
class ContentsOnDisk:
    """The whole payload; the fields are those of `Contents` and `StoreRecord`."""

    member: str
    cluster_name: str | None
    frames: Annotated[str | None, Absent()] = None
    frames_dropped: Annotated[bool, Absent(False)] = False
    store_id: str
    initial: ViewId | None
    held: ViewId | None
    position: Position | None
    update_unfinished: bool
    promised: Ballot | None
    accepted: Accepted | None
    mark: ViewId | None
    history: tuple[Any, ...]
    views: tuple[View, ...]


def encode(contents: Contents) -> bytes:
    """Return the payload; raises `Malformed` for a record that has no form on a disk."""
    tree = with_unknown(_CODEC.put(_to_disk(contents)), contents.source)
    return f"{json.dumps(tree, ensure_ascii=False, indent=2)}\n".encode()


def decode(payload: bytes) -> Contents:
    """Return the decoded payload; raises `Malformed` if it does not have this form."""
    tree: dict[str, Json] = parsed(payload, "payload")
    require("payload", isinstance(tree, dict), tree, "an object")
    verify_carried("payload", tree)
    try:
        on_disk: ContentsOnDisk = _CODEC.take(ContentsOnDisk, tree)
    except Malformed as error:
        raise error.within("payload") from None
    return _from_disk(on_disk, tree)


def _to_disk(contents: Contents) -> ContentsOnDisk:
    record = contents.record
    initial, views = record.lineage.initial, record.lineage.views
    return filled(ContentsOnDisk, contents, record, initial=initial, views=views)


def _from_disk(found: ContentsOnDisk, source: Mapping[str, Json]) -> Contents:
    if found.accepted is not None:
        verify_id(found.accepted.view)
    record = filled(StoreRecord, found, lineage=lineage_of(found.views, found.initial))
    return filled(Contents, found, record=record, source=source)


# -- checks beyond the types ---------------------------------------------------------------


def _put_id(view_id: ViewId) -> str:
    # Worlds that are searched use other ids, and have no files.
    require_type("id of a view on disk", view_id, str)
    return str(view_id)


def _put_seats(seats: frozenset[Seat]) -> dict[str, str]:
    """Return the store ids by member."""
    return {seat.member: seat.store_id for seat in sorted(seats, key=lambda seat: seat.member)}


def _take_seats(found: Any) -> frozenset[Seat]:
    require_type("", found, dict)
    return shared(frozenset(Seat(member, store_id) for member, store_id in found.items()))


_CODEC = Codec(orders={View: FIELDS})
_CODEC.give(ViewId, _put_id, _CODEC.take_of(str))
_CODEC.give(frozenset[Seat], _put_seats, _take_seats)
