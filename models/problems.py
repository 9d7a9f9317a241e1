"""What is wrong with a model, told to the person who wrote it."""

from __future__ import annotations

from joinproto.errors import UsageProblem


class ModelProblem(UsageProblem):
    """A model that cannot be explored: what was found, where, and what to do next.

    `place` is `file:line` where it is known.  The command ends with exit code 2.
    """

    def __init__(self, message: str, *, next: str = "", place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message, next=next)
        self.place = place
