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

    LIFO = "lifo"  # from the back, as clients take from the front: copying always comes to an end
    FIFO = "fifo"


@frozen(kw_only=True)
class Message:
    """A message without its content."""

    id: Annotated[str, "its identity, in this queue for ever"]
    sequence: Annotated[int, AtLeast(0), "its place in the queue's numbering, which wraps"]
    durable: Annotated[bool, "whether each broker's own store keeps it"] = False


@frozen
class Exchange:
    """The messages exchanged."""

    replaced: Annotated[bool, "the backup's queue goes as a whole"]
    drops: Annotated[tuple[str, ...], "what the backup gives up"]
    sends: Annotated[tuple[str, ...], "what the primary sends, in its order"]
    keeps: Annotated[tuple[str, ...], "what the backup keeps"]
    loses: Annotated[tuple[str, ...], "what the primary has and the backup does not in the end"]
    rule: Annotated[Rule, "the rule that decided, or the document's limit"]
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

    `same_queue`: both queues have one identity, not only one name.
    """
    if variant is Variant.SEED:
        return _by_position(primary, backup, order)
    if not same_queue:
        sends = _sent([one.id for one in primary], order)
        why = "the queues only have the same name: the backup's one is replaced"
        return Exchange(True, tuple(one.id for one in backup), sends, (), (), "H6", why)
    there = {one.id for one in primary}
    here = {one.id for one in backup}
    drops = tuple(one.id for one in backup if one.id not in there)
    sends = _sent([one.id for one in primary if one.id not in here], order)
    keeps = tuple(one.id for one in primary if one.id in here)
    what = "surplus goes by identity" if drops else "what is missing is sent"
    return Exchange(False, drops, sends, keeps, (), "H9" if drops else "H5", what)


def _sent(missing: list[str], order: Order) -> tuple[str, ...]:
    return tuple(reversed(missing)) if order is Order.LIFO else tuple(missing)


def _by_position(primary: Sequence[Message], backup: Sequence[Message], order: Order) -> Exchange:
    """Return the exchange of the document's prototype.

    Messages after the backup's last number are sent; the backup's other messages stay as they are.
    """
    last = backup[-1].sequence if backup else -1
    behind = [one for one in primary if not backup or is_after(one.sequence, last)]
    has = {one.id for one in (*backup, *behind)}
    loses = tuple(one.id for one in primary if one.id not in has)
    is_ahead = bool(backup) and (not primary or is_after(last, primary[-1].sequence))
    why = (
        "the backup is ahead, by its number: it is never told to go back (LM1)"
        if is_ahead
        else "what has a later number is sent"
    )
    # The prototype recognizes no surplus: the backup's messages stay.
    stays = tuple(one.id for one in backup)
    return Exchange(False, (), _sent([one.id for one in behind], order), stays, loses, "LM1", why)


def is_after(one: int, other: int) -> bool:
    """Return whether the number `one` is later than `other`.

    Numbers wrap, so the 2**31 - 1 numbers that follow `other` are later (LM2).
    """
    return 0 < (one - other) % SEQUENCE < SEQUENCE // 2
