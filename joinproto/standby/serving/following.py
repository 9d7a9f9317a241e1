"""A primary's backups: who is up to date, who is away, and what may be confirmed.  No I/O.

Each thing that the primary does has a number.  It is confirmed when this broker's disk has it and
every backup that counts as up to date says that it has it (H4).  One that is away still counts,
and holds confirmations up, until it is given up; that must be on the disk before the next one.

Source: hot standby, H4, H8.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from attrs import define, field

Done = Callable[[], None]


@define
class Backup:
    """One that follows now.  `acked`: it has all up to this number, but what is still to be
    copied; `level_at`: the number after which nothing is, None: copying is not over.
    """

    name: str
    acked: int = -1
    level_at: int | None = None
    to_copy: int = 0

    @property
    def is_level(self) -> bool:
        return self.level_at is not None and self.acked >= self.level_at

    @property
    def has(self) -> int:
        """Return up to which number it surely has everything; -1: nothing is sure."""
        return self.acked if self.is_level else -1


@define
class Following:
    """`counted`: who is up to date, present or not.  `away`: those of them that are not, since
    when.  `number`: of the last thing done; `durable`: up to where it is on this broker's disk.
    """

    counted: set[str] = field(factory=set)
    away: dict[str, float] = field(factory=dict)
    backups: dict[str, Backup] = field(factory=dict)
    number: int = 0
    durable: int = 0
    _pending: deque[tuple[int, Done]] = field(factory=deque)

    @classmethod
    def expecting(cls, expected: Iterable[str], now: float) -> Following:
        """Return the backups of a new primary: all those that it waits for are away (H8)."""
        names = set(expected)
        return cls(counted=names, away=dict.fromkeys(names, now))

    @property
    def pending(self) -> int:
        """How much waits to be confirmed."""
        return len(self._pending)

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Return who counts and has not everything: what this primary waits for."""
        return tuple(
            sorted(
                name
                for name in self.counted
                if name not in self.backups or not self.backups[name].is_level
            )
        )

    @property
    def confirmed(self) -> int:
        """Return up to which number everything may be confirmed."""
        has = [self._has(name) for name in self.counted]
        return min([self.durable, *has])

    def add(self, done: Done) -> None:
        """Have `done` called when the last thing that was done is confirmed."""
        self._pending.append((self.number, done))

    def confirm(self) -> int:
        """Call what is confirmed now; return how many."""
        upto = self.confirmed
        count = 0
        while self._pending and self._pending[0][0] <= upto:
            self._pending.popleft()[1]()
            count += 1
        return count

    def follows(self, name: str) -> bool:
        """Note that a backup follows from now on; return whether it counts."""
        self.backups[name] = Backup(name)
        self.away.pop(name, None)
        return name in self.counted

    def level(self, name: str) -> int:
        """Note that all is copied to a backup; return the number with which it is to say so."""
        # A number of its own: one that came before might be acknowledged before the last copy.
        self.number += 1
        self.backups[name].level_at = self.number
        return self.number

    def parted(self, name: str, now: float) -> None:
        """Note that its session is gone."""
        self.backups.pop(name, None)
        if name in self.counted:
            self.away[name] = now

    def given_up(self, now: float, patience: float) -> set[str]:
        """Return who counts, and is away for too long."""
        return {name for name, since in self.away.items() if now - since >= patience}

    def _has(self, name: str) -> int:
        backup = self.backups.get(name)
        return -1 if backup is None else backup.has
