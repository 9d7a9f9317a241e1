"""`linearizable` is compared with the definition: some order of the calls explains the answers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import combinations, permutations
from pathlib import Path

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from joinproto.check import Call, ModelProblem, Return, linearizable, load_world, register
from joinproto.check.check import check

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
READ = ("read",)
OPERATIONS = [READ, ("write", 1), ("write", 2), ("compare and set", 1, 2)]
ANSWERS = [None, 0, 1, 2, True, False]


@frozen
class HistoryCall:
    """One call in a history: when it began, when it was answered, and the answer."""

    operation: Hashable
    begins: int
    ends: float
    answer: object


def by_definition(calls: list[HistoryCall]) -> bool:
    """Return whether some order of the calls explains the answers; open calls may be left out."""
    answered = [one for one in calls if one.ends != float("inf")]
    still_open = [one for one in calls if one.ends == float("inf")]
    return any(
        explains(order)
        for size in range(len(still_open) + 1)
        for more in combinations(still_open, size)
        for order in permutations([*answered, *more])
    )


def explains(order: tuple[HistoryCall, ...]) -> bool:
    state: object = 0
    for place, one in enumerate(order):
        if any(later.ends < one.begins for later in order[place + 1 :]):
            return False
        state, answer = register(state, one.operation)
        if one.ends != float("inf") and answer != one.answer:
            return False
    return True


@st.composite
def histories(draw: st.DrawFn) -> list[Call | Return]:
    """Draw events of three clients; answers are random, so few histories are linearizable."""
    events: list[Call | Return] = []
    is_open: set[str] = set()
    for client in draw(st.lists(st.sampled_from("abc"), max_size=9)):
        if client in is_open:
            events.append(Return(client, draw(st.sampled_from(ANSWERS))))
        else:
            events.append(Call(client, draw(st.sampled_from(OPERATIONS))))
        is_open ^= {client}
    return events


def calls_of(events: list[Call | Return]) -> Iterator[HistoryCall]:
    for at, event in enumerate(events):
        if isinstance(event, Call):
            answers = (
                (when, later.answer)
                for when, later in enumerate(events[at:], at)
                if isinstance(later, Return) and later.client == event.client
            )
            ends, answer = next(answers, (float("inf"), None))
            yield HistoryCall(event.operation, at, ends, answer)


@given(histories())
def test_a_history_is_explained_exactly_if_the_definition_says_so(
    events: list[Call | Return],
) -> None:
    orders = linearizable(register, initial=0)
    monitor = orders.monitor()
    is_explained = True
    for at, event in enumerate(events):
        monitor.receive(event)
        is_explained = is_explained and bool(orders.claim.holds(monitor.shows()))
        assert by_definition([*calls_of(events[: at + 1])]) == is_explained


def test_an_answer_without_a_call_is_refused() -> None:
    monitor = linearizable(register).monitor()

    with pytest.raises(ModelProblem, match="has no open call"):
        monitor.receive(Return("a", 1))


def test_a_second_call_before_the_answer_is_refused() -> None:
    monitor = linearizable(register).monitor()
    monitor.receive(Call("a", READ))

    with pytest.raises(ModelProblem, match="its last call is open"):
        monitor.receive(Call("a", READ))


def test_an_unknown_operation_of_a_register_is_refused() -> None:
    with pytest.raises(ModelProblem, match="is not an operation of a register"):
        register(0, ("add", 1))


@pytest.mark.parametrize(
    ("example", "given_", "result"),
    [
        ("my_register", {}, "violated"),
        ("my_register", {"waits": True}, "holds"),
        ("my_lease", {}, "violated"),
        ("my_lease", {"careful": True}, "holds"),
    ],
)
def test_the_register_and_lease_examples_have_their_documented_results(
    example: str, given_: dict[str, object], result: str
) -> None:
    assert result == check(load_world(str(EXAMPLES / f"{example}.py"), **given_)).result
