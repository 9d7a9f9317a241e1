"""Layouts for rows that lie in files: with room, because packing them anew costs a job."""

from __future__ import annotations

from models.engine.layout import Layout
from models.engine.tables import Tables


def roomy(tables: Tables, before: list[int]) -> Layout:
    """Return a layout for what is numbered, with room for more where it costs no word.

    `before`: how many values fields had a while ago.  Those that have more now get the
    room there is, the others one bit.  Rows wider than a word have room in any case: it
    costs them little.
    """
    counts = tables.value_counts()
    need = [(max(1, count) - 1).bit_length() for count in counts]
    slots = tables.slots
    more = slots + slots // 4 + 1 if tables.set_network else 0
    # The surroundings are all known from the start.
    fields = [field for field in range(tables.fields) if field != tables.env_field]
    grow = [field for field in fields if counts[field] > before[field]]
    if tables.layout.words > 1 or Layout(need, slots, 1).words > 1:
        return Layout(_wider(need, dict.fromkeys(fields, 2)), more, max(tables.layout.words, 2))
    for bits in range(12, -1, -1):
        found = Layout(
            _wider(need, {**dict.fromkeys(fields, 1), **dict.fromkeys(grow, bits)}), more, 1
        )
        if found.words == 1:
            return found
    return Layout(need, slots, 1)


def _wider(need: list[int], extra: dict[int, int]) -> list[int]:
    return [width + extra.get(field, 0) for field, width in enumerate(need)]
