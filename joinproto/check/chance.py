"""`chance(world)`: the exact probability that a run breaks a claim, from the searched graph.

The graph is read as a Markov chain of discrete time.  In each state one of the steps that change
it is drawn; all have the same weight unless weights are given.  `simulate` draws steps in the same
way, so the shares of random runs approach these numbers.  A state is absorbing if no step changes
it; for each claim, the states that break it are absorbing, too.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from typing import Annotated, Literal, Unpack

from attrs import Factory, define, field, frozen

from joinproto.check.bounded import Bounds, search_graph
from joinproto.check.properties import Kind
from joinproto.check.steps import Move, text_of, words
from joinproto.check.world import World
from joinproto.codec.json_form import Count, Seconds
from joinproto.errors import UsageProblem, did_you_mean


@frozen
class Weight:
    """The relative probability of a step; 1 for a step without a weight.

    `step`: the words that the step begins with, as a run shows them: `crash`, `a: crash`,
    `receive prepare`.  `value`: not negative; 0 for a step that is never taken.
    """

    step: Annotated[str, "the words that a step begins with"]
    value: Annotated[float, "the step's weight"]

    @classmethod
    def read(cls, text: str) -> Weight:
        """Return the weight of a text `STEP=NUMBER`; raises `UsageProblem`."""
        step, value = _sides(text, "--weight", "crash=0.01")
        return cls(step, _number(value, text))

    @classmethod
    def of_delay(cls, text: str) -> Weight:
        """Return the weight of a text such as `STEP=5..60s`; raises `UsageProblem`.

        Once possible, the step takes the middle of the range on average; other steps take a second.
        A Markov chain has no clock, so durations are distributed exponentially: the chance that a
        step comes first is inversely proportional to its average.  Without `STEP=` the weight fits
        no step, and `chance` raises an error that lists the steps.
        """
        step, value = _sides(text, "--delay", "begins=5..60s") if "=" in text else ("", text)
        low, dots, high = value.removesuffix("s").partition("..")
        least = _number(low, text)
        most = _number(high, text) if dots else least
        if not 0 < least + most or most < least or not value.endswith("s"):
            raise UsageProblem(
                f"--delay {text}: this is not a range of seconds",
                next='write the shorter time first: --delay "begins=5..60s"',
            )
        return cls(step, 2 / (least + most))


def _sides(text: str, option: str, example: str) -> tuple[str, str]:
    step, equals, value = text.rpartition("=")
    if not equals or not step.strip():
        raise UsageProblem(
            f"{option} {text}: it names no step",
            next=f'write STEP=VALUE, as in {option} "{example}"',
        )
    return step.strip(), value.strip()


def _number(value: str, text: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise UsageProblem(
            f"{text}: {value!r} is not a number from 0 on", next="write a number such as 0.01 or 5"
        )
    return number


@frozen
class ClaimChance:
    """The probability that a claim is broken; of a `sometimes`, that it comes true."""

    name: Annotated[str, "the claim's name"]
    kind: Annotated[Kind, "the claim's kind"]
    probability: Annotated[
        float | None,
        "how likely a run breaks the claim, or makes a `sometimes` true; null: unknown",
    ]


@frozen(kw_only=True)
class Chance:
    """`joinproto chance WORLD --json`"""

    world: Annotated[str, "the world's name"]
    result: Annotated[
        Literal["holds", "violated", "undetermined"],
        "the result for all claims that a run can break",
    ]
    probability: Annotated[
        float | None, "how likely a run breaks one of these claims; null: undetermined"
    ]
    claims: Annotated[tuple[ClaimChance, ...], "every claim"]
    states: Annotated[Count, "the chain's states"]
    steps: Annotated[Count, "the steps that change a state"]
    weights: Annotated[
        tuple[Weight, ...], "the given weights; of several for one step, the last counts"
    ]
    why: Annotated[str, "why the result is undetermined, or empty"] = ""
    seconds: Annotated[Seconds, "by the clock"]


@define
class _Weights:
    """Weights of steps.  `used`: the weights that fitted a step; `actions`: all steps' actions."""

    given: Sequence[Weight]
    used: set[Weight] = field(factory=set)
    actions: dict[str, None] = Factory(dict)

    def weight_of(self, move: Move) -> float:
        action, detail = words(move)
        step_words = f"{action} {text_of(move.message).content if move.message else detail}"
        forms = [step_words, *(f"{name}: {step_words}" for name, _ in move.outcomes)]
        self.actions.setdefault(action)
        fits = [one for one in self.given if any(_begins(form, one.step) for form in forms)]
        self.used.update(fits)
        return fits[-1].value if fits else 1.0

    def refuse_unused(self) -> None:
        for one in self.given:
            if not one.step:
                raise UsageProblem(
                    "a delay of all steps has no effect: only differences between steps count",
                    next=f"name a step, STEP=5..60s; the steps are {', '.join(self.actions)}",
                )
            if one not in self.used:
                near = did_you_mean(one.step, self.actions)
                raise UsageProblem(
                    f"no step begins with {one.step!r}",
                    next=f"{near}the steps are {', '.join(self.actions)}",
                )


def _begins(step_words: str, step: str) -> bool:
    return re.match(rf"{re.escape(step)}(?!\w)", step_words) is not None


def chance(
    world: World,
    *,
    weights: Sequence[Weight] = (),
    **bounds: Unpack[Bounds],
) -> Chance:
    """Return the probability of each claim of `world`.

    `weights`: of several that fit a step, the last counts.  A run begins in each initial state
    equally often.  The result is "undetermined", without numbers, if a limit, or the world's
    `within` or `same`, left states out.  Raises `ModelProblem` for a model that cannot be explored,
    and `UsageProblem` for a weight that fits no step.
    """
    from joinproto.check.engine.liveness.chance import Chain
    from joinproto.check.engine.liveness.graph import Graph
    from joinproto.check.memory import MemoryLimitMet

    began = time.perf_counter()
    search, why = search_graph(world, bounds)
    steps, weighed = 0, _Weights(weights)
    if search.beyond > 0:
        why = why or "the world's `within` leaves states without steps"
    chances: dict[str, float | None] = {}
    total = None
    if not why:
        try:
            graph = Graph(search)
            chain = Chain(graph, weighed.weight_of)
            weighed.refuse_unused()
            steps, total = len(chain.edge), chain.judge(search.judge.claims, chances)
        except (MemoryLimitMet, MemoryError):
            why = "the memory limit"
    claims = tuple(
        ClaimChance(item.name, item.kind, chances.get(item.name)) for item in world.properties
    )
    return Chance(
        world=world.name,
        result="undetermined" if total is None else "violated" if total > 0 else "holds",
        probability=total,
        claims=claims,
        states=search.states.count,
        steps=steps,
        weights=tuple(weights),
        why=why,
        seconds=time.perf_counter() - began,
    )
