"""Linear temporal logic on a small graph, slowly and from the textbook.

A formula is a tuple: ("atom", f), ("not", a), ("and", a, b), ("until", a, b).  A run is found in
the product of the graph with all guesses of which *until* holds.  The engine works in another way.
A run that ends is a run that stays in its last state for ever.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import product
from typing import Any

from attrs import frozen

from joinproto.check.events import Message, plain
from joinproto.check.properties import Property
from joinproto.check.reference import State
from joinproto.check.report import Trace
from joinproto.check.steps import Move, to_step
from joinproto.check.view import View
from tests.check.slow_liveness import Runs
from tools.slow_search import Explored

Formula = tuple[Any, ...]
Node = tuple[int, tuple[bool, ...]]

TRUE: Formula = ("atom", lambda view: True)


def negation(a: Formula) -> Formula:
    return ("not", a)


def finally_(a: Formula) -> Formula:
    return ("until", TRUE, a)


def globally(a: Formula) -> Formula:
    return negation(finally_(negation(a)))


def implies(a: Formula, b: Formula) -> Formula:
    return negation(("and", a, negation(b)))


def formula_of(item: Property) -> Formula:
    """Return a claim as a formula of the logic."""
    holds: Formula = ("atom", item.holds)
    premise: Formula = ("atom", item.premise)
    match item.kind:
        case "eventually":
            return finally_(holds)
        case "leads to":
            return globally(implies(premise, finally_(holds)))
        case "infinitely often":
            return globally(finally_(holds))
        case "eventually always":
            return finally_(globally(holds))
        case "until":
            waits: Formula = ("until", ("atom", item.meanwhile), holds)
            return waits if item.premise is None else globally(implies(premise, waits))
    raise AssertionError(item.kind)


def untils(formula: Formula) -> list[Formula]:
    """Return every *until* in a formula, inner ones first, each once."""
    found: list[Formula] = []
    for part in formula[1:]:
        if isinstance(part, tuple):
            found += [one for one in untils(part) if one not in found]
    return [*found, formula] if formula[0] == "until" else found


@frozen
class Duty:
    """A duty.  `edges`: the steps that fulfil the duty; `where`: states in which it is possible."""

    strong: bool
    edges: frozenset[int]
    where: frozenset[int]


def duties_of(found: Explored) -> list[Duty]:
    """Return the duties of the world's fairness, straight from the definition."""
    runs, world = Runs(found), found.reference.world
    groups: list[tuple[bool, set[int]]] = []
    for fair in world.fairness:
        kept: dict[Hashable, set[int]] = defaultdict(set)
        for number, (source, move, target) in enumerate(found.edges):
            alone = runs.duty_of(runs.states[source], move)
            if (
                alone is None or source == target
            ):  # as in TLA, a step that changes nothing does not count
                continue
            if move.kind == "heal":
                # A heal is of no member.  Fairness means it by its word, or with `each`.
                by_word = "heal" in fair.actions if fair.actions else fair.each
                if by_word and not fair.of and fair.which is None:
                    kept[alone].add(number)
                continue
            for word, member, event in _words_of(move):
                if fair.actions and word not in fair.actions:
                    continue
                if (fair.of and member not in fair.of) or (
                    fair.which is not None and not fair.which(member, event)
                ):
                    continue
                kept[alone if fair.each else member].add(number)
        groups += [(fair.strong, edges) for edges in kept.values()]
    return [
        Duty(strong, frozenset(edges), frozenset(found.edges[e][0] for e in edges))
        for strong, edges in groups
    ]


def _words_of(move: Move) -> Iterator[tuple[str, str, Any]]:
    if move.together is not None:
        for name, event in move.together.events.items():
            yield move.together.action, name, event
    else:
        assert move.member is not None
        word = "receive" if isinstance(move.event, Message) else plain(move.event)
        yield word, move.member, move.event


class Product:
    """The product of the graph with all guesses of which *until* holds."""

    def __init__(self, found: Explored, formula: Formula) -> None:
        self.found, self.formula = found, formula
        self.untils = untils(formula)
        states = list(found.level_of)
        self.views = [found.reference.view(state) for state in states]
        self.begins = [at for at, state in enumerate(states) if found.level_of[state] == 0]
        self._known: dict[tuple[Any, ...], bool] = {}
        out: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
        for number, (source, _, target) in enumerate(found.edges):
            out[source].append((target, number))
        guesses = list(product((False, True), repeat=len(self.untils)))
        self.out: dict[Node, list[tuple[Node, int | None]]] = {}
        for state in range(len(states)):
            for guess in guesses:
                here = (state, guess)
                self.out[here] = [
                    (there, number)
                    for target, number in [*out[state], (state, None)]
                    for after in guesses
                    if self._fits(here, there := (target, after))
                ]

    def holds(self, formula: Formula, node: Node) -> bool:
        state, guess = node
        match formula[0]:
            case "atom":
                return bool(formula[1](self.views[state]))
            case "not":
                return not self.holds(formula[1], node)
            case "and":
                return self.holds(formula[1], node) and self.holds(formula[2], node)
        return guess[self.untils.index(formula)]

    def _fits(self, here: Node, there: Node) -> bool:
        return all(
            here[1][i] == (self.holds(one[2], here) or (self.holds(one[1], here) and there[1][i]))
            for i, one in enumerate(self.untils)
        )

    def reached(self) -> set[Node]:
        """Return the nodes reachable by a run in which the formula is true."""
        first = [n for n in self.out if n[0] in self.begins and self.holds(self.formula, n)]
        return self._from(first, set(self.out))

    def _from(self, first: Sequence[Node], within: set[Node]) -> set[Node]:
        seen, waiting = set(first), list(first)
        for node in waiting:
            for after, _ in self.out[node]:
                if after in within and after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return seen

    def has_fair_run(self, duties: Sequence[Duty]) -> bool:
        """Return whether some fair run makes the formula true.

        Each strong duty is either fulfilled again and again, or never possible from some state on.
        All combinations are tried.
        """
        reached = self.reached()
        strong = [duty for duty in duties if duty.strong]
        weak = [duty for duty in duties if not duty.strong]
        for chosen in product((False, True), repeat=len(strong)):
            never = [duty for duty, done in zip(strong, chosen, strict=True) if not done]
            done = [duty for duty, done in zip(strong, chosen, strict=True) if done]
            left = {n for n in reached if not any(n[0] in duty.where for duty in never)}
            while left:
                part = self._part(next(iter(left)), left)
                if self._accepts(part, weak, done):
                    return True
                left -= part
        return False

    def _part(self, node: Node, within: set[Node]) -> set[Node]:
        forward = self._from([node], within)
        return {n for n in forward if node in self._from([n], within)}

    def _accepts(self, part: set[Node], weak: Sequence[Duty], done: Sequence[Duty]) -> bool:
        inside = [
            (node, number) for node in part for after, number in self.out[node] if after in part
        ]
        if not inside:
            return False
        edges = {number for _, number in inside}
        return (
            all(duty.edges & edges for duty in done)
            and all(
                duty.edges & edges or any(n[0] not in duty.where for n in part) for duty in weak
            )
            and all(
                any(not self.holds(one, n) or self.holds(one[2], n) for n in part)
                for one in self.untils
            )
        )


def is_broken(found: Explored, item: Property) -> bool:
    """Return whether some fair run breaks the claim."""
    return Product(found, negation(formula_of(item))).has_fair_run(duties_of(found))


# -- a run that was found --------------------------------------------------------------


def breaks(found: Explored, item: Property, trace: Trace) -> bool:
    """Return whether `trace` is a fair run of the world that breaks the claim."""
    reference = found.reference
    states = list(found.level_of)
    number_of = {state: at for at, state in enumerate(states)}
    edges: dict[int, list[tuple[int, Move, int]]] = defaultdict(list)
    for number, (source, move, target) in enumerate(found.edges):
        edges[source].append((number, move, target))
    walks: list[tuple[list[int], list[int]]] = [
        ([number_of[state]], [])
        for state in reference.initials()
        if reference.states_text(state) == trace.initial
    ]
    for step in trace.steps:
        walks = [
            ([*nodes, target], [*taken, number])
            for nodes, taken in walks
            for number, move, target in edges[nodes[-1]]
            if to_step(move, reference.states_text(states[target])) == step
        ]
    return any(_breaks(found, item, trace, nodes, taken) for nodes, taken in walks)


def _breaks(
    found: Explored, item: Property, trace: Trace, nodes: list[int], taken: list[int]
) -> bool:
    formula = formula_of(item)
    view: Callable[[State], View] = found.reference.view
    views = [view(state) for state in found.level_of]
    if trace.loop_at is None:
        # A run without a loop breaks the claim however it continues; here it stays.
        return not on_word(formula, [views[n] for n in nodes], len(nodes) - 1)[0]
    at = trace.loop_at
    if nodes[at] != nodes[-1]:
        return False
    loop, done = set(nodes[at:]), set(taken[at:])
    for duty in duties_of(found):
        if duty.edges & done:
            continue
        if (loop & duty.where) if duty.strong else (loop <= duty.where):
            return False
    word = nodes[:-1] if at < len(taken) else nodes
    return not on_word(formula, [views[n] for n in word], at)[0]


def on_word(formula: Formula, word: Sequence[View], loop_at: int) -> list[bool]:
    """Return where a formula holds on a word whose last place is followed by place `loop_at`."""
    match formula[0]:
        case "atom":
            return [bool(formula[1](view)) for view in word]
        case "not":
            return [not value for value in on_word(formula[1], word, loop_at)]
        case "and":
            one, other = (on_word(part, word, loop_at) for part in formula[1:])
            return [a and b for a, b in zip(one, other, strict=True)]
    waits, comes = (on_word(part, word, loop_at) for part in formula[1:])
    holds = list(comes)
    for _ in range(2 * len(word)):
        for i in reversed(range(len(word))):
            after = holds[i + 1] if i + 1 < len(word) else holds[loop_at]
            holds[i] = comes[i] or (waits[i] and after)
    return holds
