"""Coverage of a search in plain Python, as the engine's `coverage.py` reports it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import Factory, define

from joinproto.check.causes import growth_notes
from joinproto.check.events import Message
from joinproto.check.exercised import MessageKinds, counted_coverage
from joinproto.check.freeze import thaw
from joinproto.check.local import LocalState, Outcome
from joinproto.check.report import Coverage
from joinproto.check.steps import Move, words

if TYPE_CHECKING:
    from joinproto.check.plain_steps import Steps
    from joinproto.check.reference import State


@define
class TakenSteps:
    """Counts of taken steps.

    `times`: by the `id` of the outcome.  `others`: steps that no member takes, by kind.
    `outcomes`: that `id` to the member and the event of its first occurrence, and the outcome.
    """

    times: Counter[int] = Factory(Counter)
    outcomes: dict[int, tuple[str, Hashable, Outcome]] = Factory(dict)
    others: Counter[str] = Factory(Counter)

    def add(self, move: Move, times: int = 1) -> None:
        """Count a step that was taken so many times."""
        if move.kind in ("lose", "duplicate"):
            self.others[move.kind] += times
        elif move.kind in ("split", "heal"):
            self.others["split or heal"] += times
        for member, outcome in move.outcomes:
            self.times[id(outcome)] += times
            self.outcomes.setdefault(id(outcome), (member, move.event, outcome))

    def counts(self, steps: Steps) -> tuple[Counter[str], Counter[str]]:
        """Return how often each step and each case of a table was taken, 0 included.

        A possible fault is listed even if its budget was always spent.
        """
        actions, rules = Counter(self.others), Counter(dict.fromkeys(steps.world.labels, 0))
        # An outcome is not in `asked` if the member's code raised, for example in shows().
        rest = dict(self.outcomes)

        def count(member: str, event: Hashable, outcome: Outcome) -> None:
            times = self.times[id(outcome)]
            rest.pop(id(outcome), None)
            actions[name_of(member, event, outcome)] += times
            for rule in outcome.rules:
                rules[rule] += times

        for code in steps.codes.members:
            for (_, event), outcomes in steps.asked[code].items():
                for outcome in outcomes:
                    count(code.name, event, outcome)
                if not outcomes and not isinstance(event, Message):
                    actions[name_of(code.name, event)] += 0
        for one in list(rest.values()):
            count(*one)
        return actions, rules


def coverage_of(
    steps: Steps,
    levels: Sequence[Sequence[State]],
    out_of: Mapping[State, Sequence[tuple[Move, State]]],
    *,
    is_stopped: bool,
) -> Coverage:
    """Return how often each step and case was taken, and the parts that never occurred.

    `levels`: states by depth.  `out_of`: the steps out of each state that was expanded.
    `is_stopped`: whether a limit ended the search.
    """
    taken = TakenSteps()
    for onward in out_of.values():
        for move, _ in onward:
            taken.add(move)
    actions, rules = taken.counts(steps)
    states = [state for level in levels for state in level]
    seen = {
        code.name: [thaw(value) for value in {code.shows(s.locals[at]) for s in states}]
        for at, code in enumerate(steps.codes.members)
    }
    grown = [*_growing(steps, states, len(levels))] if is_stopped else []
    return counted_coverage(
        steps.world, actions, rules, seen, kinds_of(steps), unwritten_of(steps, levels[0]), grown
    )


def kinds_of(steps: Steps) -> MessageKinds:
    """Return the kinds of the messages that members were asked about."""
    message_kinds = MessageKinds()
    for code in steps.codes.members:
        for (local, event), outcomes in steps.asked[code].items():
            acts = any(
                (o.after, o.sent, o.recorded, o.rules) != (local, (), (), ()) for o in outcomes
            )
            message_kinds.add(event, takes=bool(outcomes), acts=acts)
    return message_kinds


def _growing(steps: Steps, states: Sequence[State], depth: int) -> Iterator[str]:
    for at, code in enumerate(steps.codes.members):
        held = [local.values for local in {state.locals[at]: None for state in states}]
        yield from growth_notes(code.name, code.objects.names, held, depth)


def unwritten_of(steps: Steps, begin: Sequence[State]) -> list[str]:
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
    """Return a step's name in the coverage; `outcome`: None for a step that was never taken."""
    move = Move("choice", ((member, outcome or Outcome(LocalState(False, (), ()))),), event)
    return f"{words(move)[0]} ({member})"
