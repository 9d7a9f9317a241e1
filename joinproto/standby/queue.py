"""The messages of one queue, in order, as a value that is cheap to change.

A queue may hold 10^5 messages, and each step makes a new value.  The messages are therefore kept in
blocks, and a change copies one block.  They are ordered by sequence numbers without an upper bound,
because a message can stay at the front while more than 2**32 others pass it (LM2).

Source: hot standby, H5, H9.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from attrs import frozen

from joinproto.standby.catch_up import Message

BLOCK = 256


@frozen
class MessageQueue:
    """Messages from the front to the back.  Equal queues may be divided into different blocks."""

    blocks: tuple[tuple[Message, ...], ...] = ()

    @classmethod
    def of(cls, messages: Iterable[Message]) -> MessageQueue:
        """Return the queue of these messages, which must be in order already."""
        whole = tuple(messages)
        return cls(tuple(whole[at : at + BLOCK] for at in range(0, len(whole), BLOCK)))

    def __iter__(self) -> Iterator[Message]:
        for block in self.blocks:
            yield from block

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(one.id for one in self)

    @property
    def last(self) -> Message | None:
        """Return the message at the back, or None if the queue is empty."""
        return self.blocks[-1][-1] if self.blocks else None

    def at(self, sequence: int) -> Message | None:
        """Return the message with this number, or None if the queue has no such message."""
        if not self.blocks:
            return None
        where, place = self._find(sequence)
        block = self.blocks[where]
        if place < len(block) and block[place].sequence == sequence:
            return block[place]
        return None

    def has(self, message: Message) -> bool:
        """Return whether the queue has a message with this number and this identity."""
        found = self.at(message.sequence)
        return found is not None and found.id == message.id

    def put(self, message: Message) -> MessageQueue:
        """Return the queue with the message in its place, after any with the same number."""
        if not self.blocks:
            return MessageQueue(((message,),))
        where, place = self._find(message.sequence, after=True)
        block = self.blocks[where]
        return self._with(where, (*block[:place], message, *block[place:]))

    def without(self, message: Message) -> MessageQueue:
        """Return the queue without the message; the same queue if it does not have the message."""
        if not self.has(message):
            return self
        where, place = self._find(message.sequence)
        block = self.blocks[where]
        return self._with(where, (*block[:place], *block[place + 1 :]))

    def split(self, count: int, *, back: bool) -> tuple[MessageQueue, tuple[Message, ...]]:
        """Take up to `count` messages from the back or the front.

        Return the rest and the messages taken, the outermost first.
        """
        taken: list[Message] = []
        blocks = list(self.blocks)
        while blocks and len(taken) < count:
            block = blocks.pop(-1 if back else 0)
            wanted = min(count - len(taken), len(block))
            cut = len(block) - wanted if back else wanted
            taken += reversed(block[cut:]) if back else block[:cut]
            rest = block[:cut] if back else block[cut:]
            if rest:
                blocks.insert(len(blocks) if back else 0, rest)
        return MessageQueue(tuple(blocks)), tuple(taken)

    def _find(self, sequence: int, *, after: bool = False) -> tuple[int, int]:
        """Return the block and place of the first message whose number is not below `sequence`.

        With `after`, of the first message whose number is above it.  The place is the block's
        length if the last block has no such message.
        """
        search = bisect_right if after else bisect_left
        where = search(self.blocks, sequence, key=lambda block: _number(block[-1]))
        where = min(where, len(self.blocks) - 1)
        return where, search(self.blocks[where], sequence, key=_number)

    def _with(self, where: int, block: tuple[Message, ...]) -> MessageQueue:
        half = len(block) // 2
        parts = (block[:half], block[half:]) if len(block) > BLOCK else (block,) if block else ()
        return MessageQueue((*self.blocks[:where], *parts, *self.blocks[where + 1 :]))


def _number(message: Message) -> int:
    return message.sequence
