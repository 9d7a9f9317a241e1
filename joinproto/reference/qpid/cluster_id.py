"""Which cluster-id the members of a Qpid cluster adopt.

The one of the lowest active member; with no member active, of the lowest member of all,
whatever its store: a lowest member with an *empty* store renames a cluster whose clean
stores are there, and their absent siblings match no more.  Lowest is first in the order
of the set.
"""

from collections.abc import Sequence

from joinproto.machine.vocabulary import Signature, Status


def agreed_cluster_id(members: Sequence[Status]) -> Signature | None:
    """Return the cluster-id of the first active member, or of the first of all."""
    deciding = [status for status in members if status.active] or members
    return deciding[0].initial
