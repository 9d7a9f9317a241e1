"""The input of `joinproto decide`: a set of members, as JSON.

    {"wait_for": 2,
     "electors": ["a", "b", "c"],
     "members": [{"id": "a", "store": "none|empty|clean|dirty", "initial": "X", "final": "F",
                  "active": false, "options": {}, "wait_for": 2,
                  "lineage": ["X", "V", "F"], "position": {"view": "V", "seq": 3}}]}

Only `members`, and `id` and `store` of each member, are required; `wait_for` is 1 by default.
Members keep their order.  A rule that needs an order of ids takes this order.

`electors` (all members that may vote, also the absent ones), `lineage` (names of views, the oldest
first, the tip last) and `position` (the last frame; null: none) are for the chain's rules;
`joinproto/join/rules.py` names their defaults.  Other rules ignore them, so that one file serves
all rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, NoReturn

from attrs import field, frozen

from joinproto.cli.inputs import placing
from joinproto.codec.json_form import AtLeast, filled
from joinproto.codec.marks import Condition
from joinproto.codec.strict import DoesNotFit, fitted, parse
from joinproto.errors import UsageProblem
from joinproto.join.hypothetical import ChainStatus, GivenPosition
from joinproto.machine.verdict import NEW
from joinproto.machine.vocabulary import Status, Store

NEXT = "correct this field"
WITHOUT_DATA = (Store.EMPTY, Store.NONE)

Id = Annotated[str, Condition(bool, "a text of at least one character")]
Signature = Annotated[
    str, Condition(lambda text: text not in ("", NEW), f'a text other than "" and "{NEW}"')
]
Names = Annotated[
    tuple[str, ...], Condition(lambda names: len({*names}) == len(names), "each name once")
]


@frozen(kw_only=True)
class MemberInput:
    """The facts about one member, for all rules."""

    id: Annotated[Id, "the member's name"]
    store: Annotated[Store, "the kind of store on its disk"]
    initial: Annotated[Signature | None, "the initial signature of its store"] = None
    final: Annotated[Signature | None, "the final signature of its store"] = None
    active: Annotated[bool, "whether it serves"] = False
    options: Annotated[Mapping[str, Any], "the options that must agree"] = field(factory=dict)
    wait_for: Annotated[int | None, AtLeast(1), "its own N; null: the N of all members"] = None
    lineage: Annotated[Any, "for the chain's rules"] = None
    position: Annotated[Any, "for the chain's rules"] = None


@frozen(kw_only=True)
class MembersInput:
    """A set of members, for all rules."""

    members: Annotated[tuple[MemberInput, ...], "in their order"]
    wait_for: Annotated[int, AtLeast(1), "N of each member that gives no N of its own"] = 1
    electors: Annotated[Any, "for the chain's rules"] = None


@frozen(kw_only=True)
class FrameInput:
    """The position of a frame."""

    view: Annotated[str, "the name of a view"]
    seq: Annotated[int, AtLeast(0), "the number of a frame in it; 0: no frame"]


@frozen(kw_only=True)
class ChainMemberInput(MemberInput):
    """The facts about one member, for the chain's rules."""

    lineage: Annotated[Names | None, "names of views, the oldest first"] = None
    position: Annotated[FrameInput | None, "its last frame; null: no frame"] = None


@frozen(kw_only=True)
class ChainInput(MembersInput):
    """A set of members, for the chain's rules."""

    members: Annotated[tuple[ChainMemberInput, ...], "in their order"]
    electors: Annotated[
        Names | None, Condition(bool, "at least one id"), "members that may vote"
    ] = None


def read_members(text: bytes, *, for_chain: bool = False) -> tuple[Status, ...]:
    """Return the members that `text` describes; raises `UsageProblem` that names the bad field.

    `for_chain`: also read the fields for the chain's rules; then each member is a `ChainStatus`.
    """
    with placing(next='write {"wait_for": 2, "members": [...]}'):
        tree = parse(text)
    with placing(next=NEXT):
        given = fitted(ChainInput if for_chain else MembersInput, tree)
    places: dict[str, str] = {}
    found = []
    for at, row in enumerate(given.members):
        place = f"members[{at}]"
        first = places.setdefault(row.id, place)
        if first != place:
            raise UsageProblem(
                f"{place}.id: {json.dumps(row.id)} is the id of {first}, too",
                next="give every member an id of its own",
            )
        _check(place, row)
        # Values compare as JSON: 1, 1.0 and true are three values, and keys have no order.
        options = tuple(
            (name, json.dumps(row.options[name], sort_keys=True)) for name in sorted(row.options)
        )
        changes: dict[str, Any] = {"options": options, "wait_for": row.wait_for or given.wait_for}
        if isinstance(row, ChainMemberInput):
            changes |= {
                "lineage": row.lineage or (),
                "position": row.position and GivenPosition(row.position.view, row.position.seq),
                "has_position": "position" in tree["members"][at],
                "electors": given.electors,
            }
        found.append(filled(ChainStatus if for_chain else Status, row, **changes))
    return tuple(found)


def _check(place: str, row: MemberInput) -> None:
    """Raise `DoesNotFit` if a fact does not fit the kind of the store, or another fact."""
    store = row.store
    if store in (Store.CLEAN, Store.DIRTY) and row.initial is None:
        _refuse(f"{place}.initial", f"a signature: a {store.value} store has one (rule S1)", None)
    if store is Store.CLEAN and row.final is None:
        _refuse(f"{place}.final", "a signature, which makes a store clean (rule S2)", None)
    if store in WITHOUT_DATA and row.final is not None:
        _refuse(f"{place}.final", "null: only a store with data was closed", row.final)
    # An active member without a store has learned the cluster's signature by its update.
    if store is Store.NONE and row.initial is not None and not row.active:
        _refuse(f"{place}.initial", "null: there is no store to keep it in", row.initial)
    if not isinstance(row, ChainMemberInput):
        return
    lineage, has_no_data = row.lineage or (), store in WITHOUT_DATA and not row.active
    if lineage and has_no_data:
        _refuse(f"{place}.lineage", "no views: a store without data knows no view", lineage)
    if row.initial is not None and row.initial in lineage[1:]:
        _refuse(f"{place}.lineage", "the initial signature first (rule S1)", lineage)
    if store is Store.CLEAN and row.final in lineage[:-1]:
        _refuse(f"{place}.lineage", "the final signature last (rule S2)", lineage)
    if row.position is not None and has_no_data:
        shown = {"view": row.position.view, "seq": row.position.seq}
        _refuse(f"{place}.position", "null: a store without data has no frame", shown)


def _refuse(place: str, expected: str, found: Any) -> NoReturn:
    shown = json.dumps(found)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    raise DoesNotFit(place, f"{place}: expected {expected}, found {shown}", next=NEXT)
