"""A mistake in a model is reported with what was found, its place, and the next step.

Each faulty member below is in a world of two.  The line of the fault has the comment `fault`, and
the problem must name this file and that line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from joinproto.check import (
    DOWN,
    NOT_ENABLED,
    Broadcast,
    Faults,
    FifoLinks,
    Message,
    MessageSet,
    ModelProblem,
    Offline,
    Persist,
    Property,
    Record,
    Send,
    Together,
    World,
    always,
    always_each,
    always_pair,
    always_step,
    eventually,
    sometimes,
)
from joinproto.check.check import check
from tools.slow_search import explore

TRUE = always("nothing is wrong", lambda view: True)


def world(make: Callable[[], Any], *claims: Property, **more: Any) -> World:
    """Return a world of two members made by `make`."""
    return World(
        name="faulty", members={"a": make, "b": make}, properties=claims or (TRUE,), **more
    )


def problem_of(world: World, **how: Any) -> ModelProblem:
    with pytest.raises(ModelProblem) as caught:
        check(world, **how)
    return caught.value


def line_of_fault(kind: object) -> str:
    """Return file:line of the line that has the comment `fault`."""
    lines, first = inspect.getsourcelines(kind)  # type: ignore[arg-type]
    (at,) = [number for number, line in enumerate(lines) if line.rstrip().endswith("# fault")]
    return f"{Path(__file__)}:{first + at}"


@define
class TwoSteps:
    """A member without mistakes."""

    step: int = 0

    def choices(self) -> list[str]:
        return ["go"] if self.step < 2 else []

    def receive(self, event: Any) -> Any:
        self.step += 1
        return None


# -- errors of member code --------------------------------------------------------------


class Raises(TwoSteps):
    def receive(self, event: Any) -> Any:
        if self.step == 1:
            return dict[str, int]()["no such key"]  # fault
        self.step += 1
        return None


class RaisesInTheMiddle(TwoSteps):
    def receive(self, event: Any) -> Any:
        yield Broadcast("first")
        raise RuntimeError("second")  # fault


class RaisesAtStart(TwoSteps):
    def start(self) -> Any:
        raise RuntimeError("no start")  # fault


class RaisesInChoices(TwoSteps):
    def choices(self) -> Any:
        raise RuntimeError("no choice")  # fault


class RaisesInShows(TwoSteps):
    def shows(self) -> Any:
        return 1 // self.step  # fault


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Raises, "receive() raised KeyError: 'no such key'"),
        (RaisesInTheMiddle, "receive() raised RuntimeError: second"),
        (RaisesAtStart, "start() raised RuntimeError: no start"),
        (RaisesInChoices, "choices() raised RuntimeError: no choice"),
        (RaisesInShows, "shows() raised ZeroDivisionError"),
    ],
)
def test_a_member_that_raises_is_reported_with_its_line(kind: type, expected: str) -> None:
    """The place is the line that raised, and not a line of the checker."""
    problem = problem_of(world(kind))

    assert problem.message.startswith(f"{line_of_fault(kind)}: member a: ")
    assert expected in problem.message
    assert line_of_fault(kind) == problem.place
    assert problem.next


def test_a_member_that_cannot_be_made_is_reported_with_its_line() -> None:
    def make() -> Any:
        raise RuntimeError("no parts")  # fault

    problem = problem_of(world(make))

    assert line_of_fault(make) == problem.place
    assert "making the member raised RuntimeError: no parts" in problem.message


class NoReceive:
    pass


def test_a_member_without_receive_is_refused() -> None:
    problem = problem_of(world(NoReceive))

    assert "NoReceive has no method receive(event)" in problem.message


class Durable(TwoSteps):
    persistent = ("steps",)


def test_a_durable_attribute_that_does_not_exist_is_refused() -> None:
    problem = problem_of(world(Durable))

    assert "persistent names 'steps', which is not an attribute" in problem.message


# -- effects ---------------------------------------------------------------------------


class SendsAway(TwoSteps):
    def receive(self, event: Any) -> Any:
        return [Send("c", "hello")]


class AnswersText(TwoSteps):
    def receive(self, event: Any) -> Any:
        return ["hello"]


class AnswersNumber(TwoSteps):
    def receive(self, event: Any) -> Any:
        return 3


class ForgetsTheCall(TwoSteps):
    def receive(self, event: Any) -> Any:
        return [Persist]


class SendsAnObject(TwoSteps):
    def receive(self, event: Any) -> Any:
        return [Broadcast(object())]


class RecordsAnObject(TwoSteps):
    def receive(self, event: Any) -> Any:
        return [Record(object())]


class Hears:
    """Receives records, and forgets them."""

    def receive(self, event: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("kind", "expected", "hint"),
    [
        (SendsAway, "a message is sent to 'c', which is not a member", "members are a, b"),
        (AnswersText, "'hello' is not an effect", "yield Send, Broadcast, Persist, Record or Rule"),
        (AnswersNumber, "receive() returned 3", "return effects, None or NOT_ENABLED"),
        (ForgetsTheCall, "Persist is a class, not an effect", "write Persist(...)"),
        (SendsAnObject, "builtins.object cannot be part of a state", "frozen attrs"),
        (RecordsAnObject, "builtins.object cannot be part of a state", "frozen attrs"),
    ],
)
def test_a_bad_effect_is_reported_with_its_method_or_return(
    kind: type, expected: str, hint: str
) -> None:
    """The place is where `receive` begins, or the `return` of a result that is not a list."""
    problem = problem_of(world(kind, monitor=Hears if kind is RecordsAnObject else None))

    _, first = inspect.getsourcelines(kind.receive)  # type: ignore[attr-defined]
    line = first + (kind is AnswersNumber)
    assert f"{Path(__file__)}:{line}" == problem.place
    assert expected in problem.message
    assert hint in problem.next


# -- attributes ------------------------------------------------------------------------


class Thing:
    """Is compared by identity, so two equal states would never be the same."""


class Unhashable:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable)


class HoldsThing(TwoSteps):
    def receive(self, event: Any) -> Any:
        self.step = Thing()  # type: ignore[assignment]
        return None


class HoldsUnhashable(TwoSteps):
    def receive(self, event: Any) -> Any:
        self.step = Unhashable()  # type: ignore[assignment]
        return None


class HoldsGenerator(TwoSteps):
    def receive(self, event: Any) -> Any:
        self.step = (number for number in range(3))  # type: ignore[assignment]
        return None


class HoldsNested(TwoSteps):
    def receive(self, event: Any) -> Any:
        self.step = ({"key": [Thing()]},)  # type: ignore[assignment]
        return None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (HoldsThing, "Thing cannot be part of a state: it compares by identity"),
        (HoldsUnhashable, "Unhashable cannot be part of a state: it is not hashable"),
        (HoldsGenerator, "builtins.generator cannot be part of a state"),
        (HoldsNested, "Thing cannot be part of a state: it compares by identity"),
    ],
)
def test_an_attribute_that_cannot_be_part_of_a_state_is_named(kind: type, expected: str) -> None:
    problem = problem_of(world(kind))

    assert "member a: attribute 'step': " in problem.message
    assert expected in problem.message
    assert "frozen attrs objects" in problem.next
    assert problem.place.startswith(f"{Path(__file__)}:")


class Comes:
    def __init__(self) -> None:
        self.step = 0

    def choices(self) -> list[str]:
        return ["go"]

    def receive(self, event: Any) -> Any:
        self.late = 1
        return None


class Goes(Comes):
    def receive(self, event: Any) -> Any:
        del self.step
        return None


@pytest.mark.parametrize(("kind", "name"), [(Comes, "late"), (Goes, "step")])
def test_an_added_or_deleted_attribute_is_reported_by_its_name(kind: type, name: str) -> None:
    problem = problem_of(world(kind))

    assert f"attribute '{name}' comes or goes while the member runs" in problem.message
    assert "set every attribute in __init__" == problem.next


class GoesFromSlots:
    __slots__ = ("step",)

    def __init__(self) -> None:
        self.step = 0

    def choices(self) -> list[str]:
        return ["go"]

    def receive(self, event: Any) -> Any:
        del self.step
        return None


def test_an_attribute_deleted_from_a_slot_is_reported_by_its_name() -> None:
    problem = problem_of(world(GoesFromSlots))

    assert "attribute 'step' comes or goes while the member runs" in problem.message


# -- claims ----------------------------------------------------------------------------


def raising(*shown: Any) -> bool:
    raise ZeroDivisionError("no answer")  # fault


@pytest.mark.parametrize(
    "claim",
    [
        always("bad", raising),
        always_each("bad", raising),
        always_pair("bad", raising),
        sometimes("bad", raising),
        eventually("bad", raising),
        always("bad", lambda view: True, premise=raising),
    ],
    ids=lambda claim: f"{claim.kind} {claim.scope}",
)
def test_a_claim_that_raises_is_reported_with_its_line(claim: Property) -> None:
    problem = problem_of(world(TwoSteps, claim))

    assert "property 'bad' raised ZeroDivisionError: no answer" in problem.message
    assert line_of_fault(raising) == problem.place


def test_a_claim_that_forgets_stopped_members_gets_advice_about_them() -> None:
    """`DOWN` has no attributes; `view.up` leaves stopped members out."""
    claim = always("small", lambda view: all(shown.step < 9 for shown in view.values()))

    problem = problem_of(world(TwoSteps, claim, start="down"))

    assert "property 'small' raised AttributeError" in problem.message
    assert "view.up" in problem.next


def test_an_error_about_a_hidden_attribute_lists_the_shown_attributes() -> None:
    claim = always_each("small", lambda shown: shown.stp < 9)

    problem = problem_of(world(TwoSteps, claim))

    assert "no attribute 'stp' is shown; the attributes are step" in problem.message


# -- worlds ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"members": {}}, "has no members"),
        ({"properties": []}, "has no properties"),
        ({"properties": [TRUE, TRUE]}, "has two properties named"),
        ({"interchangeable": ["a", "c"]}, "interchangeable names 'c', which is not a member"),
        ({"beside": ["c"]}, "beside names 'c', which is not a member"),
        (
            {"properties": [always_each("x", bool, among=["a", "c"])]},
            "property 'x' is among 'c', which is not a member",
        ),
    ],
)
def test_an_unsound_world_is_refused_when_it_is_made(parts: dict[str, Any], expected: str) -> None:
    whole: dict[str, Any] = {
        "name": "faulty",
        "members": {"a": TwoSteps, "b": TwoSteps},
        "properties": [TRUE],
    }

    with pytest.raises(ModelProblem, match=expected):
        World(**{**whole, **parts})


@pytest.mark.parametrize(
    ("kind", "parts", "expected", "wanted"),
    [
        (Faults, {"crashes": -1}, "Faults(crashes=-1)", "a whole number from 0 on"),
        (Faults, {"losses": "x"}, "Faults(losses='x')", "a whole number from 0 on"),
        (FifoLinks, {"capacity": 0}, "FifoLinks(capacity=0)", "a whole number from 1 on"),
        (FifoLinks, {"when_full": "x"}, "FifoLinks(when_full='x')", "wait or lose"),
        (MessageSet, {"broadcasts": "x"}, "MessageSet(broadcasts='x')", "one or each"),
    ],
)
def test_a_malformed_part_of_a_world_is_reported_in_words(
    kind: Any, parts: dict[str, Any], expected: str, wanted: str
) -> None:
    """The message must not be the message of attrs, which contains Attribute(...) of the field."""
    with pytest.raises(ModelProblem) as raised:
        kind(**parts)

    assert expected == raised.value.message
    assert f"expected {wanted}" in raised.value.next


def test_a_joint_step_of_an_unknown_member_is_refused() -> None:
    steps = [Together("meet", {"a": "go", "c": "go"})]

    problem = problem_of(world(TwoSteps, together=lambda view: steps))

    assert "joint step 'meet' has an event for 'c', which is not a member" in problem.message
    assert "members are a, b" == problem.next


def test_a_joint_step_function_that_raises_is_reported_with_its_line() -> None:
    def together(view: Any) -> Any:
        raise RuntimeError("no steps")  # fault

    problem = problem_of(world(TwoSteps, together=together))

    assert line_of_fault(together) == problem.place
    assert "together(view) raised RuntimeError: no steps" in problem.message


def test_an_event_for_a_disk_needs_the_method_offline() -> None:
    """`Offline` reaches a stopped member by its method `offline`."""
    steps = [Together("repair", {"a": Offline("mark")})]

    problem = problem_of(world(TwoSteps, start="down", together=lambda view: steps))

    assert "TwoSteps has no method offline(event)" in problem.message


class DeafMonitor:
    """A monitor without `receive`."""


def test_a_monitor_without_receive_is_refused() -> None:
    problem = problem_of(world(TwoSteps, monitor=DeafMonitor))

    assert "member monitor: DeafMonitor has no method receive(event)" in problem.message


@pytest.mark.parametrize(
    "claim",
    [
        lambda view: view.monitor.heard < 3,
        lambda view: view.monitor < 3,
        lambda view: 3 in view.monitor,
    ],
)
def test_a_claim_about_a_missing_monitor_gets_advice_about_the_monitor(claim: Any) -> None:
    """The advice must be to give the world a monitor, and not about stopped members."""
    problem = problem_of(world(TwoSteps, always("heard", claim)))

    assert "NoneType" in problem.message
    assert "give the world one, World(monitor=...)" in problem.next


def test_a_claim_about_a_hidden_attribute_gets_advice_about_shows() -> None:
    problem = problem_of(world(TwoSteps, always_each("few", lambda shown: shown.coutn < 3)))

    assert "has no 'coutn': let shows() return an object that has it" in problem.next


class Forgetful:
    def receive(self, event: Any) -> Any:
        return NOT_ENABLED

    def shows(self) -> Any:
        return self.done  # type: ignore[attr-defined]  # fault


def test_an_error_in_shows_gets_advice_about_attributes() -> None:
    """The advice must not be to answer NOT_ENABLED, which is for events."""
    problem = problem_of(world(Forgetful))

    assert problem.next == "it must answer in every state; set every attribute in __init__"
    assert line_of_fault(Forgetful) in str(problem.place)


# -- symmetry --------------------------------------------------------------------------


@define
class Named:
    name: str
    others: frozenset[str]
    step: int = 0

    def choices(self) -> list[str]:
        return ["go"] if self.step == 0 else []

    def receive(self, event: Any) -> Any:
        self.step = 1
        return None


class Favoured(Named):
    def receive(self, event: Any) -> Any:
        self.step = 2 if self.name == "a" else 1
        return None


class AsksTheFirst(Named):
    def receive(self, event: Any) -> Any:
        if type(event) is Message:
            return NOT_ENABLED
        self.step = 1
        return [Send(min(self.others), "hello")]


class EagerFirst(Named):
    def choices(self) -> list[str]:
        return ["go"] if self.step == 0 and self.name == "a" else []


def alike(kind: type, *claims: Property, names: str = "abc", **more: Any) -> World:
    return World(
        name="alike",
        members={
            name: lambda name=name: kind(name, frozenset(names) - {name})  # type: ignore[misc]
            for name in names
        },
        interchangeable=list(names),
        properties=claims or (TRUE,),
        **more,
    )


@pytest.mark.parametrize("kind", [Favoured, AsksTheFirst])
def test_members_whose_code_tells_names_apart_are_not_interchangeable(kind: type) -> None:
    """Whether they are interchangeable is checked at every step that is explored."""
    problem = problem_of(alike(kind), symmetry=True)

    assert "are not interchangeable" in problem.message
    assert "--no-symmetry" in problem.next
    assert "holds" == check(alike(kind)).result


def test_members_that_offer_different_choices_are_not_interchangeable() -> None:
    problem = problem_of(alike(EagerFirst), symmetry=True)

    assert "are not interchangeable" in problem.message


def test_joint_steps_that_tell_names_apart_are_refused_under_symmetry() -> None:
    steps = [Together("begin", {"a": "go"})]

    problem = problem_of(alike(Named, together=lambda view: steps), symmetry=True)

    assert "renamed" in problem.message


def test_a_claim_that_tells_names_apart_is_refused_under_symmetry() -> None:
    claim = sometimes("the first is done", lambda view: view["a"].step == 1)

    problem = problem_of(alike(Named, claim), symmetry=True)

    assert "property 'the first is done' changes when members are renamed" in problem.message


def test_a_claim_among_some_interchangeable_members_is_refused_under_symmetry() -> None:
    claim = always_each("small", lambda shown: shown.step < 3, among=["a"])

    problem = problem_of(alike(Named, claim), symmetry=True)

    assert "treats interchangeable members differently" in problem.message


def test_liveness_is_refused_under_symmetry() -> None:
    claim = eventually("all done", lambda view: all(s.step for s in view.values()))

    problem = problem_of(alike(Named, claim), symmetry=True)

    assert "is about liveness" in problem.message
    assert "holds" == check(alike(Named, claim)).result


def test_a_first_state_that_changes_under_renaming_is_refused() -> None:
    made = {
        name: lambda name=name: Named(name, frozenset("ab") - {name}, step=int(name == "a"))
        for name in "ab"
    }
    uneven = World(name="uneven", members=made, interchangeable=["a", "b"], properties=[TRUE])

    problem = problem_of(uneven, symmetry=True)

    assert "the initial state changes when interchangeable members are renamed" in problem.message


def test_symmetry_without_two_interchangeable_members_is_refused() -> None:
    problem = problem_of(world(TwoSteps), symmetry=True)

    assert "names fewer than two interchangeable members" in problem.message


def test_splits_that_treat_one_member_differently_are_refused_under_symmetry() -> None:
    faults = Faults(partitions=1, splits=(frozenset("a"),))

    problem = problem_of(alike(Named, faults=faults), symmetry=True)

    assert "splits of the world treat interchangeable members differently" in problem.message


# -- correct models ------------------------------------------------------------------------


class Containers:
    """Lists, dicts and sets are allowed; a step may change them in place."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.seen: dict[str, set[int]] = {"numbers": set()}

    def choices(self) -> list[str]:
        return ["go"] if len(self.items) < 3 else []

    def receive(self, event: Any) -> Any:
        self.items.append(len(self.items))
        self.seen["numbers"].add(len(self.items) % 2)
        return None


def test_containers_inside_a_member_are_values() -> None:
    """A step out of one state does not change another state: there are 4 * 4 states."""
    report = check(world(Containers))

    assert 16 == report.distinct == explore(world(Containers)).distinct


def test_a_stopped_member_shows_down() -> None:
    claim = sometimes("one is down, one is not", lambda view: {DOWN} < set(view.values()))

    report = check(world(TwoSteps, claim, start="down", network=FifoLinks()))

    assert "reached" == report.properties[0].result


# -- claims that return None, calls that do not return -------------------------------------


def answers_none(view: Any) -> Any:
    assert view["a"] is not None


def asks_an_unknown_member(view: Any) -> bool:
    return view["nobody"] is None


def test_a_claim_that_answers_none_is_refused() -> None:
    """Otherwise None would count as a violation."""
    problem = problem_of(world(TwoSteps, always("says", answers_none)))

    assert "property 'says' answered None" in problem.message
    line = answers_none.__code__.co_firstlineno
    assert problem.place == f"{__file__}:{line}"


def test_a_bound_that_answers_none_is_refused() -> None:
    """Otherwise every state would lie beyond the bound, and all claims would hold."""
    problem = problem_of(world(TwoSteps, within=lambda view: None))

    assert "within(view) answered None" in problem.message


def test_a_claim_about_steps_with_wrong_arguments_gets_advice_about_them() -> None:
    def two(*both: Any) -> bool:
        _before, _after = both
        return True

    problem = problem_of(world(TwoSteps, always_step("two", two)))

    assert "the view before, the step" in problem.next


def test_a_claim_about_hidden_disks_gets_advice_about_show_disk() -> None:
    problem = problem_of(world(TwoSteps, always("disk", lambda view: view.disk["a"] is None)))

    assert "a world shows them with show_disk=" in problem.message


def test_a_same_whose_results_cannot_be_compared_is_refused() -> None:
    problem = problem_of(world(TwoSteps, same=lambda view: object()))

    assert "results of same(view) cannot be compared" in problem.message


def test_an_error_about_an_unknown_member_lists_the_members() -> None:
    problem = problem_of(world(TwoSteps, always("asks", asks_an_unknown_member)))

    assert "property 'asks' asks for 'nobody', which is not a member" in problem.message
    assert problem.next == "members are a, b"
    assert problem.place == f"{__file__}:{asks_an_unknown_member.__code__.co_firstlineno + 1}"


class Spins(TwoSteps):
    def receive(self, event: Any) -> Any:
        while True:
            self.step += 0


def test_a_call_that_does_not_return_is_reported_with_its_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from joinproto.check import watchdog

    monkeypatch.setattr(watchdog.WATCH, "seconds_max", 0.4)

    problem = problem_of(world(Spins))

    assert "receive() has not returned for 0.4 seconds" in problem.message
    first = Spins.receive.__code__.co_firstlineno
    assert problem.place in (f"{__file__}:{first + 1}", f"{__file__}:{first + 2}")


@pytest.mark.parametrize(
    ("wall", "kept", "seconds"),
    [
        pytest.param(1.0, 0.0, 1.0, id="a loop, or a sleep"),
        pytest.param(1.25, 0.75, 0.5, id="a busy machine"),
        pytest.param(9.0, 8.5, 0.5, id="a very busy machine"),
        pytest.param(3_600.0, 0.0, 1.0, id="stopped for an hour"),
    ],
)
def test_time_in_which_a_process_did_not_run_is_not_counted(
    wall: float, kept: float, seconds: float
) -> None:
    """A search that continues after Ctrl-Z and `fg` must not report an error in the model."""
    from joinproto.check import watchdog

    assert seconds == watchdog.counted(wall, kept, pause=1.0)


def test_calls_return_if_no_watching_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In WebAssembly, for example, no thread can be started; the user can end the search."""
    from joinproto.check import watchdog

    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)

    assert [1, 2] == [watchdog.Watchdog().run("a call", partial(abs, n)) for n in (1, 2)]
