"""A broker's queues in memory, and the part of them that goes to the disk.

Source: hot standby, H4, H5.
"""

from __future__ import annotations

from attrs import define, field

from joinproto.standby.keeping.disk import Disk
from joinproto.standby.keeping.form import (
    Declared,
    Deed,
    Deleted,
    Put,
    Queue,
    Queues,
    Taken,
    apply,
)


@define(eq=False)
class Contents:
    """`queues`: all of them, with all messages.  What is durable is written with `write`."""

    disk: Disk
    queues: Queues = field(init=False)
    _unwritten: list[Deed] = field(factory=list)
    _kept: set[tuple[str, str]] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        """Begin with what is on the disk."""
        there = self.disk.queues
        self.queues = {name: Queue(one.declared, dict(one.messages)) for name, one in there.items()}
        self._kept = {(name, put) for name, one in there.items() for put in one.messages}

    def do(self, deed: Deed, *, durable: bool) -> None:
        """Do it now; `durable`: a message that its sender wants on a disk."""
        queue = self.queues.get(deed.queue)
        apply(self.queues, deed)
        match deed:
            case Declared(durable=True) | Deleted():
                self._unwritten.append(deed)
            case Put(name, message) if durable and queue is not None and queue.declared.durable:
                self._kept.add((name, message))
                self._unwritten.append(deed)
            case Taken(name, message) if (name, message) in self._kept:
                self._kept.discard((name, message))
                self._unwritten.append(deed)

    def write(self) -> None:
        """Return once all that was done is on the disk, as far as it is durable."""
        if self._unwritten:
            deeds, self._unwritten = self._unwritten, []
            self.disk.append(deeds)
