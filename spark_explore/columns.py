"""What a state says in columns: each member as it shows itself, claims, faults that are left.

A column of a member is made once for each of its local states and then only looked up.  Its
names: the member's, `_`, and what it shows (`b1_phase`); where it shows one value and no
parts, `b1_shows`.  What its class tells of a state for a trace, and it does not show, is there
as text; what is durable as `b1_disk_...`.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import asdict, define, field, frozen

from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.search import Search
from joinproto.check.environment import Surroundings
from joinproto.check.events import plain
from joinproto.check.faults import words_of_split
from joinproto.check.freeze import thaw
from joinproto.check.view import DOWN, Seen

LEFT = ("crashes", "wipes", "losses", "duplicates", "partitions")


@frozen
class Column:
    """A column of field `number`: `values[n]` for its n-th value, an Arrow array."""

    name: str
    number: int
    values: Any = field(repr=False)


@frozen
class Columns:
    """How rows become columns; it can travel to executors.

    `claims`: name of a claim about the world to its bit in a combination's flags.  `broken`:
    name of an `always` about one member or two, to what breaks it.
    """

    members: tuple[str, ...]
    parts: tuple[Column, ...]
    claims: Mapping[str, int]
    broken: Mapping[str, tuple[tuple[int, ...], ...]]
    contents: Mapping[int, npt.NDArray[np.int64]]
    about: Mapping[str, str]

    def table(
        self,
        layout: Layout,
        rows: npt.NDArray[np.uint64],
        levels: npt.NDArray[np.int32],
        flags: npt.NDArray[np.uint64] | None,
        wrong: Mapping[str, npt.NDArray[np.int64]],
    ) -> Any:
        """Return rows as an Arrow table.

        `levels`: of each row, the first state's is 0.  `flags`: of each row's combination;
        `wrong`: rows that break each claim of `broken`.
        """
        names, found = ["level"], [pa.array(levels)]
        local: dict[int, Any] = {}
        for part in self.parts:
            if part.number not in local:
                local[part.number] = pa.array(_values(layout, rows, part.number), pa.int32())
            names.append(part.name)
            if pa.types.is_string(part.values.type):
                codes = part.values.dictionary_encode()
                index = codes.indices.take(local[part.number])
                found.append(pa.DictionaryArray.from_arrays(index, codes.dictionary))
            else:
                found.append(part.values.take(local[part.number]))
        names.append("messages")
        found.append(pa.array(self._messages(layout, rows), pa.int32()))
        for claim, bit in self.claims.items():
            assert flags is not None
            names.append(column_of(claim))
            found.append(pa.array((flags >> np.uint64(bit)) & np.uint64(1) != 0))
        for claim in self.broken:
            holds = np.ones(len(rows), np.bool_)
            holds[wrong.get(claim, np.zeros(0, np.int64))] = False
            names.append(column_of(claim))
            found.append(pa.array(holds))
        return pa.Table.from_arrays(found, names=names)

    def _messages(self, layout: Layout, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        count = np.zeros(len(rows), np.int64)
        for w in range(rows.shape[1]):
            count += np.bitwise_count(rows[:, w] & layout.slot_mask[w])
        for number, sizes in self.contents.items():
            count += sizes[_values(layout, rows, number)]
        return count


def _values(layout: Layout, rows: npt.NDArray[np.uint64], number: int) -> npt.NDArray[np.int64]:
    word, shift, mask = layout.word[number], layout.shift[number], layout.mask[number]
    return ((rows[:, word] >> shift) & mask).astype(np.int64)


def column_of(text: str) -> str:
    """Return a name that SQL takes as it is."""
    name = re.sub(r"[^0-9a-z]+", "_", text.lower()).strip("_")
    return f"_{name}" if name[:1].isdigit() else name or "_"


# -- made from a search ------------------------------------------------------------------


def columns_of(search: Search) -> Columns:
    """Return the columns of a world, by what was numbered in a search of it."""
    tables, judge = search.tables, search.judge
    judge.refresh()
    parts: list[Column] = []
    codes = [*tables.codes.members, *([tables.codes.monitor] if tables.codes.monitor else [])]
    for number, code in enumerate(codes):
        told = [_told(code, local) for local in tables.values[number].values]
        parts += _columns(column_of(code.name), number, told)
    surroundings = [_left(item) for item in tables.values[tables.env_field].values]
    parts += _columns("", tables.env_field, surroundings)
    # A claim about the whole world is asked for each combination of all that is shown.  Where
    # the search did not do that in every state, there are too many to do it for a column.
    in_every_state = search.world.together is not None or any(
        claim.property.kind == "always" for claim in judge.whole
    )
    claims = {claim.property.name: claim.bit for claim in judge.whole if in_every_state}
    local = [c.property.name for c in judge.local if c.property.kind == "always"]
    about = {
        "level": "steps from the first state, at least",
        "messages": "in the network",
        "id": "its number in the search; here and in `parent` of a search on one machine alone",
        "parent": "the state before it on a shortest run; null: it is a first one",
        "step": "the step from there, in words",
        "is_stuck": "no step but a fault changes anything; null: not looked for",
    }
    about |= {
        column_of(claim.property.name): f"{claim.property.kind}: {claim.property.name}"
        for claim in judge.claims
        if claim.property.name in {*claims, *local}
    }
    return Columns(
        members=tuple(tables.names),
        parts=tuple(parts),
        claims=claims,
        broken={
            name: tuple(key for key, names in judge.broken.items() if name in names)
            for name in local
        },
        contents={
            f: np.array([len(item) for item in tables.values[f].values], np.int64)
            for f in range(tables.queue_field, tables.fields)
        },
        about=about,
    )


def _told(code: Any, local: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"up": local.up}
    shown = thaw(code.shows(local))
    if shown is not DOWN:
        found.update(_flat(shown))
    for name, text in code.describe(local).items():
        if name:
            durable = name.endswith("*")
            found.setdefault(f"disk_{column_of(name)}" if durable else column_of(name), text)
    return found


def _left(item: Surroundings) -> dict[str, Any]:
    left = (item.crash, item.wipe, item.lose, item.double, item.partitions)
    found: dict[str, Any] = {f"{name}_left": n for name, n in zip(LEFT, left, strict=True)}
    found["split"] = None if item.split is None else words_of_split(item.split)
    return found


def _flat(shown: Hashable) -> dict[str, Any]:
    parts = dict(_parts_of(shown))
    if not parts:
        return {"shows": _plain(shown)}
    found: dict[str, Any] = {}
    for name, value in parts.items():
        inner, kind = dict(_parts_of(value)), cast(Any, type(value))
        if inner and kind.__str__ is object.__str__:
            found.update({column_of(f"{name}_{k}"): _plain(v) for k, v in inner.items()})
        else:
            found[column_of(name)] = _plain(value)
    return found


def _parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Seen):
        yield from value.values
    elif not isinstance(value, enum.Enum):
        for item in getattr(type(value), "__attrs_attrs__", ()):
            yield item.name, getattr(value, item.name)


def _plain(value: Any) -> Any:
    if value is None or (isinstance(value, bool | int) and not isinstance(value, enum.Enum)):
        return value
    return plain(value)


def _columns(prefix: str, number: int, told: list[dict[str, Any]]) -> Iterator[Column]:
    for name in dict.fromkeys(name for item in told for name in item):
        values = [item.get(name) for item in told]
        kinds = {type(value) for value in values if value is not None}
        if kinds == {bool}:
            array = pa.array(values, pa.bool_())
        elif kinds == {int} and all(-(2**63) <= v < 2**63 for v in values if v is not None):
            array = pa.array(values, pa.int64())
        else:
            array = pa.array([None if v is None else plain(v) for v in values], pa.string())
        yield Column(f"{prefix}_{name}" if prefix else name, number, array)


@define
class About:
    """What a dataset says of itself, beside it."""

    world: str
    members: tuple[str, ...]
    states: int
    columns: dict[str, str]
    about: dict[str, str]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)
