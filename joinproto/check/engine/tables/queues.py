"""Numbers for the contents of queues and bags, which hold messages from one member to another."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from joinproto.check.engine.shapes import Flags, Ints, SmallInts
from joinproto.check.engine.tables import kernel
from joinproto.check.engine.tables.growing import Growing
from joinproto.check.events import Message
from joinproto.check.local import Outcome
from joinproto.check.network import too_full
from joinproto.check.problems import ModelProblem

if TYPE_CHECKING:
    from joinproto.check.engine.tables.tables import Tables


MESSAGES_MAX = 1 << 20
"""The most different messages that a world may have."""


def too_many_messages() -> ModelProblem:
    """Return the exception for a message beyond `MESSAGES_MAX`."""
    return ModelProblem(
        f"more than {MESSAGES_MAX} different messages", next="bound the contents that members send"
    )


def packed(messages: Iterable[int]) -> str:
    """Return the content of a queue as the value of its field: one character for each message.

    A string takes a quarter of a tuple's memory, and keeps its hash.  Memory matters: the contents
    of a bag that n messages leave one by one hold n * n / 2 messages together.
    """
    return "".join(map(chr, messages))


def numbers_in(held: str) -> list[int]:
    """Return the numbers of the messages that a queue holds."""
    return [*map(ord, held)]


class Queues:
    """Numbers the contents of queues and bags (see `packed`); a bag's messages are sorted."""

    def __init__(self, tables: Tables) -> None:
        network = tables.world.network
        self._tables = tables
        self._capacity: int | None = getattr(network, "capacity", None)
        self._waits = getattr(network, "when_full", "") == "wait"
        # For each queue, whether `heard_as` has each message.
        self._heard: dict[int, Flags] = {}
        # The first take of each content that is not empty, and the content's queue.
        self._takes_first, self._takes_queue = Growing(np.int64), Growing(np.int32)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tables": None}

    def attach(self, tables: Tables) -> None:
        """Set the tables, which are left out when the queues are stored."""
        self._tables = tables

    def queue_between(self, sender: int, to: int) -> int:
        return sender * self._tables.members + to

    def sent(
        self, sender: int, messages: Iterable[tuple[str | None, Hashable]]
    ) -> list[tuple[int, int]]:
        """Return (queue, number) for each receiver of each message that a member sends."""
        tables, found = self._tables, []
        for to, content in messages:
            number, _ = tables.messages.add(content)
            if number >= MESSAGES_MAX:
                raise too_many_messages()
            others = [m for m in range(tables.members) if m != sender]
            receivers = others if to is None else [tables.number_of[to]]
            found += [(self.queue_between(sender, member), number) for member in receivers]
        return found

    def sent_by(self, sender: int, outcome: Outcome) -> list[tuple[int, int]]:
        """Return (queue, number) of each message that an outcome sends and does not lose."""
        tables, queued = self._tables, self.sent(sender, outcome.sent)
        if outcome.cost == "crash" and tables.fifo:
            # A crash loses all messages to the member, also earlier ones that it sent to itself.
            queued = [pair for pair in queued if pair[0] % tables.members != sender]
        for queue, number in queued:
            self.number(queue, "")
            held = len(tables.values[tables.queue_field + queue])
            tables.adds_table.make_room(queue, held, number + 1)
        return queued

    def with_one_more(self, held: str, message: int) -> str | None:
        """Return the content of a queue after a send, or None if the queue is full and senders
        wait.

        If senders do not wait, a full queue loses the message and is unchanged.
        """
        if self._capacity is not None and len(held) >= self._capacity:
            return None if self._waits else held
        at = len(held) if self._tables.fifo else bisect(held, chr(message))
        return held[:at] + chr(message) + held[at:]

    def begin(
        self, queues: list[str], sender: int, messages: Iterable[tuple[str | None, Hashable]]
    ) -> None:
        """Put the messages that a member sends when it starts into `queues`."""
        for queue, message in self.sent(sender, messages):
            more = self.with_one_more(queues[queue], message)
            if more is None:
                raise too_full(self._tables.names[sender])
            queues[queue] = more

    def number(self, queue: int, content: str) -> int:
        """Return the number of a queue's content."""
        tables = self._tables
        field = tables.queue_field + queue
        known = tables.values[field].of.get(content)
        if known is not None:
            return known
        heads = content[:1] if tables.fifo else content
        takes = np.frombuffer(heads.encode("utf-32-le", "surrogatepass"), np.int32)
        self._number_heard(queue, takes)
        number = len(tables.values[field])
        tables.per_value.make_room(field, number + 1)
        tables.values[field].add(content)
        at = tables.per_value.off[field] + number
        if tables.world.show_links:
            held = tuple(tables.messages.values[m] for m in numbers_in(content))
            held = held if tables.fifo else tuple(sorted(held, key=repr))
            tables.per_value.arrays["shown"][at] = tables.shown[field].add((held, None))[0]
        first = tables.take_message.count
        tables.per_value.arrays["take_first"][at] = first
        tables.per_value.arrays["take_count"][at] = len(takes)
        if len(takes):
            tables.take_message.extend(takes)
            self._takes_first.append(first)
            self._takes_queue.append(queue)
        return number

    def _number_heard(self, queue: int, messages: SmallInts) -> None:
        """Number the events of the receiver for messages that this queue did not hold before."""
        tables, heard = self._tables, self._heard.get(queue, np.zeros(0, np.bool_))
        if len(heard) < len(tables.messages):
            heard = np.concatenate([heard, np.zeros(len(tables.messages), np.bool_)])
            self._heard[queue] = heard
        if heard[messages].all():
            return
        sender, to = divmod(queue, tables.members)
        for message in messages[~heard[messages]].tolist():
            if not heard[message]:
                event = Message(tables.names[sender], tables.messages.values[message])
                column, heard_as = tables.number_event(to, event), tables.heard_as
                for name, number in {"queue": queue, "message": message, "column": column}.items():
                    heard_as[name].append(number)
                heard[message] = True

    def of_takes(self, takes: Ints) -> Ints:
        """Return the queue of each of `takes`."""
        at = np.searchsorted(self._takes_first.array[: self._takes_first.count], takes, "right") - 1
        return self._takes_queue.array[at].astype(np.int64)

    def taken(self, take: int) -> tuple[str, str, Hashable]:
        """Return the message of a take: its sender, addressee and content."""
        tables = self._tables
        sender, to = divmod(int(self.of_takes(np.array([take]))[0]), tables.members)
        content = tables.messages.values[int(tables.take_message.array[take])]
        return tables.names[sender], tables.names[to], content

    def fill_rest(self, queue: int, content: int, place: int) -> None:
        """Write the content of a queue without the message at `place`."""
        tables = self._tables
        held = tables.values[tables.queue_field + queue].values[content]
        rest = self.number(queue, held[:place] + held[place + 1 :])
        # A copy of the tables on another machine may have requested this value, so there may be
        # no room for it here yet.
        tables.rests.make_room(queue, content + 1, place + 1)
        tables.rests.put(queue, content, place, rest)

    def fill_add(self, queue: int, content: int, message: int) -> None:
        """Write the content of a queue with one message more."""
        tables = self._tables
        held = tables.values[tables.queue_field + queue].values[content]
        more = self.with_one_more(held, message)
        number = kernel.REFUSED if more is None else self.number(queue, more)
        tables.adds_table.make_room(queue, content + 1, message + 1)
        tables.adds_table.put(queue, content, message, number)
