"""A client for tests: Proton's blocking client, which tries one address after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from proton import ConnectionException, Message
from proton.utils import BlockingConnection


@contextmanager
def connected(urls: Sequence[str], **more: Any) -> Iterator[Any]:
    """Give a connection to the first broker of the list that accepts it."""
    connection = _opened(urls, more)
    try:
        yield connection
    finally:
        connection.close()


def _opened(urls: Sequence[str], more: dict[str, Any]) -> Any:
    for url in urls:
        try:
            return BlockingConnection(url, timeout=20, reconnect=False, **more)
        except ConnectionException:
            if url == urls[-1]:
                raise
    raise AssertionError("no address was given")


def publish(urls: Sequence[str], *bodies: str, queue: str = "q", durable: bool = True) -> None:
    """Publish messages; each is confirmed when this returns."""
    with connected(urls) as connection:
        sender = connection.create_sender(queue)
        for body in bodies:
            sender.send(Message(body=body, durable=durable))


def consume(urls: Sequence[str], count: int, *, queue: str = "q") -> list[tuple[str, bool]]:
    """Take messages; return the body of each, and whether it is marked as delivered before."""
    found = []
    with connected(urls) as connection:
        receiver = connection.create_receiver(queue, credit=count)
        for _ in range(count):
            message = receiver.receive(timeout=20)
            receiver.accept()
            found.append((message.body, message.delivery_count > 0))
    return found
