"""What is under way from one member to another, as numbers: contents of queues and of bags."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from joinproto.check.engine import kernel
from joinproto.check.events import Message
from joinproto.check.local import Outcome
from joinproto.check.network import too_full

if TYPE_CHECKING:
    from joinproto.check.engine.tables import Tables


class Queues:
    """The values of the fields of queues: numbers of messages, in order.  (A bag's are sorted.)"""

    def __init__(self, tables: Tables) -> None:
        network = tables.world.network
        self._tables = tables
        self._capacity: int | None = getattr(network, "capacity", None)
        self._waits = getattr(network, "when_full", "") == "wait"
        # By queue and message, of the addressee's events.
        self._columns: dict[int, dict[int, int]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tables": None}

    def attach(self, tables: Tables) -> None:
        """Number those of these tables, from which they were taken to be kept."""
        self._tables = tables

    def between(self, sender: int, to: int) -> int:
        return sender * self._tables.members + to

    def sent(
        self, sender: int, messages: Iterable[tuple[str | None, Hashable]]
    ) -> list[tuple[int, int]]:
        """Return the queue and the number of each message that a member sends: to one, or all."""
        tables, found = self._tables, []
        for to, content in messages:
            number, _ = tables.messages.add(content)
            others = [m for m in range(tables.members) if m != sender]
            receivers = others if to is None else [tables.number_of[to]]
            found += [(self.between(sender, member), number) for member in receivers]
        return found

    def sent_by(self, sender: int, outcome: Outcome) -> list[tuple[int, int]]:
        """Return the same of what an outcome sends and does not lose, with room for it."""
        tables, queued = self._tables, self.sent(sender, outcome.sent)
        if outcome.cost == "crash" and tables.fifo:
            # What it sent itself before it crashed is under way to it, and lost.
            queued = [pair for pair in queued if pair[0] % tables.members != sender]
        for queue, number in queued:
            self.number(queue, ())
            held = len(tables.values[tables.queue_field + queue])
            tables.adds_table.make_room(queue, held, number + 1)
        return queued

    def with_one_more(self, held: tuple[int, ...], message: int) -> tuple[int, ...] | None:
        """Return what a queue holds after a send; None where it is full and the sender waits."""
        if self._capacity is not None and len(held) >= self._capacity:
            return None if self._waits else held
        more = (*held, message)
        return more if self._tables.fifo else tuple(sorted(more))

    def begin(
        self,
        queues: list[tuple[int, ...]],
        sender: int,
        messages: Iterable[tuple[str | None, Hashable]],
    ) -> None:
        """Let `queues` hold what a member sends before the first step."""
        for queue, message in self.sent(sender, messages):
            more = self.with_one_more(queues[queue], message)
            if more is None:
                raise too_full(self._tables.names[sender])
            queues[queue] = more

    def number(self, queue: int, content: tuple[int, ...]) -> int:
        """Return the number of what a queue holds (numbers of messages, in order)."""
        tables = self._tables
        field = tables.queue_field + queue
        known = tables.values[field].of.get(content)
        if known is not None:
            return known
        sender, to = divmod(queue, tables.members)
        heads = (
            [0]
            if tables.fifo
            else [i for i in range(len(content)) if i == 0 or content[i] != content[i - 1]]
        )
        columns = self._columns.setdefault(queue, {})
        entries = [content[i] for i in heads] if content else []
        for message in entries:
            if message not in columns:
                event = Message(tables.names[sender], tables.messages.values[message])
                columns[message] = tables.column(to, event)
        number = len(tables.values[field])
        tables.per_value.make_room(field, number + 1)
        tables.adds_table.make_room(queue, number + 1, max(1, len(tables.messages)))
        tables.values[field].add(content)
        first = tables.take["column"].count
        tables.take["column"].append_all([columns[message] for message in entries])
        tables.take["message"].append_all(entries)
        # What is left is numbered when it is asked for.
        tables.take["rest"].append_all([kernel.UNKNOWN] * len(entries))
        tables.take_queue.append_all([queue] * len(entries))
        at = tables.per_value.off[field] + number
        if tables.world.show_links:
            held = tuple(tables.messages.values[m] for m in content)
            held = held if tables.fifo else tuple(sorted(held, key=repr))
            tables.per_value.arrays["shown"][at] = tables.shown[field].add((held, None))[0]
        tables.per_value.arrays["take_first"][at] = first
        tables.per_value.arrays["take_count"][at] = len(entries)
        return number

    def fill_rest(self, take: int) -> None:
        """Number what a queue holds without the message of a take."""
        tables, queue = self._tables, int(self._tables.take_queue.array[take])
        field = tables.queue_field + queue
        begin = int(tables.per_value.off[field])
        # Contents are numbered in the order of their takes.
        first = tables.per_value.arrays["take_first"][begin : begin + len(tables.values[field])]
        held = tables.values[field].values[int(np.searchsorted(first, take, "right")) - 1]
        at = held.index(tables.take["message"].array[take])
        rest = self.number(queue, held[:at] + held[at + 1 :])
        # Only now: the array may be another one.
        tables.take["rest"].array[take] = rest

    def fill_add(self, queue: int, content: int, message: int) -> None:
        """Answer what a queue holds with one message more."""
        tables = self._tables
        held = tables.values[tables.queue_field + queue].values[content]
        more = self.with_one_more(held, message)
        number = kernel.REFUSED if more is None else self.number(queue, more)
        tables.adds_table.make_room(queue, content + 1, message + 1)
        tables.adds_table.put(queue, content, message, number)
