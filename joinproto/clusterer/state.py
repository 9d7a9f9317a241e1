"""The state of a node between two steps, as a value.

Source: Clusterer; the state of the real coordinator and its transitioner.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from attrs import field, frozen

from joinproto.clusterer.config import Held
from joinproto.clusterer.messages import (
    NO_NODES,
    WITH_OTHERS,
    BootBroker,
    Effect,
    Members,
    ServiceTold,
    Told,
)
from joinproto.clusterer.reading import Release
from joinproto.clusterer.status import MACHINES, WAITING, Status, Turn
from joinproto.clusterer.variants import RULES, Rules, Variant
from joinproto.machine import step as machine


@frozen
class Who:
    """The constant part of a node's state: its name and the rules that it follows."""

    me: str
    variant: Variant = Variant.OURS
    release: Release = Release.SEED
    rules: Rules = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "rules", RULES[self.variant, self.release])


class RoundKind(Enum):
    """The subject of a round of questions."""

    STATUS = "status"
    AWAITED = "awaited"
    LOCKS = "locks"
    SERVICES = "services"


@frozen(kw_only=True)
class OpenRound:
    """A round that is under way.

    `left`: nodes that have not answered, or whose lock is not taken yet.  `answers`: each answer
    with its node's name; None without an answer.  `taken`: nodes whose lock this node has.
    """

    what: RoundKind
    token: int
    left: frozenset[str]
    answers: tuple[tuple[str, Told | ServiceTold | frozenset[str] | None], ...] = ()
    taken: frozenset[str] = NO_NODES


@frozen
class LockHolder:
    """The node that has this node's lock."""

    node: str
    token: int


@frozen
class Why:
    """The rule and the name of the case that decided last."""

    rule: str
    case: str


@frozen(kw_only=True)
class State:
    """The state of a node.

    `achieved`: the config with which the next one is compared.  `held`: the config that the node
    has, or is in transition to.  `contacts`: the nodes that get the next config.  `dead`: members
    that are away.  `awaited`, `joining`: the nodes that a rejoining node awaits, and the nodes that
    join, by its last round.  `record`: the list of members on the disk.  `boots`: how the broker
    boots, None while it does not; `peers_running`: the nodes that have reported during the boot
    that they run with its config.  `lock`: the node that has this node's lock.  `timer`: the number
    of the shutdown timer that counts.  `paused`: another program stopped the broker.  `yields`: the
    node lets others go first in this round.  `why`, `waits_for`: the case that decided last, and
    the peers that the node waits for.
    """

    who: Who
    status: Status = Status.PREBOOT
    identity: str = ""
    achieved: Held | None = None
    held: Held | None = None
    contacts: frozenset[str] = NO_NODES
    dead: frozenset[str] = NO_NODES
    round: OpenRound | None = None
    awaited: frozenset[str] | None = None
    joining: frozenset[str] = NO_NODES
    record: Members = Members()
    boots: BootBroker | None = None
    peers_running: frozenset[str] = NO_NODES
    lock: LockHolder | None = None
    timer: int = 0
    paused: bool = False
    yields: bool = False
    why: Why = Why("U7", "not started")
    waits_for: frozenset[str] = NO_NODES

    @property
    def config_now(self) -> Held:
        """Return the node's config; the node must have started."""
        if self.held is None:
            raise AssertionError("asked before the start")
        return self.held

    @property
    def round_now(self) -> OpenRound:
        """Return the round that is under way; there must be one."""
        if self.round is None:
            raise AssertionError("asked outside a round")
        return self.round

    @property
    def waits(self) -> bool:
        return self.status in WAITING

    @property
    def says(self) -> Status:
        """Return the status that others are told.

        In ours, a node with a paused broker says that it boots, because no node can join it.
        """
        is_paused = self.paused and self.who.rules.ours and self.status is Status.READY
        return Status.BOOTING if is_paused else self.status

    @property
    def runs(self) -> bool:
        """Return whether the node's broker has booted and was not stopped since."""
        return self.status is Status.READY

    @property
    def is_over(self) -> bool:
        """Return whether the node has ended; it then handles no more events."""
        return self.status is Status.SHUTDOWN

    @property
    def goes_first(self) -> bool:
        """Return whether the broker boots without waiting for other nodes."""
        return self.boots is not None and self.boots.how not in WITH_OTHERS

    @property
    def blank(self) -> bool:
        """Return whether the node's data were given up, and its broker has not booted since."""
        return self.record.given_up

    @property
    def is_doubtful(self) -> bool:
        """Return whether an operator should compare data before the broker boots."""
        return not self.runs and self.record.is_doubtful


Step: TypeAlias = machine.Step[State, Effect]
"""The next state of a node, and the effects for its host, in their order."""


_NO_TURN = Turn()


def moved(step: Step, trigger: str, turn: Turn = _NO_TURN) -> Step:
    """Return the step after the node's status has changed, with the case that decided it."""
    state = step.state
    case = MACHINES[state.who.release].taken(state.status, trigger, (turn,), 0).case
    return step.then(status=case.outcome, why=Why(case.label, case.name), waits_for=NO_NODES)
