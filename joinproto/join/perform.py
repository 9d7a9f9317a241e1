"""Performing a batch: the actions of a host, in the only allowed order.

The drivers, the searched worlds and the random runs all go through here, so the checked code is the
shipped code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Never, Protocol, TypeVar

from joinproto.join.messages import Action, Batch, Closing, Event, Sent
from joinproto.join.store import StoreRecord

W_co = TypeVar("W_co", covariant=True)


class Ports(Protocol[W_co]):
    """The ports through which a host performs a batch.  The host must wait for the result of each
    call, in order.

    `close`: serve no client any more.  `persist`: the record is durable when `persist` returns, or
    when all the work that it returned is done.  A `persist` that raises must end the process: duty
    4 in `docs/embedding.md`.
    """

    def close(self, why: Closing) -> Iterable[W_co] | None: ...
    def persist(self, record: StoreRecord) -> Iterable[W_co] | None: ...
    def send_all(self, sends: tuple[Sent, ...]) -> Iterable[W_co] | None: ...
    def see(self, event: Event) -> Iterable[W_co] | None: ...
    def act(self, action: Action) -> Iterable[W_co] | None: ...


def performing(batch: Batch, ports: Ports[W_co]) -> Iterator[W_co]:
    """Yield the pieces of work of `ports` for which the host must wait while `batch` is performed.

    The host must finish each piece before it asks for the next one.  No action happens before it
    asks for the first.  After a failure it must ask for no more, so that no later action happens.
    """
    if batch.close is not None:
        yield from ports.close(batch.close) or ()
    if batch.persist is not None:
        yield from ports.persist(batch.persist) or ()
    yield from ports.send_all(batch.sends) or ()
    for event in batch.events:
        yield from ports.see(event) or ()
    for action in batch.actions:
        yield from ports.act(action) or ()


def perform(batch: Batch, ports: Ports[Never]) -> None:
    """Perform `batch` with ports that return when their work is done.

    The host must call `advance` afterwards.  An exception of a port is raised, and the rest of the
    batch is not performed.
    """
    for _ in performing(batch, ports):
        pass
