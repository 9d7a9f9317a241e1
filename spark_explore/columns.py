"""The columns of a state: each member's observation, claims, and remaining faults.

The values of a member's columns are made once for each of its local states, and then looked up.  A
column's name is the member's name, `_` and the shown attribute (`b1_phase`), or `b1_shows` if the
member shows one value without parts.  Attributes that traces have and observations lack are
columns, too; durable ones are `b1_disk_...`.  Values keep their types (`forms.py`).  A constant
value is no column: it is in the files' metadata, and in the file that describes the dataset.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from joinproto.check.engine.rows.bits import has_bit
from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Ints, Keys, Rows, SmallInts
from joinproto.check.environment import Surroundings
from joinproto.check.events import fields_of
from joinproto.check.faults import words_of_split
from joinproto.check.freeze import thaw
from joinproto.check.view import DOWN, ShownAttributes
from spark_explore.forms import form_of, name_of

FAULTS = ("crashes", "wipes", "losses", "duplicates", "partitions")


@frozen
class Column:
    """A column of field `number`.  `values`: an Arrow array, `values[n]` for its n-th value."""

    name: str
    number: int
    values: Any = field(repr=False)


@frozen
class Columns:
    """The conversion of rows to columns; it can be sent to executors.

    `claims`: name of a claim about the world to its bit in a combination's flags.  `broken`: name
    of an `always` about one member or two to the observations that break it.  `contents`: a queue's
    field to the length of each of its values.  `about`: name of a column to its meaning.  `names`:
    name of each part and claim to its type; `constants` are among them.
    """

    world: str
    members: tuple[str, ...]
    parts: tuple[Column, ...]
    claims: Mapping[str, int]
    broken: Mapping[str, tuple[tuple[int, ...], ...]]
    contents: Mapping[int, Ints]
    about: Mapping[str, str]
    names: Mapping[str, str]
    constants: Mapping[str, Any]

    def metadata(self) -> dict[str, str]:
        names = ("world", "members", "constants", "about")
        return {"joinproto": json.dumps({name: getattr(self, name) for name in names})}

    def table(
        self,
        layout: Layout,
        rows: Rows,
        levels: SmallInts,
        flags: Keys | None,
        wrong: Mapping[str, Ints],
    ) -> Any:
        """Return rows as an Arrow table.

        `levels`: each row's level, from 0.  `flags`: the flags of each row's combination.
        `wrong`: the rows that break each claim of `broken`.
        """
        names, found = ["level"], [pa.array(levels)]
        local: dict[int, Any] = {}
        for part in self.parts:
            if part.number not in local:
                local[part.number] = pa.array(layout.values(rows, part.number), pa.int32())
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
            if column_of(claim) in self.constants:
                continue
            assert flags is not None
            names.append(column_of(claim))
            found.append(pa.array(has_bit(flags, bit)))
        for claim, broken in self.broken.items():
            if not broken:
                continue
            holds = np.ones(len(rows), np.bool_)
            holds[wrong.get(claim, np.zeros(0, np.int64))] = False
            names.append(column_of(claim))
            found.append(pa.array(holds))
        return pa.Table.from_arrays(found, names=names)

    def _messages(self, layout: Layout, rows: Rows) -> Ints:
        count = np.zeros(len(rows), np.int64)
        for w in range(rows.shape[1]):
            count += np.bitwise_count(rows[:, w] & layout.slot_mask[w])
        for number, sizes in self.contents.items():
            count += sizes[layout.values(rows, number)]
        return count


def column_of(text: str) -> str:
    """Return the text as a name that SQL accepts without quotes."""
    name = re.sub(r"[^0-9a-z]+", "_", text.lower()).strip("_")
    return f"_{name}" if name[:1].isdigit() else name or "_"


# -- made from a search ------------------------------------------------------------------


def columns_of(search: Search) -> Columns:
    """Return the columns of a world, from the values that a search of it has numbered."""
    tables, judge = search.tables, search.judge
    judge.refresh()
    builder = _ColumnBuilder()
    codes = [*tables.codes.members, *([tables.codes.monitor] if tables.codes.monitor else [])]
    for number, code in enumerate(codes):
        shown = [_parts_shown(code, local) for local in tables.values[number].values]
        builder.add(f"{column_of(code.name)}_", number, shown)
    builder.add(
        "",
        tables.env_field,
        [_faults_left(item) for item in tables.values[tables.env_field].values],
    )
    # A claim about the whole world is evaluated for each combination of observations.  If the
    # search did not number the combination of every state, there are too many for a column.
    are_numbered = search.world.together is not None or any(
        claim.property.kind == "always" for claim in judge.whole
    )
    claims = {claim.property.name: claim.bit for claim in judge.whole if are_numbered}
    for name, bit in claims.items():
        flags = judge.flags[: judge.evaluated]
        builder.add_claim(name, set(has_bit(flags, bit).tolist()))
    local = [c.property.name for c in judge.local if c.property.kind == "always"]
    broken = {
        name: tuple(key for key, names in judge.broken.items() if name in names) for name in local
    }
    for name, breaking in broken.items():
        builder.add_claim(name, {True, not breaking})
    about = {
        "level": "the number of steps of a shortest run to the state",
        "messages": "the number of messages in the network",
        "id": "the state's number, from 0; the states of a level come before those of the next",
        "parent": "the id of the state before it on a shortest run; null: none, or unknown",
        "step": "the step from the parent to the state, in words",
        "is_stuck": "no step but a fault changes the state; null: the state was not expanded",
    }
    about |= {
        column_of(claim.property.name): f"{claim.property.kind}: {claim.property.name}"
        for claim in judge.claims
        if claim.property.name in {*claims, *local}
    }
    return Columns(
        world=search.world.name,
        members=tuple(tables.names),
        parts=tuple(builder.parts),
        claims=claims,
        broken=broken,
        contents={
            f: np.array([len(item) for item in tables.values[f].values], np.int64)
            for f in range(tables.queue_field, tables.fields)
        },
        about=about,
        names=builder.names,
        constants=builder.constants,
    )


@define
class _ColumnBuilder:
    """The columns and constants made so far.  `names`: the name of each, to its type."""

    parts: list[Column] = field(factory=list)
    names: dict[str, str] = field(factory=dict)
    constants: dict[str, Any] = field(factory=dict)

    def add(self, prefix: str, number: int, shown: list[dict[str, Any]]) -> None:
        """Add the columns of field `number`.  `shown`: the parts of each of its values."""
        parts = [*dict.fromkeys(name for item in shown for name in item)]
        for part in parts:
            values = [item.get(part) for item in shown]
            name, form = f"{prefix}{part}", form_of(values)
            first, *others = form.written(values)
            is_same = all(other == first for other in others)
            if is_same and first is None and any(other.startswith(f"{part}_") for other in parts):
                continue  # None for an object whose fields are columns
            self.names[name] = name_of(form.kind)
            if is_same:
                self.constants[name] = first
            else:
                self.parts.append(Column(name, number, form.array(values)))

    def add_claim(self, name: str, found: set[bool]) -> None:
        """Add a claim; `found`: its possible values."""
        self.names[column_of(name)] = "bool"
        if len(found) == 1:
            (self.constants[column_of(name)],) = found


def _parts_shown(code: Any, local: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"up": local.up}
    shown = thaw(code.shows(local))
    if shown is not DOWN:
        parts = _parts_of(shown)
        for name, value in parts.items():
            found.update(_spread(name, value))
        if not parts:
            found["shows"] = shown
    for name, value in code.traced(local):
        prefix = "disk_" if name.endswith("*") else ""
        for part, item in _spread(name, value).items():
            found.setdefault(f"{prefix}{part}", item)
    return found


def _parts_of(shown: Any) -> dict[str, Any]:
    if isinstance(shown, ShownAttributes):
        return dict(shown.values)
    named = getattr(type(shown), "__attrs_attrs__", None)
    if named is None:
        return fields_of(shown) or {}
    return {item.name: getattr(shown, item.name) for item in named}


def _spread(name: str, value: Any) -> dict[str, Any]:
    """Return an attribute, or its fields if its value is an object without `__str__`."""
    fields = fields_of(value)
    if not fields:
        return {column_of(name): value}
    return {column_of(f"{name}_{part}"): item for part, item in fields.items()}


def _faults_left(item: Surroundings) -> dict[str, Any]:
    left = (item.crash, item.wipe, item.lose, item.double, item.partitions)
    found: dict[str, Any] = {f"{name}_left": n for name, n in zip(FAULTS, left, strict=True)}
    found["split"] = None if item.split is None else words_of_split(item.split)
    return found
