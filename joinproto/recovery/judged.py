"""The verdict about stores of one format, without the operator's statements.  No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from joinproto.pick.findings import Findings, row_of
from joinproto.pick.pick import Pick, group
from joinproto.pick.table import Verdict
from joinproto.recovery.foreign.ra.verdicts import GroupVerdicts
from joinproto.recovery.found import Found


@frozen(kw_only=True)
class FormatVerdict:
    """The verdict about stores of one format, with its texts.

    `lines`: the evidence.  `raft`: the verdicts about RabbitMQ's Raft groups.  `sentence` and
    `next` are not used if a store is in use, or if there are several clusters.
    """

    pick: Pick
    sentence: str
    lines: tuple[str, ...]
    not_examined: tuple[str, ...]
    next: str
    raft: GroupVerdicts | None = None


def pick_of(
    stores: Sequence[Found], verdict: Verdict, *, rule: str, case: str, **findings: Any
) -> Pick:
    """Return the verdict for a format that has its own rules instead of `pick`'s table."""
    candidates = [one.candidate for one in stores]
    return Pick(
        verdict=verdict,
        rule=rule,
        case=case,
        groups=group(candidates),
        findings=Findings(rows=tuple(map(row_of, candidates)), **findings),
    )
