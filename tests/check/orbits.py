"""Groups of states that differ by renamed members, found by trying every renaming."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any

from attrs import evolve, fields, has

from joinproto.check.environment import Surroundings
from joinproto.check.freeze import freeze
from joinproto.check.frozen import Frozen
from joinproto.check.local import LocalState
from joinproto.check.reference import State
from tools.slow_search import Explored


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return `value` with members' names exchanged in it."""
    match value:
        case Frozen(whole=whole) if whole is not None:
            return freeze(renamed(whole, names))
        case Frozen():
            return Frozen(value.kind, renamed(value.parts, names))
        case str():
            return names.get(value, value)
        case tuple():
            return tuple(renamed(item, names) for item in value)
        case frozenset():
            return frozenset(renamed(item, names) for item in value)
        case _ if has(type(value)):
            parts = {item.name: getattr(value, item.name) for item in fields(type(value))}
            return type(value)(**{name: renamed(part, names) for name, part in parts.items()})
    return value


def renamed_state(
    state: State, order: Sequence[str], names: Mapping[str, str], splits: Sequence[frozenset[str]]
) -> State:
    """Return the renamed state: each member's local state is at the place of its new name."""
    at = {name: number for number, name in enumerate(order)}
    locals_: list[Any] = [None] * len(order)
    for name, local in zip(order, state.locals, strict=True):
        moved: LocalState = renamed(local, names)
        locals_[at[names.get(name, name)]] = moved
    split = state.surroundings.split
    if split is not None:
        split = renamed(split, names)
        # A split is written as one of its two sides.
        if split not in splits:
            split = frozenset(order) - split
    surroundings: Surroundings = evolve(state.surroundings, split=split)
    links = []
    for link, held in state.links:
        contents = [renamed(content, names) for content in held]
        links.append((renamed(link, names), contents))
    return State(
        tuple(locals_),
        renamed(state.monitor, names),
        surroundings,
        renamed(state.messages, names),
        tuple(sorted((link, tuple(held)) for link, held in links)),
    )


def orbits(
    found: Explored, group: Sequence[str], *, normal: Callable[[State], State]
) -> list[set[State]]:
    """Return the reachable states in groups of a state and all its renamings.

    `normal`: returns a state as the reference search writes it (with sorted bags).
    """
    order = found.reference.codes.names
    splits = found.reference.environment.splits
    known: set[State] = set()
    groups = []
    for state in found.level_of:
        if state in known:
            continue
        images = {
            normal(renamed_state(state, order, dict(zip(group, moved, strict=True)), splits))
            for moved in permutations(group)
        }
        assert images <= found.level_of.keys(), "members are not alike"
        known |= images
        groups.append(images)
    return groups


def normal_in(found: Explored) -> Callable[[State], State]:
    """Return a function that writes a state as the reference search does, with sorted bags."""

    def normal(state: State) -> State:
        if found.reference.is_set or found.reference.is_fifo:
            return state
        links = tuple((link, tuple(sorted(held, key=repr))) for link, held in state.links)
        return evolve(state, links=links)

    return normal
