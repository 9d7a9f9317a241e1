"""The node's log has each reason for a wait once, and a peer's text on one line."""

from __future__ import annotations

import io
import logging

import pytest

from joinproto.apps.node.reporting import OneLine, Reporter
from joinproto.join.messages import PhaseChanged, Refusal, Waiting
from joinproto.join.phases import Phase
from joinproto.machine.vocabulary import Reason

FEW = Waiting("I1", "too few members", Reason.TOO_FEW_MEMBERS, "no answer from c")
FAILED = Waiting("I6", "no clean store", Reason.NO_CLEAN_STORE)
OLDER = Waiting("I1", "too few members", Reason.STORE_WENT_BACK, "older copies: of b")


def test_a_wait_is_logged_when_its_reason_changes(caplog: pytest.LogCaptureFixture) -> None:
    """A member tries twice a second, and the reason for its wait may be the same for hours."""
    caplog.set_level("INFO")
    reporter = Reporter()
    for _ in range(100):
        reporter.see(FEW)
    reporter.see(FAILED)
    reporter.see(FAILED)
    reporter.see(FEW)

    assert 3 == len(caplog.messages)
    assert "waiting, I1: too few members (too-few-members) no answer from c" == caplog.messages[0]
    assert caplog.messages[1].endswith("then run `joinproto recover pick`")


def test_older_copies_are_logged_with_advice(caplog: pytest.LogCaptureFixture) -> None:
    """3.6: the advice ends with the recovery tool."""
    Reporter().see(OLDER)

    (line,) = caplog.messages
    assert line.startswith(
        "waiting, I1: too few members (store-went-back) older copies: of b; next"
    )
    assert line.endswith("`joinproto recover pick`")


def test_a_wait_is_logged_again_after_another_event(caplog: pytest.LogCaptureFixture) -> None:
    reporter = Reporter()
    reporter.see(FEW)
    reporter.see(PhaseChanged(Phase.ACTIVE, Phase.SUSPENDED, "3.5", "hears no majority"))
    reporter.see(FEW)

    assert 2 == len([one for one in caplog.messages if one.startswith("waiting")])
    assert Reason.TOO_FEW_MEMBERS is reporter.reason


def test_absent_members_are_logged_when_they_change(caplog: pytest.LogCaptureFixture) -> None:
    reporter = Reporter()
    for away in (["b", "c"], ["b", "c"], ["c"], ["c"], [], ["c"]):
        reporter.see_absent(away)

    assert [
        "not active; no connection to b, c",
        "not active; no connection to c",
        "not active; no connection to c",
    ] == caplog.messages


def test_one_event_is_one_line_whatever_its_text() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(OneLine("%(levelname)s %(message)s"))
    log = logging.getLogger("joinproto.tests.apart")
    log.propagate = False
    log.addHandler(handler)
    peer = "b\n2026-11-22 a INFO all is well\x1b[2J"

    log.warning("refused %s: %s", peer, Refusal(peer, "x").what)

    assert 1 == stream.getvalue().count("\n")
    assert r"b\n2026-11-22 a INFO all is well\x1b[2J: x" in stream.getvalue()
