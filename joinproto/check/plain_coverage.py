"""Coverage of a search in plain Python, as the engine's `coverage.py` reports it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from joinproto.check.causes import growing
from joinproto.check.events import Message
from joinproto.check.exercised import Arms, exercised
from joinproto.check.freeze import thaw
from joinproto.check.local import LocalState, Outcome
from joinproto.check.report import Coverage
from joinproto.check.steps import Move, words

if TYPE_CHECKING:
    from joinproto.check.plain_steps import Steps
    from joinproto.check.reference import State


def coverage_of(
    steps: Steps,
    levels: Sequence[Sequence[State]],
    out_of: Mapping[State, Sequence[tuple[Move, State]]],
    *,
    is_ended: bool,
) -> Coverage:
    """Return how often each step and case was taken, and those that never were.

    `levels`: states by depth.  `out_of`: the steps out of each state that was expanded.
    `is_ended`: whether a limit ended the search.
    """
    actions: dict[str, int] = {}
    rules = dict.fromkeys(steps.world.labels, 0)
    arms = Arms()
    # The possible steps, whether or not a budget was left: the words of each outcome.
    said: dict[int, str] = {}
    for code in steps.codes.members:
        for (local, event), outcomes in steps.asked[code].items():
            for outcome in outcomes:
                name = said[id(outcome)] = name_of(code.name, event, outcome)
                actions.setdefault(name, 0)
                rules.update({rule: rules.get(rule, 0) for rule in outcome.rules})
            acts = any(
                (o.after, o.sent, o.recorded, o.rules) != (local, (), (), ()) for o in outcomes
            )
            arms.add(event, takes=bool(outcomes), acts=acts)
            if not outcomes and not isinstance(event, Message):
                actions.setdefault(name_of(code.name, event), 0)
    for taken in out_of.values():
        for move, _ in taken:
            names = [said[id(outcome)] for _, outcome in move.outcomes]
            if move.kind in ("lose", "duplicate"):
                names = [move.kind]
            elif move.kind in ("split", "heal"):
                names = ["split or heal"]
            for name in names:
                actions[name] = actions.get(name, 0) + 1
            for _, outcome in move.outcomes:
                for rule in outcome.rules:
                    rules[rule] = rules.get(rule, 0) + 1
    states = [state for level in levels for state in level]
    seen = {
        code.name: [thaw(value) for value in {code.shows(s.locals[at]) for s in states}]
        for at, code in enumerate(steps.codes.members)
    }
    grown = [*_growing(steps, states, len(levels))] if is_ended else []
    return exercised(steps.world, actions, rules, seen, arms, _unwritten(steps, levels[0]), grown)


def _growing(steps: Steps, states: Sequence[State], depth: int) -> Iterator[str]:
    for at, code in enumerate(steps.codes.members):
        held = [local.values for local in {state.locals[at]: None for state in states}]
        yield from growing(code.name, code.objects.names, held, depth)


def _unwritten(steps: Steps, begin: Sequence[State]) -> list[str]:
    """Return the members with durable attributes whose disk stayed as it was made."""
    written = {
        code.name
        for code, asked in steps.asked.items()
        for outcomes in asked.values()
        for outcome in outcomes
        if outcome.after.disk != code.objects.empty
    }
    for state in begin:
        for code, local in zip(steps.codes.members, state.locals, strict=True):
            if local.disk != code.objects.empty:
                written.add(code.name)
    members = steps.codes.members
    return [c.name for c in members if c.objects.persistent and c.name not in written]


def name_of(member: str, event: Hashable, outcome: Outcome | None = None) -> str:
    """Return a step as coverage names it; None means one that was never taken."""
    move = Move("choice", ((member, outcome or Outcome(LocalState(False, (), ()))),), event)
    return f"{words(move)[0]} ({member})"
