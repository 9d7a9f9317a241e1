"""Statistics of random runs, and one of the runs as a trace."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from attrs import Factory, define, frozen

from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.runs.paths import Steps, move_of, states_text
from joinproto.check.engine.runs.walked_steps import StepAnswers
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Flags, Ints
from joinproto.check.report import Step
from joinproto.check.steps import to_step


@frozen
class BreakingWalk:
    """A random run that broke a claim.

    `infos`: the run's steps up to that point, as the kernel numbers them.  `begin`: the row of the
    run's initial state.
    """

    claim: Claim
    run: int
    infos: tuple[int, ...]
    begin: int = 0


@define
class RunStatistics:
    """Statistics of the runs.

    `rested`: how many runs ended early because no step could change their state any more.
    `reached`, `premise`, `runs_broken`: by claim, how many runs reached it, met its premise, or
    broke it.  `broken`: the shortest run that broke each claim.
    """

    runs: int = 0
    steps: int = 0
    longest: int = 0
    rested: int = 0
    reached: dict[str, int] = Factory(dict)
    premise: dict[str, int] = Factory(dict)
    runs_broken: dict[str, int] = Factory(dict)
    broken: dict[str, BreakingWalk] = Factory(dict)


class BlockResults:
    """Which runs of a block reached each claim, met its premise, or broke it."""

    def __init__(self, runs: int) -> None:
        self.broke = np.zeros(runs, np.bool_)
        # For each claim, which runs reached it, met its premise, or broke it.
        self._reached, self._premise, self._broken = (
            defaultdict[str, Flags](lambda: np.zeros(runs, np.bool_)) for _ in range(3)
        )

    def reach(self, claim: Claim, runs: Ints) -> None:
        self._reached[claim.property.name][runs] = True

    def meet(self, claim: Claim, runs: Ints) -> None:
        self._premise[claim.property.name][runs] = True

    def break_(self, claim: Claim, runs: Ints) -> Ints:
        """Mark `runs`; return the runs among them that had not broken the claim before."""
        marks = self._broken[claim.property.name]
        fresh = runs[~marks[runs]]
        marks[fresh] = True
        return fresh

    def add_to(self, found: RunStatistics) -> None:
        for marks, counts in (
            (self._reached, found.reached),
            (self._premise, found.premise),
            (self._broken, found.runs_broken),
        ):
            for name, runs in marks.items():
                counts[name] = counts.get(name, 0) + int(runs.sum())


Retraced = tuple[dict[str, dict[str, str]], tuple[Step, ...], str]


def retrace_run(search: Search, broken: BreakingWalk, asked: StepAnswers | None) -> Retraced:
    """Take a run's steps again; return the members' initial states and the steps as text.

    The third item is the step that the abstract world of `asked` cannot take, as text, or "".
    """
    steps_of = Steps(search)
    row = search.rows()[broken.begin].copy()
    initial = states_text(search, row)
    steps: list[Step] = []
    last = [row]
    for info in broken.infos:
        wanted = move_of(search, info, row)
        options = [(move, after) for move, after, _ in steps_of.out_of(row) if move == wanted]
        move, row = options[0]
        steps.append(to_step(move, states_text(search, row)))
        last = [last[-1], row]
    note = ""
    if asked is not None:
        note = asked.note(search.judge.number(np.array(last), 0, len(last)))
    return initial, tuple(steps), note
