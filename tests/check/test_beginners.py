"""More mistakes of beginners that must not end in a silent "holds".

Both searches refuse such a model with the line of the mistake, or report the cause.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    Message,
    Property,
    Together,
    World,
    always,
    always_pair,
    always_step,
    eventually,
)
from tests.check.test_silent_answers import Steps, both_searches, refused, reported, world

VOTE = "vote"


class Ack:
    pass


class Comparing(Steps):
    def receive(self, event: Any) -> Any:
        self.step == 1  # noqa: B015  # fault
        self.step += 1


class Dropping(Steps):
    def receive(self, event: Any) -> Any:
        self.step += 1
        Broadcast("hello")  # fault


class NotReturning(Steps):
    def receive(self, event: Any) -> Any:
        if event != "go":
            NOT_ENABLED  # noqa: B018  # fault
        self.step += 1


class ListInVain(Steps):
    def receive(self, event: Any) -> Any:
        self.step += 1
        [Broadcast("hello")]  # fault


class Capturing(Steps):
    def receive(self, event: Any) -> Any:
        match event:
            case "go":
                self.step += 1
            case Message(_, VOTE):  # noqa: F841  # fault
                self.step = 0
            case _:
                return NOT_ENABLED
        return None


class CapturingAClass(Steps):
    def receive(self, event: Any) -> Any:
        match event:
            case "go":
                self.step += 1
            case Message(_, Ack):  # noqa: F841  # fault
                return NOT_ENABLED
        return None


@both_searches
@pytest.mark.parametrize(
    ("kind", "expected", "hint"),
    [
        (Comparing, "self.step == 1 compares, and the answer is dropped", "write ="),
        (Dropping, "Broadcast('hello') is made, and no step returns it", "in a list"),
        (NotReturning, "NOT_ENABLED is named, and not returned", "write return NOT_ENABLED"),
        (ListInVain, "[Broadcast('hello')] is made, and dropped", "write return ["),
        (Capturing, "case VOTE matches any value", "write 'vote' itself"),
        (CapturingAClass, "case Ack matches any value", "write Ack()"),
    ],
)
def test_a_line_without_its_intended_effect_is_refused(
    kind: type, expected: str, hint: str, search: Callable[[World], Any]
) -> None:
    lines, first = inspect.getsourcelines(kind)
    (at,) = [number for number, line in enumerate(lines, first) if line.endswith("# fault\n")]

    problem = refused(world(kind), search)

    assert f"{__file__}:{at}" == problem.place
    assert expected in problem.message
    assert hint in problem.next


class Fine(Steps):
    def receive(self, event: Any) -> Any:
        """Have a docstring, call a function, and store a name: none of these is a mistake."""
        match event:
            case "go":
                self.advance()
            case Message(_, content) if content == VOTE:
                return NOT_ENABLED
            case Message(_, Ack()):
                ...
            case other:
                assert other is None
        return None

    def advance(self) -> None:
        self.step += 1


def test_lines_with_an_effect_are_accepted() -> None:
    assert "holds" == reported(world(Fine)).result


class PropertyShown(Steps):
    @property
    def shows(self) -> str:
        return "idle"


@both_searches
def test_a_property_in_place_of_a_method_is_refused(search: Callable[[World], Any]) -> None:
    """Otherwise the property would be ignored, and all attributes would be shown."""
    problem = refused(world(PropertyShown), search)

    assert "shows is a property" in problem.message
    assert "shows()" in problem.next


@both_searches
@pytest.mark.parametrize(
    "claim",
    [
        always("quiet", lambda view: view["a"].step == 7 or "two"),
        always_step("quiet", lambda before, step, after: "two"),
    ],
)
def test_a_claim_that_answers_with_a_text_is_refused(
    claim: Property, search: Callable[[World], Any]
) -> None:
    """`x == "one" or "two"` is true for every x."""
    assert "answered with the text 'two'" in refused(world(Steps, claim), search).message


@both_searches
def test_a_joint_step_of_an_unknown_member_is_reported_by_its_name(
    search: Callable[[World], Any],
) -> None:
    problem = refused(world(Steps, together=[Together("meet", {"c": "go"})]), search)

    assert "joint step 'meet' has an event for 'c', which is not a member" in problem.message


# -- the contents of the report -----------------------------------------------------------------


class Phase(enum.Enum):
    IDLE = "idle"
    LEADS = "leads"


class Enumerated(Steps):
    def shows(self) -> Phase:
        return Phase.LEADS if self.step else Phase.IDLE


def causes_in(given: World) -> Iterable[str]:
    found = reported(given)
    return [*found.coverage.never, *found.coverage.void.values()]


def test_a_text_that_is_compared_with_an_enum_is_reported() -> None:
    wrong = always_pair("one leads", lambda a, b: {a, b} != {"leads"})
    right = always_pair("one leads", lambda a, b: {a.value, b.value} != {"zeal"})

    (cause,) = causes_in(world(Enumerated, wrong))
    assert "they show Phase.LEADS, which no text equals" in cause
    assert not causes_in(world(Enumerated, right))


def test_a_text_that_is_compared_with_a_stopped_member_is_reported() -> None:
    claim = always("one runs", lambda view: [*view.values()] != ["down", "down"])

    causes = causes_in(world(Steps, claim, faults=Faults(crashes=2)))
    assert any("shows DOWN, which no text equals" in cause for cause in causes)


def test_a_claim_that_only_iterates_over_names_is_reported_as_not_tested() -> None:
    """`for shown in view` gives the members' names."""
    wrong = always("few lead", lambda view: sum(shown == "2" for shown in view) < 2)
    right = always("few lead", lambda view: sum(view[name].step > 2 for name in view) < 2)

    found = reported(world(Steps, wrong))
    assert "incomplete" == found.result
    (cause,) = found.coverage.void.values()
    assert "view.values()" in cause
    assert not causes_in(world(Steps, right))


def test_a_claim_about_an_object_outside_the_world_is_reported() -> None:
    outside = Steps()
    claim = always("few steps", lambda view: outside.step < 1)

    (cause,) = causes_in(world(Steps, claim))
    assert "looks at outside, which no step of a search changes" in cause


def test_a_claim_may_read_a_variable_that_is_not_set_yet() -> None:
    """The variable has no value yet; this must not end the check with Python's ValueError."""

    def few_steps(view: Any) -> bool:
        return len(view) > 0 or bool(set_later)

    assert not causes_in(world(Steps, always("few steps", few_steps)))
    set_later = True


def test_an_eventually_that_is_true_in_every_initial_state_is_reported() -> None:
    at_once = eventually("rests", lambda view: view["a"].step == 0)
    later = eventually("ends", lambda view: view["a"].step == 2)

    (cause,) = causes_in(world(Steps, at_once))
    assert "is true in every initial state" in cause
    assert not causes_in(world(Steps, later))


class Undescribed(Steps):
    def __init__(self) -> None:
        super().__init__()
        self.phase = "looking"


def test_a_text_that_is_compared_with_a_whole_member_is_reported() -> None:
    """Without shows() a member shows its attributes as one object, which no text equals."""
    wrong = always_pair("one leads", lambda a, b: {a, b} != {"looking"})
    right = always_pair("one leads", lambda a, b: {a.phase, b.phase} != {"leading"})

    (cause,) = causes_in(world(Undescribed, wrong))
    assert "compare an attribute (phase, step), or write shows()" in cause
    assert not any("write shows()" in cause for cause in causes_in(world(Undescribed, right)))
