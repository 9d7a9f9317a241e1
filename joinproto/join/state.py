"""The member as a value: all that it knows between two steps, and derived facts.

Source: join protocol, section 3.
"""

from __future__ import annotations

from operator import attrgetter

from attrs import define, field, fields, frozen

from joinproto.join.answers import Answer
from joinproto.join.chooser import Chooser
from joinproto.join.config import Config
from joinproto.join.ids import Digest, ViewId, by_hash
from joinproto.join.messages import Abort
from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from joinproto.join.store import StoreRecord
from joinproto.join.successor import own_answer
from joinproto.join.timers import Timers
from joinproto.join.view import Seat, View, names_of


@frozen(cache_hash=True)
class Setup:
    """The constant part of a process's state.

    `seed`: drawn at random at each start; it goes into the nonces of views.  `epoch`:
    milliseconds since 1970 at which `now` was 0, for the times that views show.
    """

    config: Config
    seed: str = "-"
    epoch: int = 0
    digest: Digest = field(default=by_hash, repr=False)


@frozen(cache_hash=True)
class Connections:
    """How many connections to a peer there have been in this process."""

    peer: str
    times: int


@frozen(cache_hash=True)
class Reads:
    """Reads that wait until the view is confirmed.  All numbers grow as long as the process runs.

    `called`: how often reads were handed in.  `asked`: the question that is under way for them,
    0: none is; `covers`: for those up to there; `confirmed`: the members that answered it.
    `last`: the last question of this process, whatever it was for.
    """

    called: int = 0
    asked: int = 0
    covers: int = 0
    confirmed: frozenset[Seat] = frozenset()
    last: int = 0


@define
class Known:
    """The knowledge of a member: its fields, and properties derived from them; states and drafts
    have both.
    """

    setup: Setup
    choice: Chooser
    observations: Observations = field(factory=Observations)
    phase: Phase = Phase.INITIALIZING
    ready_in: ViewId | None = None  # the view it was ready in, in this process
    was_active: bool = False  # it knows that the tip was active
    source: str | None = None  # the member that it is updated from
    saw_it_run: bool = False  # others were ready in its tip, and it in none yet, in this process
    closes_until: float | None = (
        None  # how long the cluster has to stop, if it is left out of a view
    )
    leaves: bool = False
    leave_told: bool = False  # the members that decide on the next view know that it leaves
    is_done: bool = False
    verdict: Abort | None = None
    patience_until: float | None = None
    tries: int = 0  # ballots begun since the last view was learned
    next_beat: float | None = None
    says_at: float | None = None  # when it says which it waits for, where it has nothing to choose
    free_until: float | None = None  # so long it counts that the tip has no successor
    timers: Timers = field(
        factory=Timers
    )  # how long ballots take here, and which member's turn it is
    reads: Reads = Reads()
    met: frozenset[Connections] = frozenset()

    @property
    def config(self) -> Config:
        return self.setup.config

    @property
    def record(self) -> StoreRecord:
        """Return the record that must be on the disk once all requested actions are performed."""
        return self.choice.record

    @property
    def view(self) -> View | None:
        """Return the tip: the newest view it knows of."""
        return self.choice.record.tip

    @property
    def seat(self) -> Seat:
        return self.choice.seat

    @property
    def is_frozen(self) -> bool:
        """Return whether it has answered a ballot: its data stands still until the next view."""
        return self.choice.is_frozen

    @property
    def closes(self) -> bool:
        """Return whether it must have the whole cluster stop."""
        return self.closes_until is not None

    @property
    def is_serving(self) -> bool:
        return self.phase is Phase.ACTIVE

    @property
    def is_sequencer(self) -> bool:
        """Return whether it orders the frames of its view: the least of the members."""
        tip = self.view
        return tip is not None and min(tip.members) == self.seat

    @property
    def status(self) -> Answer:
        """Return its present answer to a ballot."""
        return own_answer(
            self.record,
            self.config,
            ran_on=self.ready_in is not None,
            was_active=self.was_active,
            leaves=self.leaves,
        )

    @property
    def deadline(self) -> float | None:
        """Return when `tick` must be called, None if only something from outside can matter."""
        # Hosts ask before and after each step: four comparisons take a third of a list's time.
        due = self.patience_until
        if (at := self.next_beat) is not None and (due is None or at < due):
            due = at
        if (at := self.free_until) is not None and (due is None or at < due):
            due = at
        if (at := self.says_at) is not None and (due is None or at < due):
            due = at
        return due

    @property
    def neighbours(self) -> list[str]:
        """Return the names of the members that must hear of this one, in order."""
        tip = self.view
        if tip is None:
            return sorted(self.observations.in_reach)
        names = names_of(tip.members)
        parent = None if tip.parent is None else self.record.lineage.find(tip.parent)
        if parent is not None:
            # A leaver waits until the others know.
            names |= names_of(parent.members)
        return sorted(names - {self.config.member})

    def is_copy(self, seat: Seat) -> bool:
        """Return whether another member has a store with this id; the members' are their own."""
        return self.observations.is_copy(seat, self.view, self.seat)


@frozen
class MemberState(Known):
    """A member between two steps; `draft.step` returns the next one."""


values_of = attrgetter(*(item.name for item in fields(Known)))
"""Return all fields of a state or a draft, in order."""


def frozen_copy(it: Known) -> MemberState:
    """Return `it` as a frozen state."""
    return as_state(Known(*values_of(it)))


def as_state(it: Known) -> MemberState:
    """Return `it` itself as a state: no draft, and of its maker's only."""
    # A step makes one: the frozen class sets its fields in three times the time.
    it.__class__ = MemberState
    return it  # type: ignore[return-value]
