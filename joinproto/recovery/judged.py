"""The verdict about stores of one kind, before that which the operator said is added.  No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from joinproto.pick.findings import Findings, row_of
from joinproto.pick.pick import Pick, group
from joinproto.pick.table import Verdict
from joinproto.recovery.foreign.ra.table import Table
from joinproto.recovery.found import Found


@frozen(kw_only=True)
class Judged:
    """`lines`: what the verdict rests on.  `raft`: of RabbitMQ, the verdicts about its Raft groups.

    `sentence` and `next` are not used where a store is in use, or several clusters are there.
    """

    pick: Pick
    sentence: str
    lines: tuple[str, ...]
    not_examined: tuple[str, ...]
    next: str
    raft: Table | None = None


def picked(
    stores: Sequence[Found], verdict: Verdict, *, rule: str, case: str, **findings: Any
) -> Pick:
    """Return the verdict of a kind of store that has rules of its own."""
    candidates = [one.candidate for one in stores]
    return Pick(
        verdict=verdict,
        rule=rule,
        case=case,
        groups=group(candidates),
        findings=Findings(rows=tuple(map(row_of, candidates)), **findings),
    )
