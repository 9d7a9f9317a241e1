"""The verdict on several stores, as one table read from the top.

A row is a store that was supplied, or a store that is missing but known.  `chain.py`
makes the rows of joinproto's own stores, `others.py` those of other brokers.

Source: recovery, "Verdicts of `pick`"; the labels are the numbers there.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from attrs import frozen

from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members

NOT_READ = "stores of this program are not read here"
MEMBER_MISSING = "a member of the newest view is missing"
OTHERS_MAY_HAVE_GONE_ON = "the others may have gone on"
"""Names of cases to which texts refer; in the last two a missing store may know more."""


class Verdict(Enum):
    """What is known about which store is the latest."""

    PROVEN = "proven"
    TIE = "tie"  # several have the same data: any of them is right
    UNPROVEN = "unproven"
    DIVERGED = "diverged"
    CLEAN = "clean"  # nothing to recover: the cluster starts as it is
    CORRUPT = "corrupt"
    DIFFERENT_CLUSTERS = "different-clusters"
    IN_USE = "in-use"


@frozen(kw_only=True)
class StoreRow:
    """A store as the table sees it.

    `is_unknown`: it belongs to a program whose stores joinproto cannot read.  `is_readable`: its
    facts can be believed.  `has_data`: it is not empty.  `contradicts`: this store and another one
    cannot both be as they were written.  `is_copy`: it is a copy of another store, or was put back
    from a backup.  `is_diverged`: it is on another branch.  `covers`: it has every committed frame.
    `is_latest`: no covering store has more.  `is_unordered`: it is unknown whether this store or
    another one has more.  `is_clean`: the cluster was stopped in order, and this store has all
    data.  `is_closed`: the cluster was stopped in order, and no store here has all data.

    For a store that was not supplied, or cannot be read: `is_needed`: it ran in the newest view
    that may have been active.  `may_know_more`: it and others like it are enough to have
    continued without the supplied stores.
    """

    id: str
    is_supplied: bool = True
    is_in_use: bool = False
    is_unknown: bool = False
    is_readable: bool = False
    has_data: bool = False
    cluster: str | None = None
    contradicts: bool = False
    is_copy: bool = False
    is_diverged: bool = False
    covers: bool = False
    is_latest: bool = False
    is_unordered: bool = False
    is_clean: bool = False
    is_closed: bool = False
    is_needed: bool = False
    may_know_more: bool = False


STORES = Members("stores", StoreRow)
G = STORES.where(is_supplied=True).named("G")  # the given stores
R = G.where(is_readable=True).named("R")
BAD = G.where(is_readable=False).named("not readable")
B = R.where(has_data=True).named("B")  # stores that belong to a cluster
K = B.where(covers=True).named("K")
L = B.where(is_latest=True).named("L")
NEEDED = STORES.where(is_needed=True).named("needed")
BEYOND = STORES.where(may_know_more=True).named("may know more")


@cache
def verdicts() -> Table[Verdict]:
    """Return the table of verdicts; the verdict does not depend on which row is asked about."""
    return Table(
        "recover-pick",
        'recovery, "Verdicts of pick"; Skeen 1985 for what makes a proof',
        (
            Case("in use", "a process has a store open", G.some(is_in_use=True), Verdict.IN_USE),
            Case("8", NOT_READ, G.some(is_unknown=True), Verdict.UNPROVEN),
            Case("8", "no store can be read", R.is_empty, Verdict.CORRUPT),
            Case(
                "1",
                "stores of several clusters",
                B.disagrees_on("cluster"),
                Verdict.DIFFERENT_CLUSTERS,
            ),
            Case(
                "1", "two stores contradict each other", R.some(contradicts=True), Verdict.CORRUPT
            ),
            Case(
                "2", "a store is there twice, or went back", R.some(is_copy=True), Verdict.UNPROVEN
            ),
            Case("3", "two branches", B.some(is_diverged=True), Verdict.DIVERGED),
            Case("8", "all that can be read is empty", B.is_empty & ~BAD.is_empty, Verdict.CORRUPT),
            Case("6", "all are empty", B.is_empty, Verdict.CLEAN),
            Case(
                "8",
                "a store that matters cannot be read",
                ~BAD.is_empty & (~NEEDED.is_empty | ~BEYOND.is_empty | K.is_empty),
                Verdict.CORRUPT,
            ),
            Case("4", "nothing orders them", B.some(is_unordered=True), Verdict.UNPROVEN),
            Case("4", "no store has all of the newest view", K.is_empty, Verdict.UNPROVEN),
            Case("5", OTHERS_MAY_HAVE_GONE_ON, ~BEYOND.is_empty, Verdict.UNPROVEN),
            Case("6", "clean already", K.some(is_clean=True), Verdict.CLEAN),
            Case(
                "6",
                "stopped in order, and no store has all of it",
                B.some(is_closed=True),
                Verdict.UNPROVEN,
            ),
            Case("5", MEMBER_MISSING, ~NEEDED.is_empty, Verdict.UNPROVEN),
            Case("5", "all are here, and one has the most", L.fewer_than(2), Verdict.PROVEN),
            Case("4", "all are here, and several have the same", ALWAYS, Verdict.TIE),
        ),
    )
