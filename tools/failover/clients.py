"""A client with Proton's own library: it publishes, consumes, and counts messages.

The client has a list of addresses and uses the library's reconnection.  When a connection has
ended, the client publishes unconfirmed messages again, and marks them.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from proton import Delivery, Event, Message
from proton.handlers import IOHandler, MessagingHandler
from proton.reactor import Container

RETRY = [0.0, *[0.1] * 6_000]
"""Seconds before each attempt to connect again."""
QUEUE = "storm"
HEARTBEAT_SECONDS = 4
END_SECONDS = 60.0


class MendedIOHandler(IOHandler):  # type: ignore[misc]
    """Proton's handler, without its failure at a heartbeat that is due for an ended connection.

    Source: apache/qpid-proton, pull request 364.
    """

    def on_selectable_expired(self, event: Event) -> None:
        if event.selectable._transport is not None:
            super().on_selectable_expired(event)


class StormClient(MessagingHandler):  # type: ignore[misc]
    """Publishes to one queue until it must end, and consumes each confirmed message."""

    def __init__(self, urls: list[str], top: Path) -> None:
        super().__init__(auto_accept=False, auto_settle=True, prefetch=100)
        self.urls = urls
        self.progress, self.gate = top / "progress", top / "gate"
        self.allowed = self.published = 0
        self.deadline: float | None = None
        self.again: deque[int] = deque()
        self.waiting: dict[Delivery, int] = {}
        self.confirmed: set[int] = set()
        self.consumed: dict[int, int] = {}
        self.unmarked: list[int] = []
        self.resent: set[int] = set()
        self.ends = 0
        self.sender: Any = None
        self.session: Any = None

    def on_start(self, event: Event) -> None:
        self.container = event.container
        # The heartbeat is needed: a broker whose process is stopped ends no connection.
        connection = event.container.connect(
            urls=self.urls, reconnect=RETRY, heartbeat=HEARTBEAT_SECONDS
        )
        self.connection = connection
        event.container.schedule(0.1, self)

    def on_connection_opened(self, event: Event) -> None:
        # Each connection gets a new session with links: the library takes the remains of an old
        # link for new deliveries.
        self.session = event.connection.session()
        self.session.open()
        self.sender = event.container.create_sender(self.session, QUEUE)
        self.receiver = event.container.create_receiver(self.session, QUEUE)

    def on_timer_task(self, event: Event) -> None:
        self.progress.write_text(str(len(self.confirmed)))
        text = self.gate.read_text()
        self.allowed = int(text) if text.isdecimal() else self.allowed
        if text == "end" and self.deadline is None:
            self.allowed, self.deadline = self.published, time.monotonic() + END_SECONDS
        self.publish_more()
        is_done = len(self.confirmed) == self.published and self.confirmed <= self.consumed.keys()
        if self.deadline is not None and (is_done or time.monotonic() > self.deadline):
            self.connection.close()
            self.container.stop()
        else:
            event.container.schedule(0.1, self)

    # -- publishing ------------------------------------------------------------------------

    def on_sendable(self, event: Event) -> None:
        self.publish_more()

    def publish_more(self) -> None:
        while self.sender is not None and self.sender.credit > 0:
            is_again = bool(self.again)
            if not is_again and self.published >= self.allowed:
                return
            number = self.again.popleft() if is_again else self.published
            self.published = max(self.published, number + 1)
            properties = {"again": is_again}
            message = Message(id=number, durable=True, body="x" * 100, properties=properties)
            self.waiting[self.sender.send(message)] = number

    def on_accepted(self, event: Event) -> None:
        number = self.waiting.pop(event.delivery, None)
        if number is not None:
            self.confirmed.add(number)

    def on_rejected(self, event: Event) -> None:
        number = self.waiting.pop(event.delivery, None)
        if number is not None:
            self.again.append(number)

    def on_disconnected(self, event: Event) -> None:
        # It is unknown whether the waiting messages arrived, so they are published again.
        self.ends += 1
        lost = sorted(self.waiting.values())
        self.waiting.clear()
        if self.session is not None:
            self.sender.free()
            self.receiver.free()
            self.session.free()
            self.sender = self.session = None
        self.resent.update(lost)
        self.again.extendleft(reversed(lost))

    # -- consuming -------------------------------------------------------------------------

    def on_message(self, event: Event) -> None:
        message = event.message
        number = int(message.id)
        before = self.consumed.get(number, 0)
        is_marked = message.delivery_count > 0 or number in self.resent
        if before and not is_marked:
            self.unmarked.append(number)
        self.consumed[number] = before + 1
        self.accept(event.delivery)

    def counts(self) -> dict[str, Any]:
        return {
            "published": self.published,
            "confirmed": len(self.confirmed),
            "consumed": len(self.consumed),
            "lost": sorted(self.confirmed - self.consumed.keys())[:20],
            "lost_count": len(self.confirmed - self.consumed.keys()),
            "twice": sum(times > 1 for times in self.consumed.values()),
            "twice_unmarked": len(self.unmarked),
            "connections_ended": self.ends,
        }


def main() -> None:
    """Run as `python -m tools.failover.clients DIRECTORY URL...`.

    Files in the directory: `progress`, the number of confirmed messages, and `gate`, the number of
    messages that may be published so far, or `end`.
    """
    top, *urls = sys.argv[1:]
    client = StormClient(urls, Path(top))
    Container(client, global_handler=MendedIOHandler()).run()
    print(json.dumps(client.counts()))


if __name__ == "__main__":
    main()
