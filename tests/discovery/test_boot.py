"""One round of a boot, by each table.

Source: discovery, D1 and D3.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.boot import TABLES, WHY, Rules, Step
from joinproto.discovery.round import Properties, Round, decide, sort

ABC = Listed(("a", "b", "c"))
BLANK, SERVES = Properties(), Properties(ready=True, in_cluster=True)
BOOTING = Properties(started=-1, ready=False)


def action_of(
    rules: Rules, answer: Answer = ABC, tries: int | None = 5, **seen: Properties
) -> tuple[Step, str]:
    """Return the action of `b`, and the case."""
    found = decide(Round(me="b", answer=answer, seen={"b": BLANK, **seen}, tries=tries), rules)
    return found.step, found.case.name


@pytest.mark.parametrize(
    ("answer", "seen", "expected"),
    [
        (Failed("503"), {}, (Step.RETRY, "the backend failed")),
        (Listed(("b",)), {}, (Step.ALONE, "only this node is listed")),
        (Listed(("a", "c")), {"a": SERVES}, (Step.RETRY, "it does not see itself")),
        (ABC, {}, (Step.RETRY, "fewer than two answer")),
        (Selected("a"), {}, (Step.RETRY, "no node answers")),
        (Selected("b"), {}, (Step.ALONE, "only this node is listed")),
        (ABC, {"c": Properties(started=9)}, (Step.ALONE, "this node is first")),
        (ABC, {"a": BOOTING}, (Step.RETRY, "the first one is not ready")),
        (ABC, {"a": Properties(started=-1)}, (Step.JOIN, "the first one")),
        (Selected("a"), {"a": SERVES}, (Step.JOIN, "the first one")),
    ],
)
def test_the_shipped_rules_decide_as_in_the_table(
    answer: Answer, seen: dict[str, Properties], expected: tuple[Step, str]
) -> None:
    """4.x: two answering nodes are enough, an error is tried again, unknown readiness counts."""
    assert expected == action_of(Rules.REAL, answer, 5, **seen)


def test_after_the_last_try_each_variant_takes_another_step() -> None:
    """Since 3.13 the node stands alone, until 3.12 it crashes; ours waits without end."""
    assert Step.ALONE is action_of(Rules.REAL, Failed("503"), tries=0)[0]
    assert Step.WAIT is action_of(Rules.OURS, Failed("503"), tries=0)[0]
    assert Step.CRASH is action_of(Rules.SEED, Failed("503"), tries=0)[0]


def test_until_3_12_a_node_joins_the_first_listed_node_that_has_its_tables() -> None:
    """A node that still boots is left out, and so is this node, which stands alone in the end."""
    assert (Step.JOIN, "the first that answers") == action_of(Rules.SEED, a=BLANK, c=SERVES)
    assert Step.RETRY is action_of(Rules.SEED, a=BLANK, c=BOOTING)[0]
    assert Step.RETRY is action_of(Rules.SEED, Failed("503"))[0]
    assert (Step.JOIN, "the first that answers") == action_of(Rules.SEED, c=SERVES, a=SERVES)
    assert Step.RETRY is action_of(Rules.SEED)[0]
    assert Step.ALONE is action_of(Rules.SEED, tries=0)[0]


@pytest.mark.parametrize(
    ("answer", "seen", "expected"),
    [
        (Failed("503"), {"a": SERVES}, (Step.WAIT, "the backend failed")),
        (ABC, {"c": SERVES, "a": BLANK}, (Step.JOIN, "a member answers")),
        (Listed(("a", "b", "c", "d")), {}, (Step.REFUSE, "more are listed than expected")),
        (Listed(("a", "c", "d")), {}, (Step.REFUSE, "more are listed than expected")),
        (Listed(("b", "c")), {"c": BLANK}, (Step.WAIT, "fewer are listed than expected")),
        (ABC, {}, (Step.WAIT, "no majority answers")),
        (ABC, {"c": BLANK}, (Step.FOUND, "a majority answers")),
    ],
)
def test_our_rules_decide_as_in_the_table(
    answer: Answer, seen: dict[str, Properties], expected: tuple[Step, str]
) -> None:
    """No node stands alone; a node that its list lacks counts itself."""
    asked = Round(me="b", answer=answer, seen={"b": BLANK, **seen}, expected=3)
    found = decide(asked, Rules.OURS)

    assert expected == (found.step, found.case.name)


def test_each_variant_sorts_nodes_in_its_own_order() -> None:
    """Until 3.12: the list's; since 3.13: size, start, name; ours: members first, then the name."""
    seen = {
        "a": Properties(started=3),
        "b": Properties(started=2),
        "c": Properties(started=1, members=2, in_cluster=True),
    }
    asked = Round(me="b", answer=Listed(("b", "c", "a", "c")), seen=seen)

    assert ("c",) == sort(asked, Rules.SEED)
    assert ("c", "a") == sort(evolve(asked, seen=seen | {"a": SERVES}), Rules.SEED)
    assert ("c", "b", "a") == sort(asked, Rules.REAL)
    assert ("c", "a") == sort(asked, Rules.OURS)


def test_every_case_has_its_reason_in_words() -> None:
    names = {case.name for table in TABLES.values() for case in table.cases}

    assert names == WHY.keys()
