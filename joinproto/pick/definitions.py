"""The definitions of a RabbitMQ node, and how many of them another node lacks.

Keys and values are hashes, because only equality matters.  A key is the hash of a table's name and
a key in this table.  After a kill two nodes of one cluster may differ, because each node writes its
log up to two seconds late.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class Definitions:
    """Queues, exchanges, users, policies and the like, as one node's disk has them.

    `own`: how many of them users made: all except the defaults of a new node.  `deleted`:
    keys that the node's log reports as deleted.  `is_closed`: the log was closed.  An orderly stop
    closes the log; sometimes it is closed after a kill as well.  `in_doubt`: how many changes wait
    for another node's answer.
    """

    values: Mapping[bytes, bytes] = field(repr=False)
    own: int = 0
    deleted: frozenset[bytes] = field(default=frozenset(), repr=False)
    is_closed: bool = False
    in_doubt: int = 0

    def changes_missing_in(self, other: Definitions) -> int:
        """Return how many changes are here that `other` does not show.

        If both nodes have a key with different values, it is unknown which value is later, so the
        key counts in both directions.
        """
        written = sum(
            other.values.get(key) != value
            for key, value in self.values.items()
            if key not in other.deleted or key in other.values
        )
        return written + len((self.deleted - self.values.keys()) & other.values.keys())
