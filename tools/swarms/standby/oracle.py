"""The claims about hot-standby brokers, checked by the observations of their clients.

The oracle shares no code with the machine: it knows which messages were sent, confirmed and
delivered.

Source: hot standby, H2, H4, H9; LM3, LM4.
"""

from __future__ import annotations

from attrs import define, field


class Violation(Exception):
    """A claim does not hold.  `claim`: its name."""

    def __init__(self, claim: str, what: str) -> None:
        super().__init__(f"{claim}: {what}")
        self.claim = claim


@define
class SentMessage:
    """A sent message.  `whole`: all messages of its transaction; empty if it was sent without one.

    `acknowledged`: the generation in which its acknowledgement was confirmed; 0 if it was not.
    """

    queue: str
    durable: bool
    whole: frozenset[int] = frozenset()
    confirmed: bool = False
    delivered: int = 0
    unmarked: int = 0
    acknowledged: int = 0


@define
class Oracle:
    """The observations of a run.  Messages are numbers, in the order in which clients sent them.

    `confirmers`: generation to the brokers that confirmed in it; `confirmed`: messages.
    """

    sent: dict[int, SentMessage] = field(factory=dict)
    confirmers: dict[int, set[str]] = field(factory=dict)
    confirmed: int = 0

    def note_confirmed(self, broker: str, generation: int, numbers: list[int]) -> None:
        """Note that a broker confirms messages to a client; a generation has one such broker."""
        brokers = self.confirmers.setdefault(generation, set())
        brokers.add(broker)
        if len(brokers) > 1:
            raise Violation("one primary", f"{sorted(brokers)} confirm in generation {generation}")
        for number in numbers:
            self.sent[number].confirmed = True
        self.confirmed += len(numbers)

    def check_kept(self, broker: str, numbers: list[int], there: set[int]) -> None:
        """Check that an up-to-date broker would have these messages after a power cut now."""
        for number in numbers:
            one = self.sent[number]
            if one.durable and not one.delivered and number not in there:
                raise Violation(
                    "all keep it", f"{number} of {one.queue} was confirmed, and {broker} lacks it"
                )

    def note_delivery(self, queue: str, number: int, generation: int, *, marked: bool) -> None:
        """Note that a client gets a message from the primary of a generation.

        `marked`: whether the message is marked as one that may have come before.  A former primary
        that is cut off does not know of later acknowledgements.  Until `silence` is over, it gives
        acknowledged messages to its clients, marked.
        """
        one = self.sent[number]
        if one.queue != queue:
            raise Violation("its own queue", f"{number} of {one.queue} comes from {queue}")
        if one.acknowledged and not (marked and generation < one.acknowledged):
            raise Violation("gone is gone", f"{number} was acknowledged, and comes again")
        one.delivered += 1
        one.unmarked += not marked
        if one.unmarked > 1:
            raise Violation("marked", f"{number} comes twice, and is not marked")

    def note_acknowledged(self, number: int, generation: int) -> None:
        """Note that a broker confirms an acknowledgement to a client."""
        self.sent[number].acknowledged = generation

    def check_end(self, left: dict[str, list[int]]) -> None:
        """Check the claims at the end.  `left`: the queues' messages from the front to the back."""
        there = {number for numbers in left.values() for number in numbers}
        for queue, numbers in left.items():
            if numbers != sorted(numbers):
                raise Violation("in order", f"{queue} has {numbers}")
        for number, one in self.sent.items():
            has = number in there or one.delivered > 0
            if one.confirmed and one.durable and not has:
                raise Violation("nothing is lost", f"{number} of {one.queue} was confirmed")
            if one.acknowledged and number in there:
                raise Violation("gone is gone", f"{number} was acknowledged, and is in {one.queue}")
            if one.whole and has != any(
                other in there or self.sent[other].delivered for other in one.whole
            ):
                raise Violation("transactions are whole", f"{number} of {sorted(one.whole)}")
