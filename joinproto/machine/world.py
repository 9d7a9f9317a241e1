"""The machines of a system together in one process: one adapter for worlds and simulations.

A system defines its machines, their effects, and the records on their disks.  This file has the
part that all systems share: a machine takes one event after the other, and the system's `perform`
performs the machine's effects one by one, in their order.  Before any effect the machine may die;
then its disk has the writes of the earlier effects, and no others.

Each link keeps the order of its messages; messages of two links have no order.  A connection ends
at one end first (`close`): messages that this end sent before may still arrive, until the other end
notices, or has a newer connection.  After that they never arrive: the mesh drops messages on a
connection that a newer one replaces (`joinproto/net/tcp.py`).

Each machine has one record on its disk.  Two rules of `joinproto/durable/record.py` define the
record after a crash.  A record is replaced whole, so after a torn write it reads as the older one
(`as_torn`).  A write is durable before the next effect (`MachineWorld.sync`), so no later crash
loses it.  A mutation may leave out one of these rules: then a torn record is `DAMAGED`, or a power
cut takes back the writes since the last sync.

`deaths` lists the deaths that an act may have.  In each, the same act happens again, but the
machine that is about to perform the effect with a certain number dies instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar, cast

from attrs import Factory, define, evolve, fields, frozen, has

Event = TypeVar("Event")
Effect = TypeVar("Effect")
Act = TypeVar("Act")


class Damaged(Enum):
    """A record that is neither the older nor the newer one: its reader refuses it."""

    DAMAGED = "damaged"


DAMAGED = Damaged.DAMAGED


def as_torn(older: Any) -> Any:
    """Return the record that is read after a crash in the middle of its write."""
    return older


@frozen
class Death(Generic[Act]):
    """An act in which a machine dies instead of performing the effect number `at`, from 0.

    `arrives`: whether the machine's messages under way arrive, as when a process is killed, or are
    lost, as when its computer goes down.  `tears`: the power is cut, so unsynced writes are lost;
    if the effect is a write, the cut comes in the middle of the write.
    """

    act: Act
    at: int
    arrives: bool = False
    tears: bool = False

    def __str__(self) -> str:
        how = "without power at" if self.tears else "killed before"
        return f"{self.act}, {how} effect {self.at}" + (
            "; what it sent arrives" if self.arrives else ""
        )


@define(kw_only=True)
class MachineWorld(ABC, Generic[Event, Effect]):
    """Machines by name, the links between them, and the contents of their disks.

    `links`: (sender, receiver) to messages under way; a link exists while the receiver's end is
    open.  `disk`: the record of each machine; `unsynced`: its record if the power is cut now.
    During an act: `inbox`, the event that each machine takes and its later events; `performed`, the
    number of effects so far; `dies_at`, the number of the effect at which a machine dies (-1:
    none), and `arrives` and `tears` of that death; `tearable`, the numbers of the effects at which
    a power cut takes something from the disk.
    """

    write_effects: ClassVar[tuple[type, ...]] = ()  # the effects that write a record

    links: dict[tuple[str, str], tuple[Any, ...]] = Factory(dict)
    disk: dict[str, Any] = Factory(dict)
    unsynced: dict[str, Any] = Factory(dict)
    inbox: dict[str, list[Event]] = Factory(dict)
    performed: int = 0
    dies_at: int = -1
    arrives: bool = False
    tears: bool = False
    tearable: tuple[int, ...] = ()

    # -- defined by a system -------------------------------------------------------------------

    def happen(self, act: Any) -> bool:
        """Do an act, with all its immediate consequences; return False if it cannot happen.

        Only systems that are searched define this method and `dies`.
        """
        raise TypeError(f"{type(self).__name__} is not searched, so it cannot do {act}")

    @abstractmethod
    def step(self, name: str, event: Event) -> Iterable[Effect]:
        """Give the machine the event; return its effects."""

    @abstractmethod
    def perform(self, name: str, effect: Effect) -> None:
        """Perform one effect; `tell` gives the machine the outcome."""

    @abstractmethod
    def runs(self, name: str) -> bool:
        """Return whether the machine runs."""

    def dies(self, name: str) -> None:
        """End the machine at this moment, with the disk that it has."""
        raise TypeError(f"{type(self).__name__} is not searched, so {name} cannot die in it")

    # -- common to all ------------------------------------------------------------------------

    def tell(self, name: str, event: Event) -> None:
        """Give a machine an event, after the earlier ones, and perform its effects."""
        waiting = self.inbox.setdefault(name, [])
        waiting.append(event)
        if len(waiting) > 1:
            return
        while waiting:
            self._take(name, waiting[0])
            del waiting[0]
            if not self.runs(name):
                break
        del self.inbox[name]

    def _take(self, name: str, event: Event) -> None:
        for effect in self.step(name, event):
            if not self.survives(name, is_write=isinstance(effect, self.write_effects)):
                return
            self.perform(name, effect)

    def survives(self, name: str, *, is_write: bool = False) -> bool:
        """Count the next effect of a machine; return whether the machine survives to perform it."""
        if is_write or name in self.unsynced:
            self.tearable = (*self.tearable, self.performed)
        self.performed += 1
        if self.performed != self.dies_at + 1:
            return True
        if self.tears:
            self.lose_power(name, is_writing=is_write)
        self.dies(name)
        return False

    def write(self, name: str, record: Any) -> None:
        """Replace the record of a machine; it is durable before the next effect."""
        self.unsynced.setdefault(name, self.disk[name])
        self.disk[name] = record
        self.sync(name)

    def sync(self, name: str) -> None:
        """Make the written data survive a power cut."""
        self.unsynced.pop(name, None)

    def lose_power(self, name: str, *, is_writing: bool = False) -> None:
        """Reset the disk to its synced contents.

        `is_writing`: the power is cut in the middle of a write.
        """
        kept = self.unsynced.pop(name, self.disk[name])
        self.disk[name] = as_torn(kept) if is_writing else kept

    def deaths(
        self, act: Act, arrives: Iterable[bool] = (False, True), *, tears: bool = False
    ) -> Iterator[Death[Act]]:
        """Yield the deaths that an act may have: at each effect.

        `arrives`: the values of `Death.arrives` to try.  `tears`: yield deaths by a power cut, too.
        """
        trial = copied(self)
        trial.rest()
        if trial.happen(act):
            for at in range(trial.performed):
                yield from (Death(act, at, one) for one in arrives)
            yield from (Death(act, at, tears=True) for at in trial.tearable if tears)

    def enact(self, event: Any) -> bool:
        """Do an act, or the act of a `Death`; return False if it cannot happen."""
        self.rest()
        if isinstance(event, Death):
            self.dies_at, self.arrives, self.tears = event.at, event.arrives, event.tears
            happened = self.happen(event.act) and self.performed > event.at
        else:
            happened = self.happen(event)
        self.rest()
        return happened

    def rest(self) -> None:
        """Count the effects of the next act from 0; no machine dies in it."""
        self.performed, self.dies_at, self.arrives = 0, -1, False
        self.tears, self.tearable = False, ()

    def connect(self, one: str, other: str) -> None:
        """Open a new connection; messages of an older one that were not received are lost."""
        self.links[one, other] = self.links[other, one] = ()

    def is_connected(self, one: str, other: str) -> bool:
        """Return whether a connection is open at both ends."""
        return (one, other) in self.links and (other, one) in self.links

    def close(self, name: str, other: str) -> None:
        """End a connection at the end of `name`, which receives no further message from `other`."""
        self.links.pop((other, name), None)

    def half_open(self) -> Iterator[tuple[str, str]]:
        """Yield sender and receiver of each connection that is over at the sender's end only."""
        for sender, to in self.links:
            if (to, sender) not in self.links:
                yield sender, to

    def take(self, sender: str, to: str) -> Any:
        """Remove and return the next message of a link."""
        first, *rest = self.links[sender, to]
        self.links[sender, to] = tuple(rest)
        return first


T = TypeVar("T")


def copied(value: T) -> T:
    """Return a copy in which lists, dicts, sets and attrs objects without a hash are new.

    Hashable values are shared, so they must not change: a tuple must not contain a list.
    """
    return cast("T", _copied(value))


def _copied(value: Any) -> Any:
    kind: Any = type(value)
    if kind.__hash__ is not None:
        return value
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    if has(kind):
        own = {one.alias: _copied(getattr(value, one.name)) for one in fields(kind) if one.init}
        return evolve(value, **own)
    return kind(map(_copied, value))
