"""Qpid as a set of rules for verdicts."""

from collections.abc import Sequence

from joinproto.machine.tables import Case
from joinproto.machine.terms import ALWAYS
from joinproto.machine.verdict import NEW, RuleSet
from joinproto.machine.vocabulary import Phase, Signature, Status, Store
from joinproto.reference.qpid.starting import STARTING

# Which cluster-id the members of a Qpid cluster adopt.
#
# The one of the lowest active member; with no member active, of the lowest member of all,
# whatever its store: a lowest member with an *empty* store renames a cluster whose clean
# stores are there, and their absent siblings match no more.  Lowest is first in the order
# of the set.


def agreed_cluster_id(members: Sequence[Status]) -> Signature | None:
    """Return the cluster-id of the first active member, or of the first of all."""
    deciding = [status for status in members if status.active] or members
    return deciding[0].initial


STOPS = (Phase.INITIALIZING, Phase.ABORTED)


def cluster_id(members: Sequence[Status], cases: Sequence[Case[Phase] | None]) -> Signature | None:
    """Return the cluster-id that those that go on adopt; None if no member has a store for it."""
    if all(case is not None and case.outcome in STOPS for case in cases):
        return None
    agreed = agreed_cluster_id(members)
    lowest = members[0]
    if agreed is None and not any(status.active for status in members):
        # A store that is empty has drawn an id of its own, which the input does not name.
        return NEW if lowest.store is Store.EMPTY else None
    return agreed


QPID_RULES = RuleSet("qpid", ((ALWAYS, STARTING),), cluster_id)
