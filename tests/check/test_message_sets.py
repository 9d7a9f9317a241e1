"""Messages of a set are one if sender, addressee and content are equal, or only the last two."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from attrs import define, evolve

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    Message,
    MessageSet,
    ModelProblem,
    Replay,
    Send,
    World,
    always,
    eventually,
)
from joinproto.check.check import check
from joinproto.check.engine.search import Search
from joinproto.check.plain import check_small
from joinproto.check.simulate import simulate
from joinproto.cli.show.story import story_of
from joinproto.cli.show.words import sentence
from tools.slow_search import explore

ONE = MessageSet()
EACH = MessageSet(broadcasts="each")
CONTENTS = MessageSet(with_sender=False)


@define
class Teller:
    """Says x to c or to all, as `says` allows; ignores messages."""

    says: tuple[str, ...]

    def choices(self) -> Iterator[str]:
        yield from self.says

    def receive(self, event: Any) -> Any:
        match event:
            case "tell c":
                return [Send("c", "x")]
            case "tell all":
                return [Broadcast("x")]
        return None


def tellers(network: MessageSet, *says: tuple[str, ...]) -> World:
    """Return a world of a, b and c, whose states differ only by the messages under way."""
    return World(
        name="tellers",
        members={name: partial(Teller, said) for name, said in zip("abc", says, strict=True)},
        network=network,
        properties=[always("nothing is wrong", lambda view: True)],
    )


BOTH = ("tell c", "tell all")


@pytest.mark.parametrize(
    ("says", "one", "each", "contents"),
    [
        # a to c, a to all: any set of the two messages.  To each: nothing, c, or b and c.
        ((BOTH, (), ()), 4, 3, 3),
        # Two members to c: any set of two messages; without senders there is one or none.
        ((("tell c",), ("tell c",), ()), 4, 4, 2),
        # Two members to all: without senders {}, {b c}, {a c}, {a b c}.
        ((("tell all",), ("tell all",), ()), 4, 4, 4),
        # Any set of four messages; three ways for each of two; {}, {c}, {b c}, {a c}, {a b c}.
        ((BOTH, BOTH, ()), 16, 9, 5),
    ],
)
def test_every_search_finds_the_number_of_states_of_each_kind_of_set(
    says: tuple[tuple[str, ...], ...], one: int, each: int, contents: int
) -> None:
    """The engine, plain Python, the slow search and random runs find the same number of states."""
    for network, states in ((ONE, one), (EACH, each), (CONTENTS, contents)):
        world = tellers(network, *says)
        search = Search(world)
        search.run()
        small = check_small(world)

        assert small is not None
        found = [search.states.count, small.distinct, explore(world).distinct]
        assert [states] * 3 == found
        assert states == simulate(world, runs=300).distinct


def test_symmetry_works_for_messages_without_senders() -> None:
    """x is under way to no member, to two of them or to all: five states, three up to renaming."""
    says = ("tell all",)
    world = evolve(tellers(CONTENTS, says, says, says), interchangeable=tuple("abc"))

    assert 5 == check(world).distinct
    assert 3 == check(world, symmetry=True).distinct


def test_a_crash_falls_before_or_after_a_whole_broadcast() -> None:
    """The teller is up or down, and x is under way to both others or to none."""
    faults = Faults(crashes=1, restarts=False, spared=frozenset("bc"))
    world = evolve(tellers(EACH, ("tell all",), (), ()), faults=faults)

    assert 4 == check(world).distinct
    assert 4 == explore(world).distinct


@define
class Hearer:
    """Keeps the members it heard, up to two."""

    heard: tuple[Any, ...] = ()

    def receive(self, event: Message) -> Any:
        if len(self.heard) == 2:
            return NOT_ENABLED
        self.heard = (*self.heard, event.sender)
        return None


def heard_twice(network: MessageSet) -> World:
    members: dict[str, Any] = {"a": partial(Teller, ("tell c",)), "b": partial(Teller, ())}
    return World(
        name="heard twice",
        members={**members, "c": Hearer},
        network=network,
        properties=[always("c hears once", lambda view: len(view["c"].heard) < 2)],
    )


def test_a_run_names_no_sender_in_a_network_without_senders() -> None:
    world = heard_twice(CONTENTS)

    trace = check(world).trace

    assert trace is not None
    assert ["tell c", "receive x", "receive x"] == [step.label for step in trace.steps]
    assert "(-, -)" == trace.steps[-1].states["c"]["heard"]
    run = Replay(world)
    for step in trace.steps:
        run.step(step.label, step.member)
    assert run.violates("c hears once")
    story = story_of(trace)
    sentences = [sentence(moment, story).text for moment in story.moments[1:]]
    assert ["a: tell c", *["c receives x (sent in step 1)"] * 2] == sentences


@pytest.mark.parametrize(("network", "sender"), [(ONE, " from a"), (CONTENTS, "")])
def test_a_lasso_names_the_message_that_it_receives(network: MessageSet, sender: str) -> None:
    world = tellers(network, ("tell c",), (), ())
    world = evolve(world, properties=[eventually("something else", lambda view: False)])

    trace = check(world).trace

    assert trace is not None
    assert f"receiving x{sender} by c is taken" in trace.fairness


@pytest.mark.parametrize(
    ("network", "faults", "found"),
    [
        (CONTENTS, Faults(partitions=1), "partitions=1 with MessageSet"),
        (MessageSet(with_sender=False, broadcasts="one"), Faults(), "all others needs a sender"),
    ],
)
def test_a_setting_that_needs_senders_is_refused_without_senders(
    network: MessageSet, faults: Faults, found: str
) -> None:
    world = tellers(ONE, (), (), ())

    with pytest.raises(ModelProblem, match=found) as problem:
        evolve(world, network=network, faults=faults)

    assert problem.value.next


class Lost:
    """Does not know which member it speaks to."""

    def choices(self) -> list[str]:
        return ["speak"]

    def receive(self, event: Any) -> Any:
        return [Send(None, "x")]  # type: ignore[arg-type]  # the mistake


def test_an_answer_to_a_message_without_a_sender_is_refused() -> None:
    class Answers(Teller):
        def receive(self, event: Any) -> Any:
            if isinstance(event, Message):
                return [Send(event.sender, "y")]
            return super().receive(event)

    world = tellers(CONTENTS, ("tell c",), (), ())
    world = evolve(world, members={**world.members, "c": partial(Answers, ())})

    with pytest.raises(ModelProblem, match="sent to None, which is not a member") as problem:
        check(world)

    assert "so name the addressee in the content" in problem.value.next
    with pytest.raises(ModelProblem) as problem:
        check(evolve(world, network=MessageSet(), members={"a": Lost, "b": Lost}))
    assert problem.value.next.endswith("Broadcast(...) is to all others")
