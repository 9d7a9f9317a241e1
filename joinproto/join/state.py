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
    """Reads that wait until the view is confirmed.  No number falls, except `asked` to 0.

    `called`: how often reads were handed in.  `asked`: the number of the question that is under way
    for them, 0 for none; it covers the reads up to `covers`.  `confirmed`: the electors that have
    answered that question, and this member if it is one.  `last`: the number of the last question
    of this process, for reads or not.
    """

    called: int = 0
    asked: int = 0
    covers: int = 0
    confirmed: frozenset[Seat] = frozenset()
    last: int = 0


@define
class Known:
    """All that a member knows: fields, and properties derived from them.

    `MemberState` and `StepContext` have both.
    """

    setup: Setup
    choice: Chooser
    observations: Observations = field(factory=Observations)
    phase: Phase = Phase.INITIALIZING
    ready_in: ViewId | None = None  # the last view in which it was ready, in this process
    was_active: bool = False  # it was active in the tip
    source: str | None = None  # the member that it is updated from
    saw_it_run: bool = False  # others were ready in the tip, before this process was in any view
    closes_until: float | None = None  # until then it wants a shutdown, also if a view lacks it
    leaves: bool = False
    leave_told: bool = False  # the members that decide on the next view know that it leaves
    is_done: bool = False
    verdict: Abort | None = None
    patience_until: float | None = None
    tries: int = 0  # ballots begun since the last view was learned
    next_heartbeat: float | None = None
    says_at: float | None = None  # when an idle member reports which members it waits for
    free_until: float | None = None  # until when the register's "no successor" counts
    timers: Timers = field(factory=Timers)  # how long ballots take, and which member has its turn
    reads: Reads = Reads()
    connections: frozenset[Connections] = frozenset()

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
        """Return the answer that it would give to a ballot now."""
        return own_answer(
            self.record,
            self.config,
            ran_on=self.ready_in is not None,
            was_active=self.was_active,
            leaves=self.leaves,
        )

    @property
    def deadline(self) -> float | None:
        """Return when `tick` must be called, None if no time matters."""
        # Hosts ask before and after each step: four comparisons take a third of a list's time.
        due = self.patience_until
        if (at := self.next_heartbeat) is not None and (due is None or at < due):
            due = at
        if (at := self.free_until) is not None and (due is None or at < due):
            due = at
        if (at := self.says_at) is not None and (due is None or at < due):
            due = at
        return due

    @property
    def neighbours(self) -> list[str]:
        """Return the sorted names of the members that must hear of this one."""
        tip = self.view
        if tip is None:
            return sorted(self.observations.in_reach)
        names = names_of(tip.members)
        parent = None if tip.parent is None else self.record.lineage.find(tip.parent)
        if parent is not None:
            # A member that leaves waits until the others know that.
            names |= names_of(parent.members)
        return sorted(names - {self.config.member})

    def is_copy(self, seat: Seat) -> bool:
        """Return whether another seat has the same store id; seats of the tip are no copies."""
        return self.observations.is_copy(seat, self.view, self.seat)


@frozen
class MemberState(Known):
    """A member between two steps; `step_context.step` returns the next one."""


values_of = attrgetter(*(item.name for item in fields(Known)))
"""Return all fields of a `MemberState` or a `StepContext`, in order."""


def frozen_copy(it: Known) -> MemberState:
    """Return `it` as a frozen state."""
    return as_state(Known(*values_of(it)))


def as_state(it: Known) -> MemberState:
    """Turn `it` into a state, and return it.  `it` must be new, and not a `StepContext`."""
    # Called once a step; to construct an instance of the frozen class takes three times as long.
    it.__class__ = MemberState
    return it  # type: ignore[return-value]
