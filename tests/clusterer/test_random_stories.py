"""Random stories in random orders, with their outcomes by our rules and by the document's.

Source: Clusterer, U3 to U5; docs/clusterer.md, Departures.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from joinproto.clusterer.simulator import Simulator
from joinproto.machine.values import evolve
from tests.clusterer.stories import action, config, story

OPS = ("start", "start", "stop", "reset", "apply", "apply")
CUTS = ("cut", "heal")


def steps_of(chance: Random, *, cuts: bool) -> tuple[str, list[list[dict[str, Any]]]]:
    """Return the names of three or four nodes, and a story's steps, after which all are up."""
    names = "abcd"[: chance.choice((3, 3, 4))]
    version = 0

    def younger() -> dict[str, Any]:
        nonlocal version
        version += 1
        some = chance.sample(names, min(chance.choice((2, 3, 4, 4)), len(names)))
        gospel = None if chance.random() < 0.12 else chance.choice(some)
        return config(version, "".join(some), gospel, "infinity")

    def random_action() -> dict[str, Any]:
        op, name = chance.choice(OPS + CUTS * cuts), chance.choice(names)
        if op == "heal":
            return {"op": op}
        if op == "cut":
            other = chance.choice([one for one in names if one != name])
            return {"op": op, "between": [[name], [other]]}
        gives = op == "apply" or (op == "start" and chance.random() < 0.2)
        return action(op, name) | ({"config": younger()} if gives else {})

    version += 1
    first = config(version, names, chance.choice(names), "infinity")
    steps = [[action("start", name) | {"config": first} for name in names]]
    steps += [
        [random_action() for _ in range(chance.choice((1, 1, 2, 3)))]
        for _ in range(chance.randint(2, 6))
    ]
    heal = [{"op": "heal"}] if cuts else []
    return names, [*steps, heal + [action("start", name) for name in names]]


def sets_and_waiting(seed: int, variant: str, *, cuts: bool) -> tuple[int, int]:
    """Return the most sets of data under one config at the end, and how many nodes wait then."""
    names, steps = steps_of(Random(seed), cuts=cuts)
    told = story(*steps, nodes=names, variant=variant)
    sim = Simulator.of_story(told, Random(seed).randrange)
    for step in told.steps:
        sim.play(step.do)
    sets: dict[Any, set[str | None]] = {}
    up = [one for one in sim.machines.values() if one.state is not None]
    for one in up:
        if one.state is not None and one.state.status.value == "ready":
            sets.setdefault(one.state.config_now.config, set()).add(one.disk.data)
    waiting = sum(one.state is not None and one.state.waits for one in up)
    return max(map(len, sets.values()), default=0), waiting


@pytest.mark.parametrize("cuts", [False, True])
def test_one_config_has_one_set_of_data_and_no_node_waits(cuts: bool) -> None:
    """This holds by our rules, once all nodes are up and hear each other."""
    for seed in range(120):
        sets, waiting = sets_and_waiting(seed, "ours", cuts=cuts)

        assert sets <= 1, seed
        assert 0 == waiting, seed


@pytest.mark.parametrize(("variant", "newest"), [("ours", {"b+"}), ("seed", {"a", "b+"})])
def test_by_our_rules_a_node_that_another_saw_stop_does_not_go_first(
    variant: str, newest: set[str]
) -> None:
    """Node c did not see node a stop, and b did not see c stop, so each waits for another."""
    all_ = [action("start", name) for name in "abc"]
    first = [one | {"config": config(1, "abc", "a", "infinity")} for one in all_]
    told = story(first, *([action("stop", name)] for name in "abc"), all_, variant=variant)
    found = set()
    for seed in range(40):
        sim = Simulator.of_story(told, Random(seed).randrange)
        for step in told.steps[:-1]:
            sim.play(step.do)
        for name, ran in {"a": "abc", "b": "bc", "c": "abc"}.items():
            disk = sim.machines[name].disk
            disk.record = evolve(disk.record, ran=frozenset(ran))
            disk.data = "a" if name == "a" else "b+"
        sim.play(told.steps[-1].do)
        ready = {one.disk.data for one in sim.machines.values() if one.state and one.state.runs}

        assert 1 == len(ready)
        found |= ready
    assert newest == found


@pytest.mark.soak("system-worlds")
@pytest.mark.parametrize("cuts", [False, True])
def test_one_config_has_one_set_of_data_in_5000_random_stories(cuts: bool) -> None:
    """The document's rules fail in more than one story of a hundred."""
    found = [sets_and_waiting(seed, "ours", cuts=cuts) for seed in range(5_000)]
    others = [sets_and_waiting(seed, "seed", cuts=cuts) for seed in range(2_000)]

    assert {0, 1} >= {sets for sets, _ in found}
    assert {0} == {waiting for _, waiting in found}
    assert sum(sets > 1 for sets, _ in others) > 20
