"""Removal of nodes that are not seen.

Source: discovery, D4.
"""

from __future__ import annotations

import pytest

from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.cleanup import TABLES, WHY, Action, Check, check
from joinproto.discovery.releases import LATEST, Release

ALL = ("a", "b", "c", "d", "e")


def checked(
    whose: str,
    answer: Answer,
    unseen: dict[str, float],
    *,
    only_warns: bool = False,
    at: Release = LATEST,
) -> tuple[Action, tuple[str, ...]]:
    about = Check(members=ALL, unseen=unseen, answer=answer, only_warns=only_warns, release=at)
    found = check(about, whose)
    return found.action, found.nodes


@pytest.mark.parametrize(
    ("answer", "at", "expected"),
    [
        (Failed("503"), Release(4, 2), (Action.NOTHING, ())),
        (Failed("503"), Release(4, 1), (Action.REMOVE, ("d", "e"))),
        (Selected("a"), Release(4, 2), (Action.REMOVE, ("d", "e"))),
        (Selected("a"), Release(3, 13), (Action.CRASH, ())),
        (Listed(("a", "b", "c", "d")), Release(4, 2), (Action.REMOVE, ("e",))),
        (Listed(ALL), Release(4, 2), (Action.NOTHING, ())),
    ],
)
def test_the_shipped_rules_decide_as_in_the_table(
    answer: Answer, at: Release, expected: tuple[Action, tuple[str, ...]]
) -> None:
    """Operators' cases 10 and 11: the removed nodes were members that were only cut off."""
    assert expected == checked("real", answer, {"d": 1.0, "e": 1.0}, at=at)


@pytest.mark.parametrize(
    ("answer", "unseen", "expected"),
    [
        (Failed("503"), {"e": 9e9}, (Action.WARN, ("e",))),
        (Selected("a"), {"e": 9e9}, (Action.WARN, ("e",))),
        (Listed(("a",)), {"c": 9e9, "d": 9e9, "e": 9e9}, (Action.WARN, ("c", "d", "e"))),
        (Listed(("a", "b", "c")), {"d": 60.0}, (Action.WARN, ("d",))),
        (Listed(("a", "b", "c")), {"d": 9e9, "e": 9e9}, (Action.REMOVE, ("d",))),
        (Listed(ALL), {}, (Action.NOTHING, ())),
    ],
)
def test_ours_removes_no_node_after_an_error_or_without_a_majority(
    answer: Answer, unseen: dict[str, float], expected: tuple[Action, tuple[str, ...]]
) -> None:
    """Ours removes one node at a time, and only a node that has been away for long."""
    assert expected == checked("ours", answer, unseen)


@pytest.mark.parametrize("whose", ["real", "ours"])
def test_the_cleanup_only_warns_unless_the_setting_says_otherwise(whose: str) -> None:
    found = checked(whose, Listed(("a", "b", "c")), {"d": 9e9}, only_warns=True)

    assert (Action.WARN, ("d",)) == found


def test_every_case_has_its_reason_in_words() -> None:
    assert {case.name for table in TABLES.values() for case in table.cases} == WHY.keys()
