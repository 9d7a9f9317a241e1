"""Whether a small world keeps its claims about runs and steps, in plain Python.

What `models/engine/graph.py` and `fair_runs.py` decide with arrays, over states with numbers from
0 on.  Only whether: the run that breaks such a claim is the engine's to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from attrs import Factory, define, frozen

from models.asking import ask
from models.events import Message, plain
from models.fairness import Fair
from models.local import Offline, thaw_event
from models.member import Codes
from models.properties import Property
from models.step_claims import StepClaim
from models.steps import Move, taken_of
from models.view import View
from models.world import World

Flags = Sequence[bool]


@frozen
class Edge:
    """One step, from one state to another; `label`: which it is by itself, None: never forced."""

    source: int
    target: int
    move: Move
    label: Hashable


@frozen
class Duties:
    """Edges that fulfil a duty, each with its duty."""

    strong: bool
    edges: tuple[tuple[Edge, Hashable], ...]


@define
class Runs:
    """All steps of a finished search; the first `begins` of its `count` states begin runs."""

    world: World
    count: int
    begins: int
    edges: list[Edge]
    families: list[Duties] = Factory(list)
    idle: list[str] = Factory(list)

    def __attrs_post_init__(self) -> None:
        for fair in self.world.fairness:
            if fair.each and not _is_narrow(fair):
                labelled = tuple(
                    (edge, edge.label) for edge in self.edges if edge.label is not None
                )
                self.families.append(Duties(fair.strong, labelled))
                continue
            by_member = [
                [edge for edge in self.edges if edge.label is not None and _takes(fair, name, edge)]
                for name in ("", *self.world.members)
            ]
            if _is_narrow(fair) and not any(by_member):
                self.idle.append(f"fairness: {fair}")
            if fair.each:
                some = {id(edge): (edge, edge.label) for edges in by_member for edge in edges}
                self.families.append(Duties(fair.strong, tuple(some.values())))
                continue
            for edges in by_member:
                changing = tuple((edge, 0) for edge in edges if edge.source != edge.target)
                self.families.append(Duties(fair.strong, changing))

    def keep(
        self, item: Property, holds: Flags, premise: Flags | None, meanwhile: Flags | None
    ) -> bool:
        """Return whether every fair run keeps the claim, which says these of the states."""
        without = [not it for it in holds]
        due = None
        if premise is not None:
            due = [one and other for one, other in zip(premise, without, strict=True)]
        wanted = None
        if item.kind == "until":
            assert meanwhile is not None
            ends = [one and not other for one, other in zip(without, meanwhile, strict=True)]
            if self._can_come(due, without, ends, meanwhile):
                return False
        elif item.kind == "infinitely often":
            due = without
        elif item.kind == "eventually always":
            wanted, without = without, [True] * self.count
            due = without
        goal = self._fair_states(without, wanted)
        return not self._can_come(due, without, goal)

    def _can_come(
        self, due: Flags | None, within: Flags, goal: Flags, leaving: Flags | None = None
    ) -> bool:
        """Return whether a run gets from where it is due, or begins, to the goal by `within`.

        `leaving`: the only states it may leave.
        """
        into: dict[int, list[int]] = {}
        for edge in self.edges:
            if (
                within[edge.source]
                and within[edge.target]
                and (not leaving or leaving[edge.source])
            ):
                into.setdefault(edge.target, []).append(edge.source)
        able = _closure([at for at in range(self.count) if goal[at]], into)
        return any(at in able for at in range(self.begins) if due is None) or (
            due is not None and any(due[at] for at in able)
        )

    def _fair_states(self, region: Flags, wanted: Flags | None) -> list[bool]:
        """Return the states of `region` where a fair run can stay; with some wanted, those."""
        alive = {at for at in range(self.count) if region[at]}
        while True:
            part, sizes = _parts(alive, self.edges)
            bad: set[int] = set(sizes)
            if wanted is None:
                bad = set()
            else:
                bad -= {part[at] for at in alive if wanted[at]}
            cut: set[int] = set()
            for family in self.families:
                _break(family, part, sizes, bad, cut)
            alive = {at for at in alive if part[at] not in bad}
            if not cut & alive:
                return [at in alive and (wanted is None or wanted[at]) for at in range(self.count)]
            alive -= cut


def _closure(begin: Iterable[int], onward: dict[int, list[int]]) -> set[int]:
    found = set(begin)
    waiting = list(found)
    while waiting:
        for after in onward.get(waiting.pop(), ()):
            if after not in found:
                found.add(after)
                waiting.append(after)
    return found


def _parts(alive: set[int], edges: Sequence[Edge]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the strongly connected part of each state alive, and the size of each part."""
    onward: dict[int, list[int]] = {}
    into: dict[int, list[int]] = {}
    for edge in edges:
        if edge.source in alive and edge.target in alive:
            onward.setdefault(edge.source, []).append(edge.target)
            into.setdefault(edge.target, []).append(edge.source)
    left, ended = set(alive), []
    for root in sorted(alive):
        if root in left:
            left.discard(root)
            stack: list[tuple[int, Iterator[int]]] = [(root, iter(onward.get(root, ())))]
            while stack:
                after = next((to for to in stack[-1][1] if to in left), None)
                if after is None:
                    ended.append(stack.pop()[0])
                else:
                    left.discard(after)
                    stack.append((after, iter(onward.get(after, ()))))
    part: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for root in reversed(ended):
        if root not in part:
            number, waiting = len(sizes), [root]
            part[root], sizes[number] = number, 0
            while waiting:
                at = waiting.pop()
                sizes[number] += 1
                for before in into.get(at, ()):
                    if before not in part:
                        part[before] = number
                        waiting.append(before)
    return part, sizes


def _break(
    family: Duties, part: dict[int, int], sizes: dict[int, int], bad: set[int], cut: set[int]
) -> None:
    """Note parts that break a weak duty, and states to leave out for a strong one."""
    possible: dict[tuple[int, Hashable], set[int]] = {}
    taken = set()
    for edge, duty in family.edges:
        if edge.source in part:
            key = part[edge.source], duty
            possible.setdefault(key, set()).add(edge.source)
            if part.get(edge.target) == key[0]:
                taken.add(key)
    for key, states in possible.items():
        if key in taken:
            continue
        if family.strong:
            cut |= states
        elif len(states) == sizes[key[0]]:
            bad.add(key[0])


# -- which step is which -----------------------------------------------------------------------


def label_of(move: Move, is_fair: Callable[[str, Hashable], bool]) -> Hashable:
    """Return which step it is by itself, or None where fairness never forces it.

    `is_fair(name, event)`: whether that choice is due where it is taken.
    """
    if move.is_fault or any(outcome.effects is not None for _, outcome in move.outcomes):
        return None
    match move.kind:
        case "choice":
            name = move.outcomes[0][0]
            return ("choice", name, move.event) if is_fair(name, move.event) else None
        case "receive":
            return "receive", move.outcomes[0][0], move.message
        case "together":
            assert move.together is not None
            return ("together", move.together.action) if move.together.fair else None
    return move.kind


def is_fair(codes: Codes, locals_: Sequence[Any]) -> Callable[[str, Hashable], bool]:
    """Return what says which choices of these local states fairness forces."""

    def forced(name: str, event: Hashable) -> bool:
        at = codes.names.index(name)
        choices = codes.members[at].choices(locals_[at])
        return any(choice.fair and choice.event == event for choice in choices)

    return forced


def _is_narrow(fair: Fair) -> bool:
    return bool(fair.actions or fair.of or fair.which)


def _takes(fair: Fair, name: str, edge: Edge) -> bool:
    """Return whether `fair` means this step as one of the member's; "": as the world's own."""
    move = edge.move
    if move.kind == "heal":
        words = fair.actions or ("heal",) * fair.each
        return not name and not fair.of and fair.which is None and "heal" in words
    if move.together is not None:
        event = move.together.events.get(name)
        return name in move.together.events and fair.takes(move.together.action, name, event)
    if not move.outcomes or move.outcomes[0][0] != name:
        return False
    event = thaw_event(move.event)
    bare = event.event if isinstance(event, Offline) else event
    word = "receive" if isinstance(bare, Message) else plain(bare)
    return fair.takes(word, name, event)


# -- claims about steps ------------------------------------------------------------------------


def steps_keep(item: Property, runs: Runs, view: Callable[[int], View]) -> bool:
    """Return whether all steps, and the states that runs begin in, keep a claim about steps."""
    asked = StepClaim(item)
    if item.abstract is not None and not all(
        ask(item, lambda at: asked.is_state(view(at)), at) for at in range(runs.count)
    ):
        return False
    if not all(ask(item, lambda at: asked.begins(view(at)), at) for at in range(runs.begins)):
        return False
    return all(
        ask(item, asked.holds, view(edge.source), taken_of(edge.move), view(edge.target))
        for edge in runs.edges
    )
