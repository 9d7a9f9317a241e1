"""Helpers for tests: play a flow with answers, and read the result."""

from __future__ import annotations

import json
from typing import Any

from joinproto.discovery.asked import FlowResult, ServerReply, played

BROKEN = ServerReply(status=None, broken="torn")
LATE = ServerReply(status=None, broken="no whole answer within 2.25 s", took=2.25)


def ok(body: Any = "", *, status: int = 200, took: float = 0.0) -> ServerReply:
    """Return an answer; a body that is not text is written as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return ServerReply(status=status, body=text, took=took)


def play(flow: Any, *answers: ServerReply) -> FlowResult:
    return played(flow, answers, "D1")


def lines(done: FlowResult) -> list[str]:
    """Return the method and target of each request."""
    return [f"{one.method} {one.target}" for one in done.requests]
