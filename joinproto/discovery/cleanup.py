"""Cleanup of members that are not seen, as decision tables: the shipped table, and ours.

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
class Spot:
    """A member.  `gone`: it has been away for long enough.

    Read of the checking node only: `failed`, `selects`, `warns`, `has_majority`; `breaks`: the
    release crashes because the backend names one node; `skips`: it skips the check on a failure.
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


SPOTS = Members("M", Spot)
UNSEEN = SPOTS.where(unseen=True).named("U")
CANDIDATES = UNSEEN.where(listed=False).named("C")
GONE = CANDIDATES.where(gone=True).named("G")

_here = SPOTS.fact
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
"""No node is removed on an error, by a single name, without a majority, or at once."""

WHY = {
    "all are seen": "every member answers",
    "the backend failed": "the backend failed, so it is unknown which nodes are meant to be there",
    "one node where a list is read": "the release reads a list, and the backend named one node",
    "one node is not a list": "the backend named one node, which says nothing of the others",
    "no majority": "fewer than a majority answer: those that do may be the ones that are cut off",
    "all unseen are listed": "all that do not answer are still listed",
    "it only warns": "the setting says to warn only",
    "not for long": "no node has been away for long enough",
    "removed": "nodes that do not answer are not listed either",
}
"""The reason of each case, in a sentence."""

TABLES = {"real": REAL, "ours": OURS}
SETS = (SPOTS, UNSEEN, CANDIDATES, GONE)


@frozen(kw_only=True)
class Check:
    """One check by one member.

    `unseen`: the members that do not answer, with the seconds since they last did.  `patience`:
    ours, the seconds for which a node must be away.
    """

    members: tuple[str, ...]
    unseen: dict[str, float] = field(factory=dict)
    answer: Answer
    only_warns: bool = True
    patience: float = 3600.0
    release: Release = LATEST


@frozen
class CleanupResult(ByCase):
    """The result for the members."""

    action: Annotated[Action, Key("deed"), "what is done"]
    case: Annotated[Named[Case[Action]], "the case of the table"]
    nodes: Annotated[tuple[str, ...], "with whom"]

    @property
    def why(self) -> Why:
        return WHY[self.case.name]


def check(about: Check, whose: str) -> CleanupResult:
    """Return the fate of the unseen nodes by these rules, `real` or `ours`."""
    spots = [_spot(about, name) for name in about.members]
    case = TABLES[whose].choose(spots, 0)
    is_ours, action = whose == "ours", case.outcome
    if action in (Action.NOTHING, Action.CRASH):
        return CleanupResult(action, case, ())
    group = CANDIDATES if not is_ours else GONE if action is Action.REMOVE else UNSEEN
    nodes = tuple(spots[at].name for at in members_of(group, spots, 0))
    # Ours removes one node at a time, so that each time a majority of those left is seen.
    return CleanupResult(action, case, nodes[:1] if is_ours and action is Action.REMOVE else nodes)


def _spot(about: Check, name: str) -> Spot:
    failed = isinstance(about.answer, Failed)
    selects = isinstance(about.answer, Selected)
    return Spot(
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
