"""Claims about fair runs: random graphs, judged by a slow checker too, and examples by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import define, evolve, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.check import (
    EACH_STEP,
    NOT_ENABLED,
    Maybe,
    ModelProblem,
    Property,
    Together,
    View,
    World,
    any_of,
    eventually,
    eventually_always,
    infinitely_often,
    leads_to,
    strong,
    until,
    weak,
)
from joinproto.check.check import check
from joinproto.check.fairness import Fair
from tests.check.compare import report_as_judged
from tests.check.slow_ltl import breaks, is_broken
from tools.slow_search import explore


def walker(table: tuple[tuple[int, ...], ...], whims: frozenset[str]) -> type:
    """Return a member's class that walks a graph: word k leads to `table[at][k]`; -1: refused."""

    class Walker:
        def __init__(self) -> None:
            self.at = 0

        def choices(self) -> Iterator[Any]:
            for word, to in zip("xyz", table[self.at], strict=False):
                if to >= 0:
                    yield Maybe(word) if word in whims else word

        def receive(self, event: Any) -> Any:
            to = table[self.at]["xyz".index(event)]
            if to < 0:
                return NOT_ENABLED
            self.at = to
            return None

        def shows(self) -> int:
            return self.at

    return Walker


@frozen
class Plan:
    """The members' graphs, where runs begin, fairness, and claims: kind, then sets of places."""

    tables: tuple[tuple[tuple[int, ...], ...], ...]
    whims: frozenset[str]
    begins: tuple[int, ...]
    fairness: tuple[Fair, ...]
    claims: tuple[tuple[str, frozenset[Any], frozenset[Any], frozenset[Any]], ...]
    joint: bool


def claim(number: int, kind: str, f: Any, p: Any, m: Any) -> Property:
    def among(places: frozenset[Any]) -> Any:
        return lambda view: tuple(view.values()) in places

    name = f"{number} {kind}"
    match kind:
        case "eventually":
            return eventually(name, among(f))
        case "leads to":
            return leads_to(name, among(p), among(f))
        case "until":
            return until(name, among(m), among(f))
        case "until from":
            return until(name, among(m), among(f), premise=among(p))
        case "infinitely often":
            return infinitely_often(name, among(f))
    return eventually_always(name, among(f))


KINDS = (
    "eventually",
    "leads to",
    "until",
    "until from",
    "infinitely often",
    "eventually always",
)


def build(plan: Plan) -> World:
    names = "ab"[: len(plan.tables)]

    def together(view: View) -> Iterator[Together]:
        yield Together("both", dict.fromkeys(names, "x"))

    return World(
        name="random graph",
        members={
            name: walker(table, plan.whims) for name, table in zip(names, plan.tables, strict=True)
        },
        beginnings=any_of({"a": {"at": plan.begins}}),
        together=together if plan.joint else None,
        fairness=plan.fairness,
        properties=[claim(number, *one) for number, one in enumerate(plan.claims)],
    )


FAIR = (
    EACH_STEP,
    weak("x"),
    strong("x"),
    strong("y", of="a"),
    weak(of="a"),
    strong(of="a"),
    weak("x", "y"),
    strong("x", "y"),
    strong(each=True),
    strong("y", each=True),
    strong("x", which=lambda member, event: member == "a"),
    weak("both"),
    strong("both", of="a"),
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    sizes = draw(st.sampled_from([(5,), (6,), (3, 2)]))
    tables = tuple(
        draw(st.tuples(*[st.tuples(*[st.integers(-1, size - 1)] * (3 if size > 2 else 2))] * size))
        for size in sizes
    )
    places = [(i,) for i in range(sizes[0])]
    if len(sizes) > 1:
        places = [(i, j) for i in range(sizes[0]) for j in range(sizes[1])]  # type: ignore[misc]
    some = st.frozensets(st.sampled_from(places), max_size=len(places) - 1)
    claims = st.tuples(st.sampled_from(KINDS), some, some, some)
    fair = st.lists(st.sampled_from(FAIR), max_size=2).map(tuple)
    return Plan(
        tables,
        draw(st.frozensets(st.sampled_from("xyz"), max_size=1)),
        tuple(sorted(draw(st.sets(st.integers(0, sizes[0] - 1), min_size=1, max_size=2)))),
        draw(fair),
        tuple(draw(st.lists(claims, min_size=2, max_size=4))),
        draw(st.booleans()) and len(sizes) > 1,
    )


def assert_judged_as_by_the_slow_checker(plan: Plan) -> None:
    world = build(plan)
    found = explore(world, keep_edges=True)

    report = report_as_judged(world)

    for item, result in zip(world.properties, report.properties, strict=True):
        assert ("violated" if is_broken(found, item) else "holds") == result.result, item.name
        if result.trace is not None:
            assert breaks(found, item, result.trace), item.name


@settings(max_examples=8)
@given(plans())
def test_random_claims_on_random_graphs_get_the_slow_checkers_verdict(plan: Plan) -> None:
    """A claim is violated if the textbook's product has a fair run, and the run shown is fair."""
    assert_judged_as_by_the_slow_checker(plan)


@pytest.mark.soak("random-models")
@settings(max_examples=300)
@given(plans())
def test_many_random_claims_get_the_slow_checkers_verdict(plan: Plan) -> None:
    assert_judged_as_by_the_slow_checker(plan)


# -- by hand ---------------------------------------------------------------------------


@define
class Process:
    """Asks for a resource that only one may have, takes it and gives it back."""

    phase: str = "idle"

    def choices(self) -> Iterator[Any]:
        if self.phase == "idle":
            yield Maybe("ask")

    def receive(self, event: Any) -> Any:
        after = {("ask", "idle"): "waits", ("take", "waits"): "in", ("leave", "in"): "idle"}
        if (event, self.phase) not in after:
            return NOT_ENABLED
        self.phase = after[event, self.phase]
        return None

    def shows(self) -> str:
        return self.phase


@define
class Lock:
    free: bool = True

    def receive(self, event: Any) -> Any:
        if self.free != (event == "take"):
            return NOT_ENABLED
        self.free = not self.free
        return None


def lock(*fairness: Fair) -> World:
    def steps(view: View) -> Iterator[Together]:
        for name in ("p", "q"):
            for action in ("take", "leave"):
                yield Together(f"{name} {action}", {name: action, "lock": action})

    return World(
        name="lock",
        members={"p": Process, "q": Process, "lock": Lock},
        together=steps,
        fairness=fairness,
        properties=[
            leads_to("gets in", lambda v: v["p"] == "waits", lambda v: v["p"] == "in"),
            until(
                "waits until in",
                lambda v: v["p"] == "waits",
                lambda v: v["p"] == "in",
                premise=lambda v: v["p"] == "waits",
            ),
            infinitely_often("free", lambda v: "in" not in v.values()),
            eventually_always("q stays out", lambda v: v["q"] != "in"),
            until("no q before p", lambda v: v["q"] != "in", lambda v: v["p"] == "in"),
        ],
    )


def results(world: World) -> list[str]:
    return [item.result for item in check(world).properties]


def test_a_member_that_waits_for_a_lock_gets_it_under_strong_fairness_and_not_under_weak() -> None:
    """The lock is free again and again, but not at all times, so weak fairness forces no step."""
    holds, broken = "holds", "violated"

    assert [broken, broken, holds, broken, broken] == results(lock(EACH_STEP))
    assert [holds, holds, holds, broken, broken] == results(lock(EACH_STEP, strong("p take")))
    assert [broken, broken, broken, broken, broken] == results(lock())


def test_fairness_to_a_member_demands_any_of_its_steps() -> None:
    """Fairness to p only demands that p takes some step again and again, and demands none of q."""
    assert "holds" == results(lock(strong(of="p"), weak(of="q")))[0]
    # q may keep the lock for ever, because no fairness makes it leave.
    assert "violated" == results(lock(strong(of="p")))[0]


def test_a_lasso_says_when_its_claim_is_due_and_why_the_run_is_fair() -> None:
    report = check(lock(EACH_STEP, strong("q take")))
    trace = report.properties[0].trace

    assert trace is not None
    assert (1, 1, 4) == (trace.due_at, trace.loop_at, len(trace.steps))
    assert "“p take” is not always possible" in trace.fairness
    assert "“q take” is taken" in trace.fairness
    assert (
        "weak: each delivery, choice, restart, heal and joint step by itself",
        "strong: “q take” of each member",
    ) == report.fair_to


def test_an_until_that_fails_early_is_shown_by_a_run_without_a_cycle() -> None:
    """q asks and takes the lock: after these two steps the claim is broken."""
    trace = check(lock(EACH_STEP)).properties[4].trace

    assert trace is not None
    assert (None, None, 2) == (trace.loop_at, trace.due_at, len(trace.steps))


def test_fairness_to_a_step_that_never_happens_is_reported() -> None:
    """The report lists fairness to a word that no step has among the parts not exercised."""
    report = check(lock(EACH_STEP, strong("p takes")))

    assert ("fairness: strong: “p takes” of each member",) == report.coverage.never[-1:]


@pytest.mark.parametrize(
    ("fairness", "expected"),
    [
        ("weak", "fairness is 'weak'"),
        (["weak"], "fairness holds 'weak'"),
        ([weak(of="r")], "fairness is for 'r', which is not a member"),
        ([weak(which=3)], "which is 3"),  # type: ignore[arg-type]
    ],
)
def test_malformed_fairness_is_refused(fairness: Any, expected: str) -> None:
    with pytest.raises(ModelProblem, match=expected):
        evolve(lock(), fairness=fairness)
