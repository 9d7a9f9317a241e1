"""The JSON of `joinproto decide`: a set of members in, a verdict out.

    {"wait_for": 2,
     "members": [{"id": "a", "store": "none|empty|clean|dirty", "initial": "X", "final": "F",
                  "active": false, "options": {}, "wait_for": 2}]}

Only `members`, and `id` and `store` of each, must be there; `wait_for` is 1 if nobody says
otherwise.  Members keep their order, and where a rule needs an order of ids, it is that.
"""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from joinproto.core.verdict import NEW, Verdict
from joinproto.core.vocabulary import Options, Status, Store
from joinproto.errors import UsageProblem

REQUEST_FIELDS = ("wait_for", "members")
MEMBER_FIELDS = ("id", "store", "initial", "final", "active", "options", "wait_for")
# What other rules read; these rules do not look at it, and one file serves them all.
OTHER_FIELDS = ("lineage", "position")


def read_members(text: bytes) -> tuple[Status, ...]:
    """Return the members that `text` describes; raises `UsageProblem` naming the bad field."""
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


def verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """Return the object that `joinproto decide --json` prints."""
    return {
        "rules": verdict.rules,
        "initial": verdict.initial,
        "outcomes": [
            {
                "id": member.id,
                "outcome": member.outcome.value,
                "from": list(member.sources),
                "reason": None if member.reason is None else member.reason.value,
                "rule": member.rule,
            }
            for member in verdict.outcomes
        ],
    }


def _member(place: str, row: Any, wait_for: int) -> Status:
    if not isinstance(row, dict):
        _refuse(place, "an object with id and store", row)
    _known_fields(f"{place}.", row, (*MEMBER_FIELDS, *OTHER_FIELDS))
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
