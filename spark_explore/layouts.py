"""Layouts for rows in files, with spare room, because packing them again costs a job."""

from __future__ import annotations

from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.tables.tables import Tables

_SPARE_BITS = [
    *((bits, 1) for bits in range(12, 3, -1)),
    *((bits, 0) for bits in range(12, -1, -1)),
]
"""Layouts to try in this order: spare bits for fields that grow, and for other fields."""


def roomy(tables: Tables, before: list[int]) -> Layout:
    """Return a layout for the numbered values, with spare bits where they cost no word.

    `before`: how many values each field had some levels ago.  Fields that have more values now get
    most of the room; each field has room for at least one more value if that costs no word.  Rows
    wider than a word always get spare bits, which cost them little.
    """
    counts = tables.value_counts()
    slots = tables.slots
    more = slots + slots // 4 + 1 if tables.is_set_network else 0
    # All values of the environment's field are known from the start.
    fields = [field for field in range(tables.fields) if field != tables.env_field]
    grow = [field for field in fields if counts[field] > before[field]]
    need = [(max(1, count) - 1).bit_length() for count in counts]
    if tables.layout.words > 1 or Layout(need, slots, 1).words > 1:
        return Layout(_wider(need, dict.fromkeys(fields, 2)), more, max(tables.layout.words, 2))
    one_more = [
        width if field == tables.env_field else counts[field].bit_length()
        for field, width in enumerate(need)
    ]
    for growing, other in _SPARE_BITS:
        extra = {**dict.fromkeys(fields, other), **dict.fromkeys(grow, growing)}
        found = Layout(_wider(one_more, extra), more, 1)
        if found.words == 1:
            return found
    return Layout(need, slots, 1)


def _wider(need: list[int], extra: dict[int, int]) -> list[int]:
    return [width + extra.get(field, 0) for field, width in enumerate(need)]
