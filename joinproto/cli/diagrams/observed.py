"""The phases of a member, and the arrows between them, as a search of a world meets them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial

from attrs import frozen

from joinproto.check.exercised import kind_of
from joinproto.check.freeze import thaw
from joinproto.check.local import LocalState
from joinproto.check.member import MemberCode
from joinproto.check.plain_steps import Steps
from joinproto.check.steps import Move, words
from joinproto.check.world import World
from joinproto.cli.diagrams.graph import Edge, Graph
from joinproto.errors import UsageProblem, did_you_mean

STATES_MAX = 6_000
"""The most states of a world that are searched; the first states show most arrows."""

PHASES = ("phase", "state", "status", "role", "mode")
PHASES_MAX = 12
LABELS_MAX = 3
DOWN = "down"

_Arrow = tuple[str, str]


@frozen
class ObservedClass:
    """The behaviour of one class of members in a search.

    `kind`: the class.  `by`: the attribute that is the phase.  `arrows`: for each arrow, how often
    each step took it.  `is_whole`: the search met every state.
    """

    kind: str
    by: str
    phases: tuple[str, ...]
    arrows: Mapping[_Arrow, Counter[str]]
    states: int
    is_whole: bool

    def graph(self, *, with_counts: bool = True) -> Graph:
        """Return the phases in the order in which they were met, each arrow with its steps."""
        order = {phase: at for at, phase in enumerate(self.phases)}
        edges = [Edge(*arrow, _label(steps, with_counts)) for arrow, steps in self.arrows.items()]
        edges.sort(key=lambda edge: (order[edge.source], order[edge.target]))
        return Graph(self.kind, self.phases, tuple(edges))


def observe(
    worlds: Iterable[World],
    *,
    member: str | None = None,
    by: str | None = None,
    states_max: int = STATES_MAX,
) -> ObservedClass:
    """Return the observations of one kind of member in the first `states_max` states of each world.

    `member`: a member of that kind; None means the first member.  `by`: the attribute that is its
    phase; None means an attribute that looks like a phase.  Raises `UsageProblem` if there is no
    such member or attribute, or if the attribute has more than `PHASES_MAX` values.
    """
    arrows: dict[_Arrow, Counter[str]] = {}
    phases: dict[str, None] = {}
    kind, states, is_whole = "", 0, True
    for world in worlds:
        steps = Steps(world)
        codes = steps.codes.members
        names = [code.name for code in codes]
        if member is not None and member not in names:
            raise UsageProblem(
                f"{world.name} has no member {member!r}",
                next=f"{did_you_mean(member, names)}it has {', '.join(names)}",
            )
        one = codes[names.index(member)] if member else codes[0]
        kind = one.objects.kind.__name__
        alike = [code.objects.kind is one.objects.kind for code in codes]
        changes, met, ends = _changes(steps, alike, states_max)
        shown = _attributes(one, [pair for pair, _ in changes])
        by = by or _phase_of(world, one, shown)
        if by not in shown:
            raise UsageProblem(
                f"{one.name} of {world.name} has no attribute {by!r}",
                next=f"{did_you_mean(by, shown)}it has {', '.join(sorted(shown))}",
            )
        phase = cache(partial(_phase, one, by))
        for (before, after), label in changes:
            arrow = phase(before), phase(after)
            phases.update(dict.fromkeys(arrow))
            if arrow[0] != arrow[1]:
                arrows.setdefault(arrow, Counter())[label] += 1
        states, is_whole = states + met, is_whole and ends
    if len(phases) > PHASES_MAX:
        raise UsageProblem(
            f"{by} of {kind} has at least {len(phases)} values, expected at most {PHASES_MAX}",
            next="name another attribute with --by",
        )
    return ObservedClass(kind, by or "", tuple(phases), arrows, states, is_whole)


def _changes(
    steps: Steps, alike: Sequence[bool], states_max: int
) -> tuple[list[tuple[tuple[LocalState, LocalState], str]], int, bool]:
    """Return each change of a member of the kind with the step's words, the number of states met,
    and whether these are all states.
    """
    queue = [*dict.fromkeys(steps.initials())]
    known, found, is_whole = set(queue), [], True
    for state in queue:
        for move, after in steps.successors(state):
            for is_of_kind, old, new in zip(alike, state.locals, after.locals, strict=True):
                if is_of_kind and old != new:
                    found.append(((old, new), _words(move)))
            if after not in known:
                if len(known) >= states_max:
                    is_whole = False
                    continue
                known.add(after)
                queue.append(after)
    return found, len(queue), is_whole


def _words(move: Move) -> str:
    action = words(move)[0]
    if action.startswith("crash"):
        return "crash"
    if move.message is not None:
        return f"{action} {kind_of(thaw(move.message[2]))}"
    return action


def _phase(code: MemberCode, by: str, local: LocalState) -> str:
    return code.describe(local).get(by, "-") if local.up else DOWN


def _attributes(
    code: MemberCode, changes: Sequence[tuple[LocalState, LocalState]]
) -> dict[str, set[str]]:
    """Return the texts of each attribute that running members show, from a sample of states."""
    up = [local for pair in changes for local in pair if local.up]
    values: dict[str, set[str]] = {}
    for local in up[:: max(1, len(up) // 500)]:
        for name, text in code.describe(local).items():
            values.setdefault(name, set()).add(text)
    return values


def _phase_of(world: World, code: MemberCode, values: Mapping[str, set[str]]) -> str:
    """Return the attribute that is the member's phase, by its name or because it has few values."""
    named = [name for name in PHASES if name in values]
    few = [
        name
        for name, texts in values.items()
        if 1 < len(texts) <= PHASES_MAX and all(text.isidentifier() for text in texts)
    ]
    if not named and not few:
        raise UsageProblem(
            f"{world.name} shows no attribute of {code.name} that could be its phase",
            next=f"name it with --by: {', '.join(values) or 'it shows no attribute'}",
        )
    return (named or few)[0]


def _label(steps: Counter[str], with_counts: bool) -> str:
    most = steps.most_common(LABELS_MAX)
    listed = [f"{name} {times:,}" if with_counts else name for name, times in most]
    more = len(steps) - len(listed)
    return "; ".join([*listed, *([f"{more} more"] if more else [])])
