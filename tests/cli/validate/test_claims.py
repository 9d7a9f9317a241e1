"""The page of the protocol marks the claims that are judged on event logs."""

from __future__ import annotations

import re
from pathlib import Path

from joinproto.cli.validate.properties import PROPERTIES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "protocol.md"


def test_the_claims_with_a_star_are_those_that_event_logs_can_break() -> None:
    table = PAGE.read_text("utf-8").partition("### 4.1 Claims")[2].partition("\n### ")[0]
    claims = dict(re.findall(r"^\| `(\w+)` (\*?) ?\|", table, flags=re.MULTILINE))

    assert 17 == len(claims)
    assert {name for name, star in claims.items() if star} == claims.keys() & PROPERTIES.keys()
