"""The messages that a primary and a backup exchange for one queue until both hold the same.

Source: hot standby, H5, H9; LM1 and LM2 of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.ask.question import Rule, Why
from joinproto.codec.json_form import AtLeast
from joinproto.standby.broker import Variant

SEQUENCE = 1 << 32
"""Sequence numbers of the shipped queues wrap here (LM2)."""


class Order(Enum):
    """The order in which a primary sends older messages."""

    LIFO = "lifo"  # from the back; clients take from the front, so copying always comes to an end
    FIFO = "fifo"  # from the front


@frozen(kw_only=True)
class Message:
    """A message without its content."""

    id: Annotated[str, "its identity, which no other message of this queue ever has"]
    sequence: Annotated[int, AtLeast(0), "its number in the queue; the numbers wrap"]
    durable: Annotated[bool, "whether each broker's own store keeps it"] = False


@frozen
class Exchange:
    """The messages that a primary and a backup exchange for one queue."""

    replaced: Annotated[bool, "whether the primary's queue replaces the backup's whole queue"]
    drops: Annotated[tuple[str, ...], "the messages that the backup removes"]
    sends: Annotated[tuple[str, ...], "the messages that the primary sends, in the order sent"]
    keeps: Annotated[tuple[str, ...], "the messages that the backup keeps"]
    loses: Annotated[
        tuple[str, ...], "the primary's messages that the backup still lacks at the end"
    ]
    rule: Annotated[Rule, "the rule that decided, or the limit of the document"]
    why: Why


def catch_up(
    variant: Variant,
    primary: Sequence[Message],
    backup: Sequence[Message],
    *,
    same_queue: bool = True,
    order: Order = Order.LIFO,
) -> Exchange:
    """Return the exchange for one queue.  Both lists go from the front of the queue to its back.

    `same_queue`: both queues have the same identity, not only the same name.
    """
    if variant is Variant.SEED:
        return _by_position(primary, backup, order)
    if not same_queue:
        sends = _sent([one.id for one in primary], order)
        why = "the queues have the same name but not the same identity: the backup's is replaced"
        return Exchange(True, tuple(one.id for one in backup), sends, (), (), "H6", why)
    there = {one.id for one in primary}
    here = {one.id for one in backup}
    drops = tuple(one.id for one in backup if one.id not in there)
    sends = _sent([one.id for one in primary if one.id not in here], order)
    keeps = tuple(one.id for one in primary if one.id in here)
    why = (
        "the backup removes the messages that the primary does not have, by their identities"
        if drops
        else "the primary sends the messages that the backup lacks"
    )
    return Exchange(False, drops, sends, keeps, (), "H9" if drops else "H5", why)


def _sent(missing: list[str], order: Order) -> tuple[str, ...]:
    return tuple(reversed(missing)) if order is Order.LIFO else tuple(missing)


def _by_position(primary: Sequence[Message], backup: Sequence[Message], order: Order) -> Exchange:
    """Return the exchange of the document's prototype.

    The primary sends the messages after the backup's last number.  The backup keeps all that it
    has.
    """
    last = backup[-1].sequence if backup else -1
    behind = [one for one in primary if not backup or is_after(one.sequence, last)]
    has = {one.id for one in (*backup, *behind)}
    loses = tuple(one.id for one in primary if one.id not in has)
    is_ahead = bool(backup) and (not primary or is_after(last, primary[-1].sequence))
    why = (
        "the backup's last number is later than the primary's, but no message is removed (LM1)"
        if is_ahead
        else "the primary sends the messages with later numbers"
    )
    # The prototype does not recognize messages that the primary lacks, so they stay.
    stays = tuple(one.id for one in backup)
    return Exchange(False, (), _sent([one.id for one in behind], order), stays, loses, "LM1", why)


def is_after(one: int, other: int) -> bool:
    """Return whether the number `one` is later than `other`.

    Numbers wrap, so the 2**31 - 1 numbers that follow `other` are later (LM2).
    """
    return 0 < (one - other) % SEQUENCE < SEQUENCE // 2
