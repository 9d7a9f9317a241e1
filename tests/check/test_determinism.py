"""A member that gives two answers to one question is refused.

Otherwise a search may report that a false claim holds, because it got one of several answers.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    FifoLinks,
    Maybe,
    MessageBag,
    ModelProblem,
    Offline,
    Persist,
    Record,
    Rule,
    Together,
    World,
    always,
    always_pair,
)
from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.check.determinism import EVERY, FIRST_MAX, KEPT_MAX
from joinproto.check.member import Codes
from joinproto.check.simulate import simulate

ONE_LEADER = always_pair("one leader", lambda one, other: {one, other} != {"leader"})


def world(make: Callable[[str], Any], **more: Any) -> World:
    """Return a world of three members."""
    return World(
        name="twice",
        members={name: lambda name=name: make(name) for name in "abc"},  # type: ignore[misc]
        properties=more.pop("properties", [ONE_LEADER]),
        **more,
    )


def problem_of(world: World) -> ModelProblem:
    with pytest.raises(ModelProblem) as caught:
        check(world)
    return caught.value


class Member:
    """Stands for election once; subclasses decide its next state."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.phase = "looking"

    def choices(self) -> Any:
        return ["stand"] if self.phase == "looking" else []

    def receive(self, event: Any) -> Any:
        self.phase = "stood"
        return None

    def shows(self) -> Any:
        return self.phase


# -- chance and clocks -----------------------------------------------------------------


class Becomes(Member):
    def receive(self, event: Any) -> Any:
        self.phase = f"stood {random.random()}"


class MaybeTakesIt(Member):
    def receive(self, event: Any) -> Any:
        if event != "stand" or random.random() < 0.5:
            return NOT_ENABLED
        self.phase = "stood"
        return None


class Sends(Member):
    def receive(self, event: Any) -> Any:
        if event != "stand":
            return NOT_ENABLED
        self.phase = "stood"
        return [Broadcast(random.random())]


class Records(Member):
    def receive(self, event: Any) -> Any:
        self.phase = "stood"
        return [Record(random.random())]


class Hears:
    """Receives records, and forgets them."""

    def receive(self, event: Any) -> Any:
        return None


class TakesRules(Member):
    def receive(self, event: Any) -> Any:
        self.phase = "stood"
        return [Rule(f"R{random.random()}")]


class Persists(Member):
    persistent = ("phase",)

    def receive(self, event: Any) -> Any:
        kept, self.phase = self.phase, f"stood {random.random()}"
        yield Persist()
        self.phase = kept + "!"


class LooksAtTheClock(Member):
    def receive(self, event: Any) -> Any:
        self.phase = f"stood at {time.perf_counter_ns()}"


class StartsByChance(Member):
    def start(self) -> Any:
        self.phase = f"{random.random()}"


class Offers(Member):
    def choices(self) -> Any:
        return [f"stand {random.random()}"] if self.phase == "looking" else []


class OffersOrMayOffer(Member):
    def choices(self) -> Any:
        if self.phase == "looking":
            yield random.choice(["stand", Maybe("stand")])


class Shows(Member):
    def shows(self) -> Any:
        return random.random()


class Raises(Member):
    def receive(self, event: Any) -> Any:
        if random.random() < 0.5:
            raise RuntimeError("not now")
        self.phase = "stood"


class MadeByChance(Member):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.phase = f"{random.random()}"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Becomes, "Becomes.receive() gives two answers to 'stand' in one and the same state: "),
        (Becomes, "attribute 'phase' is 'stood 0."),
        (MaybeTakesIt, "once there is such a step, the other time it is NOT_ENABLED"),
        (Sends, "it sends 0."),
        (Records, "it records (0."),
        (TakesRules, "it takes the rules ('R0."),
        (Persists, "on disk, attribute 'phase' is 'stood 0."),
        (LooksAtTheClock, "attribute 'phase' is 'stood at "),
        (StartsByChance, "StartsByChance.start() gives two answers in one and the same state"),
        (Offers, "Offers.choices() gives two answers in one and the same state: ('stand 0."),
        (OffersOrMayOffer, "an event is Maybe(...) once, the other time it is not"),
        (Shows, "Shows.shows() gives two answers in one and the same state: 0."),
        (Raises, "raised RuntimeError: not now"),
        (MadeByChance, "MadeByChance is made twice, and attribute 'phase' is '0."),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_chance_and_clocks_are_refused_and_the_difference_is_named(
    kind: type, expected: str
) -> None:
    """The message names the member's class, the event, and the attribute or effect that differs."""
    random.seed(3)

    problem = problem_of(world(kind, monitor=Hears if kind is Records else None))

    assert expected in problem.message
    assert problem.message.startswith(f"{Path(__file__)}:")


TURNS = count()


class TakesTurns(Member):
    """Alternates its answers, so the reverse order of a dict seems to give another answer."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.held = {"a": 1, "b": 2}

    def receive(self, event: Any) -> Any:
        self.phase = str(next(TURNS) % 2)
        return None


def test_answers_that_alternate_are_not_blamed_on_the_order_of_a_dict() -> None:
    assert "receive() gives two answers" in problem_of(world(TakesTurns)).message


def test_the_hint_says_what_a_member_may_use() -> None:
    problem = problem_of(world(Becomes))

    assert "use only the attributes and the event" in problem.next
    assert "several events of choices()" in problem.next


def test_a_simulation_refuses_members_that_depend_on_chance() -> None:
    with pytest.raises(ModelProblem, match="gives two answers"):
        simulate(world(Becomes), runs=2)


def test_a_world_whose_show_depends_on_chance_is_refused() -> None:
    """`World.show` is called twice, as a method `shows` is."""
    problem = problem_of(world(Member, show=lambda member: random.random()))

    assert "show(member) gives two answers" in problem.message


def test_a_monitor_that_depends_on_chance_is_refused() -> None:
    class Tells(Member):
        def receive(self, event: Any) -> Any:
            self.phase = "stood"
            return [Record("stood")]

    class Monitor:
        def __init__(self) -> None:
            self.heard = 0.0

        def receive(self, event: Any) -> Any:
            self.heard = random.random()

    problem = problem_of(world(Tells, monitor=Monitor))

    assert "member monitor: " in problem.message
    assert "attribute 'heard' is 0." in problem.message


def test_a_disk_that_an_operator_changes_by_chance_is_refused() -> None:
    class Disk(Member):
        persistent = ("phase",)

        def offline(self, event: Any) -> Any:
            self.phase = f"{random.random()}"

    steps = [Together("repair", {"a": Offline("mark")})]

    problem = problem_of(world(Disk, start="down", together=lambda view: steps))

    assert "Disk.offline() gives two answers to 'mark'" in problem.message
    assert "on disk, attribute 'phase' is '0." in problem.message


# -- objects that members share --------------------------------------------------------

FOUNDED: list[str] = []
LEADER: dict[str, str] = {}
COUNT = 0


class FoundsOnce(Member):
    def receive(self, event: Any) -> Any:
        if event != "stand":
            return NOT_ENABLED
        self.phase = "follower" if FOUNDED else "leader"
        FOUNDED.append(self.name)
        return None


class AsksTheLeader(Member):
    """Two calls in a row answer alike, because the first member stays the leader."""

    def receive(self, event: Any) -> Any:
        if event != "stand" or LEADER.setdefault("is", self.name) != self.name:
            return NOT_ENABLED
        self.phase = "leader"
        return None


class Counts(Member):
    def receive(self, event: Any) -> Any:
        global COUNT  # noqa: PLW0603  the mistake
        COUNT += 1
        self.phase = f"stood as {COUNT}"


class Votes(Member):
    votes: set[str] = set()  # noqa: RUF012  the mistake

    def receive(self, event: Any) -> Any:
        if event == "stand":
            self.phase = "stood"
            return [Broadcast("me")]
        self.votes.add(event.sender)
        self.phase = "leader" if len(self.votes) > 1 else self.phase
        return None


class Registry:
    leader: str | None = None


REGISTRY = Registry()


class AsksTheRegistry(Member):
    def receive(self, event: Any) -> Any:
        if event != "stand" or REGISTRY.leader not in (None, self.name):
            return NOT_ENABLED
        REGISTRY.leader = self.name
        self.phase = "leader"
        return None


class LogsByDefault(Member):
    def __init__(self, name: str, log: list[str] = []) -> None:  # noqa: B006  the mistake
        super().__init__(name)
        self.log = log

    def receive(self, event: Any) -> Any:
        self.log.append(self.name)
        self.phase = "stood"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (FoundsOnce, "members share FOUNDED, and steps change it"),
        (AsksTheLeader, "members share LEADER, and steps change it"),
        (Counts, "members share COUNT, and steps change it"),
        (Votes, "members share Votes.votes, and steps change it"),
        (AsksTheRegistry, "members share REGISTRY, and steps change it"),
        (LogsByDefault, "attribute 'log' is changed by a step, and is one and the same object"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_an_object_that_members_share_is_refused_and_named(kind: type, expected: str) -> None:
    """Each shared object could make "one leader" hold, although no message is sent."""
    FOUNDED.clear()
    LEADER.clear()
    REGISTRY.leader = None

    problem = problem_of(world(kind))

    assert expected in problem.message


def test_a_maker_that_returns_one_object_each_time_is_refused() -> None:
    only = Member("a")

    problem = problem_of(world(lambda name: only))

    assert "making it gives the same object each time" in problem.message
    assert "lambda: Member(...)" in problem.next


# -- correct models ----------------------------------------------------------------------

SEEN: list[str] = []
RESULTS: dict[str, str] = {}


class OnlyWrites(Member):
    """A log that is never read, and a cache of results, change no answer."""

    def receive(self, event: Any) -> Any:
        SEEN.append(str(event))
        self.phase = RESULTS.setdefault(str(event), f"stood by {event}")
        return None


def test_an_object_that_changes_no_answer_is_accepted() -> None:
    assert "holds" == check(world(OnlyWrites)).result
    assert SEEN


def test_repeated_questions_are_not_counted() -> None:
    """Each of three members starts, offers choices in two states, and takes one step: 12 calls."""
    report = check(world(Member))

    assert (8, 12) == (report.distinct, report.calls)


def test_the_first_questions_and_later_every_nth_are_put_again() -> None:
    """All of the first `FIRST_MAX` questions are put again, then one in `EVERY`."""
    member = Codes.of(load_world("two-phase-commit")).members[0]

    due = [number for number in range(1, FIRST_MAX + 10 * EVERY) if member.checker.is_due()]

    assert [*range(1, FIRST_MAX + 1)] == due[:FIRST_MAX]
    assert [
        number for number in range(FIRST_MAX + 1, FIRST_MAX + 10 * EVERY) if number % EVERY == 0
    ] == (due[FIRST_MAX:])
    assert KEPT_MAX < FIRST_MAX


def test_members_of_durable_vote_answer_as_before_when_asked_again() -> None:
    """No object that their code can reach has changed."""
    made = load_world("durable-vote")
    codes = Codes.of(made)
    for code in codes.members:
        state = code.before_start()
        for choice in code.choices(state):
            code.run(state, choice.event)

    codes.ask_again()

    assert [] == codes.reach.changed()
    assert codes.calls


# -- answers of the wrong kind ---------------------------------------------------------


class OffersText(Member):
    def choices(self) -> Any:
        return "go"


class AnswersText(Member):
    def receive(self, event: Any) -> Any:
        return "leader"


class AnswersOneEffect(Member):
    def receive(self, event: Any) -> Any:
        if event == "no such event":
            return None
        return Broadcast("me")  # fault


class StartsWithText(Member):
    def start(self) -> Any:
        return "go"


class KeepsText(Member):
    persistent = "phase"


class ShowsThing(Member):
    def shows(self) -> Any:
        return object()


class OffersThing(Member):
    def choices(self) -> Any:
        return [object()]


@pytest.mark.parametrize(
    ("kind", "expected", "hint"),
    [
        (OffersText, "choices() returned the text 'go'", "['go']"),
        (AnswersText, "receive() returned the text 'leader'", "None or NOT_ENABLED"),
        (AnswersOneEffect, "receive() returned Broadcast(content='me')", "one effect in a list"),
        (StartsWithText, "start() returned the text 'go'", "None or NOT_ENABLED"),
        (KeepsText, "persistent is the text 'phase'", "write ('phase',)"),
        (ShowsThing, "shows(): a builtins.object cannot be part of a state", "frozen attrs"),
        (OffersThing, "choices(): a builtins.object cannot be part of a state", "frozen attrs"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_an_answer_of_the_wrong_kind_is_refused(kind: type, expected: str, hint: str) -> None:
    problem = problem_of(world(kind))

    assert f"member a: {expected}" in problem.message
    assert hint in problem.next


class YieldsANumber(Member):
    def receive(self, event: Any) -> Any:
        yield Broadcast("first")
        yield from self.second()

    def second(self) -> Any:
        yield Rule("R1")
        yield 5  # fault


@pytest.mark.parametrize("kind", [YieldsANumber, AnswersOneEffect])
def test_a_bad_effect_is_reported_with_the_line_of_its_yield_or_return(kind: type) -> None:
    problem = problem_of(world(kind))

    line = Path(problem.place.rpartition(":")[0]).read_text(encoding="utf-8").splitlines()
    assert line[int(problem.place.rpartition(":")[2]) - 1].endswith("# fault")


# -- budgets without effect ------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults", "budget"), [(Faults(losses=1), "losses=1"), (Faults(duplicates=2), "duplicates=2")]
)
def test_a_budget_that_a_set_never_spends_is_refused(faults: Faults, budget: str) -> None:
    """A set may lose and double every message, so a budget would have no effect."""
    with pytest.raises(ModelProblem, match=f"{budget} has no effect in a MessageSet") as found:
        world(Member, faults=faults)

    assert "which may lose and double every message" in found.value.message
    assert "network=MessageBag()" in found.value.next


def test_a_budget_of_duplicates_for_queues_is_refused() -> None:
    with pytest.raises(ModelProblem, match="duplicates=1 has no effect in FifoLinks"):
        world(Member, network=FifoLinks(), faults=Faults(duplicates=1))

    lossy = world(Member, network=FifoLinks(), faults=Faults(losses=1))
    assert 1 == lossy.faults.losses


def test_a_bag_accepts_budgets_of_losses_and_duplicates() -> None:
    made = world(
        Member,
        network=MessageBag(),
        faults=Faults(losses=1, duplicates=1),
        properties=[always("nothing is wrong", lambda view: True)],
    )

    assert "holds" == check(made).result
