"""Claims about runs and steps in small worlds: plain Python gives the engine's verdicts."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.check import (
    View,
    World,
    always_step,
    eventually_always,
    implements,
    infinitely_often,
    leads_to,
)
from joinproto.check.check import check
from joinproto.check.plain import check_small
from tests.check.random_models import Plan as ModelPlan
from tests.check.random_models import build as build_model
from tests.check.random_models import plans as model_plans
from tests.check.test_fair_runs import Plan, build, plans
from tests.check.test_plain import comparable, may_need_the_engine
from tests.check.test_step_claims import Held, jumps

fewer_examples = settings(max_examples=60)


def assert_searches_agree(world: World) -> None:
    """Compare the reports of both searches on each claim by itself, with the run that breaks it."""
    for item in world.properties:
        one = evolve(world, properties=[item])
        found, of_engine = check_small(one), check(one)
        if found is None:
            assert may_need_the_engine(one, of_engine)
        else:
            assert comparable(of_engine) == comparable(found)
            assert of_engine.notes == found.notes


@fewer_examples
@given(plans())
def test_claims_about_fair_runs_are_judged_as_by_the_engine(plan: Plan) -> None:
    """Fairness is weak or strong, to each step or to several, and runs begin in any state."""
    assert_searches_agree(build(plan))


@fewer_examples
@given(plans(), st.integers(0, 4), st.frozensets(st.sampled_from(("x", "y", "z", "both"))))
def test_claims_about_steps_are_judged_as_by_the_engine(
    plan: Plan, limit: int, words: frozenset[str]
) -> None:
    assert_searches_agree(
        evolve(build(plan), properties=[always_step("no jump", jumps(limit, words))])
    )


@fewer_examples
@given(plans(), st.integers(0, 3), st.integers(1, 3))
def test_implements_is_judged_as_by_the_engine(plan: Plan, most: int, part: int) -> None:
    """Some states map to no state of the abstract world."""
    abstract = World(
        name="held",
        members={"held": lambda: Held(most)},
        properties=[always_step("none", lambda before, step, after: True)],
    )
    claims = [
        implements("held", abstract, lambda view: {"held": sum(view.values()) // part}),
        implements("any", abstract, lambda view: {"held": min(sum(view.values()), most)}),
    ]
    assert_searches_agree(evolve(build(plan), properties=claims))


@fewer_examples
@given(model_plans(), st.integers(0, 2))
def test_claims_about_random_models_are_judged_as_by_the_engine(
    plan: ModelPlan, phase: int
) -> None:
    """The worlds have losses, crashes, restarts, partitions and choices that are not fair."""

    def is_there(view: View) -> bool:
        return any(view[name].phase == phase for name in view.up)

    world = build_model(plan)
    claims = [
        infinitely_often("again and again", is_there),
        eventually_always("at last", is_there),
        leads_to("if all are up", lambda view: len(view.up) == len(view), is_there),
    ]
    assert_searches_agree(evolve(world, properties=[*world.properties, *claims]))
