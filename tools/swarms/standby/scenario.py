"""Actions on hot-standby brokers, drawn from a seed before a run begins."""

from __future__ import annotations

from enum import Enum
from random import Random

from attrs import field, frozen


class ActionKind(Enum):
    """A kind of action, by an operator, a manager, a client or a fault."""

    START = "is started"
    KILL = "is killed"
    POWER = "loses its power"
    SOON = "loses its power during one of its next writes"
    STOP = "is stopped by SIGTERM"
    CUT = "is cut off"
    HEAL = "all links work again"
    PROMOTE = "is promoted"
    DEMOTE = "is demoted"
    SLOW = "has a slow disk"
    PUBLISH = "a client publishes"
    TAKE = "a client takes"
    TRANSACT = "a client does both in a transaction"


FAULTS = {
    ActionKind.KILL: 2.0,
    ActionKind.POWER: 1.0,
    ActionKind.SOON: 2.0,
    ActionKind.STOP: 1.0,
    ActionKind.CUT: 1.5,
    ActionKind.PROMOTE: 1.5,
    ActionKind.DEMOTE: 0.7,
    ActionKind.SLOW: 1.0,
}
"""The kinds of faults with their weights; a run has some of the kinds."""
DOWN = (ActionKind.KILL, ActionKind.POWER, ActionKind.SOON, ActionKind.STOP)


@frozen
class Action:
    """An action.  `at`: its second; `amount`: messages, seconds or writes, by its kind."""

    at: float
    kind: ActionKind
    broker: str = ""
    amount: float = 0.0

    def __str__(self) -> str:
        amount = f" ({self.amount:g})" if self.amount else ""
        return f"{self.at:8.3f} s  {self.broker} {self.kind.value}{amount}"


@frozen(kw_only=True)
class Scenario:
    """A scenario.  `built_in`: brokers promote themselves; else an outside manager, which fences.

    `continues`: whether brokers may continue by themselves after a total failure.  `latency`: the
    most seconds of a write if the disk is not slow.
    """

    seed: int
    names: str
    built_in: bool
    continues: bool
    latency: float
    actions: tuple[Action, ...] = field(default=(), repr=False)


def draw(seed: int, events: int) -> Scenario:
    """Return the scenario of a seed with `events` actions; it is the same on every machine."""
    chance = Random(f"standby {seed}")
    built_in = chance.random() < 0.5
    names = "abc" if built_in else chance.choice(("ab", "abc", "abc"))
    kinds = [kind for kind in FAULTS if chance.random() < 0.5] or [ActionKind.KILL]
    share, pace = chance.choice((0.2, 0.4)), chance.choice((0.2, 1.0, 2.0))
    actions: list[Action] = []
    at = chance.choice((0.5, 4.0))
    if not built_in:
        actions.append(Action(0.2, ActionKind.PROMOTE, "a"))
    while len(actions) < events:
        at += chance.expovariate(1.0 / pace)
        if chance.random() < share:
            kind = chance.choices(kinds, [FAULTS[one] for one in kinds])[0]
            actions += _fault_actions(chance, kind, chance.choice(names), at)
        else:
            kind = chance.choice(
                (ActionKind.PUBLISH, ActionKind.PUBLISH, ActionKind.TAKE, ActionKind.TRANSACT)
            )
            count = chance.choice((1, 1, 3, 20))
            actions.append(Action(at, kind, chance.choice(names), count))
    return Scenario(
        seed=seed,
        names=names,
        built_in=built_in,
        continues=built_in and chance.random() < 0.5,
        latency=chance.choice((0.0, 0.005, 0.05)),
        actions=tuple(sorted(actions[:events], key=lambda action: action.at)),
    )


def _fault_actions(chance: Random, kind: ActionKind, who: str, at: float) -> list[Action]:
    later = at + chance.choice((0.2, 2.0, 10.0)) * chance.random()
    match kind:
        case ActionKind.SOON:
            made = [Action(at, kind, who, chance.choice((1, 2, 3, 5, 8, 13, 30)))]
        case ActionKind.SLOW:
            return [Action(at, kind, who, chance.choice((0.2, 1.0, 4.0))), Action(later, kind, who)]
        case ActionKind.CUT:
            return [Action(at, kind, who), Action(later, ActionKind.HEAL)]
        case _:
            made = [Action(at, kind, who)]
    if kind in DOWN and chance.random() < 0.9:
        made.append(Action(later, ActionKind.START, who))
    return made
