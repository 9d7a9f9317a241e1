"""The direct search of a world of one member reports what plain Python and the engine report."""

from __future__ import annotations

import copy
import enum
import random
from collections.abc import Callable
from typing import Any

import pytest
from attrs import asdict, evolve

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    Maybe,
    ModelProblem,
    Rule,
    Send,
    World,
    always,
    always_each,
    always_pair,
    check,
    direct,
    direct_member,
    eventually,
    no_deadlock,
    sometimes,
    sometimes_one,
)
from joinproto.check.check import check as check_by_engine
from joinproto.check.direct import check_direct, is_direct
from joinproto.check.direct_member import DirectMember
from joinproto.check.member import MemberCode
from joinproto.check.plain import Bounds, Ends, check_small
from joinproto.check.report import Report
from joinproto.check.watchdog import WATCH

ALL = Bounds(1 << 40, 1 << 40, 1 << 40, 1 << 40)
COSTS = ("seconds", "cpu_seconds", "peak_rss_bytes", "bytes_per_state", "numbered_bytes", "calls")


@pytest.fixture(params=[0, 3, 1000])
def _checked_states(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set how many states are searched in the slow way before the fast way is taken."""
    monkeypatch.setattr(direct_member, "CHECKED_STATES", request.param)


def found(report: Report | None) -> dict[str, Any]:
    """Return the report's findings, without costs and the method of the search."""
    assert report is not None
    said = asdict(report, recurse=False)
    for name in (*COSTS, "method", "row_bits"):
        said.pop(name)
    return said


def same_findings(world: Callable[[], World], **ends: Any) -> Report:
    """Return the report of the direct search, after comparing it with that of plain Python."""
    direct = check_direct(world(), witnesses=True, ends=Ends(**ends))
    plain = check_small(world(), witnesses=True, ends=Ends(**ends), bounds=ALL)

    assert found(plain) == found(direct)
    assert direct is not None
    assert direct.method == "states"
    return direct


class Grid:
    """Has two counters, of which one wraps."""

    def __init__(self) -> None:
        self.a = self.b = 0

    def choices(self) -> list[str]:
        return ["a", "b"]

    def receive(self, event: str) -> Any:
        if event == "a":
            self.a = (self.a + 1) % 12
        elif self.b == 12:
            return NOT_ENABLED
        else:
            self.b += 1
        return None


def grid(*claims: Any, **more: Any) -> World:
    return World(name="grid", members={"m": Grid}, properties=list(claims), **more)


@pytest.mark.usefixtures("_checked_states")
def test_counts_claims_and_runs_are_those_of_plain_python() -> None:
    """The world has 156 states; its claims are broken, reached, or never reached."""
    claims = (
        always_each("low", lambda shown: shown.a + shown.b < 9),
        sometimes_one("top", lambda shown: shown.b == 5),
        sometimes("never", lambda view: view["m"].a == 99),
        always_pair("no pair", lambda one, other: False),
        no_deadlock("goes on"),
    )

    whole = same_findings(lambda: grid(claims[1], *claims[3:]))
    broken = same_findings(lambda: grid(*claims))
    missed = same_findings(lambda: grid(claims[2]))

    assert whole.distinct == 156
    assert whole.calls == 3 * 156 + 1
    assert broken.trace is not None
    assert len(broken.trace.steps) == 9
    assert missed.result == "violated"


@pytest.mark.usefixtures("_checked_states")
def test_limits_end_the_direct_search_as_they_end_plain_python() -> None:
    for states in (1, 20, 155, 156):
        report = same_findings(lambda: grid(no_deadlock("goes on")), states_max=states)

        assert report.result == "incomplete"


@pytest.mark.usefixtures("_checked_states")
def test_a_bound_leaves_out_the_same_states_as_in_plain_python() -> None:
    def world() -> World:
        return grid(
            always("any", lambda view: True), within=lambda view: view["m"].a + view["m"].b < 6
        )

    assert same_findings(world).beyond == 7


def test_an_interrupt_ends_the_evaluation_of_deadlocks() -> None:
    """Each of 2,000 states is an end, and is asked about."""

    class Ends2000:
        def __init__(self) -> None:
            self.at = 0

        def choices(self) -> list[int]:
            return [] if self.at else [*range(1, 2001)]

        def receive(self, event: int) -> None:
            self.at = event

    asked: list[int] = []

    def may_end(view: Any) -> bool:
        asked.append(view["m"].at)
        return True

    world = World(name="ends", members={"m": Ends2000}, properties=[no_deadlock("ends", may_end)])
    ends = Ends(interrupted=lambda: len(asked) > 300)

    report = check_direct(world, ends=ends)

    assert report is not None
    assert ("interrupted", "incomplete") == (report.stopped_by, report.result)
    assert len(asked) < 1000


@pytest.mark.usefixtures("_checked_states")
def test_a_run_takes_no_step_out_of_a_state_beyond_the_bound() -> None:
    """The step `a` would come first, and leads to a state that is not within."""

    def world() -> World:
        return grid(
            always("not both", lambda view: (view["m"].a, view["m"].b) != (1, 1)),
            within=lambda view: (view["m"].a, view["m"].b) != (1, 0),
        )

    trace = same_findings(world).trace
    assert trace is not None
    assert [step.label for step in trace.steps] == ["b", "a"]


@pytest.mark.usefixtures("_checked_states")
def test_a_class_with_its_own_setattr_is_searched() -> None:
    class Strict(Grid):
        def __setattr__(self, name: str, value: Any) -> None:
            assert name in ("a", "b")
            super().__setattr__(name, value)

    found_there = same_findings(
        lambda: evolve(grid(always("any", lambda view: True)), members={"m": Strict})
    )

    assert found_there.distinct == 156


@pytest.mark.usefixtures("_checked_states")
def test_the_engine_and_the_direct_search_find_the_same() -> None:
    """The findings are equal; only the method differs."""
    world = grid(always_each("low", lambda shown: shown.a * shown.b < 30))

    direct, engine = check_direct(world), check_by_engine(world)

    assert direct is not None
    for name in ("distinct", "generated", "levels", "result", "trace", "coverage"):
        assert getattr(direct, name) == getattr(engine, name)
    assert (direct.method, engine.method) == ("states", "tables")


VALUES: tuple[Any, ...] = (
    0,
    1,
    True,
    False,
    1.0,
    "x",
    None,
    (1, 2),
    frozenset("ab"),
    [1],
    {"k": 1},
)


def drawn(seed: int) -> Callable[[], World]:
    """Return a random world of one member: a table of each event's effect on its attributes."""
    dice = random.Random(seed)
    size, words = dice.randint(2, 9), [("go", at) for at in range(dice.randint(1, 3))]
    events: list[Any] = [dice.choice([word, str(word)]) for word in words]
    whims = {dice.choice(events)} if dice.random() < 0.3 else set()
    has_rules, yields, shows = dice.random() < 0.3, dice.random() < 0.3, dice.random() < 0.5
    kept = [dice.choice(VALUES) for _ in range(size)]
    table = {
        (at, event): dice.choice([None, *range(size)]) for at in range(size) for event in events
    }
    bad, wanted, stops = dice.randrange(size + 4), dice.randrange(size), dice.random() < 0.3

    class Walker:
        def __init__(self) -> None:
            self.at, self.steps, self.kept = 0, 0, copy.copy(kept[0])

        def choices(self) -> Any:
            offered = [Maybe(event) if event in whims else event for event in events]
            return iter(offered) if yields else offered if not (stops and self.at == 1) else ()

        def receive(self, event: Any) -> Any:
            to = table[self.at, event]
            if to is None or self.steps == 6:
                return NOT_ENABLED
            self.at, self.steps, self.kept = to, self.steps + 1, copy.copy(kept[to])
            return [Rule(f"to {to}")] if has_rules else None

    if shows:
        Walker.shows = lambda self: (self.at, self.kept)  # type: ignore[attr-defined]

    def at_of(shown: Any) -> int:
        return int(shown[0] if shows else shown.at)

    def world() -> World:
        return World(
            name=f"walker {seed}",
            members={"w": Walker},
            properties=[
                always_each("never bad", lambda shown: at_of(shown) != bad),
                sometimes("comes there", lambda view: at_of(view["w"]) == wanted),
                always("small", lambda view: at_of(view["w"]) < 90, premise=lambda view: True),
                no_deadlock("stays alive", lambda view: at_of(view["w"]) != 1),
            ],
        )

    return world


@pytest.mark.usefixtures("_checked_states")
def test_random_members_give_equal_findings_in_both_searches() -> None:
    """200 random members hold numbers, flags, texts, sets, lists and dicts."""
    for seed in range(200):
        same_findings(drawn(seed))


def test_the_direct_search_leaves_other_worlds_to_other_searches() -> None:
    """Worlds with two members, faults, claims about fair runs, or sent messages."""

    class Sender(Grid):
        def receive(self, event: str) -> Any:
            yield Send("m", event) if self.a == 7 else Broadcast("all")

    fine = always("any", lambda view: True)
    assert is_direct(grid(fine))
    assert not is_direct(evolve(grid(fine), members={"m": Grid, "n": Grid}))
    assert not is_direct(grid(fine, faults=Faults(crashes=1)))
    assert not is_direct(grid(eventually("ends", lambda view: view["m"].a == 1)))
    assert check_direct(evolve(grid(fine), members={"m": Sender})) is None


def test_check_uses_the_direct_search() -> None:
    assert check(grid(always("any", lambda view: True))).method == "states"


class Pace(enum.Enum):
    SLOW = 1
    FAST = 2


class Usual(Grid):
    """Yields its events, which are tuples, and its effects; has a flag, an enum and a tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.last: tuple[Any, ...] = ("none", False)
        self.pace, self.odd = Pace.SLOW, False

    def choices(self) -> Any:
        yield "a", Pace.SLOW
        yield "b", Pace.FAST

    def receive(self, event: Any) -> Any:
        if super().receive(event[0]) is NOT_ENABLED:
            return NOT_ENABLED
        self.last, self.pace, self.odd = (event[0], True), event[1], self.a % 2 == 1
        yield Rule(event[0])


def test_a_member_as_it_is_usually_written_is_asked_quickly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def world() -> World:
        world = grid(always("any", lambda view: True), labels=("a", "b", "c"))
        return evolve(world, members={"m": Usual})

    def refuse(*_: Any) -> Any:
        raise AssertionError("asked slowly")

    monkeypatch.setattr(direct_member, "CHECKED_STATES", 0)
    monkeypatch.setattr(DirectMember, "_slowly", refuse)

    assert same_findings(world).coverage.rules["a"] > 200


# -- mistakes in a model that the fast way meets --------------------------------------------


class Counts(Grid):
    """Has many states, so that its mistake is met far from the initial state."""

    def receive(self, event: str) -> Any:
        if event == "a":
            self.a = (self.a + 1) % 60
        else:
            self.b = (self.b + 1) % 60
        return self.odd(event) if self.a > 40 else None

    def odd(self, event: str) -> Any:
        return None


def problem_of(kind: type) -> ModelProblem:
    world = evolve(grid(always("any", lambda view: True)), members={"m": kind})
    with pytest.raises(ModelProblem) as raised:
        check(world)
    return raised.value


def test_chance_is_noticed() -> None:
    turns = iter(range(10**9))

    class Chance(Counts):
        def odd(self, event: str) -> Any:
            self.a = next(turns) % 40
            return None

    assert "gives two answers" in problem_of(Chance).message


def test_an_attribute_that_appears_is_noticed() -> None:
    class Comes(Counts):
        def odd(self, event: str) -> Any:
            self.more = 1
            return None

    assert "comes or goes" in problem_of(Comes).message


def test_an_exception_is_reported_with_the_run_to_it() -> None:
    class Fails(Counts):
        def odd(self, event: str) -> Any:
            raise ValueError("odd")

    problem = problem_of(Fails)
    assert "ValueError: odd" in problem.message
    assert problem.led_to is not None
    assert len(problem.led_to.steps) == 40


def test_a_change_without_a_step_is_noticed() -> None:
    class Drops(Counts):
        def odd(self, event: str) -> Any:
            return NOT_ENABLED

    assert "NOT_ENABLED, and changes" in problem_of(Drops).message


def test_choices_that_change_the_member_are_noticed() -> None:
    class Changes(Counts):
        def choices(self) -> list[str]:
            if self.a == 41:
                self.b += 1
            return ["a", "b"]

    assert "choices() changes" in problem_of(Changes).message


def test_a_step_that_depends_on_the_order_of_a_set_is_refused() -> None:
    class Ordered(Counts):
        def __init__(self) -> None:
            super().__init__()
            self.names = {"x", "y"}

        def odd(self, event: str) -> Any:
            self.first = next(iter(self.names))
            return None

        first = ""

    assert problem_of(Ordered).message


def test_an_exception_that_is_not_raised_again_is_noticed() -> None:
    """The first call fails, and the same call after it does not, as with shared objects."""
    failed: list[str] = []

    class Once(Counts):
        def odd(self, event: str) -> Any:
            if self.b == 50 and not failed:
                failed.append(event)
                raise ValueError("odd")
            return None

    message = problem_of(Once).message
    assert "raises ValueError: odd once, and answers the other time" in message


def test_a_failure_that_does_not_repeat_is_noticed() -> None:
    failed: list[int] = []

    class Once(Counts):
        def shows(self) -> int:
            if self.a + self.b == 60 and not failed:
                failed.append(self.a)
                raise ValueError("odd")
            return self.a

    message = problem_of(Once).message
    assert "shows() raises ValueError: odd once" in message


def test_an_effect_that_comes_the_second_time_is_noticed() -> None:
    answered: set[tuple[int, int, str]] = set()

    class Sends(Counts):
        def odd(self, event: str) -> Any:
            asked = (self.a, self.b, event)
            if asked in answered:
                return [Rule("again")]
            answered.add(asked)
            return None

    assert "gives two answers" in problem_of(Sends).message


@pytest.mark.usefixtures("_checked_states")
def test_a_value_that_cannot_be_a_state_is_reported_with_its_attribute() -> None:
    """The fast way must report it, because the search cannot begin again in another way."""

    class Holds(Grid):
        def __init__(self) -> None:
            super().__init__()
            self.odd: Any = None

        def receive(self, event: str) -> Any:
            super().receive(event)
            self.b %= 12
            self.odd = object() if self.a == self.b == 11 else None
            return None

    world = evolve(grid(always("any", lambda view: True)), members={"m": Holds})
    member = DirectMember.of(world, MemberCode(world, "m", Holds))
    assert member is not None

    with pytest.raises(ModelProblem, match="member m: attribute 'odd'"):
        member.answers((10, 11, None))


@pytest.mark.usefixtures("_checked_states")
def test_a_limit_ends_the_evaluation_of_claims_within_a_level() -> None:
    """The limit is met within a level of 999 states, and the rest of the level is not judged."""

    class Wide:
        def __init__(self) -> None:
            self.at = 0

        def choices(self) -> range | list[int]:
            return [] if self.at else [*range(1, 1_000)]

        def receive(self, event: int) -> Any:
            self.at = event
            return None

    asked: list[int] = []

    def slow(shown: Any) -> bool:
        asked.append(shown.at)
        return bool(shown.at >= 0)

    world = World(
        name="wide",
        members={"w": Wide},
        properties=[always_each("slow", slow), always("false", lambda view: view["w"].at < 600)],
    )
    report = check_direct(world, ends=Ends(interrupted=lambda: len(asked) > 400))

    assert report is not None
    assert report.stopped_by == "interrupted"
    assert report.result == "incomplete"
    assert len(asked) < 800


def test_an_endless_observation_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WATCH, "seconds_max", 0.4)
    monkeypatch.setattr(direct, "RETRIED_STATES_MAX", 0)

    class Endless(Counts):
        def shows(self) -> int:
            while self.a == 50:
                pass
            return self.a

    assert "member m: shows() has not returned" in problem_of(Endless).message


@pytest.mark.usefixtures("_checked_states")
def test_rules_of_a_start_are_counted_as_in_plain_python() -> None:
    class Starts(Grid):
        def start(self) -> list[Rule]:
            return [Rule("begins")]

        def receive(self, event: str) -> Any:
            answer = super().receive(event)
            return [Rule(event)] if answer is None else answer

    labels = ("begins", "a", "b", "never")
    claim = always("any", lambda view: True)
    same_findings(lambda: evolve(grid(claim, labels=labels), members={"m": Starts}))
