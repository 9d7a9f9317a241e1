"""Claims about steps in random runs, each evaluated once for a step between two combinations."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import define, field, frozen

from joinproto.check.asking import ask
from joinproto.check.engine.claims.judge import Claim, Judge
from joinproto.check.engine.runs.paths import move_of
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Flags, Ints, Rows
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import step_view


@frozen
class Draws:
    """The step that each run took.

    `before`: the combination before the step; `info`: the step; `rows`: the row before the step.
    """

    before: Ints
    info: Ints
    rows: Rows


@define
class StepAnswers:
    """One claim about steps, and its answers so far."""

    search: Search
    claim: Claim
    _of: StepClaim = field(init=False)
    _known: dict[tuple[int, ...], bool] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self._of = self.claim.asked or StepClaim(self.claim.property)

    @property
    def _judge(self) -> Judge:
        return self.search.judge

    def broken_at_first(self, numbers: Ints) -> Flags:
        """Return which runs begin in a combination in which the claim lets no run begin."""
        return np.array([not self._ask((number,)) for number in numbers.tolist()], np.bool_)

    def broken_by(self, drawn: Draws, after: Ints) -> Flags:
        """Return which steps the claim does not allow; `after`: the combinations after them."""
        broken = np.zeros(len(after), np.bool_)
        steps = zip(drawn.before.tolist(), after.tolist(), drawn.info.tolist(), strict=True)
        for at, (before, then, info) in enumerate(steps):
            # An abstract world sees only states, so the step's name does not matter.
            key = (before, then) if self.claim.asked else (before, then, info)
            broken[at] = not self._ask(key, drawn.rows[at])
        return broken

    def note(self, numbers: Ints) -> str:
        """Return the step to the run's last state, as text about the abstract world.

        `numbers`: the combinations of the run's last two states, or of its only state.
        """
        view = self._judge.view
        *before, after = (view(number) for number in numbers.tolist())
        return self._of.note(before[0] if before else None, after)

    def _ask(self, key: tuple[int, ...], row: Any = None) -> bool:
        if key not in self._known:
            view, item = self._judge.view, self.claim.property
            if len(key) == 1:
                answer = ask(item, self._of.begins, view(key[0]))
            else:
                taken = step_view(move_of(self.search, key[2], row)) if len(key) == 3 else None
                answer = ask(item, self._of.holds, view(key[0]), taken, view(key[1]))
            self._known[key] = answer
        return self._known[key]
