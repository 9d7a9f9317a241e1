"""Links with a capacity: a step waits until its message fits, or the message is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import define, evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from joinproto.check import Faults, FifoLinks, MessageBag, ModelProblem, Send, World, always
from joinproto.check.check import check
from joinproto.check.network import Network
from tests.check.compare import assert_same_report, assert_same_search, explored
from tests.check.random_models import Plan, build, plans

BOUNDED: list[Network] = [
    FifoLinks(capacity=1),
    FifoLinks(capacity=1, when_full="lose"),
    FifoLinks(capacity=2),
    MessageBag(capacity=1),
    MessageBag(capacity=2, when_full="lose"),
]


@settings(max_examples=20)
@given(plans(networks=("fifo", "bag")), st.sampled_from(BOUNDED))
def test_bounded_links_are_the_same_in_both_searches(plan: Plan, network: Network) -> None:
    world = build(plan)
    faults = evolve(world.faults, duplicates=0 if isinstance(network, FifoLinks) else 1)
    world = evolve(world, network=network, faults=faults)
    try:
        found = explored(world, 400)
    except ModelProblem as problem:
        if "start() sends more than a link holds" not in problem.message:
            raise
        with pytest.raises(ModelProblem, match="sends more than a link holds"):
            check(world)
        return
    assume(found is not None)

    assert_same_report(world, assert_same_search(world, found))


@define
class Speaker:
    to: str
    loud: bool
    heard: int = 0

    def start(self) -> Any:
        return [Send(self.to, "once"), Send(self.to, "twice")] if self.loud else None

    def choices(self) -> Iterator[str]:
        yield "speak"

    def receive(self, event: Any) -> Any:
        if event == "speak":
            return [Send(self.to, "word")]
        self.heard = min(3, self.heard + 1)
        return None


def speakers(network: Network, *, loud: bool = False) -> World:
    return World(
        name="speakers",
        members={"a": lambda: Speaker("b", loud), "b": lambda: Speaker("a", False)},
        network=network,
        faults=Faults(),
        properties=[always("nobody is deaf", lambda view: True)],
    )


@pytest.mark.parametrize("capacity", [1, 2, 5])
def test_endless_sending_into_bounded_links_has_finitely_many_states(capacity: int) -> None:
    """A state has two links with 0 to n words each, and two counts of words heard, 0 to 3."""
    waits = check(speakers(FifoLinks(capacity=capacity)))
    loses = check(speakers(FifoLinks(capacity=capacity, when_full="lose")))

    assert (capacity + 1) ** 2 * 16 == waits.distinct == loses.distinct
    # If the link is full, a member that waits has no step, and a member that loses its word has
    # a step that changes nothing.
    assert loses.generated - waits.generated == 2 * (capacity + 1) * 16


def test_a_start_that_overfills_a_link_is_refused_if_senders_wait() -> None:
    with pytest.raises(ModelProblem, match=r"member a: start\(\) sends more than a link holds"):
        check(speakers(FifoLinks(capacity=1), loud=True))
    assert "holds" == check(speakers(FifoLinks(capacity=1, when_full="lose"), loud=True)).result
