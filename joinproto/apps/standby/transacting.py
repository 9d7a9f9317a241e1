"""Transactions of one client's connection; each is one commit.

Over a link to the coordinator a client declares a transaction and discharges it.  Until then the
transaction's messages are kept here and its acknowledged deliveries remain unsettled.  The
discharge makes all of it one commit of the machine, which a backup or a disk has as a whole or not
at all (LM3).  No I/O.

Source: hot standby, H4, LM3; AMQP 1.0, part 4.
"""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import define, field, frozen
from proton import Delivery, Described, Link, Message, ProtonException, ulong

from joinproto.apps.standby.queues import Held

if TYPE_CHECKING:
    from joinproto.apps.standby.amqp import Consumer

Puts: TypeAlias = list[tuple[str, bytes, bool]]
"""For each message its queue, its body, and whether it is durable."""
Commit: TypeAlias = Callable[[Puts, list[tuple[str, Held]], Callable[[str], None]], None]

DECLARE, DISCHARGE, DECLARED, TRANSACTIONAL = 0x31, 0x32, 0x33, 0x34
REQUESTS = {"amqp:declare:list": DECLARE, "amqp:discharge:list": DISCHARGE}
OUTCOMES = {
    "amqp:accepted:list": 0x24,
    "amqp:rejected:list": 0x25,
    "amqp:released:list": 0x26,
    "amqp:modified:list": 0x27,
}
OPEN_MAX = 100
BYTES_MAX = 64 << 20
"""Limits for all transactions of a connection together."""
EACH_BYTES = 4 << 10
"""Added to the size of each message, because many small messages make a commit long as well."""

UNKNOWN = "amqp:transaction:unknown-id"
ROLLBACK = "amqp:transaction:rollback"


@frozen
class SettledMessage:
    """A message that a consumer settles in a transaction.

    `is_gone`: the consumer accepts or rejects it, so a commit removes it from its queue.
    """

    consumer: Consumer
    delivery: Delivery
    held: Held
    is_gone: bool


@define
class Transaction:
    """One transaction.  `problem`: why it must fail, "" if it may be committed."""

    link: Link
    puts: Puts = field(factory=list)
    takes: list[SettledMessage] = field(factory=list)
    problem: str = ""


@frozen
class Reply:
    """The answer to a request.

    `condition`: the AMQP error of a refusal, or "".  `id`: the id of a new transaction, or b"".
    """

    condition: str = ""
    why: str = ""
    id: bytes = b""


@define(eq=False)
class Transactions:
    """The open transactions of a connection.  `commit`: `Clients.commit_whole`."""

    commit: Commit
    work: dict[bytes, Transaction] = field(factory=dict)
    held_bytes: int = 0

    def ask(self, link: Link, body: bytes, reply: Callable[[Reply], None]) -> None:
        """Handle a request that came over a link to the coordinator."""
        match _request(body):
            case (int(code), [global_id, *_]) if code == DECLARE and global_id is not None:
                reply(Reply("amqp:not-implemented", "there are no distributed transactions"))
            case (int(code), _) if code == DECLARE and len(self.work) >= OPEN_MAX:
                why = f"{OPEN_MAX} transactions are open on this connection"
                reply(Reply("amqp:resource-limit-exceeded", why))
            case (int(code), _) if code == DECLARE:
                name = token_bytes(8)
                self.work[name] = Transaction(link)
                reply(Reply(id=name))
            case (int(code), [name, *rest]) if code == DISCHARGE:
                self._discharge(_id(name), bool(rest and rest[0]), reply)
            case _:
                reply(
                    Reply("amqp:invalid-field", "the request is neither a declare nor a discharge")
                )

    def _discharge(self, name: bytes, fails: bool, reply: Callable[[Reply], None]) -> None:
        work = self.work.pop(name, None)
        if work is None:
            reply(Reply(UNKNOWN, "there is no such transaction on this connection"))
            return
        self.held_bytes -= sum(len(body) + EACH_BYTES for _, body, _ in work.puts)
        if fails or work.problem:
            self._undo(work)
            reply(Reply(ROLLBACK, work.problem) if work.problem and not fails else Reply())
            return

        def done(problem: str) -> None:
            if problem:
                self._undo(work)
                reply(Reply(ROLLBACK, problem))
                return
            for one in work.takes:
                one.consumer.settle(one.delivery, Delivery.ACCEPTED)
                if not one.is_gone:
                    one.consumer.queue.give_back([one.held])
            reply(Reply())

        gone = [(one.consumer.queue.name, one.held) for one in work.takes if one.is_gone]
        self.commit(work.puts, gone, done)

    def _undo(self, work: Transaction) -> None:
        for one in work.takes:
            one.consumer.have_again(one.delivery, one.held)

    def put(self, name: bytes, queue: str, body: bytes, durable: bool, problem: str = "") -> bool:
        """Keep a message of a transaction; return whether the transaction exists.

        `problem`: why the message is refused, and with it the whole transaction; "" if it is not.
        """
        work = self.work.get(name)
        if work is None:
            return False
        if self.held_bytes + len(body) + EACH_BYTES > BYTES_MAX:
            problem = (
                f"more than {BYTES_MAX} bytes in the transactions of this connection,"
                f" counting {EACH_BYTES} more for each message"
            )
        if problem:
            work.problem = problem
            return True
        self.held_bytes += len(body) + EACH_BYTES
        work.puts.append((queue, body, durable))
        return True

    def take(self, name: bytes, taken: SettledMessage) -> bool:
        """Record a consumer's acknowledgement in a transaction; return whether the transaction
        exists.
        """
        work = self.work.get(name)
        if work is None:
            return False
        work.takes.append(taken)
        return True

    def gone(self, link: Link | None = None) -> None:
        """Undo the transactions that were declared over a link that is gone; None means all."""
        for name in [each for each, work in self.work.items() if link in (None, work.link)]:
            self._discharge(name, True, lambda _: None)


def _request(body: bytes) -> tuple[int, Any] | None:
    message = Message()
    try:
        message.decode(body)
    except (ProtonException, ValueError, RecursionError):
        return None
    found = message.body
    if not isinstance(found, Described) or not isinstance(found.value, list):
        return None
    return _code(found.descriptor, REQUESTS), found.value


def _code(descriptor: Any, names: dict[str, int]) -> int:
    if isinstance(descriptor, str):
        return names.get(descriptor, -1)
    return int(descriptor) if isinstance(descriptor, int) else -1


def _id(said: Any) -> bytes:
    """Return a transaction's id from the client's value, or b"" if the value is not an id."""
    return bytes(said) if isinstance(said, bytes | memoryview) else b""


def transaction_of(delivery: Delivery) -> tuple[bytes, int] | None:
    """Return the id of a delivery's transaction, and its outcome, or -1 for an unknown outcome.

    None if the delivery is in no transaction.
    """
    if delivery.remote_state != TRANSACTIONAL:
        return None
    match delivery.remote.data:
        case [name, Described(descriptor=descriptor), *_]:
            return _id(name), _code(descriptor, OUTCOMES)
        case [name, *_]:
            return _id(name), -1
    return b"", -1


def accept_within(delivery: Delivery, name: bytes) -> None:
    """Tell the client that its message is accepted within the transaction `name`."""
    delivery.local.data = [name, Described(ulong(OUTCOMES["amqp:accepted:list"]), [])]
    delivery.update(TRANSACTIONAL)


def answer_declared(delivery: Delivery, name: bytes) -> None:
    """Answer that the transaction `name` is declared."""
    delivery.local.data = [name]
    delivery.update(DECLARED)
