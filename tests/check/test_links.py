"""Claims and joint steps that see the network: messages under way, by link, kind and count."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from joinproto.check import FifoLinks, MessageBag, ModelProblem, Together, View, always
from joinproto.check.check import check
from joinproto.check.network import MessageSet
from joinproto.check.properties import Property
from tests.check.compare import assert_same_report, assert_same_search, explored
from tests.check.random_models import Plan, build, plans
from tests.check.test_bounded_links import speakers


def few_under_way(most: int) -> Property:
    def holds(view: View) -> bool:
        return view.under_way() <= most

    return always(f"at most {most} under way", holds)


def no_two_of_one_kind() -> Property:
    return always(
        "not two of one kind on a link",
        lambda view: all(len(set(held)) == len(held) for held in view.links.values()),
    )


@settings(max_examples=15)
@given(plans(networks=("fifo", "bag")))
def test_claims_that_see_links_are_judged_as_by_the_reference_search(plan: Plan) -> None:
    world = evolve(build(plan), show_links=True)
    world = evolve(
        world,
        properties=[few_under_way(1), no_two_of_one_kind(), few_under_way(3), *world.properties],
    )
    found = explored(world, 300)
    assume(found is not None)

    assert_same_report(world, assert_same_search(world, found))


@settings(max_examples=15)
@given(plans(networks=("fifo", "bag")), st.integers(0, 2))
def test_choices_guarded_by_links_are_those_of_the_reference_search(plan: Plan, most: int) -> None:
    """Each choice is also a joint step of its member, while few messages are under way."""
    whole = build(plan)
    wishes = sorted({f"choice {number}" for offer in plan.offers for number, _ in offer})

    def steps(view: View) -> Iterator[Together]:
        for name in view.up:
            if view.under_way(sender=name) <= most:
                for wish in wishes:
                    yield Together(f"{name}: {wish}", {name: wish})

    world = evolve(whole, show_links=True, together=steps)
    found = explored(world, 300)
    assume(found is not None)

    assert_same_report(world, assert_same_search(world, found))


def test_a_joint_step_guarded_by_links_is_judged_as_by_the_reference_search() -> None:
    """The joint step waits until no message is under way; a's own choices do not wait."""

    def steps(view: View) -> Iterator[Together]:
        if view.under_way() == 0:
            yield Together("both speak", {"a": "speak", "b": "speak"})

    def at_most_one_said(view: View) -> bool:
        return view.under_way(str, sender="a", to="b") <= 1

    world = evolve(
        speakers(FifoLinks(capacity=2)),
        show_links=True,
        together=steps,
        properties=[always("a has said at most one thing", at_most_one_said), few_under_way(4)],
    )
    assert_same_report(world, assert_same_search(world))

    results = {item.name: item.result for item in check(world).properties}

    assert "violated" == results["a has said at most one thing"]


@pytest.mark.parametrize("capacity", [1, 2])
def test_bounded_links_never_hold_more(capacity: int) -> None:
    world = evolve(speakers(MessageBag(capacity=capacity)), show_links=True)

    assert "holds" == check(evolve(world, properties=[few_under_way(2 * capacity)])).result
    assert "violated" == check(evolve(world, properties=[few_under_way(2 * capacity - 1)])).result


def test_links_without_show_links_or_with_a_set_or_symmetry_are_refused() -> None:
    with pytest.raises(ModelProblem, match="show_links=True"):
        check(evolve(speakers(FifoLinks(capacity=1)), properties=[few_under_way(1)]))
    with pytest.raises(ModelProblem, match="show_links with a MessageSet"):
        evolve(speakers(MessageBag()), network=MessageSet(), show_links=True)
    alike = evolve(speakers(FifoLinks(capacity=1)), show_links=True, interchangeable=("a", "b"))
    with pytest.raises(ModelProblem, match="shows its links"):
        check(alike, symmetry=True)
