"""The input of `joinproto decide`: a set of members, as JSON.

    {"wait_for": 2,
     "electors": ["a", "b", "c"],
     "members": [{"id": "a", "store": "none|empty|clean|dirty", "initial": "X", "final": "F",
                  "active": false, "options": {}, "wait_for": 2,
                  "lineage": ["X", "V", "F"], "position": {"view": "V", "seq": 3}}]}

Only `members`, and `id` and `store` of each, must be there; `wait_for` is 1 by default.
Members keep their order, and where a rule needs an order of ids, it is that.

`electors` (all who may vote, the absent ones too), `lineage` (names of views, the oldest first, the
tip last) and `position` (the last frame; null: none) are for the chain's rules, which name the
defaults in `joinproto/join/rules.py`.  Other rules do not look at them, and one file serves all.
"""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from joinproto.errors import UsageProblem
from joinproto.join.hypothetical import At, ChainStatus
from joinproto.machine.verdict import NEW
from joinproto.machine.vocabulary import Options, Status, Store

REQUEST_FIELDS = ("wait_for", "members", "electors")
MEMBER_FIELDS = ("id", "store", "initial", "final", "active", "options", "wait_for")
CHAIN_FIELDS = ("lineage", "position")
SEQ_MAX = 2**63 - 1


def read_members(text: bytes, *, for_chain: bool = False) -> tuple[Status, ...]:
    """Return the members that `text` describes; raises `UsageProblem` naming the bad field.

    `for_chain`: also the fields for the chain's rules alone; each member is a `ChainStatus` then.
    """
    try:
        request = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_without_doubles)
    except UnicodeDecodeError as error:
        raise UsageProblem(f"the input is not UTF-8: {error}", next="save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UsageProblem(
            f"the input is not JSON that can be read: {error}",
            next='expected {"wait_for": 2, "members": [...]}',
        ) from None
    if not isinstance(request, dict):
        _refuse("input", "an object with wait_for and members", request)
    _known_fields("", request, REQUEST_FIELDS)
    wait_for = _count("wait_for", request.get("wait_for", 1))
    rows = request.get("members")
    if not isinstance(rows, list):
        _refuse("members", "a list of members", rows)
    members = tuple(_member(f"members[{at}]", row, wait_for) for at, row in enumerate(rows))
    if for_chain:
        told = request.get("electors")
        electors = None if told is None else _names("electors", told, "ids")
        if electors == ():
            _refuse("electors", "at least one id", told)
        members = tuple(
            _chain_member(f"members[{at}]", rows[at], member, electors)
            for at, member in enumerate(members)
        )
    places: dict[str, int] = {}
    for at, member in enumerate(members):
        if member.id in places:
            first = f"members[{places[member.id]}]"
            raise UsageProblem(
                f"members[{at}].id: {json.dumps(member.id)} is the id of {first}, too",
                next="give every member an id of its own",
            )
        places[member.id] = at
    return members


def _member(place: str, row: Any, wait_for: int) -> Status:
    if not isinstance(row, dict):
        _refuse(place, "an object with id and store", row)
    _known_fields(f"{place}.", row, (*MEMBER_FIELDS, *CHAIN_FIELDS))
    name = row.get("id")
    if not isinstance(name, str) or not name:
        _refuse(f"{place}.id", "a text of at least one character", name)
    stores = {store.value: store for store in Store}
    store = row.get("store")
    if not isinstance(store, str) or store not in stores:
        _refuse(f"{place}.store", "one of " + ", ".join(stores), store)
    active = row.get("active", False)
    if not isinstance(active, bool):
        _refuse(f"{place}.active", "true or false", active)
    member = Status(
        name,
        stores[store],
        initial=_signature(f"{place}.initial", row.get("initial")),
        final=_signature(f"{place}.final", row.get("final")),
        active=active,
        options=_options(f"{place}.options", row.get("options", {})),
        wait_for=_count(f"{place}.wait_for", row.get("wait_for", wait_for)),
    )
    _fits_its_store(place, member)
    return member


def _chain_member(
    place: str, row: Mapping[str, Any], member: Status, electors: tuple[str, ...] | None
) -> ChainStatus:
    """Return the member with its lineage and its position, where they are told."""
    told = row.get("lineage")
    lineage = () if told is None else _names(f"{place}.lineage", told, "views")
    if lineage and member.store in (Store.EMPTY, Store.NONE) and not member.active:
        _refuse(f"{place}.lineage", "none: an empty store knows no view", told)
    if member.initial is not None and member.initial in lineage[1:]:
        _refuse(f"{place}.lineage", "the initial signature first (rule S1)", told)
    if member.store is Store.CLEAN and member.final in lineage[:-1]:
        _refuse(f"{place}.lineage", "the final signature last (rule S2)", told)
    position = _position(f"{place}.position", row.get("position"))
    if position is not None and member.store in (Store.EMPTY, Store.NONE) and not member.active:
        _refuse(f"{place}.position", "null: there is no frame in an empty store", row["position"])
    return ChainStatus(
        member.id,
        member.store,
        initial=member.initial,
        final=member.final,
        active=member.active,
        options=member.options,
        wait_for=member.wait_for,
        lineage=lineage,
        position=position,
        has_position="position" in row,
        electors=electors,
    )


def _names(place: str, value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        _refuse(place, f"a list of {what}", value)
    for at, name in enumerate(value):
        if not isinstance(name, str):
            _refuse(f"{place}[{at}]", "a text", name)
    if len(set(value)) < len(value):
        _refuse(place, "each name once", value)
    return tuple(value)


def _position(place: str, value: Any) -> At | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        _refuse(place, 'null or an object such as {"view": "X", "seq": 3}', value)
    _known_fields(f"{place}.", value, ("view", "seq"))
    view, seq = value.get("view"), value.get("seq")
    if not isinstance(view, str):
        _refuse(f"{place}.view", "the name of a view", view)
    if not isinstance(seq, int) or isinstance(seq, bool) or not 0 <= seq <= SEQ_MAX:
        _refuse(f"{place}.seq", "a whole number, 0 for no frame, less than 2**63", seq)
    return At(view, seq)


def _fits_its_store(place: str, member: Status) -> None:
    """Refuse signatures that a store of this kind has not, or lacks."""
    has_initial, has_final = member.initial is not None, member.final is not None
    store = member.store
    if store in (Store.CLEAN, Store.DIRTY) and not has_initial:
        _refuse(f"{place}.initial", f"a signature: a {store.value} store has one (rule S1)", None)
    if store is Store.CLEAN and not has_final:
        _refuse(f"{place}.final", "a signature: it is what makes a store clean (rule S2)", None)
    if store in (Store.EMPTY, Store.NONE) and has_final:
        _refuse(
            f"{place}.final", f"null: with store {store.value} nothing was closed", member.final
        )
    # An active member without a store has learned the cluster's signature by its update.
    if store is Store.NONE and has_initial and not member.active:
        _refuse(f"{place}.initial", "null: there is no store to keep it in", member.initial)


def _signature(place: str, value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or value in ("", NEW)):
        _refuse(place, f'a text or null (and not "{NEW}", which means a new one)', value)
    return value if isinstance(value, str) else None


def _count(place: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        _refuse(place, "a whole number of 1 or more", value)
    return value


def _options(place: str, value: Any) -> Options:
    if not isinstance(value, dict):
        _refuse(place, "an object of option names and values", value)
    # Values compare as JSON: 1, 1.0 and true are three values, the order of keys is none.
    return tuple((name, json.dumps(value[name], sort_keys=True)) for name in sorted(value))


def _known_fields(place: str, row: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in row:
        if name not in known:
            raise UsageProblem(
                f"{place}{_printable(name)}: no such field", next="fields are " + ", ".join(known)
            )


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise UsageProblem(
            f"the field {json.dumps(double)} is given twice in one object",
            next="keep one of the two",
        )
    return row


def _printable(text: str) -> str:
    return text if text.isprintable() else json.dumps(text)


def _refuse(place: str, expected: str, found: Any) -> NoReturn:
    shown = json.dumps(found)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    raise UsageProblem(f"{place}: expected {expected}; found {shown}", next="correct this field")
