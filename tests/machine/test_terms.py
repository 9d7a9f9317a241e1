"""The language of conditions: the uses that it refuses, and how conditions are printed."""

from collections.abc import Callable

import pytest
from attrs import frozen

from joinproto.errors import MisuseError
from joinproto.machine.sets import ME, MY_WAIT_FOR, A, C, D, E, I, K
from joinproto.machine.terms import Condition, Members


@frozen
class Other:
    """Rows of another kind."""

    colour: str


def test_a_condition_has_no_truth_value_and_the_error_names_the_alternative() -> None:
    """`and`, `or`, `not` and `if` would silently take the wrong branch."""
    with pytest.raises(MisuseError, match="C is empty") as caught:
        bool(C.is_empty)

    assert "& | ~" in caught.value.next


@pytest.mark.parametrize(
    ("misuse", "instead"),
    [
        (lambda: C.is_empty and D.is_empty, "&"),  # type: ignore[unreachable]
        (lambda: not C.is_empty, "~"),
        (lambda: 1 if C else 2, "&"),
        (lambda: ME in C, "has(ME)"),
        (lambda: list(C), "every"),
        (lambda: len(C), "fewer_than"),
        (lambda: bool(MY_WAIT_FOR), "&"),
    ],
)
def test_an_operation_of_python_on_a_term_is_refused(
    misuse: Callable[[], object], instead: str
) -> None:
    """Each refusal names the words to use."""
    with pytest.raises(MisuseError) as caught:
        misuse()

    assert instead in caught.value.next


@pytest.mark.parametrize(
    ("misuse", "found"),
    [
        (lambda: I.where(stor="clean"), "no field 'stor'"),
        (lambda: I.disagrees_on("initials"), "no field 'initials'"),
        (lambda: I.every(), "no field is named"),
        (lambda: I.mine("n"), "no field 'n'"),
        (lambda: I.fewer_than(0), "fewer than 0"),
        (lambda: I | Members("O", Other), "holds Other"),
        (lambda: I.has(Members("O", Other).me), "holds Other"),
    ],
)
def test_a_mistake_is_refused_where_it_is_written(misuse: Callable[[], object], found: str) -> None:
    """It is not refused only later, when the first member with a store is judged."""
    with pytest.raises(MisuseError, match=found):
        misuse()


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ((C | D).is_empty & E.has(ME), "C + D is empty and me in E"),
        (~((C | D).is_empty & E.has(ME)), "not (C + D is empty and me in E)"),
        (C.is_empty | (D.is_empty & E.is_empty), "C is empty or (D is empty and E is empty)"),
        ((C.is_empty | D.is_empty) & E.is_empty, "(C is empty or D is empty) and E is empty"),
        (I.fewer_than(MY_WAIT_FOR), "I has fewer than my wait-for"),
        (~I.fewer_than(2), "I has at least 2"),
        ((A | ME).disagrees_on("options"), "options not the same within A + me"),
        (~K.disagrees_on("initial"), "initial the same within K"),
        (~C.is_empty, "C is not empty"),
        (~C.has(ME), "me not in C"),
        (I.fact("it is ready", ready=True) & ~C.is_empty, "it is ready and C is not empty"),
        (~I.fact("it is ready", ready=True), "not (it is ready)"),
        (I.every(ready=True), "every I has ready"),
        (~I.some(ready=False), "not some I has not ready"),
        ((I - (C | D)).is_empty, "I - (C + D) is empty"),
        ((I | D).where(initial=None).is_empty, "(I + D) with initial = none is empty"),
    ],
)
def test_a_condition_reads_as_a_sentence(condition: Condition, text: str) -> None:
    """A named set prints its name, never its definition."""
    assert text == str(condition)


def test_equal_terms_are_equal_values() -> None:
    """So tables can refuse a repeated condition, and readers can cache results by term."""
    assert {C.is_empty} == {C.is_empty, C.is_empty}
