"""Cleanup of members that do not answer, as decision tables: the shipped table, and ours.

Source: discovery, D4; the shipped table as read from the code that shipped.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from attrs import field, frozen

from joinproto.ask.question import ByCase, Named, Why
from joinproto.codec.json_form import Key
from joinproto.discovery.answers import Answer, Failed, Selected
from joinproto.discovery.releases import LATEST, Release
from joinproto.discovery.round import named
from joinproto.discovery.rules import does
from joinproto.machine.compiled import members_of
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members


class Action(Enum):
    """The result of one check."""

    NOTHING = "nothing"
    WARN = "warn"
    REMOVE = "remove"
    CRASH = "crash"


@frozen(kw_only=True)
class MemberRow:
    """A member, as a row of the tables.

    `unseen`: it does not answer.  `listed`: the backend lists it.  `gone`: it has been away for
    long enough.

    The tables read these fields of the checking node only: `failed`: the backend failed; `selects`:
    it named one node; `warns`: the setting says to warn only; `has_majority`: a majority answers;
    `breaks`: the release crashes because the backend names one node; `skips`: the release skips the
    check if the backend fails.
    """

    name: str
    unseen: bool = False
    listed: bool = False
    gone: bool = False
    failed: bool = False
    selects: bool = False
    warns: bool = True
    has_majority: bool = True
    breaks: bool = False
    skips: bool = True


MEMBERS = Members("M", MemberRow)
UNSEEN = MEMBERS.where(unseen=True).named("U")
CANDIDATES = UNSEEN.where(listed=False).named("C")
GONE = CANDIDATES.where(gone=True).named("G")

_here = MEMBERS.fact
_WARNS = _here("it only warns", warns=True)

REAL = Table(
    "discovery-cleanup-real",
    "discovery, cleanup as shipped",
    (
        Case("D4", "all are seen", UNSEEN.is_empty, Action.NOTHING),
        Case("D1", "the backend failed", _here("skipped", failed=True, skips=True), Action.NOTHING),
        Case("D4", "one node where a list is read", _here("it breaks", breaks=True), Action.CRASH),
        Case("D4", "all unseen are listed", CANDIDATES.is_empty, Action.NOTHING),
        Case("D4", "it only warns", _WARNS, Action.WARN),
        Case("D4", "removed", ALWAYS, Action.REMOVE),
    ),
)
"""A node that is neither seen nor listed is removed; up to 4.1, a failed backend lists no node."""

OURS = Table(
    "discovery-cleanup-ours",
    "discovery, cleanup, ours",
    (
        Case("D4", "all are seen", UNSEEN.is_empty, Action.NOTHING),
        Case("D1", "the backend failed", _here("it failed", failed=True), Action.WARN),
        Case("D4", "one node is not a list", _here("it selects", selects=True), Action.WARN),
        Case("D4", "no majority", _here("no majority is seen", has_majority=False), Action.WARN),
        Case("D4", "all unseen are listed", CANDIDATES.is_empty, Action.WARN),
        Case("D4", "it only warns", _WARNS, Action.WARN),
        Case("D4", "not for long", GONE.is_empty, Action.WARN),
        Case("D4", "removed", ALWAYS, Action.REMOVE),
    ),
)
"""No node is removed if the backend failed or named one node, without a majority, or at once."""

WHY = {
    "all are seen": "every member answers",
    "the backend failed": "the backend failed, so the wanted nodes are not known",
    "one node where a list is read": "the release expects a list, but the backend named one node",
    "one node is not a list": "the backend named one node, so the other wanted nodes are not known",
    "no majority": "no majority answers, so the nodes that answer may be the ones that are cut off",
    "all unseen are listed": "all nodes that do not answer are still listed",
    "it only warns": "the setting says to warn only",
    "not for long": "no node has been away for long enough",
    "removed": "these nodes do not answer, and are not listed",
}
"""The reason of each case, in a sentence."""

TABLES = {"real": REAL, "ours": OURS}
SETS = (MEMBERS, UNSEEN, CANDIDATES, GONE)


@frozen(kw_only=True)
class Check:
    """One check by one member.

    `unseen`: the members that do not answer, with the seconds since they last answered.  `answer`:
    the backend's answer.  `patience`: the seconds for which a node must be away (ours).
    """

    members: tuple[str, ...]
    unseen: dict[str, float] = field(factory=dict)
    answer: Answer
    only_warns: bool = True
    patience: float = 3600.0
    release: Release = LATEST


@frozen
class CleanupResult(ByCase):
    """The result of one check."""

    action: Annotated[Action, Key("deed"), "the action"]
    case: Annotated[Named[Case[Action]], "the case of the table"]
    nodes: Annotated[tuple[str, ...], "the nodes that are removed, or named in the warning"]

    @property
    def why(self) -> Why:
        return WHY[self.case.name]


def check(about: Check, whose: str) -> CleanupResult:
    """Return the result of a check by these rules, `real` or `ours`."""
    rows = [_row(about, name) for name in about.members]
    case = TABLES[whose].choose(rows, 0)
    is_ours, action = whose == "ours", case.outcome
    if action in (Action.NOTHING, Action.CRASH):
        return CleanupResult(action, case, ())
    group = CANDIDATES if not is_ours else GONE if action is Action.REMOVE else UNSEEN
    nodes = tuple(rows[at].name for at in members_of(group, rows, 0))
    # Ours removes one node at a time, so that at each removal a majority of the members answers.
    return CleanupResult(action, case, nodes[:1] if is_ours and action is Action.REMOVE else nodes)


def _row(about: Check, name: str) -> MemberRow:
    failed = isinstance(about.answer, Failed)
    selects = isinstance(about.answer, Selected)
    return MemberRow(
        name=name,
        unseen=name in about.unseen,
        listed=name in named(about.answer),
        gone=about.unseen.get(name, 0.0) >= about.patience,
        failed=failed,
        selects=selects,
        warns=about.only_warns,
        has_majority=2 * (len(about.members) - len(about.unseen)) > len(about.members),
        breaks=selects and not does(about.release, "CLEANUP_ONE"),
        skips=does(about.release, "CLEANUP_SKIPS"),
    )
