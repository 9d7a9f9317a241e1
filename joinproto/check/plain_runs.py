"""The runs of a small world that break claims, in plain Python.

These are the liveness checks of `joinproto/check/engine/liveness/` without arrays.  States and
steps are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from attrs import Factory, define, field, frozen

from joinproto.check.asking import ask
from joinproto.check.events import Message, plain
from joinproto.check.fairness import Fair
from joinproto.check.lassos import (
    OpenDuty,
    Run,
    RunQuery,
    choice_words,
    close,
    joint_words,
    receipt_words,
    shortest_run,
    shortest_run_ending_with,
    some_words,
)
from joinproto.check.local import bare_event, thaw_event
from joinproto.check.member import Codes
from joinproto.check.network import MessageSet
from joinproto.check.properties import Property
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import Move, order_of, step_view
from joinproto.check.view import View

Flags = Sequence[bool]


@frozen
class Edge:
    """One step, from the state `source` to the state `target`.

    `label`: the step as a duty by itself, None if fairness never forces it.  `place`: for a choice,
    how many choices the member offers before it.
    """

    source: int
    target: int
    move: Move
    label: Hashable
    place: int


@frozen
class Duty:
    """Steps of which fairness requires one.  `words`: returns the duty's name."""

    strong: bool
    edges: Sequence[int]
    words: Callable[[], str]


class _DutyInPart(OpenDuty):
    """A duty in a part of the graph.  `part`, `inside`: flags of the part's states and steps."""

    def __init__(self, runs: Runs, duty: Duty, part: Flags, inside: Flags) -> None:
        super().__init__(duty.words(), duty.strong)
        self._runs, self._part = runs, part
        self._states = {runs.source[edge] for edge in duty.edges if part[runs.source[edge]]}
        self._edges = {edge for edge in duty.edges if inside[edge]}

    def is_possible(self, at: int) -> bool:
        return at in self._states

    def is_fulfilled_by(self, edge: int) -> bool:
        return edge in self._edges

    def impossible(self) -> Flags | None:
        left = {at for at, here in enumerate(self._part) if here} - self._states
        return self._runs.among(left) if left else None

    def sources(self) -> Flags:
        return self._runs.among({self._runs.source[edge] for edge in self._edges})


@define
class Runs:
    """All steps of a search; `level`: the level of each state, `begins`: number of initial states.

    `groups`: lists of duties, each list in any order.  `idle`: demands of fairness without steps.
    """

    codes: Codes
    level: Sequence[int]
    edges: Sequence[Edge]
    groups: list[list[Duty]] = Factory(list)
    idle: list[str] = Factory(list)
    source: list[int] = field(init=False)
    target: list[int] = field(init=False)
    begins: int = field(init=False)
    _out: list[list[int]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.begins = self.level.count(0)
        self.source = [edge.source for edge in self.edges]
        self.target = [edge.target for edge in self.edges]
        self._out = [[] for _ in self.level]
        for number, at in enumerate(self.source):
            self._out[at].append(number)

    # -- for joinproto/check/lassos.py ---------------------------------------------------------

    def out_of(self, at: int) -> Sequence[int]:
        return self._out[at]

    def order(self, edge: int) -> Any:
        return order_of(self.edges[edge].move, self.codes)

    def among(self, states: Collection[int]) -> Flags:
        return [at in states for at in range(len(self.level))]

    def distances(
        self, goal: Flags, allowed: Flags | None, beyond: Sequence[int] | None = None
    ) -> list[int]:
        into: list[list[int]] = [[] for _ in self.level]
        for edge, (source, target) in enumerate(zip(self.source, self.target, strict=True)):
            if allowed is None or allowed[edge]:
                into[target].append(source)
        waiting: dict[int, list[int]] = {}
        for at, is_goal in enumerate(goal):
            if is_goal and (beyond is None or beyond[at] >= 0):
                waiting.setdefault(0 if beyond is None else beyond[at], []).append(at)
        far, step = [-1] * len(self.level), 0
        while waiting:
            for at in waiting.pop(step, ()):
                if far[at] < 0:
                    far[at] = step
                    waiting.setdefault(step + 1, []).extend(into[at])
            step += 1
        return far

    # -- duties --------------------------------------------------------------------------------

    def with_duties(self) -> Runs:
        """Add the duties of fairness to these runs, and return them."""
        world, names = self.codes.world, self.codes.names
        labelled = [number for number, edge in enumerate(self.edges) if edge.label is not None]
        for fair in world.fairness:
            if fair.each and not _is_narrow(fair):
                self.groups.append(self._single_step_duties(fair, labelled))
                continue
            by_member = {
                name: [edge for edge in labelled if _takes(fair, name, self.edges[edge])]
                for name in (*names, "")
            }
            if _is_narrow(fair) and not any(by_member.values()):
                self.idle.append(f"fairness: {fair}")
            if fair.each:
                some = {edge for edges in by_member.values() for edge in edges}
                self.groups.append(self._single_step_duties(fair, sorted(some)))
                continue
            known: list[list[int]] = []
            for name, edges in by_member.items():
                changing = [edge for edge in edges if self.source[edge] != self.target[edge]]
                # A joint step is one duty, not one for each of its members.
                if changing and changing not in known:
                    known.append(changing)
                    words = partial(some_words, fair.actions, name)
                    self.groups.append([Duty(fair.strong, changing, words)])
        return self

    def _single_step_duties(self, fair: Fair, edges: Iterable[int]) -> list[Duty]:
        """Return a duty for each step; under strong fairness, only if it changes the state."""
        found: dict[Hashable, list[int]] = {}
        for edge in edges:
            if fair.strong and self.source[edge] == self.target[edge]:
                continue
            found.setdefault(self.edges[edge].label, []).append(edge)
        return [Duty(fair.strong, same, partial(words_of, label)) for label, same in found.items()]

    def _order(self, duty: Duty) -> Any:
        """Return the sort key of duties of single steps, as the engine orders them."""
        edges = [self.edges[edge] for edge in duty.edges]
        first = min((self.level[edge.source], edge.place) for edge in edges)
        return _rank(edges[0].label, self.codes), first, duty.words()

    # -- fair runs -----------------------------------------------------------------------------

    def fair_run_breaking(
        self, item: Property, holds: Flags, premise: Flags | None, meanwhile: Flags | None
    ) -> Run | None:
        """Return a fair run that breaks the claim, or None.  `holds`, `premise`, `meanwhile`: the
        claim's answers for each state.
        """
        without = [not held for held in holds]
        due = wanted = None
        if premise is not None:
            due = [one and other for one, other in zip(premise, without, strict=True)]
        if item.kind == "until":
            assert meanwhile is not None
            pairs = list(zip(without, meanwhile, strict=True))
            allowed = self._within([one and other for one, other in pairs], without)
            run = shortest_run(
                self, RunQuery(due, allowed, [one and not other for one, other in pairs])
            )
            if run is not None:
                return run
        elif item.kind == "infinitely often":
            due = without
        elif item.kind == "eventually always":
            wanted, without = without, [True] * len(without)
            due = without
        part = self._fair_parts(without, wanted)
        goal = [at in part and (wanted is None or wanted[at]) for at in range(len(without))]
        way = shortest_run(self, RunQuery(due, self._within(without, without), goal))
        if way is None:
            return None
        if premise is None:
            way.due_at = None
        here = part[way.end(self)]
        inside = self.among({at for at, number in part.items() if number == here})
        return self._closed(way, inside)

    def _within(self, sources: Flags, targets: Flags) -> Flags:
        ends = zip(self.source, self.target, strict=True)
        return [sources[source] and targets[target] for source, target in ends]

    def _closed(self, way: Run, part: Flags) -> Run:
        """Return `way` with a fair cycle at its end; `part`: states that the cycle may visit."""
        inside = self._within(part, part)
        due: list[OpenDuty] = []
        for group in self.groups:
            open_here = [duty for duty in group if any(part[self.source[e]] for e in duty.edges)]
            if len(open_here) > 1:
                open_here.sort(key=self._order)
            due += [_DutyInPart(self, duty, part, inside) for duty in open_here]
        return close(self, way, inside, due)

    def _fair_parts(self, region: Flags, wanted: Flags | None) -> dict[int, int]:
        """Return the part of each state of `region` in which a fair run can stay.

        `wanted`: states of which each part must contain one.
        """
        alive = {at for at, here in enumerate(region) if here}
        while True:
            part, sizes = _parts(alive, self.edges)
            bad: set[int] = set()
            if wanted is not None:
                bad = set(sizes) - {part[at] for at in alive if wanted[at]}
            cut: set[int] = set()
            for group in self.groups:
                for duty in group:
                    self._note_broken(duty, part, sizes, bad, cut)
            alive = {at for at in alive if part[at] not in bad}
            if not cut & alive:
                return {at: part[at] for at in alive}
            alive -= cut

    def _note_broken(
        self, duty: Duty, part: dict[int, int], sizes: dict[int, int], bad: set[int], cut: set[int]
    ) -> None:
        """Add parts that break a weak duty to `bad`, states that break a strong duty to `cut`."""
        possible: dict[int, set[int]] = {}
        taken = set()
        for edge in duty.edges:
            source = self.source[edge]
            if source in part:
                possible.setdefault(part[source], set()).add(source)
                if part.get(self.target[edge]) == part[source]:
                    taken.add(part[source])
        for here, states in possible.items():
            if here in taken:
                continue
            if duty.strong:
                cut |= states
            elif len(states) == sizes[here]:
                bad.add(here)

    # -- claims about steps --------------------------------------------------------------------

    def run_to_broken_step(self, asked: StepClaim, view: Callable[[int], View]) -> Run | None:
        """Return a shortest run whose last step breaks a claim, or None; of several, the first.

        If the run has no steps, its initial state breaks the claim.
        """
        item = asked.item
        for at in range(self.begins):
            if not ask(item, lambda at: asked.begins(view(at)), at):
                return Run(at, [])
        bad = [
            not ask(item, asked.holds, view(edge.source), step_view(edge.move), view(edge.target))
            for edge in self.edges
        ]
        before = {edge.source for edge, is_bad in zip(self.edges, bad, strict=True) if is_bad}
        return shortest_run_ending_with(self, bad, self.among(before))


def _parts(alive: set[int], edges: Sequence[Edge]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the strongly connected component of each state of `alive`, and each size."""
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


# -- which step is which -----------------------------------------------------------------------


def label_of(move: Move, place: int | None) -> Hashable:
    """Return the label of a step by itself, or None if fairness never forces it.

    `place`: the result of `choices_before`.
    """
    if move.is_fault or any(outcome.effects is not None for _, outcome in move.outcomes):
        return None
    match move.kind:
        case "choice":
            name = move.outcomes[0][0]
            return ("choice", name, move.event) if place is not None else None
        case "receive":
            return "receive", move.outcomes[0][0], move.message
        case "together":
            assert move.together is not None
            return ("together", move.together.action) if move.together.fair else None
    return move.kind


def choices_before(move: Move, codes: Codes, locals_: Sequence[Any]) -> int | None:
    """Return how many choices the member offers before this choice; 0 for any other step.

    None if fairness does not force the choice here.
    """
    if move.kind != "choice":
        return 0
    at = codes.names.index(move.outcomes[0][0])
    choices = codes.members[at].choices(locals_[at])
    if not any(choice.fair and choice.event == move.event for choice in choices):
        return None
    return [choice.event for choice in choices].index(move.event)


def words_of(label: Any) -> str:
    """Return the name of a step by itself."""
    match label:
        case "choice", name, event:
            return choice_words(name, event)
        case "receive", name, (sender, _, content):
            return receipt_words(name, sender, content)
        case "together", action:
            return joint_words(action)
    return str(label)


def _rank(label: Any, codes: Codes) -> tuple[int, int]:
    """Return the kind of a step by itself, and its member or link."""
    names = codes.names
    match label:
        case "choice", name, _:
            return 0, names.index(name)
        case "receive", name, (sender, _, _):
            if isinstance(codes.world.network, MessageSet):
                return 1, 0
            return 2, names.index(sender) * len(names) + names.index(name)
        case "together", _:
            return 3, 0
    return 4, 0


def _is_narrow(fair: Fair) -> bool:
    return bool(fair.actions or fair.of or fair.which)


def _takes(fair: Fair, name: str, edge: Edge) -> bool:
    """Return whether `fair` covers this step as a step of the member `name` ("": of the world)."""
    move = edge.move
    if move.kind == "heal":
        words = fair.actions or ("heal",) * fair.each
        return not name and not fair.of and fair.which is None and "heal" in words
    if move.together is not None:
        event = move.together.events.get(name)
        return name in move.together.events and fair.takes(move.together.action, name, event)
    if not move.outcomes or move.outcomes[0][0] != name:
        return False
    bare = bare_event(move.event)
    word = "receive" if isinstance(bare, Message) else plain(bare)
    return fair.takes(word, name, thaw_event(move.event))
