"""Compares the steps of searched worlds with the relations, until a step is rejected."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from attrs import Factory, define, field, frozen

from joinproto.check.catalogue import load_world
from joinproto.check.reference import State
from joinproto.check.steps import Move, text_of, words
from joinproto.check.world import World
from joinproto.join.ids import Name
from joinproto.join.store import Ballot
from joinproto.prove.layer import Layer
from joinproto.prove.link.explain import Explainer
from joinproto.prove.link.explore import Walk, WorldStep
from joinproto.prove.link.mapping import Picture, RefinementMapping
from joinproto.prove.printed import Rejected
from joinproto.prove.structure import Structure

Pictures = tuple[Picture, ...]
Trail: TypeAlias = "tuple[Trail, Move] | None"
"""The steps that lead to a state; the outermost is the last."""


@frozen
class Linked:
    """A world to be linked.

    `layers`: names of the layers of its mappings.  `near`: distinct steps that are taken breadth
    first; `far`: steps that are taken after that, in random walks of up to `length` steps.  `load`:
    builds the world from its name and the name of a mutant.
    """

    world: str
    mappings: tuple[Callable[[Walk], RefinementMapping], ...]
    layers: frozenset[str]
    near: int
    far: int
    length: int = 60
    seed: int = 1
    load: Callable[[str, str | None], World] = lambda name, mutant: load_world(name, mutant=mutant)


@define
class Found:
    """The result for one world and one layer.

    `steps`: the number of distinct steps of the code.  `used`: how often each step of the relation
    was taken.  `level_of`: each picture that was met, with the number of steps to its first state.
    """

    world: str
    explainer: Explainer = field(repr=False)
    steps: int = 0
    seconds: float = 0.0
    used: Counter[str] = Factory(Counter)
    rejected: Rejected | None = None
    level_of: dict[Picture, int] = field(factory=dict, repr=False)

    @property
    def mapping(self) -> RefinementMapping:
        return self.explainer.mapping

    @property
    def layer(self) -> Layer:
        return self.mapping.layer

    @property
    def pictures(self) -> int:
        """Return the number of different steps between pictures."""
        return len(self.explainer.known)

    @property
    def unused(self) -> tuple[str, ...]:
        """Return the steps of the relation that the world never takes."""
        return tuple(step.name for step in self.layer.steps if not self.used[step.name])

    def structures(self) -> Iterator[tuple[Structure, int]]:
        """Yield each state that was met with its level, the lowest level first."""
        for picture, level in sorted(self.level_of.items(), key=lambda item: item[1]):
            (structure,) = self.mapping.structures(picture)
            yield structure, level


def link(
    linked: Linked, *, mutant: str | None = None, layers: frozenset[str] | None = None
) -> list[Found]:
    """Compare the steps of one world with its layers, until a step is rejected.

    `layers`: names of the layers; None means all.
    """
    walk = Walk(linked.load(linked.world, mutant))
    mappings = [make(walk) for make in linked.mappings]
    mappings = [one for one in mappings if layers is None or one.layer.name in layers]
    found = [Found(linked.world, Explainer(one)) for one in mappings]
    began = time.process_time()
    _Linking(walk, found).run(linked)
    for one in found:
        one.seconds = time.process_time() - began
    return found


@define
class _Linking:
    walk: Walk
    found: list[Found]
    number_of: dict[State, int] = Factory(dict)
    seen: set[tuple[int, int]] = Factory(set)

    def run(self, linked: Linked) -> None:
        if not self.found:
            return
        first = self.walk.initial()
        start = tuple(one.mapping.picture(first, None) for one in self.found)
        for one, picture in zip(self.found, start, strict=True):
            one.level_of[picture] = 0
        if self._take_breadth_first(first, start, linked.near) and linked.far:
            self._take_random_walks(start, linked)
        for one in self.found:
            one.steps = len(self.seen)

    def _take_breadth_first(self, first: State, start: Pictures, limit: int) -> bool:
        # A picture depends on the run to its state, so a place is a state with its pictures.
        places = {(first, start)}
        queue: list[tuple[State, Pictures, int, Trail]] = [(first, start, 0, None)]
        for state, pictures, level, trail in queue:
            for move, after in self.walk.successors(state):
                reached = self._take(WorldStep(level, state, move, after), pictures, (trail, move))
                if reached is None:
                    return False
                if (after, reached) not in places:
                    places.add((after, reached))
                    queue.append((after, reached, level + 1, (trail, move)))
            if len(self.seen) >= limit:
                break
        return True

    def _take_random_walks(self, start: Pictures, linked: Linked) -> None:
        pictures = start
        trail: Trail = None
        for count, taken in enumerate(self.walk.random_steps(linked.seed, linked.length)):
            if taken.level == 0:
                pictures, trail = start, None
            trail = (trail, taken.move)
            reached = self._take(taken, pictures, trail)
            if reached is None or count == linked.far:
                return
            pictures = reached

    def _take(self, taken: WorldStep, pictures: Pictures, trail: Trail) -> Pictures | None:
        """Return the pictures after the step; None if a relation does not have this step."""
        ends = (self._number(taken.before), self._number(taken.after))
        if ends[0] != ends[1]:
            self.seen.add(ends)
        reached = []
        for found, before in zip(self.found, pictures, strict=True):
            after = found.mapping.picture(taken.after, before)
            explained = found.explainer.explain(before, after)
            if explained is None:
                found.rejected = _rejected(found.mapping, taken, before, after, trail)
                return None
            found.used.update(name for name, _ in explained)
            found.level_of.setdefault(after, taken.level + 1)
            reached.append(after)
        return tuple(reached)

    def _number(self, state: State) -> int:
        return self.number_of.setdefault(state, len(self.number_of))


def _rejected(
    mapping: RefinementMapping, taken: WorldStep, before: Picture, after: Picture, trail: Trail
) -> Rejected:
    message = taken.move.message
    changes = []
    for relation, old, new in zip(mapping.layer.changing, before, after, strict=True):
        gone, come = sorted(old - new, key=str), sorted(new - old, key=str)
        changes += [f"no longer: {relation.about.format(*map(element_text, row))}" for row in gone]
        changes += [relation.about.format(*map(element_text, row)) for row in come]
    return Rejected(
        taken.level + 1,
        _action(taken.move),
        taken.move.member,
        "" if message is None else str(text_of(message).content),
        tuple(changes),
        tuple(reversed([*_run_in_words(mapping, trail)])),
    )


def _run_in_words(mapping: RefinementMapping, trail: Trail) -> Iterator[str]:
    """Yield the steps in words, the last first; the name of a world's only member is left out."""
    is_one = len(mapping.reference.codes.names) == 1
    while trail is not None:
        trail, move = trail
        line = _action(move)
        if move.message is not None:
            line += f" {text_of(move.message).content}"
        yield line if is_one or not move.member else f"{move.member}: {line}"


def _action(move: Move) -> str:
    return " ".join(filter(None, words(move)))


def element_text(element: Any) -> str:
    """Return an element of a searched world as a short text."""
    match element:
        case Name():
            return str(element)
        case Ballot(round, store_id):
            return f"ballot {round} of {store_id}"
        case frozenset():
            return "{" + ", ".join(sorted(map(element_text, element))) + "}"
        case tuple():
            return " ".join(map(element_text, element))
    return str(element)
