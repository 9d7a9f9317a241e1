"""Numbers for values and observations."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

from joinproto.check.freeze import is_fixed, thaw


class Numbers:
    """Values of one kind, numbered in the order of their first use."""

    def __init__(self, values: Sequence[Any] = ()) -> None:
        self.values = list(values)

    @cached_property
    def of(self) -> dict[Any, int]:
        """The number of each value.  A search without new values never needs this."""
        return {value: number for number, value in enumerate(self.values)}

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["values"])  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self.values)

    def add(self, value: Any) -> tuple[int, bool]:
        """Return (number, whether it is new)."""
        known = self.of.get(value)
        if known is not None:
            return known, False
        number = len(self.values)
        self.of[value] = number
        self.values.append(value)
        return number, True


class Observed:
    """The observation of a member and of its disk, as claims get them.

    If one of them is mutable, each access returns a copy.
    """

    __slots__ = ("_disk", "_shown", "is_fixed")

    def __init__(self, shown: Hashable, disk: Hashable) -> None:
        self.is_fixed = is_fixed(shown) and is_fixed(disk)
        self._shown: Any = thaw(shown) if self.is_fixed else shown
        self._disk: Any = thaw(disk) if self.is_fixed else disk

    @property
    def shown(self) -> Any:
        return self._shown if self.is_fixed else thaw(self._shown)

    @property
    def disk(self) -> Any:
        return self._disk if self.is_fixed else thaw(self._disk)


class Observations(Numbers):
    """Numbered pairs of the frozen observations of a member and of its disk."""

    def __init__(self, values: Sequence[Any] = ()) -> None:
        super().__init__(values)
        self._observed: list[Observed] = []

    def __getitem__(self, number: int) -> Observed:
        for at in range(len(self._observed), number + 1):
            self._observed.append(Observed(*self.values[at]))
        return self._observed[number]
