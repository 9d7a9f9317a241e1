"""Machines that ship, together in one process: one adapter for worlds and simulations.

A system says what its machines are, what their effects do there and what lies on their disks.
This is what all of them have around that: a machine takes one event after the other, and its
effects are performed one by one, in their order, by the system's own `perform`.  Links keep the
order of what they carry.  Before any effect the machine may die: what the effects before it kept
is on its disk, and nothing else.

A world lists these deaths with `deaths`.  Each is the same act again, in which the machine that
is about to perform the effect of this number dies instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, cast

from attrs import Factory, define, evolve, fields, frozen, has

Event = TypeVar("Event")
Effect = TypeVar("Effect")
Act = TypeVar("Act")


@frozen
class Death(Generic[Act]):
    """An act in which a machine dies.  `at`: instead of performing this effect, counted from 0.

    `arrives`: what it has sent arrives, as it does where a process is killed; else it is lost, as
    where its machine goes down.
    """

    act: Act
    at: int
    arrives: bool = False

    def __str__(self) -> str:
        return f"{self.act}, killed before effect {self.at}" + (
            "; what it sent arrives" if self.arrives else ""
        )


@define(kw_only=True)
class MachineWorld(ABC, Generic[Event, Effect]):
    """Machines by name, and the links between them.

    `links`: what is under way, by sender and receiver.  While something happens: `inbox`, events
    behind the one that a machine takes; `performed`, how many effects were; `dies_at`, the number
    of the effect that is not (-1: each is), and `arrives` of that death.
    """

    links: dict[tuple[str, str], tuple[Any, ...]] = Factory(dict)
    inbox: dict[str, list[Event]] = Factory(dict)
    performed: int = 0
    dies_at: int = -1
    arrives: bool = False

    # -- what a system says ------------------------------------------------------------------

    def happen(self, act: Any) -> bool:
        """Do this, with all that follows at once; return False where it may not happen.

        Only of what is searched, as `dies` is.
        """
        raise TypeError(f"{type(self).__name__} is not searched: it has no {act}")

    @abstractmethod
    def step(self, name: str, event: Event) -> Iterable[Effect]:
        """Have the machine take the event; return its effects."""

    @abstractmethod
    def perform(self, name: str, effect: Effect) -> None:
        """Perform one effect; what the machine hears of it comes by `tell`."""

    @abstractmethod
    def runs(self, name: str) -> bool:
        """Return whether the machine runs."""

    def dies(self, name: str) -> None:
        """Let the machine end at this moment, with the disk that it has."""
        raise TypeError(f"{type(self).__name__} is not searched: no machine of it dies, nor {name}")

    # -- what all have -----------------------------------------------------------------------

    def tell(self, name: str, event: Event) -> None:
        """Have a machine take an event, behind those that came before, and do what follows."""
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
            self.performed += 1
            if self.performed == self.dies_at + 1:
                self.dies(name)
                return
            self.perform(name, effect)

    def deaths(self, act: Act, arrives: Iterable[bool] = (False, True)) -> Iterator[Death[Act]]:
        """Yield the deaths that an act may have."""
        it = copied(self)
        it.rest()
        if it.happen(act):
            for at in range(it.performed):
                yield from (Death(act, at, one) for one in arrives)

    def enact(self, event: Any) -> bool:
        """Do an act, or let one die in it; return False where it may not happen."""
        self.rest()
        if isinstance(event, Death):
            self.dies_at, self.arrives = event.at, event.arrives
            found = self.happen(event.act) and self.performed > event.at
        else:
            found = self.happen(event)
        self.rest()
        return found

    def rest(self) -> None:
        """Count the effects of the next act from 0; none of it is a death."""
        self.performed, self.dies_at, self.arrives = 0, -1, False

    def take(self, sender: str, to: str) -> Any:
        """Return what comes next on a link, which has it no longer."""
        first, *rest = self.links[sender, to]
        self.links[sender, to] = tuple(rest)
        return first


T = TypeVar("T")


def copied(value: T) -> T:
    """Return a copy: lists, dicts, sets and objects that have no hash are made anew.

    What has a hash is shared, so it may not change: a tuple holds no list.
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
