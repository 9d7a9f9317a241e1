"""What replicates, at a primary: by what a queue, a message and the default say.

Source: hot standby, H7; LC5.
"""

from __future__ import annotations

from joinproto.machine.values import evolve
from joinproto.standby.events import New
from joinproto.standby.messages import Thing
from joinproto.standby.primary_state import Who
from joinproto.standby.replicates import Level, replicates


def leveled(who: Who, thing: Thing) -> Thing:
    """Return the thing with what of it replicates; all of everything by the prototype (LC5)."""
    if not who.practice.chooses:
        return evolve(thing, level=Level.ALL)
    found = replicates(who.variant, who.default, queue=thing.says, durable_queue=thing.durable)
    return evolve(thing, level=found.level)


def is_copied(who: Who, queue: Thing, message: New) -> bool:
    """Return whether a new message on this queue replicates."""
    if not who.practice.chooses:
        return True
    return replicates(
        who.variant,
        who.default,
        queue=queue.says,
        message=message.replicate,
        durable_queue=queue.durable,
        durable_message=message.durable,
    ).message
