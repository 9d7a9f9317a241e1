"""One state stands for all its renamings of interchangeable members.

Every renaming is made of swaps of neighbours.  For each value and message, its images under these
swaps are numbered, too, so that a state is renamed by look-up.  If each value treats members
independently of one another (one colour for each member decides the value), sorting the members by
their colours is an exact canonical form.  Otherwise the least of all permutations is taken.

Whether members are interchangeable is checked at every step (`interchangeable.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from joinproto.check.engine.shapes import Ints, Row, Rows, Table
from joinproto.check.engine.symmetry.canonical import (
    Order,
    Swaps,
    least_permutation,
    sort_members,
    swap,
)
from joinproto.check.engine.symmetry.interchangeable import (
    CodeComparison,
    refuse_claims_about_names,
)
from joinproto.check.engine.symmetry.renamed import orbit
from joinproto.check.engine.tables.growing import Growing
from joinproto.check.engine.tables.queues import numbers_in, packed
from joinproto.check.engine.tables.tables import Tables
from joinproto.check.environment import Surroundings
from joinproto.check.faults import is_of_links
from joinproto.check.freeze import rename
from joinproto.check.problems import ModelProblem

PERMUTED_MAX = 7
"""The most interchangeable members if every permutation is tried (7 have 5,040)."""


class SortedFormInexact(Exception):
    """Sorting members is not exact for this world, so the search begins again with permutations."""


def plain_changes(count: int) -> list[int]:
    """Return the neighbour swaps that walk through all permutations of `count` (Johnson)."""
    order = list(range(count))
    step = [-1] * count
    swaps: list[int] = []
    while True:
        at = -1
        for place, item in enumerate(order):
            to = place + step[item]
            if 0 <= to < count and order[to] < item and (at < 0 or item > order[at]):
                at = place
        if at < 0:
            return swaps
        item = order[at]
        to = at + step[item]
        swaps.append(min(at, to))
        order[at], order[to] = order[to], order[at]
        for larger in range(item + 1, count):
            step[larger] = -step[larger]


def swapped_fields(tables: Tables, group: Ints) -> Table:
    """Return the field to which each field's value goes when neighbours of the group swap.

    Result: int64, shape (swap, field).
    """
    swaps, first = len(group) - 1, tables.queue_field
    found = np.tile(np.arange(tables.fields, dtype=np.int64), (swaps, 1))
    for j in range(swaps):
        a, b = int(group[j]), int(group[j + 1])
        exchanged = {a: b, b: a}
        found[j, a], found[j, b] = b, a
        for f in range(first, tables.fields):
            if tables.contents is not None:
                found[j, f] = first + exchanged.get(f - first, f - first)
            else:
                x, y = divmod(f - first, tables.members)
                x, y = exchanged.get(x, x), exchanged.get(y, y)
                found[j, f] = first + tables.queues.queue_between(x, y)
    return found


class Symmetry:
    """Canonical rows of a world with interchangeable members.

    `sorted_form`: whether a canonical row is found by sorting these members.
    """

    def __init__(self, tables: Tables, *, sorted_form: bool = True) -> None:
        self.tables = tables
        world = tables.world
        names = list(world.interchangeable)
        refuse_claims_about_names(world, names)
        self.names = names
        self.group = np.array([tables.number_of[name] for name in names], np.int64)
        self.swaps = len(names) - 1
        self.sorted_form = sorted_form
        self._order = [] if sorted_form else self._permutations()
        self._maps = [{names[j]: names[j + 1], names[j + 1]: names[j]} for j in range(self.swaps)]
        fields = tables.fields
        self.in_group = np.zeros(fields, np.int8)
        self.in_group[self.group] = 1
        self.swap_field = swapped_fields(tables, self.group)
        self._images: list[list[list[int]]] = [
            [[] for _ in range(fields)] for _ in range(self.swaps)
        ]
        self._message_images = [Growing(np.int32) for _ in range(self.swaps)]
        self._colours: dict[tuple[int, int], list[int]] = {}
        self._colour_count = 0
        self._classes: list[list[int]] = []
        self.code_comparison = CodeComparison(tables, names, self._maps, self.swap_field)
        self._off: Any = None
        self._taken: list[int] = []
        self.swap_message = np.zeros((self.swaps, 0), np.int32)
        self.classes = np.zeros((0, len(names)), np.int64)

    def _permutations(self) -> list[int]:
        if len(self.names) > PERMUTED_MAX:
            raise ModelProblem(
                f"{len(self.names)} interchangeable members whose states name each other",
                next=f"use at most {PERMUTED_MAX}, or run with --no-symmetry",
            )
        return plain_changes(len(self.names))

    # -- closing under renaming --------------------------------------------------------

    def _renamed(self, j: int, field: int, value: Any) -> int:
        """Return the number, in the swapped field, of the renamed value."""
        tables, names = self.tables, self._maps[j]
        to = int(self.swap_field[j, field])
        if field == tables.env_field:
            assert isinstance(value, Surroundings)
            of = tables.values[field].of
            if value.split is None:
                return of[value]
            from attrs import evolve

            moved = evolve(value, split=rename(value.split, names))
            if moved not in of and not is_of_links(value.split):
                rest = frozenset(tables.names) - frozenset(moved.split or ())
                moved = evolve(moved, split=rest)
            if moved not in of:
                raise ModelProblem(
                    "the splits of the world treat interchangeable members differently",
                    next="add every renamed split, or run with --no-symmetry",
                )
            return of[moved]
        if tables.contents is not None and field >= tables.contents.first:
            messages = self._message_images[j].array
            held = tuple(sorted(int(messages[m]) for m in value))
            return tables.contents.number(to - tables.contents.first, held)
        if field >= tables.queue_field:
            sent = [tables.messages.values[m] for m in numbers_in(value)]
            numbers = [tables.messages.add(rename(message, names))[0] for message in sent]
            numbers = numbers if tables.fifo else sorted(numbers)
            return tables.queues.number(to - tables.queue_field, packed(numbers))
        number = tables.number_local_state(to, self.code_comparison.renamed.state(j, value))
        # Keep the table's own object, and no equal one in addition.
        self.code_comparison.renamed.keep(j, value, tables.values[to].values[number])
        return number

    def refresh(self) -> bool:
        """Number the images of all values and messages; return whether any value was new.

        Raises:
            SortedFormInexact: the sorted form is not exact.
            ModelProblem: members differ.
        """
        tables = self.tables
        self.code_comparison.check()
        grew = False
        while True:
            again = False
            for j in range(self.swaps):
                # Messages first, because a sender's content is renamed by its messages' images.
                if tables.is_set_network:
                    again |= self._rename_messages(j)
                for f in range(tables.fields):
                    images = self._images[j][f]
                    values = tables.values[f].values
                    while len(images) < len(values):
                        images.append(self._renamed(j, f, values[len(images)]))
                        again = True
            if not again:
                break
            grew = True
        self.code_comparison.check_shown()
        tables.expiry.require_alike(self._message_images, self.swap_field)
        if grew and self.sorted_form:
            self._colour_values()
        return grew

    def _rename_messages(self, j: int) -> bool:
        """Number the image of every message of a set; return whether an image was missing."""
        tables, moved, names = self.tables, self._message_images[j], self._maps[j]
        first = moved.count
        while moved.count < len(tables.messages):
            sender, to, content = tables.messages.values[moved.count]
            moved.append(
                tables.number_message(
                    None if sender is None else names.get(sender, sender),
                    None if to is None else names.get(to, to),
                    rename(content, names),
                )
            )
        return moved.count > first

    # -- colours -----------------------------------------------------------------------

    def _image(self, j: int, f: int, v: int) -> tuple[int, int]:
        if f < 0:
            return -1, int(self._message_images[j].array[v])
        return int(self.swap_field[j, f]), self._images[j][f][v]

    def _images_of(self, node: tuple[int, int]) -> Iterator[tuple[int, int]]:
        return (self._image(j, *node) for j in range(self.swaps))

    def _transposed(self, a: int, b: int, f: int, v: int) -> tuple[int, int]:
        """Return (field, value) with group members a < b exchanged."""
        path = [*range(a, b), *range(b - 2, a - 1, -1)]
        for j in path:
            f, v = self._image(j, f, v)
        return f, v

    def _colour_values(self) -> None:
        """Give each (value, member) the number of its class under renaming."""
        tables = self.tables
        nodes = [(f, v) for f in range(tables.fields) for v in range(len(tables.values[f]))]
        if tables.is_set_network:
            nodes += [(-1, m) for m in range(len(tables.messages))]
        for node in nodes:
            if node in self._colours:
                continue
            every = orbit(node, self._images_of)
            self._colour_orbit(every)
            if self.sorted_form and not all(self._independent(item) for item in every):
                raise SortedFormInexact
            if node[0] < 0 and self.sorted_form:
                self._class_messages(every)

    def _colour_orbit(self, orbit: list[tuple[int, int]]) -> None:
        size = len(self.names)
        for item in orbit:
            self._colours[item] = [-1] * size
        for item in orbit:
            for i in range(size):
                if self._colours[item][i] >= 0:
                    continue
                self._colour_count += 1
                self._colours[item][i] = self._colour_count
                open_pairs = [(item, i)]
                for (f, v), at in open_pairs:
                    for j in range(self.swaps):
                        moved = self._image(j, f, v)
                        to = j + 1 if at == j else j if at == j + 1 else at
                        if self._colours[moved][to] < 0:
                            self._colours[moved][to] = self._colour_count
                            open_pairs.append((moved, to))

    def _independent(self, node: tuple[int, int]) -> bool:
        """Return whether one colour for each member decides the value."""
        f, v = node
        colours = self._colours[node]
        own = -1
        if f >= 0 and self.in_group[f]:
            own = list(self.group).index(f)
        rest = [i for i in range(len(self.names)) if i != own]
        for a, b in combinations(rest, 2):
            if colours[a] == colours[b] and self._transposed(a, b, f, v) != node:
                return False
        different = {colours[i] for i in rest}
        if own >= 0:
            return len(different) <= 1
        if f < 0:
            counts = [colours.count(colour) for colour in different]
            return len(different) == 1 or (len(different) == 2 and 1 in counts)
        return f < self.tables.queue_field or len(different) <= 1

    def _class_messages(self, orbit: list[tuple[int, int]]) -> None:
        if len(orbit) == 1:
            return
        owners: list[int] = [-1] * len(self.names)
        for node in orbit:
            colours = self._colours[node]
            for i, colour in enumerate(colours):
                # With two members, both colours occur once, and the orbit's first node decides.
                if colours.count(colour) == 1 and owners[i] < 0:
                    if len(self.names) == 2 and node[1] in owners:
                        continue
                    owners[i] = node[1]
        self._classes.append(owners)

    def images_of(self, row: Row) -> set[bytes]:
        """Return the row and its images under every swap of neighbours."""
        self._arrays()
        layout = self.tables.layout
        found = {row[0].tobytes()}
        for j in range(self.swaps):
            other = np.zeros(layout.words, np.uint64)
            swap(row[0], other, j, self._as_swaps())
            found.add(other.tobytes())
        return found

    # -- canonical rows ----------------------------------------------------------------

    def _arrays(self) -> None:
        """Write new values into the arrays, or all values if their places have changed."""
        tables, off = self.tables, self.tables.per_value.off
        if off is not self._off:
            size = int(off[-1])
            self._off, self._taken = off, [0] * tables.fields
            self.swap_value = np.zeros((self.swaps, size), np.int32)
            self.own = np.zeros(size, np.int32)
            self.colour = np.zeros((len(self.names), size), np.int32)
        for f, known in enumerate(self._taken):
            count, begin = len(tables.values[f]), int(off[f])
            for j in range(self.swaps if known < count else 0):
                images = self._images[j][f]
                assert count <= len(images), "values are renamed that have no image yet"
                self.swap_value[j, begin + known : begin + count] = images[known:count]
            for v in range(known, count if self.sorted_form else known):
                colours = self._colours[(f, v)]
                self.colour[:, begin + v] = colours
                if self.in_group[f]:
                    self.own[begin + v] = colours[list(self.group).index(f)]
            self._taken[f] = count
        messages = len(tables.messages) if tables.is_set_network else 0
        if self.swap_message.shape[1] < messages:
            moved = [images.array[:messages] for images in self._message_images]
            self.swap_message = np.stack(moved)
        if len(self.classes) < len(self._classes):
            self.classes = np.array(self._classes, np.int64)

    def form(self) -> Callable[[Rows], None]:
        """Return a function that replaces each row by the representative of all its renamings.

        It knows the values numbered now.  Several threads may call it at once, on different rows.
        """
        self._arrays()
        swaps, words = self._as_swaps(), self.tables.layout.words
        if self.sorted_form:
            order = Order(self.group, self.own, self.in_group, self.colour, self.classes)
            return lambda rows: sort_members(rows, order, swaps, _room(words))
        steps = np.array(self._order, np.int64)
        return lambda rows: least_permutation(rows, steps, swaps, _room(words))

    def canonical(self, rows: Rows) -> None:
        """Replace each row by the one state that stands for all its renamings."""
        self.form()(rows)

    def _as_swaps(self) -> Swaps:
        tables = self.tables
        where = tables.fields, tables.layout.places, tables.per_value.off
        return Swaps(*where, self.swap_field, self.swap_value, self.swap_message)


def _room(words: int) -> Rows:
    return np.empty((2, words), np.uint64)
