"""Comparison of two worlds: the states and steps that differ, and where their runs first part.

Two states are equal if all their parts are: each member's attributes and disk, the messages under
way, and the remaining faults.  An attribute is left out and reported if only one world has it, or
if it has a different constant value in each world, as the name of a mutant has.

The run to the state where the worlds part is a shortest one; both worlds can take all its steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from attrs import Factory, define, frozen

from joinproto.check.events import plain
from joinproto.check.freeze import thaw
from joinproto.check.injected import FAULTS
from joinproto.check.plain import search_plainly
from joinproto.check.plain_steps import Steps
from joinproto.check.problems import ModelProblem
from joinproto.check.reference import State
from joinproto.check.report import MessageText, Step
from joinproto.check.steps import Move, said, text_of, to_step
from joinproto.check.world import World

StateTexts = Mapping[tuple[str, str], str]
"""Member and attribute to text; also the messages under way, and the remaining faults."""
UNDER_WAY = ("network", "under way")
"""The key of the messages under way in `StateTexts`."""
Key = frozenset[tuple[tuple[str, str], str]]


@frozen
class Only:
    """A step that is possible in only one of the worlds where the runs part."""

    step: Annotated[str, "the step in words"]
    changes: Annotated[tuple[str, ...], "the step's changes, with the values before and after"]


@frozen(kw_only=True)
class Parting:
    """The first difference between runs of two worlds: the steps up to it, and the steps that only
    one of them can take.

    `initial`: the initial states of the members.  If `steps` and `only` are empty, the worlds begin
    in different states.
    """

    initial: Mapping[str, Mapping[str, str]]
    steps: tuple[Step, ...]
    only: tuple[tuple[Only, ...], tuple[Only, ...]]


@frozen(kw_only=True)
class Difference:
    """The differences between two worlds; pairs are (first world, second world)."""

    states: tuple[int, int]
    states_only: tuple[int, int]
    steps: tuple[int, int]
    steps_only: tuple[int, int]
    nearest_only: tuple[tuple[str, ...], tuple[str, ...]]
    left_out: tuple[str, ...]
    parting: Parting | None


@define
class _Graph:
    """All states of a world, in the order in which they are found, and their steps."""

    steps: Steps
    out: dict[State, list[tuple[Move, State]]]
    texts: dict[State, StateTexts] = Factory(dict)
    keys: dict[State, Key] = Factory(dict)

    @classmethod
    def of(cls, world: World, states_max: int) -> _Graph:
        found = search_plainly(world, (), states_max=states_max)
        if found is None:
            raise ModelProblem(
                f"world {world.name} has more than {states_max:,} states",
                next="compare smaller worlds (--members, --set), or allow more (--max-states)",
            )
        graph = cls(found.steps, found.out_of)
        graph.texts = {state: graph._texts_of(state) for state in found.states()}
        return graph

    def _texts_of(self, state: State) -> StateTexts:
        found = {
            (member, name): text
            for member, texts in self.steps.states_text(state).items()
            for name, text in texts.items()
        }
        surroundings = state.surroundings
        for name in ("crash", "wipe", "lose", "double", "partitions", "split"):
            found["faults left", name] = plain(getattr(surroundings, name))
        under_way = [_sent(text_of(sent)) for sent in state.messages]
        under_way += [f"{' to '.join(link)}: {plain(thaw(held))}" for link, held in state.links]
        found[UNDER_WAY] = "; ".join(sorted(under_way))
        return found

    def values(self) -> dict[tuple[str, str], set[str]]:
        """Return the texts of each attribute, in all states."""
        found: dict[tuple[str, str], set[str]] = {}
        for texts in self.texts.values():
            for place, text in texts.items():
                found.setdefault(place, set()).add(text)
        return found

    def set_keys(self, left_out: set[tuple[str, str]]) -> None:
        """Set the key of each state: its texts, without the attributes `left_out`."""
        for state, texts in self.texts.items():
            self.keys[state] = frozenset(
                (place, text) for place, text in texts.items() if place not in left_out
            )

    def edges(self) -> set[tuple[Key, str, Key]]:
        return {
            (self.keys[state], said(move), self.keys[after])
            for state, taken in self.out.items()
            for move, after in taken
        }

    def steps_from(self, state: State) -> dict[tuple[str, Key], tuple[Move, State]]:
        return {(said(move), self.keys[after]): (move, after) for move, after in self.out[state]}

    def only(self, state: State, chosen: Iterable[tuple[str, Key]]) -> tuple[Only, ...]:
        """Return chosen steps out of a state in words, with the changes of each."""
        before, ways, found = self.texts[state], self.steps_from(state), []
        for way in chosen:
            move, state_after = ways[way]
            after = self.texts[state_after]
            changes = [
                f"{member} {name} {before.get((member, name), '-')} → {text}".replace("  ", " ")
                for (member, name), text in after.items()
                if before.get((member, name)) != text and (member, name) != UNDER_WAY
            ]
            changes += [f"sends {_sent(message)}" for message in to_step(move, {}).sent]
            found.append(Only(way[0], tuple(changes)))
        return tuple(sorted(found, key=lambda one: (one.step, one.changes)))


def _sent(message: MessageText) -> str:
    sender = "" if message.sender is None else f" from {message.sender}"
    return f"“{message.content}”{sender} to {message.to or 'all others'}"


def difference(first: World, second: World, *, states_max: int = 20_000) -> Difference:
    """Return the differences between two worlds.

    Raises `ModelProblem` for a model that cannot be explored, for a world with more states than
    `states_max`, and for two worlds without a common member.
    """
    if not ({*first.members} & {*second.members}) - {FAULTS}:
        raise ModelProblem(
            f"worlds {first.name} and {second.name} have no member in common",
            next="compare two versions of one world",
        )
    graphs = _Graph.of(first, states_max), _Graph.of(second, states_max)
    left_out = _left_out(*(graph.values() for graph in graphs))
    for graph in graphs:
        graph.set_keys(set(left_out))
    one, other = (set(graph.keys.values()) for graph in graphs)
    edges = [graph.edges() for graph in graphs]
    return Difference(
        states=(len(graphs[0].texts), len(graphs[1].texts)),
        states_only=(len(one - other), len(other - one)),
        steps=(len(edges[0]), len(edges[1])),
        steps_only=(len(edges[0] - edges[1]), len(edges[1] - edges[0])),
        nearest_only=(_nearest(graphs[0], other), _nearest(graphs[1], one)),
        left_out=tuple(left_out.values()),
        parting=_parting(*graphs),
    )


def _left_out(
    one: Mapping[tuple[str, str], set[str]], other: Mapping[tuple[str, str], set[str]]
) -> dict[tuple[str, str], str]:
    """Return attributes that are not compared, and why."""
    found = {}
    for place in [*one, *(place for place in other if place not in one)]:
        name = " ".join(part for part in place if part)
        here, there = one.get(place), other.get(place)
        if here is None or there is None:
            found[place] = f"{name}: only in the {'second' if here is None else 'first'}"
        elif len(here) == len(there) == 1 and here != there:
            found[place] = f"{name}: always {min(here)}, or {min(there)}"
    return found


def _nearest(graph: _Graph, known: set[Key]) -> tuple[str, ...]:
    """Return a text for each member in the first state that the other world lacks, or ()."""
    for state, key in graph.keys.items():
        if key not in known:
            texts = graph.steps.states_text(state)
            return tuple(
                f"{member}: " + ", ".join(f"{name} {text}".strip() for name, text in told.items())
                for member, told in texts.items()
            )
    return ()


def _parting(one: _Graph, other: _Graph) -> Parting | None:
    """Return a shortest run to the first difference, or None if the worlds do not differ."""
    begins = {other.keys[state]: state for state in other.steps.initials()}
    firsts = one.steps.initials()
    pairs = [(state, begins[one.keys[state]]) for state in firsts if one.keys[state] in begins]
    if {one.keys[state] for state in firsts} != set(begins):
        return Parting(initial=one.steps.states_text(firsts[0]), steps=(), only=((), ()))
    parents: dict[Any, tuple[Any, Move] | None] = dict.fromkeys(pairs)
    queue = deque(pairs)
    while queue:
        here, there = pair = queue.popleft()
        ways, others = one.steps_from(here), other.steps_from(there)
        if ways.keys() != others.keys():
            return _parting_at(one, other, pair, parents)
        for way, (move, after) in ways.items():
            beyond = after, others[way][1]
            if beyond not in parents:
                parents[beyond] = pair, move
                queue.append(beyond)
    return None


def _parting_at(
    one: _Graph,
    other: _Graph,
    pair: tuple[State, State],
    parents: Mapping[Any, Any],
) -> Parting:
    here, there = pair
    ways, others = one.steps_from(here), other.steps_from(there)
    only = (
        one.only(here, ways.keys() - others.keys()),
        other.only(there, others.keys() - ways.keys()),
    )
    steps: list[Step] = []
    while parents[pair] is not None:
        before, move = parents[pair]
        steps.insert(0, to_step(move, one.steps.states_text(pair[0])))
        pair = before
    return Parting(initial=one.steps.states_text(pair[0]), steps=tuple(steps), only=only)
