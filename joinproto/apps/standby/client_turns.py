"""What clients do in one turn of the event loop, until it is one commit.  No I/O."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field, frozen

from joinproto.apps.standby.queues import Held
from joinproto.standby.catch_up import Message
from joinproto.standby.events import Draft, New


@frozen
class Publishing:
    """A message on its way.  `done`: called with "" when it is confirmed."""

    id: str
    body: bytes
    durable: bool
    done: Callable[[str], None]


@define
class Work:
    """Changes of one queue."""

    puts: list[Publishing] = field(factory=list)
    takes: list[tuple[Held, Callable[[], None]]] = field(factory=list)

    def draft(self, queue: str) -> Draft:
        """Return it as the machine takes it."""
        return Draft(
            queue=queue,
            puts=tuple(New(id=one.id, durable=one.durable) for one in self.puts),
            takes=tuple(
                Message(id=held.id, sequence=held.position, durable=held.durable)
                for held, _ in self.takes
            ),
        )


@define
class TouchedQueues:
    """Changes of all queues, in the order in which they were touched."""

    work: dict[str, Work] = field(factory=dict)

    def put(
        self, queue: str, name: str, body: bytes, durable: bool, done: Callable[[str], None]
    ) -> None:
        """Add a message."""
        self._of(queue).puts.append(Publishing(name, body, durable, done))

    def take(self, queue: str, held: Held, done: Callable[[], None]) -> None:
        """Remove one."""
        self._of(queue).takes.append((held, done))

    def _of(self, queue: str) -> Work:
        return self.work.setdefault(queue, Work())
