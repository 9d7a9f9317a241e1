"""A broker's definitions on one node, and those that another node lacks.

A key is a table and a key in it; of values only whether two are equal matters, so both are hashes.
After a kill two nodes of one cluster differ: each wrote its log up to two seconds late.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class Definitions:
    """Queues, exchanges, users, policies and the like, as one node's disk has them.

    `own`: how many of them RabbitMQ did not make itself for a new node.  `deleted`: keys of which
    its log says that they were deleted.  `is_closed`: its log was closed, as a stop in order leaves
    it, and now and then a kill.  `in_doubt`: this many changes wait for the word of another node.
    """

    values: Mapping[bytes, bytes] = field(repr=False)
    own: int = 0
    deleted: frozenset[bytes] = field(default=frozenset(), repr=False)
    is_closed: bool = False
    in_doubt: int = 0

    def beyond(self, other: Definitions) -> int:
        """Return how many changes are here that `other` does not show.

        Where both have a key with two values it is unknown which is the later one: it counts for
        both.
        """
        written = sum(
            other.values.get(key) != value
            for key, value in self.values.items()
            if key not in other.deleted or key in other.values
        )
        return written + len((self.deleted - self.values.keys()) & other.values.keys())
