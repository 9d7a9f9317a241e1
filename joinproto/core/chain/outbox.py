"""The outbox: what a member asks of its host, until the host has done it."""

from __future__ import annotations

from attrs import define

from joinproto.core.chain.messages import (
    Action,
    Batch,
    CloseForClients,
    Closing,
    Event,
    Message,
    OpenForClients,
    Sent,
)
from joinproto.core.chain.store import StoreRecord
from joinproto.errors import MisuseError


@define
class Outbox:
    """Collects the next batch, while the one that was polled is performed."""

    _persist: StoreRecord | None = None
    _sends: tuple[Sent, ...] = ()
    _actions: tuple[Action, ...] = ()
    _events: tuple[Event, ...] = ()
    _batch: Batch | None = None  # polled, and not yet performed

    def persist(self, record: StoreRecord | None) -> None:
        """Have this record written; it replaces the one that would have been."""
        self._persist = record

    def renew(self, record: StoreRecord) -> None:
        """Have this record written if an older one is still to be, here or by the host."""
        if self._persist is not None or (self._batch is not None and self._batch.persist):
            self._persist = record

    def send(self, to: str, message: Message) -> None:
        self._sends += (Sent(to, message),)

    def act(self, action: Action) -> None:
        self._actions += (action,)

    def say(self, *events: Event) -> None:
        self._events += events

    def close(self, why: Closing) -> None:
        """Close for clients, before all else that the next batch does."""
        # What waits to open must not open again behind it: a member that was active and
        # froze between two polls is closed.
        others = [item for item in self._actions if not isinstance(item, OpenForClients)]
        self._actions = (CloseForClients(why), *others)

    def poll(self) -> Batch:
        """Return what is to be done; the same until `advance`."""
        if self._batch is not None:
            return self._batch
        batch = Batch(self._persist, self._sends, self._actions, self._events)
        if batch:  # an empty one is nothing to wait for
            self._persist, self._sends, self._actions, self._events = None, (), (), ()
            self._batch = batch
        return batch

    def advance(self, batch: Batch) -> None:
        """Make room for the next one.  Raises `MisuseError` unless `poll` gave this one last."""
        if not batch:
            return
        if batch is not self._batch:
            raise MisuseError(
                "the host says that a batch is performed which this member did not give",
                next="advance with the value that poll returned last, once",
            )
        self._batch = None
