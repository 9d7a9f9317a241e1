"""The member, which a broker embeds.  It has no socket, disk, clock or random numbers.

A host gives it events, asks for the actions to perform, performs them, and reports that:

    member.receive(now, peer, message)     also peer_up, peer_down, tick, update_done, ...
    batch = member.poll()                  close, persist, send, act: see `perform.py`
    member.advance(batch)                  once `persist` is durable

`now` is in seconds, of any clock that never goes back; call `tick` when `deadline` has come.
The duties of the host are numbered in `docs/embedding.md`.

This object only holds a value, `state`, and the actions that the host must still perform; each call
is one step (`steps.py`).  The tables decide: `phases.py` its phase, `succession.py` the next view,
`admission.py` the members that may come in.

Source: join protocol, section 3.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from joinproto.join import inputs, steps
from joinproto.join.answers import Answer
from joinproto.join.config import Config
from joinproto.join.frames import FrameVerdict, may_append
from joinproto.join.ids import Digest, ViewId, by_hash
from joinproto.join.messages import Batch, JoinMessage
from joinproto.join.outbox import Outbox
from joinproto.join.phases import Phase
from joinproto.join.reading import older_electors
from joinproto.join.state import MemberState, Setup
from joinproto.join.step_context import step
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, Seat, View


@define
class Member:
    """One member of a cluster; made at the process's start from the contents of its disk.

    `state`: all that it knows, as a value.  `hook`: called before each input, for an event log.
    """

    state: MemberState
    hook: Callable[[float, inputs.Input], None] = lambda now, what: None
    _out: Outbox = field(factory=Outbox, repr=False)

    @classmethod
    def start(
        cls,
        now: float,
        config: Config,
        record: StoreRecord,
        *,
        seed: str,
        epoch: int = 0,
        in_reach: frozenset[str] = frozenset(),
        digest: Digest = by_hash,
    ) -> Member:
        """Return the member of a process that starts now; its first batch is in `poll`.

        `record`: the store's record, with the position of its last durable frame.  `seed`: drawn at
        random at each start.  `epoch`: milliseconds since 1970 at which `now` was 0. `in_reach`:
        the peers to which there is a connection already.
        """
        setup = Setup(config, seed, epoch, digest)
        state, batch = steps.start(now, setup, record, in_reach=in_reach)
        member = cls(state)
        member._take(state, batch)
        return member

    # -- for observers ---------------------------------------------------------------------

    @property
    def config(self) -> Config:
        return self.state.config

    @property
    def record(self) -> StoreRecord:
        """Return the record that must be on the disk once the present batch is performed."""
        return self.state.record

    @property
    def view(self) -> View | None:
        """Return the tip: the newest view it knows of."""
        return self.state.view

    @property
    def seat(self) -> Seat:
        return self.state.seat

    @property
    def phase(self) -> Phase:
        return self.state.phase

    @property
    def ready_in(self) -> ViewId | None:
        """Return the view in which it was ready, in this process."""
        return self.state.ready_in

    @property
    def source(self) -> str | None:
        """Return the peer from which it is being updated."""
        return self.state.source

    @property
    def closes(self) -> bool:
        """Return whether it must have the whole cluster stop."""
        return self.state.closes

    @property
    def is_frozen(self) -> bool:
        """Return whether it has answered a ballot: its data stands still until the next view."""
        return self.state.is_frozen

    @property
    def is_serving(self) -> bool:
        return self.state.is_serving

    @property
    def is_sequencer(self) -> bool:
        """Return whether it orders the frames of its view: the least of the members."""
        return self.state.is_sequencer

    @property
    def status(self) -> Answer:
        """Return the answer that it would give to a ballot now."""
        return self.state.status

    @property
    def deadline(self) -> float | None:
        """Return when `tick` must be called, None if no time matters."""
        return self.state.deadline

    # -- events ----------------------------------------------------------------------------

    def tell(self, now: float, what: inputs.Input) -> None:
        """Give the member an input; each method below makes one and passes it here.

        `hook` is called first; for frames with the time 0.
        """
        self.hook(now, what)
        self._take(*step(self.state, steps.happen, now, what))
        if isinstance(what, inputs.Appended):
            # A record that is not written yet must not undo the frame.
            self._out.renew(self.record)

    def peer_up(self, now: float, peer: str, *, confirms: bool = True) -> None:
        """A connection to `peer` is there; `confirms`: it speaks version 4 or later."""
        self.tell(now, inputs.PeerUp(peer, confirms))

    def peer_down(self, now: float, peer: str) -> None:
        """The connection to `peer` is lost; it may be dead, or just unreachable."""
        self.tell(now, inputs.PeerDown(peer))

    def receive(self, now: float, peer: str, message: JoinMessage) -> None:
        """A message from `peer` arrives.

        A message that no correct member sends changes nothing; a `Refusal` in the batch reports it.
        """
        self.tell(now, inputs.Receive(peer, message))

    def tick(self, now: float) -> None:
        """The `deadline` has come."""
        self.tell(now, inputs.Tick())

    def update_overwrites(self, now: float) -> None:
        """The update will overwrite the data, which is then at no position.

        The next batch marks the store as unfinished, until `update_progress` or `update_done`.  The
        host must not touch the data before that batch is performed.
        """
        self.tell(now, inputs.UpdateOverwrites())

    def update_progress(self, now: float, position: Position | None) -> None:
        """The store's data now ends at `position`, on the chain of the tip.

        For a host that cuts frames that its source lacks, and appends frame by frame: its data is
        at its position at each moment, and all acknowledged frames stay in it.
        """
        self.tell(now, inputs.UpdateProgress(position))

    def update_done(self, now: float, position: Position | None) -> None:
        """The update is complete, and the store's data ends at `position`."""
        self.tell(now, inputs.UpdateDone(position))

    def leave(self, now: float) -> None:
        """This member must leave the cluster; the others go on.

        If it reaches no majority of the electors, it only stops, and stays a member.
        """
        self.tell(now, inputs.Leave())

    def shutdown_cluster(self, now: float) -> None:
        """The whole cluster must stop, in an orderly shutdown (S2).

        If this member is not in an open view, only this member ends: ask an active member.
        """
        self.tell(now, inputs.ShutdownCluster())

    def register_says(self, now: float, view: View) -> None:
        """The outside register holds `view` as the successor of its parent."""
        self.tell(now, inputs.RegisterSays(view))

    def register_free(self, now: float, parent: ViewId, asked: float, question: int = 0) -> None:
        """The outside register answers `ReadRegister` with these fields: no successor yet."""
        self.tell(now, inputs.RegisterFree(parent, asked, question))

    def read(self, now: float) -> int:
        """Reads have come together: return the number under which `ReadsConfirmed` names them.

        0: they cannot be confirmed, because of `older_electors`, or because this member is not
        active.  No read is confirmed after the member has closed.
        """
        called = self.state.reads.called
        self.tell(now, inputs.Read())
        return self.state.reads.called if self.state.reads.called > called else 0

    @property
    def older_electors(self) -> frozenset[str]:
        """Return the electors that cannot confirm reads, if there is no majority without them."""
        return older_electors(self.state)

    def may_append(self, view: ViewId, seq: int) -> FrameVerdict:
        """Return whether the host may write the frame `seq` of `view`, and then acknowledge it."""
        return may_append(self.state, view, seq)

    def appended(self, view: ViewId, seq: int, *, first: int | None = None) -> None:
        """The frame `seq` of `view` is durable here; its position is durable with it.

        `first`: the first of several frames that were written together; None: only the frame `seq`.

        Raises `MisuseError` if `may_append` does not return `TAKE` for the first frame.
        """
        self.tell(0.0, inputs.Appended(view, seq, first))

    # -- the loop --------------------------------------------------------------------------

    def poll(self) -> Batch:
        """Return the actions to perform, in the order of `Batch`; the same until `advance`."""
        return self._out.poll()

    def advance(self, batch: Batch) -> None:
        """`batch` is performed: its record is durable, its messages are on their way.

        Raises `MisuseError` unless it is the batch that `poll` returned last.
        """
        self._out.advance(batch)

    def _take(self, state: MemberState, batch: Batch) -> None:
        self.state = state
        self._out.add(batch)
