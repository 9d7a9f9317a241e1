"""Backups: a store that was restored from an older copy is noticed, and counts as a lost disk.

Such a store says less than it once said.  Others have frames of a view in which it must have been
ready, but by its own record it was not: `Evidence` has this rule, and this module the consequences.
A member that proposes counts neither the answer nor the vote of such a store.  A member that finds
that its own store is such a copy ends before it is ready in that view a second time.  Otherwise:
its disk says again that it was ready there, no record shows that its frames are gone, and the next
view starts where its data ends.

Source: join protocol, 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable

from joinproto.join.answers import Answer, Evidence, forgets, views_shown
from joinproto.join.ids import ViewId
from joinproto.join.lineage import Lineage
from joinproto.join.messages import Abort, Refusal, Refused
from joinproto.join.observations import Observations
from joinproto.join.state import Known
from joinproto.join.step_context import StepContext
from joinproto.join.view import Seat
from joinproto.machine.vocabulary import Reason


def look_back(
    m: StepContext,
    answers: Iterable[Answer] = (),
    shown: Iterable[ViewId] = (),
    lineage: Lineage | None = None,
) -> None:
    """Abort this member if its own store is an older copy.

    `answers`: others' answers about their stores.  `shown`: views in which all members were ready.
    `lineage`: the chain that this member is about to learn; None means the chain that it knows.
    """
    lineage, held = lineage or m.record.lineage, m.record.held
    if lineage.tip is None or held == lineage.tip.id or m.verdict is not None:
        return
    mine = m.status
    view = forgets(mine, lineage, views_shown(lineage, (mine, *answers)) | {*shown})
    if view is None:
        return
    last = None if held is None else lineage.find(held)
    found = f"store {m.seat.store_id}, last ready in {last or 'no view that it keeps'}"
    expected = f"ready in {view}, as all its members were"
    m.verdict = Abort(Reason.STORE_WENT_BACK, found, expected, False)
    for name in sorted(m.observations.in_reach):
        m.send(name, Refused(Reason.STORE_WENT_BACK, found, expected))


def seats_gone_back(it: Known, heard: Observations) -> frozenset[Seat]:
    """Return the seats whose stores are older copies, by the answers to this member's ballot."""
    evidence = Evidence.of(it.record.lineage, {*heard.answers, it.status})
    return frozenset(item.seat for item in evidence.went_back)


def notice(m: StepContext, seats: frozenset[Seat]) -> list[str]:
    """Note these seats as older copies; return the names that were not noted before."""
    before = m.observations.went_back
    m.observations = m.observations.with_went_back(seats)
    new = sorted(m.observations.went_back - before)
    for name in new:
        m.say(Refusal(name, "its store is an older copy of what it was, and counts no more"))
    return new
