"""The outcomes of each comparison at a decision on a view, and the kinds of its candidates.

A search tries a comparison only if both outcomes occur, and a choice only if there is more than one
candidate.  The report of a search says which of these outcomes never occurred.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from joinproto.join.answers import Answer, Evidence
from joinproto.join.choice_messages import Promise
from joinproto.join.inputs import Input, Receive
from joinproto.join.position import PositionOrder, compare_positions
from joinproto.join.state import MemberState

QUESTIONS = ("never served", "covers", "is sure", "is clean", "went back")
"""The questions about a view or a store, with two outcomes each."""

ALONE, EQUAL, MORE = "one source", "several sources, all equal", "several sources, one has more"
"""How many stores could give the next view its position, and whether they differ."""

TWICE = "one number in two views"
"""Two stores end with frames of the same number in different views: one frame was dropped."""

OUTCOMES = (
    *(f"{question}: {word}" for question in QUESTIONS for word in ("yes", "no")),
    *(ALONE, EQUAL, MORE, TWICE),
)


def outcomes(before: MemberState, handled: Input | None) -> Iterator[str]:
    """Yield the outcomes of the comparisons at a decision; `handled`: the input of the step."""
    new: dict[str, Answer] = {}
    match handled:
        case Receive(_, Promise() as promise) if promise.answer is not None:
            new[promise.voter.member] = promise.answer
    kept = (item for item in before.observations.answers if item.seat.member not in new)
    evidence = Evidence.of(before.record.lineage, {*kept, *new.values(), before.status})
    tip = evidence.lineage.tip
    if tip is None:
        return
    found = {("never served", evidence.was_never_served(tip))}
    for answer in evidence.answers:
        found.add(("covers", evidence.covers(answer)))
        found.add(("is sure", evidence.is_sure(answer)))
        if not tip.is_open:
            found.add(("is clean", evidence.is_clean(answer)))
    found |= {("went back", False)} if evidence.answers else set()
    found |= {("went back", True)} if evidence.went_back else set()
    yield from (f"{question}: {'yes' if is_so else 'no'}" for question, is_so in sorted(found))
    sources = [item for item in evidence.answers if evidence.covers(item)]
    pairs = list(combinations([item.position for item in sources], 2))
    orders = {compare_positions(one, other, (evidence.lineage,)) for one, other in pairs}
    if sources:
        yield MORE if orders - {PositionOrder.EQUAL} else EQUAL if pairs else ALONE
    ends = {item.position for item in evidence.answers if item.position is not None}
    if len({end.seq for end in ends}) < len(ends):
        yield TWICE
