"""The direct search of a world of one large member reports what plain Python reports."""

from __future__ import annotations

import copy
import enum
import random
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    FifoLinks,
    Maybe,
    Message,
    MessageBag,
    MessageSet,
    ModelProblem,
    Property,
    Rule,
    Send,
    World,
    always,
    always_each,
    always_pair,
    check,
    direct,
    direct_large,
    direct_member,
    eventually,
    no_deadlock,
    plain,
    small_first,
    sometimes,
    sometimes_one,
)
from joinproto.check.check import check as check_by_engine
from joinproto.check.direct_large import check_large
from joinproto.check.direct_member import DirectMember
from joinproto.check.plain import Bounds, Ends, check_small
from joinproto.check.report import Report
from joinproto.check.watchdog import WATCH
from tests.check.random_models import Plan, build, plans
from tests.check.test_direct import ALL, VALUES, found

FEW = Bounds(600, 1 << 40, 1 << 40, 1 << 40)
"""Bounds of the plain search, after which a member is large if it has most of 600 states."""


def large_found(world: World, large: int, **ends: Any) -> Report:
    """Return the report of the direct search."""
    report = check_large(world, large, witnesses=True, ends=Ends(**ends), began=0.0, cpu=0.0)
    assert report is not None
    assert report.method == "states"
    return report


def same_findings(world: Callable[[], World], large: int = 0, **ends: Any) -> Report:
    """Return the report of the direct search, after comparing it with that of plain Python."""
    slow = check_small(world(), witnesses=True, ends=Ends(**ends), bounds=ALL)
    report = large_found(world(), large, **ends)

    assert found(slow) == found(report)
    return report


NETWORKS = (
    MessageSet(),
    MessageSet(broadcasts="each"),
    MessageSet(with_sender=False),
    MessageBag(capacity=1),
    MessageBag(capacity=2, when_full="lose"),
    FifoLinks(capacity=1),
    FifoLinks(capacity=2, when_full="lose"),
)
SET = MessageSet()
FORMS = (list, tuple, iter)


def drawn(seed: int) -> Callable[[], World]:
    """Return a random world of two or three members: a table of each event's effects for each."""
    dice = random.Random(seed)
    names = "abc"[: dice.randint(2, 3)]
    kinds = [_member(dice, names, steps=6 if name == "a" else 1) for name in names]
    bad, wanted, network = dice.randrange(12), dice.randrange(9), dice.choice(NETWORKS)
    among = dice.choice([None, ("a",), ("b",)])
    asked = dice.sample(range(6), dice.choice([1, 2, 6]))

    def claims(*every: Property) -> list[Property]:
        return [every[at] for at in sorted(asked)]

    def at(shown: Any) -> int:
        return int(shown[0] if type(shown) is tuple else shown.at)

    def world() -> World:
        return World(
            name=f"walkers {seed}",
            members=dict(zip(names, kinds, strict=True)),
            network=network,
            labels=("to 0", "to 1"),
            properties=claims(
                always_each("never bad", lambda shown: at(shown) != bad, among=among),
                sometimes_one("one there", lambda shown: at(shown) == wanted),
                sometimes("comes there", lambda view: at(view["a"]) + at(view["b"]) == wanted),
                always("small", lambda view: at(view["a"]) < 90, premise=lambda v: at(v["b"]) == 1),
                always_pair("not both", lambda one, other: at(one) + at(other) != bad),
                no_deadlock("stays alive", lambda view: at(view["a"]) != 1),
            ),
        )

    return world


def _member(dice: random.Random, names: str, *, steps: int) -> type:
    size, whims = dice.randint(2, 5), dice.random() < 0.2
    events: list[Any] = ["x", "y", ("z", 1)][: dice.randint(1, 3)]
    kept = [dice.choice(VALUES) for _ in range(size)]
    offers, yields = dice.random() < 0.8, dice.random() < 0.2
    form, shows = dice.choice(FORMS), dice.random() < 0.4

    def effects() -> list[Any]:
        found: list[Any] = []
        for _ in range(dice.choice([0, 0, 1, 1, 2])):
            content = dice.choice([0, (1, True), "x", frozenset("pq"), [2]])
            send = Send(dice.choice(names), content)
            found.append(dice.choice([send, send, Broadcast(content), Rule(f"to {len(found)}")]))
        return found

    table = {
        (at, key): dice.choice([None, *[(to, effects()) for to in range(size)]])
        for at in range(size)
        for key in (*events, "heard", "other")
    }

    class Walker:
        def __init__(self) -> None:
            self.at, self.steps, self.kept = 0, 0, copy.copy(kept[0])

        def choices(self) -> Any:
            offered = [Maybe(event) if whims else event for event in events] if offers else []
            return iter(offered) if yields else offered

        def receive(self, event: Any) -> Any:
            key = event
            if isinstance(event, Message):
                key = "heard" if event.content in (0, "x") else "other"
            found = table[self.at, key]
            if found is None or self.steps == steps:
                return NOT_ENABLED
            self.at, self.steps, self.kept = found[0], self.steps + 1, copy.copy(kept[found[0]])
            return form(found[1]) if found[1] else None

    if shows:
        Walker.shows = lambda self: (self.at, self.kept)  # type: ignore[attr-defined]
    return Walker


@pytest.mark.parametrize("slowly", [0, 5])
def test_random_members_give_equal_findings_in_both_searches(
    slowly: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any of the members may be taken for the large one."""
    monkeypatch.setattr(direct_member, "CHECKED_STATES", slowly)
    for seed in range(60):
        world = drawn(seed)
        same_findings(world, large=seed % len(world().members))


SEEN = ("always", "always with premise", "each", "pair", "sometimes", "one")


@settings(max_examples=30)
@given(plan=plans(kinds=SEEN))
def test_plans_with_all_kinds_of_messages_give_equal_findings(plan: Plan) -> None:
    """Members broadcast, answer the sender, and keep the name of a peer."""
    calm = evolve(plan, faults=Faults(), start="up", durable=False, monitor=False, joints=())

    for large in range(plan.members):
        same_findings(lambda: build(calm), large)


# -- one large member and a small one ---------------------------------------------------------


class Grid:
    """Has two counters; asks the other member at some of its steps, and waits for the answer."""

    size = 20

    def __init__(self) -> None:
        self.a = self.b = 0
        self.waits = False

    def choices(self) -> list[str]:
        return [] if self.waits else ["a", "b"]

    def receive(self, event: Any) -> Any:
        if isinstance(event, Message):
            self.waits = False
            return self.odd()
        if event == "a":
            self.a = (self.a + 1) % self.size
        else:
            self.b = (self.b + 1) % self.size
        self.waits = (self.a + self.b) % 3 == 0
        return [Send("s", "ask")] if self.waits else None

    def odd(self) -> Any:
        """Be overridden by members with a mistake."""
        return None


class Quiet(Grid):
    """Asks no other member."""

    def receive(self, event: Any) -> Any:
        super().receive(event)
        self.waits = False


class Server:
    """Counts to three, and answers."""

    def __init__(self) -> None:
        self.count = 0

    def receive(self, event: Message) -> Any:
        self.count = (self.count + 1) % 3
        yield Send(event.sender, "answer")


class Clock:
    """Turns by itself."""

    def __init__(self) -> None:
        self.hour = 0

    def choices(self) -> list[str]:
        return ["tick"]

    def receive(self, event: Any) -> Any:
        self.hour = (self.hour + 1) % 3


FINE = always("any", lambda view: True)


def asking(*claims: Any, kind: type = Grid, **more: Any) -> World:
    members = {"m": kind, "s": Server}
    return World(
        name="asking", members=members, network=FifoLinks(), properties=list(claims), **more
    )


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the search in plain Python end early, and the quick questions begin soon."""
    monkeypatch.setattr(small_first, "own_bounds", lambda: FEW)
    monkeypatch.setattr(direct_member, "CHECKED_STATES", 100)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("members", [{"m": Grid, "s": Server}, {"m": Quiet, "s": Clock}])
def test_a_world_of_one_large_member_is_recognised(members: dict[str, Any]) -> None:
    def world() -> World:
        return evolve(asking(FINE, no_deadlock("goes on")), members=members)

    report, engine = check(world()), check_by_engine(world())

    assert (report.method, engine.method) == ("states", "tables")
    for name in ("distinct", "generated", "levels", "result", "coverage"):
        assert getattr(report, name) == getattr(engine, name)


def test_the_first_states_are_enough_to_recognise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small world, too, is searched state by state then; its report differs in nothing else."""
    monkeypatch.setattr(plain, "LOOKS_AFTER", 300)

    report = check(asking(FINE))

    assert report.method == "states"
    assert found(report) == found(check_small(asking(FINE), bounds=ALL))


def test_a_world_whose_first_states_mislead_is_searched_in_plain_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plain, "LOOKS_AFTER", 300)
    monkeypatch.setattr(direct_large, "STATES_PER_LOCAL_MAX", 0)
    monkeypatch.setattr(direct_large, "REST_FREE", 400)

    assert check(asking(FINE)).method == "plain"


@pytest.mark.usefixtures("_few")
def test_the_large_member_may_be_any_of_them() -> None:
    members: dict[str, Any] = {"s": Server, "clock": Clock, "m": Grid}

    assert check(evolve(asking(FINE), members=members)).method == "states"


@pytest.mark.usefixtures("_few")
def test_a_world_of_two_large_members_is_left_to_the_engine() -> None:
    """Each has a tenth of the states, and all that is not one of them has as many."""

    class Low(Quiet):
        size = 10

    assert check(evolve(asking(FINE), members={"m": Low, "n": Low})).method == "tables"


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize(
    "more",
    [
        {"faults": Faults(losses=1)},
        {"start": "down"},
        {"properties": [eventually("ends", lambda view: True)]},
        {"monitor": Server},
    ],
)
def test_other_worlds_are_left_to_the_engine(more: dict[str, Any]) -> None:
    assert check(evolve(asking(FINE), **more)).method == "tables"


def test_a_member_that_turns_out_to_be_small_is_left_to_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other member has most of the states, so this is seen after a few of them."""
    monkeypatch.setattr(direct_large, "REST_FREE", 10)

    assert check_large(asking(FINE), 0, began=0.0, cpu=0.0) is not None
    assert check_large(asking(FINE), 1, began=0.0, cpu=0.0) is None


def test_the_end_of_memory_leaves_a_world_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_large(asking(FINE), 0, began=0.0, cpu=0.0) is not None
    monkeypatch.setattr(direct_large, "resident_bytes", lambda: 1 << 62)

    assert check_large(asking(FINE), 0, began=0.0, cpu=0.0) is None


def test_limits_end_the_direct_search_as_they_end_plain_python() -> None:
    for states in (1, 20, 400):
        report = same_findings(lambda: asking(FINE), states_max=states)

        assert report.result == "incomplete"


def test_a_bound_leaves_out_the_same_states_as_in_plain_python() -> None:
    def world() -> World:
        claim = always("low", lambda view: view["m"].a + view["m"].b < 14)
        return asking(claim, within=lambda view: view["m"].a < 9 or view["s"].count > 0)

    assert same_findings(world).beyond > 3


def test_a_limit_ends_the_evaluation_of_claims_within_a_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(direct_large, "JUDGE_EVERY", 4)
    for scope in (always, always_each, always_pair):
        asked: list[int] = []

        def slow(*shown: Any, asked: list[int] = asked) -> bool:
            asked.append(1)
            return True

        world = asking(scope("slow", slow), sometimes("never", lambda view: False))
        report = large_found(world, 0, interrupted=lambda asked=asked: len(asked) > 300)

        assert report.stopped_by == "interrupted"
        assert report.result == "incomplete"
        assert len(asked) < 330


def test_messages_that_change_nothing_are_reported_as_in_plain_python() -> None:
    class Deaf(Quiet):
        size = 4

        def receive(self, event: Any) -> Any:
            if isinstance(event, Message):
                return None
            super().receive(event)
            return [Send("m", "to itself")] if self.a == 2 else None

    members: dict[str, Any] = {"m": Deaf, "s": Clock}
    report = same_findings(lambda: evolve(asking(FINE), members=members, network=SET))

    assert "message “to itself”: no step that takes it has an effect" in report.coverage.never


class Pace(enum.Enum):
    """How a `Usual` goes on."""

    SLOW = 1
    FAST = 2


class Usual(Grid):
    """Yields its events, which are tuples, and its effects; has a flag, an enum and a tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.last: tuple[Any, ...] = ("none", False)
        self.pace = Pace.SLOW

    def choices(self) -> Any:
        if not self.waits:
            yield "a", Pace.SLOW
            yield "b", Pace.FAST

    def receive(self, event: Any) -> Any:
        if isinstance(event, Message):
            if not self.waits:
                return NOT_ENABLED
            yield Rule("answered")
        else:
            self.last, self.pace = (event[0], True), event[1]
            event = event[0]
        yield from super().receive(event) or ()


def test_members_as_they_are_usually_written_are_asked_quickly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def world() -> World:
        return asking(FINE, kind=Usual, labels=("answered",))

    def refuse(*_: Any) -> Any:
        raise AssertionError("asked slowly")

    monkeypatch.setattr(direct_member, "CHECKED_STATES", 0)
    monkeypatch.setattr(DirectMember, "_slowly", refuse)
    monkeypatch.setattr(DirectMember, "_heard_slowly", refuse)

    assert same_findings(world).distinct > 1_000


# -- mistakes in a model ----------------------------------------------------------------------


def problem_of(kind: type) -> ModelProblem:
    with pytest.raises(ModelProblem) as raised:
        check(asking(FINE, kind=kind))
    return raised.value


@pytest.mark.usefixtures("_few")
def test_chance_in_a_step_at_a_message_is_noticed() -> None:
    turns = iter(range(10**9))

    class Chance(Grid):
        def odd(self) -> Any:
            if self.a > 12:
                self.b = next(turns) % 20
            return None

    assert "gives two answers" in problem_of(Chance).message


@pytest.mark.usefixtures("_few")
def test_an_exception_at_a_message_is_reported_with_the_run_to_it() -> None:
    class Fails(Grid):
        def odd(self) -> Any:
            if self.a > 12:
                raise ValueError("odd")

    problem = problem_of(Fails)
    assert "ValueError: odd" in problem.message
    assert problem.led_to is not None
    assert len(problem.led_to.steps) > 12


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([Send("x", 1)], "is sent to 'x', which is not a member"),
        ([1], "is not an effect"),
        (["x" for _ in ()], ""),
        ("text", "returned the text"),
        ([Send("s", object())], "object"),
    ],
)
def test_a_wrong_effect_is_reported_as_by_other_searches(answer: Any, words: str) -> None:
    class Wrong(Grid):
        def odd(self) -> Any:
            return answer if self.a > 12 else None

    if words:
        assert words in problem_of(Wrong).message
    else:
        assert check(asking(FINE, kind=Wrong)).result == "holds"


@pytest.mark.usefixtures("_few")
def test_a_change_without_a_step_is_noticed() -> None:
    class Drops(Grid):
        def odd(self) -> Any:
            return NOT_ENABLED if self.a > 12 else None

    assert "NOT_ENABLED, and changes" in problem_of(Drops).message


@pytest.mark.usefixtures("_few")
def test_an_endless_step_at_a_message_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WATCH, "seconds_max", 0.4)
    monkeypatch.setattr(direct, "RETRIED_STATES_MAX", 0)

    class Endless(Grid):
        def odd(self) -> Any:
            while self.a > 12:
                pass

    assert "has not returned" in problem_of(Endless).message
