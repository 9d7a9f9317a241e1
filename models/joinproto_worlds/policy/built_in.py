"""A policy in Python: `recover pick`."""

from __future__ import annotations

from joinproto.pick.table import Verdict
from joinproto.recovery.judgement import judge
from joinproto.recovery.policy.asked import StateQuestion
from joinproto.recovery.policy.question import WAIT

SURE = (Verdict.PROVEN, Verdict.TIE, Verdict.CLEAN)


def pick(asked: StateQuestion) -> str | None:
    """Return the host of the store that `recover pick` proves to be the latest, else `WAIT`.

    To a question that is not `choose-founder` it returns None.
    """
    if asked.question.ask != "choose-founder":
        return None
    found = judge(asked.found, nodes=len(asked.question.nodes))
    if found.verdict not in SURE or not found.latest:
        return WAIT
    return found.latest[0].host
