"""What a search exercised, in the form of a report."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from joinproto.check.report import Coverage
from joinproto.check.view import DOWN


def exercised(
    actions: Mapping[str, int], rules: Mapping[str, int], seen: Mapping[str, Sequence[Any]]
) -> Coverage:
    """Return how often each step and case was taken, and what never was.

    `actions`, `rules`: what could happen, with how often it did.  `seen`: what each member showed.
    """
    # In an order that is not that of numbering, which differs between engines.
    never = [f"step: {name}" for name, count in sorted(actions.items()) if count == 0]
    never += [f"case of a table: {rule}" for rule, count in rules.items() if count == 0]
    for name, shown in seen.items():
        never += [f"shown by {name}: {text}" for text in _unseen(shown)]
    return Coverage(dict(sorted(actions.items())), dict(sorted(rules.items())), tuple(never))


def _unseen(seen: Sequence[Any]) -> list[str]:
    """Return values of an enum that a member never showed, where it shows an enum."""
    kinds = {type(value) for value in seen if value is not DOWN}
    if len(kinds) != 1:
        return []
    kind = kinds.pop()
    if not issubclass(kind, enum.Enum):
        return []
    return [str(value.value) for value in kind if value not in seen]
