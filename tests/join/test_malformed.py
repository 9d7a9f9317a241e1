"""Malformed input: numbers out of range, and found values in messages."""

from __future__ import annotations

import pytest

from joinproto.codec.malformed import Malformed, Verbatim, require_int, shown


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [
        (2, True),
        (3, False),
        # A member in another language could not read a number of more than eight bytes.
        (9_223_372_036_854_775_807, False),
        (9_223_372_036_854_775_808, True),
    ],
)
def test_a_number_lies_between_its_least_and_the_largest_of_eight_bytes(
    value: int, is_refused: bool
) -> None:
    if not is_refused:
        require_int("seq", value, at_least=3)
        return
    with pytest.raises(Malformed, match=f"seq: found {value}, expected at least 3"):
        require_int("seq", value, at_least=3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        (Verbatim("frame 3"), "frame 3"),
        ("x" * 78, repr("x" * 78)),
        ("x" * 79, "'" + "x" * 79 + ".."),
    ],
)
def test_a_found_value_is_shown_escaped_and_cut_to_eighty_characters(
    value: object, text: str
) -> None:
    """A peer must not write on an operator's terminal; our own words are shown unchanged."""
    assert text == shown(value)
