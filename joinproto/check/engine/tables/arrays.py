"""The numbered world as arrays: the part that compiled loops read, without the numbered values.

`Tables` in `tables.py` is the subclass that knows the values.  A search on many machines gives each
of them a copy that knows only the numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.shapes import Masks, Questions, Rows
from joinproto.check.engine.tables import kernel
from joinproto.check.engine.tables.contents import Contents
from joinproto.check.engine.tables.grids import Grids
from joinproto.check.engine.tables.growing import Growing, Ragged, columns
from joinproto.check.memory import Budget


class Arrays(ABC):
    """The tables of one world, as arrays.

    Fields are members, monitor, environment, queues or senders' contents, in this order.
    """

    environment_tables: kernel.EnvironmentTables

    def __init__(self, shape: kernel.Shape, *, is_set_network: bool) -> None:
        self._shape = shape
        self.is_set_network = is_set_network
        self.fifo = shape.fifo
        self.members = shape.members
        self.monitor = shape.monitor
        self.env_field = shape.env
        self.queue_field = shape.queues
        self.queue_count = shape.queue_count
        self.fields = shape.queues + shape.queue_count
        self.per_value = Ragged(
            self.fields,
            choice_first=(np.int32, 0),
            choice_count=(np.int32, 0),
            take_first=(np.int32, 0),
            take_count=(np.int32, 0),
            heard_by=(np.int64, 0),
            shown=(np.int32, 0),
            horizon=(np.int32, 0),
        )
        self.cells = Grids(self.fields, kernel.UNKNOWN)
        # The contents of queues with one message more, and with one message less.
        self.adds_table = Grids(max(self.queue_count, 1), kernel.UNKNOWN)
        self.rests = Grids(max(self.queue_count, 1), kernel.UNKNOWN)
        self.choice_column = Growing(np.int32)
        self.out = columns(
            next=np.int32,
            cost=np.int8,
            last=np.int8,
            adds=np.int8,
            plain=np.int8,
            send_first=np.int32,
            send_count=np.int32,
            taken=np.int64,
        ) | {"tells": Growing(np.int32, -1)}
        self.outcome_messages: list[tuple[int, ...]] = []
        self.send_queue = Growing(np.int32)
        self.send_message = Growing(np.int32)
        ints = np.int32
        self.to = columns(first=ints, counts=ints, member=ints, column=ints, link=ints)
        self.take_message = Growing(ints)
        # For a queue and a message, the column of the receiver's event.
        self.heard_as = columns(queue=ints, message=ints, column=ints)
        self._column = np.zeros((max(self.queue_count, 1), 1), np.int32)
        self._columns_upto = 0
        self.joint = columns(first=ints, counts=ints) | columns(
            part_first=ints, part_count=ints, part_member=ints, part_column=ints
        )
        self.event_taken = np.zeros(8, np.int64)
        self.contents: Contents | None = None
        self._budget: Budget | None = None
        self.layout = Layout([0] * self.fields, 0)
        self._added = np.zeros((64, 1), np.uint64)
        self._added_upto = 0

    @abstractmethod
    def fill(self, asked: Questions) -> None:
        """Answer the kernel's questions, rows (kind, x, y, z)."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold answers back until the end of the `with` block, while other threads read the tables.

        All answers are then written together, which is faster.  A nested block has no effect.
        """
        if self.cells.is_held:
            yield
            return
        held: list[Grids | Contents] = [*self._grids]
        if self.contents is not None:
            held.append(self.contents)
        for one in held:
            one.hold()
        try:
            yield
        finally:
            for one in held:
                one.release()

    @property
    def _grids(self) -> tuple[Grids, ...]:
        return self.cells, self.adds_table, self.rests

    def grid_of(self, kind: int) -> Grids:
        """Return the grid with the answers to questions of that kind, except for numbered sets."""
        if kind == kernel.ASK_CELL:
            return self.cells
        return self.rests if kind == kernel.ASK_REST else self.adds_table

    # -- memory ------------------------------------------------------------------------

    def bound_by(self, budget: Budget) -> None:
        """From now on raise `MemoryLimitMet` if the tables would grow beyond `budget`."""
        self._budget = budget
        for grids in self._grids:
            grids.claim = budget.claim
        if self.contents is not None:
            self.contents.bound_by(budget.claim)

    def claim(self, more: int) -> None:
        """Raise `MemoryLimitMet` if the process may not take this many more bytes."""
        if self._budget is not None:
            self._budget.claim(more)

    @property
    def bytes_used(self) -> int:
        growing = (*self.out.values(), *self.to.values(), *self.heard_as.values())
        growing = (*growing, *self.joint.values(), self.choice_column, self.take_message)
        arrays = [item.array for item in growing]
        arrays += [*self.per_value.arrays.values(), self._added, self._column]
        grids = sum(grids.bytes_used for grids in self._grids)
        if self.contents is not None:
            grids += self.contents.bytes_used
        return grids + sum(array.nbytes for array in arrays)

    @property
    def era(self) -> int:
        """How often horizons were numbered again, and the answers about them dropped."""
        return 0 if self.contents is None else self.contents.era

    def forget_taken(self) -> None:
        """Reset the counts of taken steps."""
        self.out["taken"].array[:] = 0
        self.event_taken[:] = 0

    def forget_asked(self) -> None:
        """Allow unanswered questions to be asked again."""
        for grids in self._grids:
            grids.forget(kernel.ASKED)
        if self.contents is not None:
            self.contents.forget_asked(kernel.ASKED)

    # -- how much is numbered ------------------------------------------------------------

    @abstractmethod
    def value_counts(self) -> list[int]:
        """Return how many values each field has."""

    @abstractmethod
    def column_counts(self) -> list[int]:
        """Return how many events each field has."""

    @abstractmethod
    def message_count(self) -> int:
        """Return how many different messages there are; in queues they differ by content."""

    @abstractmethod
    def needed_messages(self) -> tuple[Masks, int]:
        """Return the masks of `Expiry.needed`, and the number of horizons."""

    # -- as arrays ---------------------------------------------------------------------

    @property
    def slots(self) -> int:
        """The number of messages that have a bit in rows."""
        return self.message_count() if self.is_set_network and self.contents is None else 0

    def outgrown(self) -> bool:
        """Return whether a number or a message no longer fits into the layout."""
        return self.slots > self.layout.capacity or any(
            count > (1 << width)
            for count, width in zip(self.value_counts(), self.layout.widths, strict=True)
        )

    def grow_layout(self, layout: Layout | None = None) -> Layout:
        """Use `layout`, or a new one with room for all numbers; return the previous layout."""
        old = self.layout
        if layout is None:
            slots = self.slots if self.is_set_network and self.contents is None else None
            layout = old.grown([max(1, count) for count in self.value_counts()], slots)
        self.layout = layout
        self._added_upto = 0
        return old

    def repacked(self, rows: Rows, old: Layout, into: Rows | None = None) -> Rows:
        """Return rows that `old` packed, packed by the present layout (see `Layout.repack`)."""
        messages = min(old.capacity, self.slots)
        return self.layout.repack(rows, len(rows), old, messages, into)

    def _added_masks(self) -> Masks:
        if self.contents is not None:
            return self._added
        words = self.layout.words
        count = len(self.outcome_messages)
        if self._added.shape[1] != words or len(self._added) < count:
            grown = np.zeros((max(64, 2 * count), words), np.uint64)
            self._added = grown
            self._added_upto = 0
        if self._added_upto == 0:
            self._added[:] = 0
        for o in range(self._added_upto, count):
            for m in self.outcome_messages[o]:
                w = self.layout.slot_word[m]
                self._added[o, w] |= np.uint64(1) << self.layout.slot_bit[m]
        self._added_upto = count
        return self._added

    def lookup(self) -> kernel.Lookup:
        """Return the tables as the kernel reads them; valid until the tables change."""
        # Make room for all values that the fields have, so that no look-up leaves its block.
        values, columns = self.value_counts(), self.column_counts()
        for field in range(self.queue_field):
            self.cells.make_room(field, max(1, values[field]), max(1, columns[field]))
        for queue in range(self.queue_count):
            field = self.queue_field + queue
            held, at = values[field], int(self.per_value.off[field])
            self.adds_table.make_room(queue, max(1, held), max(1, self.message_count()))
            takes = self.per_value.arrays["take_count"][at : at + held]
            self.rests.make_room(queue, max(1, held), max(1, int(takes.max(initial=0))))
        for grids in self._grids:
            grids.make_room_for_asks()
        needed, horizons = self.needed_messages()
        layout, per, plain = self.layout, self.per_value.arrays, self.out["plain"].array
        return kernel.Lookup(
            words=layout.words,
            fields=kernel.Fields(layout.word, layout.shift, layout.mask, self.per_value.off),
            choices=kernel.Choices(
                per["choice_first"], per["choice_count"], self.choice_column.array
            ),
            blocks=kernel.Blocks(self.cells.array, self.cells.off, self.cells.stride),
            outcomes=kernel.Outcomes(
                **_read(self.out, "next", "cost", "last", "adds", "tells", "taken"),
                # Where contents are numbered, no step is plain, because messages have no bits.
                plain=plain if self.contents is None else np.zeros(len(plain), np.int8),
                added=self._added_masks(),
            ),
            of_use=kernel.OfUse(per["horizon"], needed, horizons),
            takes=kernel.TakeTables(per["take_first"], per["take_count"], per["heard_by"]),
            environment=self.environment_tables,
            joint=kernel.Joint(**_read(self.joint, *self.joint)),
            event_taken=self.event_taken,
        )

    def queued(self) -> kernel.Queued | None:
        """Return the tables of queues and bags; None if the world has no queues."""
        if not self.queue_count:
            return None
        queues, messages, columns = (one.array for one in self.heard_as.values())
        count, begin = self.heard_as["queue"].count, self._columns_upto
        if self.message_count() > self._column.shape[1]:
            wide = 2 * self.message_count()
            self.claim(4 * self.queue_count * wide)
            self._column, begin = np.zeros((self.queue_count, wide), np.int32), 0
        new = slice(begin, count)
        self._column[queues[new], messages[new]] = columns[new]
        self._columns_upto = count
        return kernel.Queued(
            self.take_message.array,
            self._column,
            self.rests.arrays,
            self.adds_table.arrays,
            np.arange(self.queue_count, dtype=np.int32) % self.members,
            np.arange(self.queue_count, dtype=np.int32),
            self.out["send_first"].array,
            self.out["send_count"].array,
            self.send_queue.array,
            self.send_message.array,
        )

    def bits(self) -> kernel.Bits | None:
        """Return the tables of a set's messages; None if they have no bits."""
        if not self.is_set_network or self.contents is not None:
            return None
        layout = self.layout
        return kernel.Bits(layout.slot_mask, layout.slot_at, **_read(self.to, *self.to))

    def loop_tables(self) -> tuple[Any, kernel.Bits | None, kernel.Queued | None]:
        """Return cells (see `Grids.sparse`), bits and queues for the compiled loops."""
        # Where contents are numbered, a loop that reads only blocks would take half a minute to
        # compile, would be used for some levels only, and is no faster.
        cells = self.cells.sparse if self.contents is None else self.cells.arrays
        return cells, self.bits(), self.queued()

    def sets(self) -> kernel.Sets | None:
        """Return the tables of numbered contents, or None if each message has a bit."""
        return None if self.contents is None else self.contents.arrays()

    def shape(self) -> kernel.Shape:
        return self._shape


def _read(tables: Mapping[str, Growing], *names: str) -> dict[str, Any]:
    return {name: tables[name].array for name in names}
