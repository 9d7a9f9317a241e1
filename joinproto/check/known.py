"""What a member answered, so that no question need be put to it again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from attrs import Factory, define, field


@define
class Known:
    """What one member answered: kind of question to question to answer.  `new`: in this run."""

    answers: dict[str, dict[Hashable, Any]] = Factory(dict)
    new: int = field(default=0, init=False)

    def once(self, kind: str, question: Hashable, ask: Callable[[], Any]) -> Any:
        """Return the answer; `ask` is called where nobody knows it."""
        known = self.answers.setdefault(kind, {})
        found = known.get(question, _NOT_THERE)
        if found is _NOT_THERE:
            found = known[question] = ask()
            self.new += 1
        return found


_NOT_THERE = object()
