"""Explanations name facts that would change a decision; the tests apply each of these facts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from attrs import evolve

from joinproto.reconcile.evaluate import evaluate
from joinproto.reconcile.explain import would_change
from joinproto.reconcile.queue import Node, Situation, Target, Variant
from tests.cli.running import Done, run_here
from tests.reconcile.situations import situation

CASES = {"enough", "no free node", "it would be even", "a member is down"}
STATES = "-rdm"
"""The states of a node: not in the cluster, running, down, in maintenance."""


def situations(variant: Variant, *, removes: bool) -> Iterator[Situation]:
    """Yield all situations of four nodes, of which the first leads and runs."""
    for states, has, target in product(
        product(STATES, repeat=3), product((True, False), repeat=3), range(1, 6)
    ):
        states_of = dict(zip("BCD", states, strict=True))
        members = "A" + "".join(n for n, one in zip("BCD", has, strict=True) if one)
        yield situation(
            members,
            "A" + "".join(n for n, one in states_of.items() if one != "-"),
            running="A" + "".join(n for n, one in states_of.items() if one in "rm"),
            drained="".join(n for n, one in states_of.items() if one == "m"),
            target=target,
            auto_remove=removes,
            variant=variant,
            away={n: 75.0 for n in members if states_of.get(n) == "d"},
        )


def _target(asked: Situation, more: int) -> Situation:
    return evolve(asked, queue=evolve(asked.queue, target=Target(configuration=more)))


def _running(asked: Situation) -> Situation:
    nodes = tuple(evolve(one, running=True) for one in asked.nodes)
    return evolve(asked, nodes=nodes, queue=evolve(asked.queue, away={}))


def _more(asked: Situation, names: str) -> Situation:
    return evolve(asked, nodes=(*asked.nodes, *(Node(name=n) for n in names)))


def _removed(asked: Situation, told: str) -> Situation:
    gone = set(re.findall(r"\b[A-D]\b", told))
    members = tuple(name for name in asked.members if name not in gone)
    return evolve(asked, queue=evolve(asked.queue, members=members))


def _lost(asked: Situation, count: int) -> Situation:
    running = [n for n in asked.members if asked.runs(n) and n != "A"][:count]
    away = {**asked.queue.away, **dict.fromkeys(running, 99.0)}
    return evolve(asked, queue=evolve(asked.queue, away=away))


def _left(asked: Situation) -> Situation:
    nodes = tuple(one for one in asked.nodes if one.name != asked.members[-1])
    return evolve(asked, nodes=nodes)


ACTIONS: dict[str, Callable[[Situation, str], Situation]] = {
    r"a number over (\d+)": lambda asked, told: _target(asked, int(told) + 1),
    r"a higher number()": lambda asked, _: _target(
        asked, (asked.queue.target.configuration or 0) + 1
    ),
    r"(.*) running": lambda asked, _: _running(asked),
    r"(one|two) more running nodes? without a replica, not in maintenance(?: or full)?": (
        lambda asked, told: _more(asked, "X" if told == "one" else "XY")
    ),
    r"(.*) removed from the queue by hand": _removed,
    r"the loss of (a replica|\d+ replicas)": lambda asked, told: _lost(
        asked, 1 if told[0] == "a" else int(told.split()[0])
    ),
    r"auto_remove()": lambda asked, _: evolve(
        asked, settings=evolve(asked.settings, auto_remove=True)
    ),
    r"one of its nodes leaving the cluster()": lambda asked, _: _left(asked),
}


def applied(asked: Situation, part: str) -> Situation:
    """Return the situation in which a part of the explanation is true."""
    for words, action in ACTIONS.items():
        if found := re.fullmatch(words, part):
            return action(asked, found[1])
    raise AssertionError(f"no such words: {part}")


@pytest.mark.parametrize("removes", [True, False])
@pytest.mark.parametrize("variant", Variant)
def test_each_named_way_to_change_a_noop_changes_it(variant: Variant, *, removes: bool) -> None:
    """Explaining: once one of the named facts is true, a replica is added or removed."""
    seen = set()
    for asked in situations(variant, removes=removes):
        decision = evaluate(asked)
        if decision.case.name not in CASES:
            continue
        told = would_change(decision)
        assert told
        for way in told.split("; or "):
            after = asked
            for part in way.split(", and "):
                after = applied(after, part)
                seen.add(part)
            assert evaluate(after).nodes, (asked, way, evaluate(after).case.name)
    assert len(seen) > 5


def test_a_queue_that_is_named_twice_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Queues without names, or of one name in two virtual hosts, are different queues."""
    state = tmp_path / "state.json"

    def explained(*queues: dict[str, object]) -> Done:
        state.write_text(json.dumps({"nodes": [{"name": "a"}], "queues": queues}))
        return run_here(capsys, "reconcile", "explain", str(state))

    twice = explained({"name": "q", "members": ["a"]}, {"name": "q", "members": ["a"]})
    assert (2, True) == (twice.code, "queues[1]: 'q' is there twice" in twice.err)
    assert 0 == explained({"name": "q"}, {"name": "q", "vhost": "v"}).code
    assert 0 == explained({"members": ["a"]}, {"members": ["a"]}).code
