"""The outbox: a member's requests to its host, until the host has performed them."""

from __future__ import annotations

from attrs import define, evolve

from joinproto.errors import MisuseError
from joinproto.join.messages import Batch, OpenForClients
from joinproto.join.store import StoreRecord

NOTHING = Batch()
"""The empty batch."""


@define
class Outbox:
    """Collects the next batch while the host performs the batch that it polled."""

    _next: Batch | None = None
    _polled: Batch | None = None  # and not yet performed

    def add(self, batch: Batch) -> None:
        """Add these actions after the pending ones."""
        if batch:  # the host has nothing to do for an empty batch
            self._next = batch if self._next is None else combined(self._next, batch)

    def renew(self, record: StoreRecord) -> None:
        """Write this record if an older one is still unwritten, here or at the host."""
        if any(batch is not None and batch.persist for batch in (self._next, self._polled)):
            self._next = evolve(self._next or NOTHING, persist=record)

    def poll(self) -> Batch:
        """Return the actions to perform; the same until `advance`."""
        if self._polled is None:
            self._polled, self._next = self._next, None
        return NOTHING if self._polled is None else self._polled

    def advance(self, batch: Batch) -> None:
        """Drop the polled batch, which is performed.

        Raises `MisuseError` if a batch with actions is not the one that `poll` returned last.
        """
        if not batch:
            return
        if batch is not self._polled:
            raise MisuseError(
                "`advance` was called with a batch that this member did not give, or twice",
                next="call `advance` once, with the value that `poll` returned last",
            )
        self._polled = None


def combined(one: Batch, other: Batch) -> Batch:
    """Return the actions of `one` and then of `other`; a later record replaces an older one."""
    first = one.actions
    if other.close is not None:
        # A pending opening must not come after the closing: a member that opened and froze between
        # two polls is closed.
        first = tuple(item for item in first if not isinstance(item, OpenForClients))
    return Batch(
        other.close or one.close,
        other.persist or one.persist,
        one.sends + other.sends,
        first + other.actions,
        one.events + other.events,
    )
