"""`joinproto chance`: exact probabilities, compared with random runs, iteration and Storm."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from attrs import evolve

from joinproto.check import (
    NOT_ENABLED,
    MessageSet,
    World,
    always,
    always_step,
    implements,
    load_world,
)
from joinproto.check.chance import Weight, chance
from joinproto.check.engine.liveness.chance import Chain
from joinproto.check.engine.liveness.graph import Graph
from joinproto.check.engine.search import Search
from joinproto.check.events import _NotEnabled
from joinproto.check.reference import Reference, State
from joinproto.check.simulate import simulate
from joinproto.errors import UsageProblem
from tests.cli.running import run_here

PROBABILITIES = {
    "discovery-delay": 0.375,
    "discovery-read-then-register": 0.781893,
    "discovery-seed-wiped": 0.350937,
    "discovery-first-day": 0.128121,
    "note-lone-restart": 0.021852,
    "durable-vote-wiped": 0.002607,
}
"""The probability that a run breaks a claim; `_by_iteration` and Storm compute the same."""

QUICK = ("discovery-delay", "note-lone-restart", "durable-vote-wiped")


class Gambler:
    """Wins or loses 1 until its money is 0 or `goal`; it may also wait or change its hat."""

    def __init__(self, goal: int = 4) -> None:
        self.goal, self.money, self.hat = goal, 1, 0

    def choices(self) -> Iterator[str]:
        if 0 < self.money < self.goal:
            yield from ("win", "lose", "wait")
            yield f"put on hat {1 - self.hat}"

    def receive(self, event: str) -> _NotEnabled | None:
        if event.startswith("put on"):
            self.hat = 1 - self.hat
        elif event in ("win", "lose"):
            self.money += 1 if event == "win" else -1
        elif event != "wait":
            return NOT_ENABLED
        return None

    def shows(self) -> int:
        return self.money


def _casino(goal: int = 4) -> World:
    return World(
        name="casino",
        members={"g": lambda: Gambler(goal)},
        network=MessageSet(),
        properties=[
            always("solvent", lambda view: view["g"] > 0),
            always("modest", lambda view: view["g"] < goal),
            always_step(
                "never doubled", lambda before, _, after: (before["g"], after["g"]) != (1, 2)
            ),
        ],
    )


def _by_iteration(name: str) -> float:
    """Return the probability that a run breaks a claim, by iteration over all states."""
    world = load_world(name)
    reference = Reference(world)
    claims = [item for item in world.properties if item.kind == "always"]
    initial = reference.initials()
    found: dict[State, list[State] | None] = {}
    waiting = [*initial]
    while waiting:
        state = waiting.pop()
        if state in found:
            continue
        if any(not reference.holds(item, state) for item in claims):
            found[state] = None
            continue
        found[state] = [after for _, after in reference.successors(state) if after != state]
        waiting += found[state] or []
    value = {state: float(after is None) for state, after in found.items()}
    change = 1.0
    while change > 1e-13:
        change = 0.0
        for state, after in reversed(found.items()):
            if after:
                now = math.fsum(value[one] for one in after) / len(after)
                change, value[state] = max(change, abs(now - value[state])), now
    return math.fsum(value[state] for state in initial) / len(initial)


@pytest.mark.parametrize("name", QUICK)
def test_chance_equals_the_result_of_a_slow_iteration(name: str) -> None:
    """Every step is equally likely, and a run ends where it breaks a claim."""
    found = chance(load_world(name))

    assert found.probability == pytest.approx(_by_iteration(name), abs=1e-10)
    assert found.probability == pytest.approx(PROBABILITIES[name], abs=5e-7)


@pytest.mark.parametrize("name", QUICK)
def test_random_runs_come_near_the_probability(name: str) -> None:
    """4,000 runs, with a fixed seed, come within five standard deviations."""
    _assert_runs_come_near(name, runs=4_000)


@pytest.mark.soak("engines")
@pytest.mark.parametrize("name", PROBABILITIES)
def test_more_random_runs_come_near_the_probability(name: str) -> None:
    """20,000 runs come within five standard deviations."""
    _assert_runs_come_near(name, runs=20_000)


def _assert_runs_come_near(name: str, *, runs: int) -> None:
    world = load_world(name)
    found = simulate(world, runs=runs, steps_max=200)
    broken = max(claim.runs for claim in found.claims if claim.kind == "always")

    claims = [one for one in chance(world).claims if one.kind == "always" and one.probability]

    (claim,) = claims
    assert claim.probability is not None
    deviation = math.sqrt(claim.probability * (1 - claim.probability) / runs)
    assert abs(broken / runs - claim.probability) < 5 * deviation


@pytest.mark.soak("engines")
@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("name", PROBABILITIES)
def test_storm_computes_the_same_probability(name: str, tmp_path: Path) -> None:
    """Storm reads the same chain from a file of states and probabilities."""
    import stormpy

    search = Search(load_world(name), stop_at_violation=False)
    search.run()
    graph = Graph(search)
    chain = Chain(graph, lambda _: 1.0)
    broken = np.zeros(graph.count, np.bool_)
    for claim in search.judge.claims:
        if claim.property.kind == "always":
            broken |= graph.states_of(claim)
    file = tmp_path / "chain.drn"
    file.write_text("\n".join(_drn(chain, broken)) + "\n", "utf-8")
    model = stormpy.build_model_from_drn(str(file))
    (asked,) = stormpy.parse_properties('P=? [F "broken"]')

    computed = stormpy.model_checking(model, asked).get_value(model.initial_states[0])

    assert computed == pytest.approx(chance(load_world(name)).probability, abs=5e-6)
    assert computed == pytest.approx(PROBABILITIES[name], abs=5e-6)


def _drn(chain: Chain, broken: npt.NDArray[np.bool_]) -> Iterator[str]:
    """Yield the chain in Storm's explicit format, with one more state before all initial states."""
    graph = chain.graph
    yield from ("@type: DTMC", "@parameters", "", "@reward_models", "", "@nr_states")
    yield from (str(graph.count + 1), "@nr_choices", str(graph.count + 1), "@model")
    yield from ("state 0 init", "\taction 0")
    yield from (f"\t\t{1 + state} : {1 / graph.begins!r}" for state in range(graph.begins))
    for state in range(graph.count):
        yield from (f"state {1 + state}{' broken' if broken[state] else ''}", "\taction 0")
        edges = np.flatnonzero(chain.source == state)
        into: dict[int, float] = {} if len(edges) else {state: 1.0}
        for target, one in zip(chain.target[edges], chain.probability[edges], strict=True):
            into[int(target)] = into.get(int(target), 0.0) + float(one)
        yield from (f"\t\t{1 + target} : {one!r}" for target, one in sorted(into.items()))


def test_the_gamblers_ruin_has_its_known_probabilities() -> None:
    """Steps that change nothing, such as a change of the hat, are not counted."""
    fair = chance(_casino())
    lucky = chance(_casino(), weights=[Weight("win", 3)])

    computed = {one.name: one.probability for one in fair.claims}
    assert computed["solvent"] == pytest.approx(3 / 4)
    assert computed["modest"] == pytest.approx(1 / 4)
    # A first win breaks the claim, and a first loss ends the run; both are equally likely.
    assert computed["never doubled"] == pytest.approx(1 / 2)
    assert fair.probability == pytest.approx(1)
    ratio = 1 / 3
    won = (1 - ratio) / (1 - ratio**4)
    assert {"solvent": 1 - won, "modest": won} == pytest.approx(
        {one.name: one.probability for one in lucky.claims[:2]}
    )


class Purse:
    """Holds 1 or `first`, then one more or one less, until it holds 0 or 2."""

    def __init__(self, first: int = 1) -> None:
        self.money = first

    def choices(self) -> list[int]:
        return [1, -1] if self.money == 1 else []

    def receive(self, event: int) -> None:
        self.money += event

    def shows(self) -> int:
        return self.money


@pytest.mark.parametrize(("first", "probability"), [(1, 1 / 2), (0, 1)])
def test_a_world_that_implements_another_only_sometimes_has_a_probability(
    first: int, probability: float
) -> None:
    """A purse stops at 2, and half of the gambler's runs go on from there; no run begins at 0."""
    abstract = World(
        name="purse",
        members={"p": lambda: Purse(first)},
        properties=[always("any", lambda _: True)],
    )
    claim = implements("a purse", abstract, lambda view: {"p": view["g"]})
    found = chance(evolve(_casino(), properties=[claim]))

    assert "violated" == found.result
    assert probability == pytest.approx(found.probability)
    assert probability == pytest.approx(found.claims[0].probability)


def test_a_large_group_of_states_has_the_right_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of more than `SMALL_PART` states is not solved in the given order."""
    monkeypatch.setattr("joinproto.check.engine.liveness.chance.SMALL_PART", 10)

    found = chance(_casino(40))

    assert 2 * 41 == found.states
    assert found.claims[1].probability == pytest.approx(1 / 40)


class Twice:
    """Offers one of its two choices twice."""

    def __init__(self) -> None:
        self.side = ""

    def choices(self) -> Iterator[str]:
        if not self.side:
            yield from ("left", "left", "right")

    def receive(self, event: str) -> None:
        self.side = event

    def shows(self) -> str:
        return self.side


def test_a_step_that_is_offered_twice_is_one_step() -> None:
    """Random runs, too, draw the two equal offers as one step."""
    world = World(
        name="twice",
        members={"m": Twice},
        network=MessageSet(),
        properties=[always("never left", lambda view: view["m"] != "left")],
    )

    met = simulate(world, runs=1_000)

    assert 0.5 == chance(world).probability
    assert 400 < met.claims[0].runs < 600


def test_a_step_with_weight_0_is_never_taken() -> None:
    """The last weight that fits a step counts; `member: step` is about one member."""
    never = chance(_casino(), weights=[Weight("lose", 5), Weight("g: lose", 0)])

    assert 0 == never.claims[0].probability
    assert never.claims[1].probability == pytest.approx(1)


def test_a_delay_is_the_mean_of_its_range() -> None:
    """Of two possible steps, the step with the shorter mean delay is more likely."""
    assert Weight("begins", 2 / 65) == Weight.of_delay("begins=5..60s")
    assert Weight("a: looks", 5) == Weight.of_delay("a: looks = 0.2s")
    slow = [Weight.of_delay(text) for text in ("begins=5..60s", "looks=0.2s")]

    found = chance(load_world("discovery-delay"), weights=slow)

    assert found.probability is not None
    assert 0 < found.probability < PROBABILITIES["discovery-delay"] / 10


@pytest.mark.parametrize(
    "words",
    [
        ("--weight", "crash"),
        ("--weight", "=1"),
        ("--weight", "crash=-1"),
        ("--weight", "crash=nan"),
        ("--weight", "crush=1"),
        ("--delay", "5..60s"),
        ("--delay", "crash=5..60"),
        ("--delay", "crash=60..5s"),
        ("--delay", "crash=0s"),
        ("--max-memory", "much"),
    ],
)
def test_a_malformed_or_useless_option_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, str]
) -> None:
    """The exit code is 2, and the error names a valid form."""
    done = run_here(capsys, "chance", "note-lone-restart", *words, "--json")

    assert 2 == done.code
    assert done.error["next"]


def test_chance_is_undetermined_if_the_search_did_not_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The exit code is 3, and the report has a reason and no probability."""
    done = run_here(capsys, "chance", "note-lone-restart", "--max-states", "20", "--json")

    assert 3 == done.code
    assert ("undetermined", None) == (done.object["result"], done.object["probability"])
    assert "20 states" in done.object["why"]
    assert {None} == {one["probability"] for one in done.object["claims"]}


def test_the_command_prints_the_probability_of_each_claim(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The exit code is 1 if a run can break a claim, otherwise 0."""
    found = run_here(capsys, "chance", "discovery-delay")
    none = run_here(capsys, "chance", "durable-vote", "--json")

    assert 1 == found.code
    assert "  0.375      breaks       one cluster\n" in found.out
    assert "  0.625      comes true   all are in one\n" in found.out
    assert (0, 0) == (none.code, none.object["probability"])
    assert "holds" == json.loads(none.out)["result"]


def test_a_weight_that_fits_no_step_gets_a_suggestion() -> None:
    """The error suggests the step with the most similar name."""
    with pytest.raises(UsageProblem) as caught:
        chance(_casino(), weights=[Weight("loose", 1)])

    assert "did you mean lose?" in caught.value.next
