"""Refusals: all are counted, and a flood of them does not fill the log."""

from __future__ import annotations

import logging

import pytest

from joinproto.net.refused import AGAIN_SECONDS, KNOWN_MAX, LINES_PER_SECOND, Refusals, one_line

log = logging.getLogger("joinproto.tests")


def test_a_repeated_refusal_is_counted_and_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A refusal twice a second, each time from another port, gives one line a minute."""
    refusals = Refusals(log)
    for half in range(100):
        refusals.record(half / 2, f"10.0.0.9:{5_000 + half}", "no TLS")
    refusals.record(AGAIN_SECONDS, "10.0.0.9:6000", "no TLS")

    assert 101 == refusals.count
    assert [
        "refused 10.0.0.9:5000: no TLS",
        "refused 99 more connections",
        "refused 10.0.0.9:6000: no TLS",
    ] == caplog.messages


def test_a_flood_of_different_refusals_makes_a_few_lines_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusals = Refusals(log)
    for number in range(10_000):
        refusals.record(0.5, f"10.0.0.9:{number}", f"a frame of {number} bytes")
    assert LINES_PER_SECOND == len(caplog.messages)
    assert KNOWN_MAX >= len(refusals._known)

    refusals.record(1.5, "10.0.0.8:1", "another")

    assert f"refused {10_000 - LINES_PER_SECOND} more connections" == caplog.messages[-2]


def test_unprintable_text_is_escaped_and_long_text_is_cut() -> None:
    assert "a\\nb\\x1b[31m\\u202e" == one_line("a\nb\x1b[31m\u202e")
    assert "größer, 大" == one_line("größer, 大")
    assert "aaaa.." == one_line("a" * 9, 4)
