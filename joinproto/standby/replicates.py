"""Whether a queue, or a message on it, replicates, and which setting decides.

Source: hot standby, H7.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.ask.question import Rule, Why
from joinproto.standby.broker import Variant


class Level(Enum):
    """The parts of a queue that replicate."""

    NONE = "none"
    CONFIGURATION = "configuration"  # the queue itself and its bindings
    ALL = "all"  # its configuration and its messages


class Default(Enum):
    """The level of a queue that does not name one."""

    NONE = "none"
    CONFIGURATION = "configuration"  # in the variants real and ours
    ALL = "all"
    DURABLE = "durable"  # in seed and ours: durable queues, and the durable messages on them


@frozen
class Replicates:
    """The parts of a queue that replicate, and whether one message on it does."""

    level: Annotated[Level, "the level of the queue"]
    message: Annotated[bool, "whether the message replicates"]
    why: Annotated[Why, "the setting that decided"]
    rule: Rule = "H7"


def replicates(
    variant: Variant,
    default: Default,
    *,
    queue: Level | None = None,
    message: bool | None = None,
    durable_queue: bool = False,
    durable_message: bool = False,
) -> Replicates:
    """Return the parts of a queue that replicate.

    `queue`, `message`: their own settings, None without one.  The shipped broker numbers messages
    by their place in the queue, so it ignores a message's own setting.
    """
    if queue is not None:
        level, why = queue, "the queue's own setting decides"
    elif default is Default.DURABLE:
        level = Level.ALL if durable_queue else Level.NONE
        why = "durable queues replicate" if durable_queue else "the queue is not durable"
    else:
        level, why = Level(default.value), f"the default is {default.value}"
    if level is not Level.ALL:
        return Replicates(level, False, why)
    if variant is not Variant.REAL and message is not None:
        return Replicates(level, message, "the message's own setting decides")
    if default is Default.DURABLE and queue is None:
        said = why if durable_message else "the message is not durable"
        return Replicates(level, durable_message, said)
    return Replicates(level, True, why)
