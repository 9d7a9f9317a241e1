"""A broker, its clients and its manager: members of the worlds of hot standby.

Promotion is the shipped one (`joinproto.standby.promote`).  One queue stands for all, its messages
are numbers; that two brokers hear each other, and copy a queue, is one step here.
"""

from __future__ import annotations

from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Rule
from joinproto.standby.broker import Mark, Role, Variant
from joinproto.standby.promote import Peer, Promotion, promote
from joinproto.standby.tables import Verdict
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation

mutated = inside(lambda broker: mutation(broker.mutant))

SERVING = (Role.PRIMARY, Role.RECOVERING)


@frozen
class Promoted:
    """The manager tells it to be primary; `peers`: the others' answers."""

    peers: tuple[Peer, ...]


@frozen
class Follows:
    """It hears a primary, and has all that this one has, or has to catch up."""

    primary: str
    generation: int
    is_level: bool


@frozen
class Has:
    """It has all messages of the primary, and knows the other brokers that are up to date."""

    log: frozenset[int]
    fellows: frozenset[str]


@frozen
class Counts:
    """A primary counts this backup among those that are up to date, or no longer does."""

    backup: str
    among: bool


@define
class Broker:
    """`log`: messages it has.  `current`: of a primary, the brokers that are up to date; of a
    backup, those that were.

    `waits`: of a primary that recovers (H8).  `follows`: the primary it hears.
    """

    name: str
    variant: Variant
    mutant: str | None = None
    role: Role = Role.STOPPED
    mark: Mark = Mark.CLEAN
    generation: int = 0
    was_primary: bool = False
    log: frozenset[int] = frozenset()
    current: frozenset[str] = frozenset()
    waits: frozenset[str] = frozenset()
    follows: str | None = None

    @mutated
    def receive(self, event: Any) -> Any:
        match event:
            case "starts" if self.role is Role.STOPPED:
                self.role = Role.CONNECTING
            case "dies" if self.role is not Role.STOPPED:
                self.role, self.mark, self.follows = Role.STOPPED, Mark.DIRTY, None
                self.current = self.waits = frozenset()
            case "loses its primary":
                self.follows = None
            case Promoted(peers):
                return self._promoted(peers)
            case Follows(primary, generation, is_level):
                self.follows, self.generation = primary, generation
                self.was_primary = False
                if not (is_level and self.role is Role.BACKUP):
                    self.role = Role.CATCHUP
            case Has(log, fellows):
                self.role, self.log, self.current = Role.BACKUP, log, fellows
            case Counts(backup, among):
                self.current = self.current | {backup} if among else self.current - {backup}
                self.waits -= {backup}
                if self.role is Role.RECOVERING and not self.waits:
                    self.role = Role.PRIMARY
            case int() if event not in self.log:
                self.log |= {event}
            case _:
                return NOT_ENABLED
        return None

    def _promoted(self, peers: tuple[Peer, ...]) -> Any:
        expected = tuple(sorted(self.current - {self.name, *_dead(peers)}))
        about = Promotion(
            me=self.name,
            role=self.role,
            variant=self.variant,
            mark=self.mark,
            generation=self.generation,
            was_primary=self.was_primary,
            peers=peers,
            expected=expected,
        )
        found = promote(about)
        taken = [Rule(f"{self.variant.value}: {found.case.name}")]
        if found.verdict is not Verdict.ACCEPTED:
            return NOT_ENABLED
        self.role, self.was_primary, self.follows = found.role, True, None
        self.generation = found.generation or self.generation
        self.current, self.waits = frozenset(), frozenset(found.waits_for)
        return taken


def _dead(peers: tuple[Peer, ...]) -> set[str]:
    return {peer.name for peer in peers if peer.role is None}


@define
class Clients:
    """Messages that clients sent, and those confirmed to them."""

    sent: int = 0
    confirmed: frozenset[int] = frozenset()

    def receive(self, event: Any) -> Any:
        match event:
            case "send":
                self.sent += 1
            case ("confirmed", message):
                self.confirmed |= {message}
            case _:
                return NOT_ENABLED
        return None


@define
class Manager:
    """`starts`, `deaths`: how many are left.  `view`: of the one built in, which brokers may be
    promoted.
    """

    starts: int
    deaths: int
    view: frozenset[str] | None = None

    def receive(self, event: Any) -> Any:
        match event:
            case "starts" if self.starts:
                self.starts -= 1
            case "dies" if self.deaths:
                self.deaths -= 1
            case ("view", members):
                self.view = members
            case _:
                return NOT_ENABLED
        return None
