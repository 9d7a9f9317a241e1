"""A variable for joint steps, which read its value and replace it."""

from __future__ import annotations

from typing import Any

from attrs import define


@define
class Cell:
    """A member that holds one value, which an event `("becomes", value)` replaces."""

    value: Any

    def receive(self, event: Any) -> None:
        _, self.value = event

    def shows(self) -> Any:
        return self.value


def becomes(value: Any) -> tuple[str, Any]:
    return ("becomes", value)
