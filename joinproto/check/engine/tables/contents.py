"""The messages of a set that one member has under way, its content, as one number.

There are many messages, but few contents of one sender: in `join` there are 1,128 messages, and the
four senders have 8,560, 2,739, 2,722 and 97 contents.  So a row that would need many words of bits
has a field for each sender instead, with the number of its content.  The content after a send or an
expiry is a cell of a table, filled once like all cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.shapes import Rows
from joinproto.check.engine.tables.grids import Grids
from joinproto.check.engine.tables.growing import Growing
from joinproto.check.engine.tables.kernel import (
    ASK_ADD,
    ASK_TRIM,
    DELIVERIES_MAX,
    MARKS,
    MOVES,
    OUTCOMES_MAX,
    SLEEPS,
    SPENDS,
    VALUES_MAX,
    Sets,
)

if TYPE_CHECKING:
    from joinproto.check.engine.tables.numbers import Numbers
    from joinproto.check.engine.tables.tables import Tables

VECTORS_MAX_BITS = 24
"""The most bits that the horizons of all members may take together."""


class Contents:
    """Numbers for the contents of each sender.  A content is a sorted tuple of messages.

    Contents are the values of the fields from `first` on, one field for each sender.  `era`: how
    often the horizons were numbered again.
    """

    def __init__(self, tables: Tables, unknown: int) -> None:
        self._tables = tables
        self.first, self.senders = tables.queue_field, tables.members
        self._sent: list[dict[tuple[int, ...], int]] = [{} for _ in range(self.senders)]
        self._sets: list[list[tuple[int, ...]]] = [[] for _ in range(self.senders)]
        self._sends, self._leads = Growing(np.int32, -1), Growing(np.int64, -1)
        self._sleeps, self._until = Growing(np.int8), Growing(np.int32)
        self._member, self._message, self._column = (Growing(np.int32) for _ in range(3))
        self._adds = Grids(self.senders, unknown)
        self._trims = Grids(self.senders, unknown)
        self._unknown = unknown
        self._deliveries_most = 0
        self._claim: Callable[[int], None] | None = None
        self._bits = [0] * self.senders
        self._vectors: list[tuple[int, ...]] = []
        self.era = 0
        self._vector = np.zeros(1, np.int32)
        self._shifts = np.zeros(self.senders, np.int64)
        self._held: dict[int, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tables": None, "_claim": None}

    def attach(self, tables: Tables) -> None:
        """Set the tables, which are left out when the contents are stored."""
        self._tables = tables

    def bound_by(self, claim: Callable[[int], None]) -> None:
        """From now on call `claim` with the number of bytes before tables allocate them."""
        self._claim = claim
        self._adds.claim = self._trims.claim = claim

    @property
    def bytes_used(self) -> int:
        of_outcomes = (self._sends, self._leads, self._sleeps, self._until)
        growing = (*of_outcomes, self._member, self._message, self._column)
        grids = self._adds.bytes_used + self._trims.bytes_used
        return grids + self._vector.nbytes + sum(item.array.nbytes for item in growing)

    def number(self, sender: int, messages: tuple[int, ...]) -> int:
        """Return the number of a sender's content; `messages` must be sorted."""
        tables, field = self._tables, self.first + sender
        known = tables.values[field].of.get(messages)
        if known is not None:
            return known
        tables.per_value.make_room(field, len(tables.values[field]) + 1)
        number, _ = tables.values[field].add(messages)
        first, receivers, heard_by = self._member.count, tables.receivers, 0
        for message in messages:
            members, columns, bits = receivers[message]
            heard_by |= bits
            self._member.append_all(members)
            self._column.append_all(columns)
            self._message.append_all([message] * len(members))
        count = self._member.count - first
        self._deliveries_most = max(self._deliveries_most, count)
        at = int(tables.per_value.off[field]) + number
        tables.per_value.arrays["take_first"][at] = first
        tables.per_value.arrays["take_count"][at] = count
        tables.per_value.arrays["heard_by"][at] = heard_by
        return number

    def numbers(self, messages: list[int]) -> list[int]:
        """Return the number of each sender's content when `messages` are under way."""
        tables = self._tables
        sent: list[list[int]] = [[] for _ in range(self.senders)]
        for message in sorted(set(messages)):
            sent[tables.number_of[tables.messages.values[message][0]]].append(message)
        return [self.number(sender, tuple(held)) for sender, held in enumerate(sent)]

    def messages(self, fields: list[int]) -> list[int]:
        """Return the messages under way in a row whose fields hold these numbers."""
        values = self._tables.values
        held = (values[self.first + q].values[fields[self.first + q]] for q in range(self.senders))
        return sorted(message for messages in held for message in messages)

    def in_bits(
        self,
        rows: Rows,
        held: Sequence[Numbers],
        old: Layout,
        layout: Layout,
    ) -> Rows:
        """Return `rows`, packed by `old`, packed by `layout`, in which each message has a bit.

        `held`: the contents of each sender.
        """
        # A copy, because rows that keep their number of words are packed in place.
        found = layout.repack(rows.copy(), len(rows), old, 0)
        for field, contents in enumerate(held, start=self.first):
            bits = np.zeros((len(contents), layout.words), np.uint64)
            for number, messages in enumerate(contents.values):
                for m in messages:
                    bits[number, layout.slot_word[m]] |= np.uint64(1) << layout.slot_bit[m]
            found |= bits[old.values(rows, field)]
        return found

    # -- answers -------------------------------------------------------------------------

    def fill(self, kind: int, x: int, y: int, z: int) -> None:
        """Answer one of the kernel's questions."""
        if kind == ASK_ADD:
            self._fill_add(x, y, z)
        elif kind == ASK_TRIM:
            self._fill_trim(x, y, z)
        else:
            self._fill_vector(x)

    def _fill_add(self, sender: int, content: int, sent: int) -> None:
        """Write the content that results when a set of messages is sent."""
        held = self._tables.values[self.first + sender].values[content]
        more = tuple(sorted({*held, *self._sets[sender][sent]}))
        self._adds.put(sender, content, sent, self.number(sender, more))

    def _fill_trim(self, sender: int, content: int, vector: int) -> None:
        """Write the content without messages that are of no use at the numbered horizons."""
        held = self._tables.values[self.first + sender].values[content]
        kept = self._tables.expiry.of_use(held, self._vectors[vector])
        self._trims.put(sender, content, vector, self.number(sender, kept))

    def _fill_vector(self, packed: int) -> None:
        """Give the packed horizons of all members the next number."""
        if self._held is None:
            self._vector[packed] = len(self._vectors) + 1
        else:
            self._held[packed] = len(self._vectors) + 1
        self._vectors.append(
            tuple(
                (packed >> int(shift)) & ((1 << bits) - 1)
                for shift, bits in zip(self._shifts, self._bits, strict=True)
            )
        )
        for sender in range(self.senders):
            held = len(self._tables.values[self.first + sender])
            self._trims.make_room(sender, held, len(self._vectors))

    def hold(self) -> None:
        """Hold answers back, as `Grids.hold` does."""
        self._held = {}
        self._adds.hold()
        self._trims.hold()

    def release(self) -> None:
        """Write the answers that were held back."""
        held, self._held = self._held, None
        for packed, number in (held or {}).items():
            self._vector[packed] = number
        self._adds.release()
        self._trims.release()

    def forget_asked(self, asked: int) -> None:
        """Allow unanswered questions to be asked again."""
        self._adds.forget(asked)
        self._trims.forget(asked)
        self._vector[self._vector < 0] = 0

    # -- as arrays -----------------------------------------------------------------------

    def have_too_many_horizons(self) -> bool:
        """Return whether numbers have more bits than the packed keys and items have room for."""
        values = [len(numbers) for numbers in self._tables.values]
        most = max(*values, len(self._tables.outcome_messages))
        return (
            sum(self._horizon_bits()) > VECTORS_MAX_BITS
            or most > VALUES_MAX
            or max(self._deliveries_most, self.senders**2) > DELIVERIES_MAX
        )

    def _horizon_bits(self) -> list[int]:
        per_value, values = self._tables.per_value, self._tables.values
        found = []
        for member in range(self.senders):
            off = int(per_value.off[member])
            horizons = per_value.arrays["horizon"][off : off + len(values[member])]
            found.append(int(horizons.max(initial=0)).bit_length())
        return found

    def _number_sends(self, first: int) -> list[int]:
        tables, numbers = self._tables, []
        for o in range(first, len(tables.outcome_messages)):
            messages, number = tables.outcome_messages[o], -1
            if messages:
                sender, sent = tables.outcome_cell[o][0], tuple(sorted(messages))
                number = self._sent[sender].setdefault(sent, len(self._sets[sender]))
                if number == len(self._sets[sender]):
                    self._sets[sender].append(sent)
            numbers.append(number)
        return numbers

    def _number_outcomes(self) -> None:
        """Write `Sets.sends`, `leads` and `sleeps` for each new outcome.

        `leads`: the next local state; from bit 32 on, 1 + the number of the messages sent; `MOVES`
        if the horizon changes.  -1 if the event has several outcomes, or changes anything else.
        """
        first, tables = self._sends.count, self._tables
        if first == len(tables.outcome_messages):
            return
        sends = np.array(self._number_sends(first), np.int32)
        count = first + len(sends)
        out = {name: growing.array[first:count] for name, growing in tables.out.items()}
        member, local, _ = np.array(tables.outcome_cell[first:], np.int64).T
        is_member = member < self.senders
        off, horizon = tables.per_value.off[member], tables.per_value.arrays["horizon"]
        # An outcome of the monitor has no local state in `outcome_cell`, so use 0.
        before = horizon[off + np.where(is_member, local, 0)]
        after = horizon[off + out["next"]]
        leads = out["next"] | (sends + np.int64(1)) << 32 | np.where(after == before, 0, MOVES)
        # Outcomes of one event follow each other up to one with `last`, or where memory ran out.
        ends = np.flatnonzero([*out["last"][:-1], True])
        begins, many = np.concatenate([[0], ends[:-1] + 1]), np.diff(ends, prepend=-1)
        stays = (after >= before) & is_member
        may = np.logical_and.reduceat(stays, begins) & (many <= OUTCOMES_MAX)
        spends = (many > 1) | (out["cost"][begins] != 0)
        sleeps = np.repeat(np.where(may, SLEEPS, 0) | np.where(spends, SPENDS, 0), many)
        sleeps |= np.where(stays & (out["tells"] < 0), MARKS, 0)
        is_plain = is_member & (out["plain"] != 0)
        leads = np.where(is_plain, leads, -1)
        found = (self._sends, sends), (self._leads, leads), (self._sleeps, sleeps)
        # Make room first, so that all or none are extended if memory runs out.
        for growing, _ in found:
            growing.make_room_for(len(sends))
        for growing, values in found:
            growing.extend(values)

    def _number_messages(self) -> None:
        expiry, members = self._tables.expiry, range(self.senders)
        for message in range(self._until.count // self.senders, len(self._tables.messages)):
            for member in members:
                self._until.append(expiry.of_use_until(message, member))

    def _widen_vectors(self) -> None:
        bits = self._horizon_bits()
        if bits == self._bits:
            return
        # Horizons are packed in another way now, so the cells that depend on them are dropped.
        self.era += 1
        self._bits = bits
        self._shifts = np.concatenate([[0], np.cumsum(bits)[:-1]]).astype(np.int64)
        self._vector = np.zeros(1 << sum(bits), np.int32)
        self._vectors = []
        self._trims = Grids(self.senders, self._unknown)
        if self._claim is not None:
            self._trims.claim = self._claim

    def arrays(self) -> Sets:
        """Return the tables as the kernel reads them; valid until the tables change."""
        self._number_outcomes()
        self._number_messages()
        self._widen_vectors()
        for sender in range(self.senders):
            held = max(1, len(self._tables.values[self.first + sender]))
            self._adds.make_room(sender, held, max(1, len(self._sets[sender])))
            self._trims.make_room(sender, held, max(1, len(self._vectors)))
        self._adds.make_room_for_asks()
        self._trims.make_room_for_asks()
        return Sets(
            self._member.array,
            self._message.array,
            self._column.array,
            self._sends.array,
            self._leads.array,
            self._sleeps.array,
            self._until.array,
            self._adds.arrays,
            self._trims.arrays,
            self._vector,
            self._shifts,
        )
