"""Qpid as a set of rules for verdicts."""

from collections.abc import Sequence

from joinproto.machine.tables import Case
from joinproto.machine.terms import ALWAYS
from joinproto.machine.verdict import NEW, RuleSet
from joinproto.machine.vocabulary import Phase, Signature, Status, Store
from joinproto.reference.qpid.starting import STARTING


def agreed_cluster_id(members: Sequence[Status]) -> Signature | None:
    """Return the cluster-id of the first active member; if none is active, of the first member.

    The first member decides, even if its store is empty.  Then it renames a cluster whose clean
    stores are present, and clean stores that are absent no longer match.
    """
    deciding = [status for status in members if status.active] or members
    return deciding[0].initial


STOPS = (Phase.INITIALIZING, Phase.ABORTED)


def cluster_id(members: Sequence[Status], cases: Sequence[Case[Phase] | None]) -> Signature | None:
    """Return the cluster-id that the members adopt, `NEW` if an empty store draws it.

    None if no member goes on, or if there is no cluster-id.
    """
    if all(case is not None and case.outcome in STOPS for case in cases):
        return None
    agreed = agreed_cluster_id(members)
    lowest = members[0]
    if agreed is None and not any(status.active for status in members):
        # An empty store has drawn its own id, which the input does not name.
        return NEW if lowest.store is Store.EMPTY else None
    return agreed


QPID_RULES = RuleSet("qpid", ((ALWAYS, STARTING),), cluster_id)
