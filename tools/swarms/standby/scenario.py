"""Actions on hot-standby brokers, drawn from a seed before a run begins."""

from __future__ import annotations

from enum import Enum
from random import Random

from attrs import field, frozen


class What(Enum):
    """A kind of action, by an operator, a manager, a client or a fault."""

    START = "is started"
    KILL = "is killed"
    POWER = "loses its power"
    SOON = "loses its power in the middle of what it writes next"
    STOP = "is stopped in order"
    CUT = "is cut off"
    HEAL = "all are back in the network"
    PROMOTE = "is promoted"
    DEMOTE = "is demoted"
    SLOW = "has a slow disk"
    PUBLISH = "a client publishes"
    TAKE = "a client takes"
    TRANSACT = "a client does both in a transaction"


FAULTS = {
    What.KILL: 2.0,
    What.POWER: 1.0,
    What.SOON: 2.0,
    What.STOP: 1.0,
    What.CUT: 1.5,
    What.PROMOTE: 1.5,
    What.DEMOTE: 0.7,
    What.SLOW: 1.0,
}
"""Kinds of faults, of which a run has some, with their weights."""
DOWN = (What.KILL, What.POWER, What.SOON, What.STOP)


@frozen
class Action:
    """An action.  `at`: in seconds; `amount`: of messages, seconds or writes, by its kind."""

    at: float
    what: What
    who: str = ""
    amount: float = 0.0

    def __str__(self) -> str:
        much = f" ({self.amount:g})" if self.amount else ""
        return f"{self.at:8.3f} s  {self.who} {self.what.value}{much}"


@frozen(kw_only=True)
class Scenario:
    """A scenario.  `built_in`: brokers promote themselves; if False, a manager outside that fences.

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
    kinds = [kind for kind in FAULTS if chance.random() < 0.5] or [What.KILL]
    share, pace = chance.choice((0.2, 0.4)), chance.choice((0.2, 1.0, 2.0))
    actions: list[Action] = []
    at = chance.choice((0.5, 4.0))
    if not built_in:
        actions.append(Action(0.2, What.PROMOTE, "a"))
    while len(actions) < events:
        at += chance.expovariate(1.0 / pace)
        if chance.random() < share:
            kind = chance.choices(kinds, [FAULTS[one] for one in kinds])[0]
            actions += _fault(chance, kind, chance.choice(names), at)
        else:
            kind = chance.choice((What.PUBLISH, What.PUBLISH, What.TAKE, What.TRANSACT))
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


def _fault(chance: Random, kind: What, who: str, at: float) -> list[Action]:
    later = at + chance.choice((0.2, 2.0, 10.0)) * chance.random()
    match kind:
        case What.SOON:
            made = [Action(at, kind, who, chance.choice((1, 2, 3, 5, 8, 13, 30)))]
        case What.SLOW:
            return [Action(at, kind, who, chance.choice((0.2, 1.0, 4.0))), Action(later, kind, who)]
        case What.CUT:
            return [Action(at, kind, who), Action(later, What.HEAL)]
        case _:
            made = [Action(at, kind, who)]
    if kind in DOWN and chance.random() < 0.9:
        made.append(Action(later, What.START, who))
    return made
