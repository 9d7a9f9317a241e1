"""A fast `evolve`, which makes changed copies of values.

A machine makes several such copies for each event.  `attrs.evolve` looks up the fields of the class
for each copy, which costs more than most decisions.  This module makes a function once for each
class and each choice of fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import fields

if TYPE_CHECKING:
    from attrs import evolve  # so that mypy checks the names and types of the changes
else:

    def evolve(value: Any, /, **changes: Any) -> Any:
        """Return a copy of a value with these fields changed, as `attrs.evolve` does.

        Raises `TypeError` for a field that the class does not have.
        """
        chosen = (value.__class__, *changes)
        copied = _COPIES.get(chosen)
        if copied is None:
            copied = _COPIES[chosen] = _make_copier(*chosen)
        return copied(value, **changes)


__all__ = ["evolve"]

_COPIES: dict[tuple[Any, ...], Callable[..., Any]] = {}


def _make_copier(kind: type[Any], *changed: str) -> Callable[..., Any]:
    """Return a function that copies a value of the class `kind` with these fields changed."""
    given = {one.alias: f"_value.{one.name}" for one in fields(kind) if one.init}
    given |= {name: name for name in changed}
    named = ", ".join(f"{name}={value}" for name, value in given.items())
    parameters = "".join(f", {name}" for name in changed)
    namespace: dict[str, Any] = {"_Kind": kind}
    # This is safe: the text has only names from the program's own classes and calls.
    exec(f"def copied(_value, /{parameters}): return _Kind({named})", namespace)  # noqa: S102
    copied: Callable[..., Any] = namespace["copied"]
    return copied
