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

    `close`: serve no client any more.  `persist`: the record is durable when it returns, or when
    all is done that it returned.  One that raises ends the process: see duty 4.
    """

    def close(self, why: Closing) -> Iterable[W_co] | None: ...
    def persist(self, record: StoreRecord) -> Iterable[W_co] | None: ...
    def send_all(self, sends: tuple[Sent, ...]) -> Iterable[W_co] | None: ...
    def see(self, event: Event) -> Iterable[W_co] | None: ...
    def act(self, action: Action) -> Iterable[W_co] | None: ...


def performing(batch: Batch, ports: Ports[W_co]) -> Iterator[W_co]:
    """Yield the work of `ports` to wait for while `batch` is performed.

    Each must be done before the next one is asked for; nothing happens before the first. After a
    failure ask no more: the later actions of the batch must not happen.
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
    """Perform `batch` with ports that return when done; then call `advance`.

    Whatever a port raises comes through, and nothing that follows in the batch has happened.
    """
    for _ in performing(batch, ports):
        pass
