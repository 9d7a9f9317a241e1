"""A variable that joint steps read, because it is shown, and write."""

from __future__ import annotations

from typing import Any

from attrs import define


@define
class Cell:
    """Holds one value, which an event `("becomes", value)` replaces."""

    value: Any

    def receive(self, event: Any) -> None:
        _, self.value = event

    def shows(self) -> Any:
        return self.value


def becomes(value: Any) -> tuple[str, Any]:
    return ("becomes", value)
