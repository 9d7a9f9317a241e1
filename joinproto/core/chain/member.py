"""The member: what a broker embeds.  No socket, disk, clock or chance in it.

A host tells it what happens, asks what is to be done, does that, and says so:

    member.receive(now, peer, message)     also peer_up, peer_down, tick, update_done, ...
    batch = member.poll()                  persist, then sends, then actions; events any time
    member.advance(batch)                  once `persist` is durable

`now` is in seconds, of any clock that never goes back; call `tick` when `deadline` has come.
The duties of the host are numbered in `docs/embedding.md`.

What the member is, the tables say: `phases.py` its phase, `succession.py` the next view,
`admission.py` who may come in.  How a view is chosen is `choice.py` or `outside.py`.

Source: join protocol, section 3.
"""

from __future__ import annotations

from enum import Enum

from attrs import define, evolve, field

from joinproto.core.chain.admission import Admit, Newcomer, admission, mismatch, newcomer
from joinproto.core.chain.answers import Answer, Evidence, Weakness
from joinproto.core.chain.awaiting import awaiting, named, row_of, unanswered
from joinproto.core.chain.choice import Choice
from joinproto.core.chain.choice_messages import (
    Accept,
    AskRegister,
    Chosen,
    Free,
    Nack,
    Outbid,
    OutOfStep,
    PersistRecord,
    Prepare,
    Promise,
    SendTo,
    Voted,
)
from joinproto.core.chain.choice_messages import Learned as LearnedViews
from joinproto.core.chain.chooser import Chooser, Seam, Step
from joinproto.core.chain.config import Config
from joinproto.core.chain.heard import Heard
from joinproto.core.chain.ids import Digest, ViewId, by_hash
from joinproto.core.chain.lineage import verify_position
from joinproto.core.chain.malformed import Malformed, Said
from joinproto.core.chain.messages import (
    Abort,
    Batch,
    Closing,
    CompareAndSet,
    Forbids,
    Heartbeat,
    Hello,
    Learned,
    Message,
    OpenForClients,
    PhaseChanged,
    Proposes,
    ReadRegister,
    Ready,
    Refusal,
    Refused,
    ServeUpdate,
    StartUpdate,
    Stop,
    Waiting,
    WantUpdate,
    Welcome,
)
from joinproto.core.chain.outbox import Outbox
from joinproto.core.chain.outside import OutsideChoice
from joinproto.core.chain.pace import Pace
from joinproto.core.chain.phases import ON_LEAVING, RUNNING, Deed, Facts, Guard, Phase, machine
from joinproto.core.chain.store import StoreRecord
from joinproto.core.chain.succession import Next
from joinproto.core.chain.successor import Proposer, Shortcut, own_answer
from joinproto.core.chain.view import Kind, Position, Seat, View
from joinproto.core.vocabulary import Reason, Store
from joinproto.errors import MisuseError


class Lapse(Enum):
    """A rule of the member itself that can be left out; see `left_out`."""

    TIP_PERSISTED = "dirty-not-written"
    HELD_PERSISTED = "held-not-persisted"
    UPDATE_MARKED = "update-in-place"
    MARKED_LATE = "unfit-before-the-first-byte"
    JOINER_NOT_CLEAN = "joiner-marked-clean"
    FENCING = "older-frame-accepted"
    COPIES = "copy-taken-in"
    REPLACED = "replaced-not-noticed"
    APART = "apart-taken-in"


Rule = Seam | Weakness | Shortcut | Guard | Lapse
"""Whatever can be left out of a member, each under its name, for worlds that must fail."""


class Frame(Enum):
    """Whether a frame may be taken: the answer of `may_append`."""

    TAKE = "take it"
    OTHER_VIEW = "it belongs to another view"
    NOT_READY = "this member is not ready in the view"
    FROZEN = "the next view is being chosen"
    ALREADY_THERE = "it is there"
    GAP = "frames before it are missing"


SILENT = "too few have answered"
"""The case of `Waiting` where no view can be chosen: no majority, or no founders."""

BETTER = "others may be a majority that hears each other"
"""The case of `Waiting` where no majority of those that answered hears each other."""

IMPOSSIBLE = "what the stores say cannot be"
"""The case of `Waiting` that no correct run ever meets: the operator has to look."""


@define(kw_only=True, slots=True)
class Member:
    """One member of a cluster; made at the process's start from what its disk holds.

    `record`: what the store holds, with the position of its last durable frame.  `seed`:
    drawn at random at each start; it goes into the nonces of views.  `epoch`: milliseconds
    since 1970 at which `now` was 0, for the times that views show.
    """

    config: Config
    choice: Chooser
    seed: str = "-"
    epoch: int = 0
    digest: Digest = field(default=by_hash, repr=False)
    left_out: frozenset[Rule] = field(default=frozenset(), repr=False)

    phase: Phase = Phase.INITIALIZING
    ready_in: ViewId | None = None  # the view it was ready in, in this process
    was_active: bool = False  # it knows that the tip was active
    heard: Heard = field(factory=Heard)
    source: str | None = None  # from whom it is being updated
    saw_it_run: bool = False  # others were ready in its tip, and it in none yet, in this process
    closes: bool = False
    leaves: bool = False
    leave_told: bool = False  # who decides on the next view knows that it leaves
    is_done: bool = False
    verdict: Abort | None = None
    patience_until: float | None = None
    tries: int = 0  # ballots begun since the last view was learned
    next_beat: float | None = None
    says_at: float | None = None  # when it says for whom it waits, where it has nothing to choose
    free_until: float | None = None  # so long it counts that the tip has no successor
    pace: Pace = field(factory=Pace)  # how long ballots take here, and whose turn it is

    _out: Outbox = field(factory=Outbox, repr=False)

    # -- making one ------------------------------------------------------------------------

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
        left_out: frozenset[Rule] = frozenset(),
    ) -> Member:
        """Return the member of a process that starts now; its first batch is in `poll`.

        `in_reach`: the peers to which there is a connection already.
        """
        if record.transient != config.is_transient:
            raise MisuseError(
                f"{config.member} is {'' if config.is_transient else 'not '}transient, its"
                f" record is {'' if record.transient else 'not '}",
                next="make the record with StoreRecord(transient=...) as configured",
            )
        kind = OutsideChoice if config.outside else Choice
        choice = kind(
            member=config.member,
            record=record,
            founders=config.electors,
            found_with=config.found_with,
            left_out=frozenset(rule for rule in left_out if isinstance(rule, Seam)),
        )
        member = cls(
            config=config,
            choice=choice,
            seed=seed,
            epoch=epoch,
            digest=digest,
            heard=Heard(in_reach=in_reach),
            left_out=left_out,
            next_beat=now + config.heartbeat if config.heartbeat else None,
            pace=Pace(started=now, rounds=record.promised.round if record.promised else 0),
        )
        member._settle(now)
        return member

    # -- what can be seen ------------------------------------------------------------------

    @property
    def record(self) -> StoreRecord:
        """Return what must be on the disk once the present batch is performed."""
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
    def is_serving(self) -> bool:
        return self.phase is Phase.ACTIVE

    @property
    def is_sequencer(self) -> bool:
        """Return whether it orders the frames of its view: the least of the members."""
        tip = self.view
        return tip is not None and min(tip.members, key=_by_name) == self.seat

    @property
    def status(self) -> Answer:
        """Return what it answers to a ballot now."""
        return own_answer(
            self.record,
            self.config,
            ran_on=self.ready_in is not None and self.ready_in == self.record.held,
            was_active=self.was_active,
            leaves=self.leaves,
        )

    @property
    def deadline(self) -> float | None:
        """Return when `tick` is to be called, None: only something from outside can matter."""
        times = (self.patience_until, self.next_beat, self.free_until, self.says_at)
        due = [at for at in times if at is not None]
        return min(due, default=None)

    # -- what happens ----------------------------------------------------------------------

    def peer_up(self, now: float, peer: str) -> None:
        """A connection to `peer` is there."""
        if peer == self.config.member:
            return
        self.heard = self.heard.up(peer)
        # Ballots in vain say nothing about one with this peer.
        self.tries = 0
        if self.phase in RUNNING:
            if self.patience_until is not None:
                self.patience_until = min(self.patience_until, now + self._patience())
            self._send(peer, self._hello())
            self._settle(now)

    def peer_down(self, now: float, peer: str) -> None:
        """`peer` is not heard of any more; it may be dead, or just far away."""
        self.heard = self.heard.down(peer)
        if self.pace.holder == peer and self.patience_until is not None:
            self.patience_until = min(self.patience_until, now + self._patience())
        self.pace = self.pace.without(peer)
        if self.source == peer:
            self.source = None
        if self.phase in RUNNING:
            self._settle(now)

    def receive(self, now: float, peer: str, message: Message) -> None:
        """A message from `peer` arrives.  What no correct member sends is refused, aloud."""
        if self.phase not in RUNNING:
            return
        try:
            match message:
                case Hello():
                    self._hear_hello(now, peer, message)
                case Welcome():
                    self._hear_welcome(peer, message)
                case Refused():
                    self._hear_refused(peer, message)
                case Ready():
                    self._hear_ready(peer, message)
                case WantUpdate():
                    self._hear_want_update(peer, message)
                case Heartbeat():
                    self._hear_heartbeat(peer, message)
                case Prepare() | Promise() | Accept() | Voted() | Nack() | Chosen():
                    self._hear_choice(now, peer, message)
        except Malformed as error:
            self._out.say(Refusal(peer, str(error)))
            return
        self._settle(now)

    def tick(self, now: float) -> None:
        """The `deadline` has come."""
        if self.phase not in RUNNING:
            return
        if self.next_beat is not None and now >= self.next_beat:
            self.next_beat = now + self.config.heartbeat
            beat = Heartbeat(
                None if self.view is None else self.view.id,
                self.record.lineage.length,
                self.seat,
                self.choice.is_frozen,
            )
            for peer in sorted(self.heard.in_reach):
                self._send(peer, beat)
            self._read_register(now)
        if self.patience_until is not None and now >= self.patience_until:
            self.patience_until = None
            if self.choice.is_free:
                self._consider(now, is_patient=False)
                self._ask_again(now)
            elif (turn := self._turn(now)) is not None and now < turn:
                self.patience_until = turn
            elif self._reason_to_begin() is not None:
                self._say_who_is_silent()
                self._begin(now)
        if self.says_at is not None and now >= self.says_at:
            self.says_at = None
            self._say_for_whom()
        self._settle(now)

    def update_overwrites(self, now: float) -> None:
        """The data is about to be, for a moment, what no position says.

        The next batch marks the store as unfinished: until `update_progress` or `update_done`
        it covers nothing.  Nothing is to be touched before that batch is performed.
        """
        self._require_thawed()
        if Lapse.UPDATE_MARKED not in self.left_out and self.view is not None:
            self._write(evolve(self.record, update_unfinished=True))
        self._settle(now)

    def update_progress(self, now: float, position: Position | None) -> None:
        """The store's data now ends at `position`, which is on the way to the tip.

        For a host that cuts what its source has not, and appends frame by frame: its data is
        at each moment what its position says, and whatever was acknowledged stays in it.
        """
        self._require_thawed()
        verify_position("update_progress", position, self.record.lineage)
        self._write(evolve(self.record, position=position, update_unfinished=False))
        self._settle(now)

    def update_done(self, now: float, position: Position | None) -> None:
        """The update is complete, and the store's data ends at `position`."""
        self.update_progress(now, position)
        self.source = None
        if self.phase is Phase.JOINING:
            self._hello_to_members()

    def _require_thawed(self) -> None:
        if self.is_frozen:
            raise MisuseError(
                f"{self.config.member} is told of new data while the next view is chosen",
                next="ask `is_frozen` before the data of an update is touched, and wait",
            )

    def leave(self, now: float) -> None:
        """This member is to leave the cluster, in order; the others go on.

        Where it reaches no majority of the electors, nobody can let it go: it just stops, and
        stays who it is.
        """
        self.leaves = True
        tip = self.view
        if tip is None or not tip.is_open or self.seat not in tip.members:
            self._end(now)  # it is in no view that runs
        else:
            self._soon(now)

    def shutdown_cluster(self, now: float) -> None:
        """The whole cluster is to stop, in order (S2).

        Where none runs, and where this member is in no view, it just ends: ask one that is
        active.
        """
        tip = self.view
        if tip is None or not tip.is_open or self.seat not in tip.members:
            self._end(now)
        else:
            self.closes = True
            self._soon(now)

    def _end(self, now: float) -> None:
        if self.phase in RUNNING:
            self.is_done = True
            self._settle(now)

    def register_says(self, now: float, view: View) -> None:
        """The outside register holds `view` as the successor of its parent."""
        if isinstance(self.choice, OutsideChoice) and self.phase in RUNNING:
            self._take(now, self.choice.decided(view))
            self._settle(now)

    def register_free(self, now: float, parent: ViewId, asked: float) -> None:
        """The outside register answers `ReadRegister(parent, asked)`: no successor yet.

        It counts from the asking on: what the answer says may be as old as the question.
        """
        if self.phase in RUNNING and self._is_tip(parent):
            until = asked + _BEATS * self.config.heartbeat
            self.free_until = max(until, self.free_until or until)
            self._settle(now)

    def _read_register(self, now: float) -> None:
        tip = self.view
        if self.config.outside and self.config.heartbeat and tip is not None and tip.is_open:
            self._out.act(ReadRegister(tip.id, now))

    def _is_tip(self, view: ViewId) -> bool:
        return self.view is not None and self.view.id == view

    # -- frames ----------------------------------------------------------------------------

    def may_append(self, view: ViewId, seq: int) -> Frame:
        """Return whether the frame `seq` of `view` may be written, and acknowledged then."""
        tip = self.view
        if tip is None or (tip.id != view and not self._is_lax_about(view)):
            return Frame.OTHER_VIEW
        if self.choice.is_frozen and Guard.FROZEN not in self.left_out:
            return Frame.FROZEN
        if self.ready_in != tip.id or not tip.is_open:
            return Frame.NOT_READY
        last = self.record.position
        expected = 1 if last is None else last.seq + 1
        if seq == expected:
            return Frame.TAKE
        return Frame.GAP if seq > expected else Frame.ALREADY_THERE

    def _is_lax_about(self, view: ViewId) -> bool:
        known = self.record.lineage.number_of(view) is not None
        return Lapse.FENCING in self.left_out and known

    def appended(self, view: ViewId, seq: int, *, first: int | None = None) -> None:
        """The frame `seq` of `view` is durable here; its position is durable with it.

        `first`: so are all from this one on, written together; None: it alone.

        Raises `MisuseError` where `may_append` does not say `TAKE`.
        """
        # Otherwise: the host asks, then answers a ballot ("my data ends at 4"), then writes
        # frame 5 and acknowledges it, and the next view starts at 4.
        first = seq if first is None else first
        answer = self.may_append(view, first)
        if answer is not Frame.TAKE or seq < first:
            raise MisuseError(
                f"frame {seq} was written: {answer.value}",
                next="ask `may_append` right before, and tell the member nothing in between",
            )
        record = evolve(self.record, position=Position(view, seq))
        self.choice = self.choice.with_record(record)
        # A record that is still to be written must not take the frame back.
        self._out.renew(record)

    # -- the loop --------------------------------------------------------------------------

    def poll(self) -> Batch:
        """Return what is to be done, in the order of `Batch`; the same until `advance`."""
        return self._out.poll()

    def advance(self, batch: Batch) -> None:
        """`batch` is performed: its record is durable, its messages are on their way.

        What has happened since it was polled is in the next one.  Raises `MisuseError` for
        another batch than the one that `poll` gave last.
        """
        self._out.advance(batch)

    # -- settling: the phase follows from the facts ------------------------------------------

    def facts(self) -> Facts:
        """Return what the table of phases is asked about."""
        tip, record = self.view, self.record
        if tip is None:
            return Facts(is_aborted=self.verdict is not None, is_done=self.is_done)
        is_ready = self.ready_in == tip.id
        unfinished = record.update_unfinished
        if Weakness.UNFINISHED_COUNTS in self.left_out:
            unfinished = False
        at_start = record.position == tip.position and not unfinished
        everyone = self.heard.ready | ({self.seat} if is_ready else set())
        return Facts(
            is_aborted=self.verdict is not None,
            is_done=self.is_done or self._leaves_alone(tip),
            has_tip=True,
            is_open=tip.is_open,
            is_member=self.seat in tip.members,
            is_frozen=self.choice.is_frozen,
            has_data=is_ready or at_start,
            is_ready=is_ready,
            was_ready=record.held == tip.id and not is_ready,
            has_options=is_ready
            or self.config.digest == tip.options_digest
            or Shortcut.OPTIONS in self.left_out,
            all_ready=tip.members <= everyone,
            has_n=tip.activated or len(tip.members) >= tip.wait_for,
            hears_majority=self._hears_majority(tip),
        )

    def _settle(self, now: float) -> None:
        if self.free_until is not None and now >= self.free_until:
            self.free_until = None
        table = machine(frozenset(rule for rule in self.left_out if isinstance(rule, Guard)))
        while True:
            before = self.phase
            if before not in RUNNING:
                return
            step = table.step(self, "settle", (self.facts(),), 0)
            changed = before is not self.phase
            if changed:
                event = PhaseChanged(before, self.phase, step.case.label, step.case.name)
                self._out.say(event)
                if before in ON_LEAVING:
                    self._do(ON_LEAVING[before])
            for deed in step.case.effects:
                if changed or deed is Deed.HOLD:
                    self._do(Deed(deed))
            if not changed and Deed.HOLD not in step.case.effects:
                break
        self._find_source()
        self._arm(now)

    def _do(self, deed: Deed) -> None:
        tip = self.view
        match deed:
            case Deed.CLOSE_FOR_CLIENTS:
                self._out.close(_CLOSING.get(self.phase, _NEXT))
            case Deed.OPEN_FOR_CLIENTS if tip is not None:
                self.was_active = True
                self._out.act(OpenForClients(tip, self.is_sequencer))
            case Deed.SAY_HELLO:
                self._hello_to_members()
            case Deed.HOLD if tip is not None:
                self.ready_in = tip.id
                self.saw_it_run = False
                self._write(evolve(self.record, held=tip.id), unless=Lapse.HELD_PERSISTED)
                if self._neglects_dirt(tip):
                    self._out.persist(None)
                for name in self._neighbours():
                    self._send(name, Ready(tip.id, self.seat))
            case Deed.STOP:
                self._out.act(Stop(self.record.state is Store.CLEAN))
            case Deed.ABORT if self.verdict is not None:
                self._out.act(self.verdict)

    def _leaves_alone(self, tip: View) -> bool:
        """Return whether it is to leave, and nobody can choose a view without it."""
        if not self.leaves or not tip.is_open or self.config.outside:
            return False
        return not tip.is_majority(self.heard.reached(tip, self.seat))

    def _hears_majority(self, tip: View) -> bool:
        if self.config.outside:
            # Who cannot ask the register may be served while others go on (3.7).
            return self.free_until is not None or not self.config.heartbeat
        return self.heard.is_majority(tip, self.seat)

    def _find_source(self) -> None:
        """Start an update from somebody who is ready, if this member needs one."""
        tip = self.view
        if self.phase is not Phase.UPDATING or self.source is not None or tip is None:
            return
        names = {seat.member for seat in self.heard.ready} & self.heard.in_reach
        source = min(names, default=None)
        if source is not None:
            self._start_update(source, tip, beside=False)

    def _start_update(self, source: str, tip: View, *, beside: bool) -> None:
        self.source = source
        if Lapse.MARKED_LATE in self.left_out:
            self._write(evolve(self.record, update_unfinished=True))
        to = None if beside else tip.position
        self._out.act(StartUpdate(source, tip, to, beside))
        self._send(source, WantUpdate(tip.id))

    # -- choosing the next view --------------------------------------------------------------

    def _reason_to_begin(self) -> str | None:
        """Return why this member would have the next view chosen, None: it would not."""
        tip = self.view
        if not self.choice.may_begin or self.choice.is_free:
            return None
        if tip is None:
            names = self.heard.in_reach | {self.config.member}
            return "found" if self.config.electors <= names or self._may_found(names) else None
        if not tip.is_open:
            return "restart"
        if self.phase is Phase.FROZEN:
            return "finish"
        if self.record.held == tip.id and self.ready_in != tip.id:
            return "restarted"
        if self.phase is Phase.INITIALIZING:
            return "other options"
        if self.leaves:
            return "leave"
        if self.closes:
            return "close"
        if self.heard.guests:
            return "take in"
        if self.heard.lacks(tip, self.seat):
            return "give up"
        return None

    def _may_found(self, names: frozenset[str]) -> bool:
        found_with = self.config.found_with
        return found_with is not None and len(self.config.electors & names) >= found_with

    def _begin(self, now: float) -> None:
        self.tries += 1
        self.heard = self.heard.asking()
        self._take(now, self.choice.begin(also=self.heard.in_reach))
        if self.choice.attempt is not None:
            ballot = self.choice.attempt.ballot
            self.pace = self.pace.given_to(now, self.config.member).asking(now, ballot)

    def _is_held(self, now: float, by_other_than: str) -> bool:
        """Return whether another one's ballot is left its time: a later one would end it."""
        until = self.pace.held_until(by_other_than, self._pause())
        is_own = self.pace.holder == self.config.member
        is_alive = self.choice.attempt is not None if is_own else self.choice.is_frozen
        return is_alive and until is not None and now < until

    def _is_out_of_turn(self, now: float, peer: str, asked: Prepare) -> bool:
        # Otherwise one that is started again and again begins everybody's ballot anew.  Without
        # heartbeats whoever is not answered here stays out: nothing makes it ask again.
        if not self.config.heartbeat:
            return False
        promised = self.record.promised
        is_later = promised is not None and asked.ballot > promised
        return asked.parent == self.choice.parent and is_later and self._is_held(now, peer)

    def _turn(self, now: float) -> float | None:
        """Return when it is this member's turn to begin a ballot, None: it is."""
        if self._is_held(now, self.config.member):
            return self.pace.next_turn(self._pause(), self._rank())
        return self.pace.deferred_until(self.heard.in_reach, self._pause() * (1 + self._rank()))

    def _rank(self) -> int:
        """Return how many of those in reach go before this member: the least name goes first."""
        return sum(1 for name in self.heard.in_reach if name < self.config.member)

    def _pause(self) -> float:
        return self.pace.patience(self.config.patience)

    def _ask_again(self, now: float) -> None:
        """Ask those who have not answered the own ballot, if it still waits for somebody."""
        if self.choice.is_free:
            self._take(now, self.choice.ask(self.heard.silent(set(self.heard.in_reach))))

    def _consider(self, now: float, *, is_patient: bool) -> None:
        """Decide on the next view, if the ballot is free for one."""
        if not self.choice.is_free:
            return
        if is_patient and self.heard.silent(self._expected()):
            return
        lineage = self.record.lineage
        weak = frozenset(rule for rule in self.left_out if isinstance(rule, Weakness))
        self.leave_told = self.leaves
        answers = {*self.heard.answers, self.status}
        own = {item for item in answers if not self.is_copy(item.seat)}
        evidence = Evidence.of(lineage, own, weak)
        proposer = Proposer(
            config=self.config,
            seat=self.seat,
            guests=frozenset(seat for seat in self.heard.guests if not self.is_copy(seat)),
            apart=self.heard.apart,
            closes=self.closes,
            nonce=self._nonce(),
            time=self.epoch + int(now * 1000),
            digest=self.digest,
            left_out=frozenset(rule for rule in self.left_out if isinstance(rule, Shortcut)),
        )
        try:
            self._propose(now, proposer, evidence)
        except Malformed as error:
            # What these stores say cannot be: a fork, or data that was changed from outside.
            self._out.say(Waiting("3.4", IMPOSSIBLE, Reason.NO_CLEAN_STORE, str(error)))

    def is_copy(self, seat: Seat) -> bool:
        """Return whether another member has a store with this id; the members' are their own."""
        is_lax = Lapse.COPIES in self.left_out
        return not is_lax and self.heard.is_copy(seat, self.view, self.seat)

    def _propose(self, now: float, proposer: Proposer, evidence: Evidence) -> None:
        table, case = proposer.decide(evidence)
        if case.outcome is Next.ABORT:
            reason = case.reason or Reason.OPTIONS_DIFFER
            self._out.say(Forbids(case.label, case.name, reason, table.name))
            self._abort_all(reason)
        elif case.outcome.kind is None:
            self._out.say(Waiting(case.label, case.name, case.reason, table=table.name))
        else:
            view = proposer.view(case.outcome.kind, evidence)
            if self._yields(now, proposer, view, evidence):
                self._out.say(Waiting("3.4", BETTER, Reason.TOO_FEW_MEMBERS, _named(view)))
                return
            self._out.say(Proposes(case.label, case.name, view, table.name))
            self.heard = self.heard.without_answers()  # another attempt asks again
            self._take(now, self.choice.propose(view))

    def _yields(self, now: float, proposer: Proposer, view: View, evidence: Evidence) -> bool:
        """Return whether others have their turns first, because they may hear more of each other.

        For one turn of each, and in so many ballots, at most.
        """
        tip = self.view
        if tip is None or view.kind is not Kind.CHANGE or Shortcut.TOGETHER in self.left_out:
            return False
        turns = len(tip.members | tip.electors)
        until = self.pace.next_turn(self._pause(), turns)
        if self.pace.turns > turns or now >= until:
            return False
        return proposer.yields(view, evidence, self.heard.misses(tip, self.seat))

    def _say_who_is_silent(self) -> None:
        attempt = self.choice.attempt
        if attempt is not None:
            about = self.heard, self.view, self.config, self.seat
            detail = unanswered(attempt, self._expected(), *about)
            self._out.say(Waiting("I1", SILENT, Reason.TOO_FEW_MEMBERS, detail))

    def _say_for_whom(self) -> None:
        about = self.heard, self.view, self.config, self.seat
        table = awaiting()
        case = table.choose((row_of(self.facts(), *about),), 0)
        detail = named(case.outcome, *about)
        self._out.say(Waiting(case.label, case.name, case.reason, detail, table.name))

    def _expected(self) -> set[str]:
        """Return the names whose answers are worth waiting for.

        Those in reach, where this member runs; else also those that may be on their way back:
        the more answer, the more data is there.
        """
        tip = self.view
        names = set(self.heard.in_reach)
        if tip is None:
            names |= self.config.electors
        elif self.ready_in != tip.id:
            names |= {seat.member for seat in tip.members | tip.electors}
        return names - {self.config.member}

    def _nonce(self) -> str:
        promised = self.record.promised
        return self.seed if promised is None else f"{self.seed}:{promised.round}"

    def _hear_choice(
        self,
        now: float,
        peer: str,
        message: Prepare | Promise | Accept | Voted | Nack | Chosen,
    ) -> None:
        if isinstance(message, Prepare) and self._is_out_of_turn(now, peer, message):
            return
        asked = message if message.parent == self.choice.parent else None
        # What it raises must have changed nothing.
        step = self.choice.receive(peer, message)
        if isinstance(message, Promise | Voted):
            self.pace = self.pace.answered(now, message.ballot)
        if isinstance(message, Promise) and self._collects(message):
            answer = message.answer
            if answer is None or answer.seat != message.voter or answer.seat.member != peer:
                raise Malformed("answer", Said(str(answer)), f"the status of {peer}, who sent it")
            self.heard = self.heard.answered(answer, message.misses)
        self._take(now, step)
        if isinstance(asked, Prepare) and self.record.promised == asked.ballot:
            self.pace = self.pace.given_to(now, peer)

    def _collects(self, promise: Promise) -> bool:
        attempt = self.choice.attempt
        is_open = attempt is not None and attempt.proposed is None
        return is_open and promise.parent == self.choice.parent

    def _take(self, now: float, step: Step) -> None:
        """Go where the choice leads, and do what it asks for."""
        self.choice = step.choice
        if self.choice.is_frozen:
            self.heard = self.heard.without_ready()
        for effect in step.effects:
            match effect:
                case PersistRecord(record):
                    self._out.persist(record)
                case SendTo(to, Promise() as promise):
                    answer = self._answer_for(promise)
                    # Whoever asks is heard.
                    misses = self.heard.misses(self.view, self.seat) - {to}
                    self._send(to, evolve(promise, answer=answer, misses=misses))
                case SendTo(to, message):
                    self._send(to, message)
                case LearnedViews(views):
                    self._learned(views)
                    self._read_register(now)
                case OutOfStep(sender, _):
                    self._send(sender, self._hello())
                case AskRegister(parent, view):
                    self._out.act(CompareAndSet(parent, view))
                case Outbid():
                    self.patience_until = now + self._patience()
                case Free():
                    self._consider(now, is_patient=True)

    def _answer_for(self, promise: Promise) -> Answer:
        if promise.parent != self.choice.parent:
            # Only where a rule is left out: a store with a tip speaks as if it were empty.
            return Answer(seat=self.seat, options=self.config.digest)
        self.leave_told = self.leaves
        return self.status

    def _learned(self, views: tuple[View, ...]) -> None:
        before = self.record.lineage.find(views[0].parent) if views[0].parent else None
        tip = views[-1]
        self._out.say(*map(Learned, views))
        self.heard = self.heard.in_view(tip)
        self.source = None
        self.was_active = False
        self.free_until = None
        self.tries = 0
        self.pace = self.pace.learned()
        self.patience_until = None
        was_ready = before is not None and self.ready_in == before.id
        # A CLOSE behind what ran while this process did is meant for it, too.  Who was started
        # later learns of it from others that were, and takes part in the restart.
        if not tip.is_open and (self.ready_in is not None or self.saw_it_run or self.closes):
            self.is_done = True
        self.closes = self.closes and tip.is_open and self.seat in tip.members
        if not tip.is_open and was_ready and Lapse.JOINER_NOT_CLEAN in self.left_out:
            self._write(evolve(self.record, position=tip.position))
        if self._neglects_dirt(tip):
            self._out.persist(None)
        if self.leaves and self.seat in tip.members and self.leave_told:
            self.leaves = False
            self._out.say(Refusal(self.config.member, "it may not leave: no store would stay"))
        self.leave_told = False
        if self.leaves and self.seat not in tip.members and before is not None:
            # It stays until the others know: see `_hear_ready`.
            self._hear_of_leaving(tip)

    def _hear_of_leaving(self, tip: View) -> None:
        if self.config.outside:
            # The register tells everybody; one that is ready has the data.
            others, enough = tip.members, 1
        else:
            others = tip.electors - {self.seat}
            enough = len(tip.electors) // 2 + 1 - len(tip.electors - others)
        if len(self.heard.ready & others) >= enough or not others:
            self.is_done = True

    # -- messages of members -----------------------------------------------------------------

    def _hello(self) -> Hello:
        lineage = self.record.lineage
        tip = lineage.tip
        return Hello(
            self.status,
            None if tip is None else tip.id,
            lineage.length,
            lineage.initial,
            self.config.cluster_name,
            frozenset() if tip is not None and self.seat in tip.members else self.heard.in_reach,
        )

    def _hello_to_members(self) -> None:
        for name in self._neighbours():
            self._send(name, self._hello())

    def _neighbours(self) -> list[str]:
        tip = self.view
        if tip is None:
            return sorted(self.heard.in_reach)
        names = {seat.member for seat in tip.members}
        parent = None if tip.parent is None else self.record.lineage.find(tip.parent)
        if parent is not None:
            # A leaver waits until the others know.
            names |= {seat.member for seat in parent.members}
        return sorted(names - {self.config.member})

    def _hear_hello(self, now: float, peer: str, hello: Hello) -> None:
        tip = self.view
        if hello.status.ran_on and tip is not None and tip.is_open and hello.tip == tip.id:
            self._sees_it_run()
        self._notice(hello.status.seat)
        self.pace = self.pace.greeted_by(peer, ran_on=hello.status.ran_on)
        row = self.row_of(hello)
        case = admission().choose((row,), 0)
        match case.outcome:
            case Admit.REFUSE:
                found, expected = mismatch(case.name, hello, self.record.lineage, self.config)
                reason = case.reason or Reason.WRONG_STORE
                self._send(peer, Refused(reason, found, expected))
                self._out.say(Refusal(peer, f"{case.label} {case.name}: {found}"))
                if row.is_foreign or row.has_diverged:
                    self._cannot_join(peer, Abort(reason, expected, f"{found}, as {peer}", False))
            case Admit.TELL:
                self._tell(peer, hello.tip, hello.number)
            case Admit.ASK:
                self._send(peer, self._hello())
            case Admit.UPDATE if tip is not None and self.phase is Phase.ACTIVE:
                self._send(peer, Welcome(tip.id))
            case Admit.TAKE_IN if tip is not None and self.seat in tip.members:
                self.heard = self.heard.with_guest(hello.status.seat)
                self._soon(now)
            case Admit.KNOWN if tip is not None and self.ready_in == tip.id:
                self._send(peer, Ready(tip.id, self.seat))

    def row_of(self, hello: Hello) -> Newcomer:
        """Return what the table of admission is asked about whoever says hello."""
        return newcomer(
            hello,
            self.record.lineage,
            self.config,
            is_active=self.was_active,
            is_copy=self.is_copy(hello.status.seat),
            in_reach=frozenset() if Lapse.APART in self.left_out else self.heard.in_reach,
        )

    def _notice(self, seat: Seat) -> None:
        if Lapse.REPLACED not in self.left_out:
            self.heard = self.heard.noticing(seat, self.view)

    def _sees_it_run(self) -> None:
        self.saw_it_run = self.ready_in is None

    def _hear_welcome(self, peer: str, welcome: Welcome) -> None:
        tip = self.view
        is_waiting = self.phase is Phase.JOINING and self.source is None
        if tip is not None and tip.id == welcome.view:
            self._sees_it_run()
        # Its data stands still while its answer counts.
        is_waiting = is_waiting and not self.choice.is_frozen
        if is_waiting and tip is not None and welcome.view == tip.id:
            self._start_update(peer, tip, beside=True)

    def _hear_refused(self, peer: str, refused: Refused) -> None:
        self._out.say(Refusal(peer, f"it refuses us: {refused.reason.value}"))
        expected = f"{refused.expected}, says {peer}"
        self._cannot_join(peer, Abort(refused.reason, refused.found, expected, False))

    def _cannot_join(self, peer: str, verdict: Abort) -> None:
        """`peer` and this store can never be in one cluster; see what that means here.

        Only the newcomer stops, a running view is not disturbed.  Before there is one, all who
        count stop (I2, I4).  A newcomer stops if all members in reach refuse it, and a member
        that waits for the others if so many of them are strangers that it would wait for ever.
        """
        tip = self.view
        seats = frozenset() if tip is None else tip.members | tip.electors
        names = self.config.electors | {seat.member for seat in seats}
        if peer not in names:
            return
        self.heard = self.heard.with_stranger(peer)
        if tip is None or not tip.is_open:
            is_over = True
        elif self.seat not in tip.members:
            is_over = not (names & self.heard.in_reach) - self.heard.strangers
        elif verdict.reason is not Reason.WRONG_STORE or self.phase is Phase.ACTIVE:
            is_over = False
        else:
            is_over = self.heard.is_cut_off(tip, self.seat, self.config)
        if is_over:
            self.verdict = verdict

    def _hear_ready(self, peer: str, heard: Ready) -> None:
        tip = self.view
        if tip is None or heard.view != tip.id or heard.seat.member != peer:
            return
        self._sees_it_run()
        # Who is frozen becomes neither ready nor active in this view any more.
        if heard.seat in self.heard.ready or self.choice.is_frozen:
            return
        self.heard = self.heard.with_ready(heard.seat)
        if self.ready_in == tip.id and heard.seat in tip.members:
            # It may have learned of the view after we said so.
            self._send(peer, Ready(tip.id, self.seat))
        if self.leaves and self.seat not in tip.members:
            self._hear_of_leaving(tip)

    def _hear_want_update(self, peer: str, wanted: WantUpdate) -> None:
        tip = self.view
        if tip is not None and wanted.view == tip.id and self.ready_in == tip.id:
            self._out.act(ServeUpdate(peer, tip))

    def _hear_heartbeat(self, peer: str, beat: Heartbeat) -> None:
        self._notice(beat.seat)
        lineage = self.record.lineage
        known = lineage.id_at(beat.number) if beat.number else None
        if beat.number > lineage.length or (beat.number and known != beat.tip):
            self.heard = self.heard.with_beyond(beat.seat)
            self._send(peer, self._hello())
        elif beat.number < lineage.length:
            self.heard = self.heard.without_beyond(beat.seat)
            self._tell(peer, beat.tip, beat.number)
        elif beat.is_frozen:
            self.heard = self.heard.with_beyond(beat.seat)
        elif self._waits_for(beat.seat):
            # Our hello was lost, or came before anybody was active; nobody else begins again.
            self._send(peer, self._hello())

    def _tell(self, peer: str, tip: ViewId | None, number: int) -> None:
        later = Chosen.telling(tip, number, self.record.lineage)
        if later is not None:
            self._send(peer, later)

    def _waits_for(self, seat: Seat) -> bool:
        """Return whether an answer to a hello would help: a Welcome, or that `seat` is ready."""
        if self.phase in (Phase.JOINING, Phase.UPDATING):
            return self.source is None
        return self.phase is Phase.READY and seat not in self.heard.ready

    def _abort_all(self, reason: Reason) -> None:
        """The initial members cannot start together: all of them stop, nothing is written."""
        theirs = sorted({f"{item.options} at {item.seat.member}" for item in self.heard.answers})
        found = ", ".join([f"{self.config.digest} at {self.config.member}", *theirs])
        expected = "the same in all members"
        self.verdict = Abort(reason, found, expected, False)
        for item in sorted(self.heard.answers, key=lambda one: _by_name(one.seat)):
            self._send(item.seat.member, Refused(reason, found, expected))

    # -- small parts -------------------------------------------------------------------------

    def _write(self, record: StoreRecord, *, unless: Lapse | None = None) -> None:
        if record != self.record:
            self.choice = self.choice.with_record(record)
            if unless not in self.left_out:
                self._out.persist(record)

    def _neglects_dirt(self, tip: View) -> bool:
        # The RESTART on its disk is what makes a clean store dirty (S2).
        return Lapse.TIP_PERSISTED in self.left_out and tip.kind is Kind.RESTART

    def _send(self, to: str, message: Message) -> None:
        self._out.send(to, message)

    def _soon(self, now: float) -> None:
        self.patience_until = now

    def _patience(self) -> float:
        """Return how long it waits: the least of those in reach goes first, others back off."""
        # Longer each time: where disks are slow, a ballot takes longer than patience, and the
        # next one makes its promises worthless.  Two rivals fall out of step, too.
        return self._pause() * (1 + self._rank()) * 2.0 ** min(max(0, self.tries - 1), TRIES_MAX)

    def _arm(self, now: float) -> None:
        """Wait no longer than patience allows, where there is something to wait for."""
        waits = self.choice.is_free or self._reason_to_begin() is not None
        if self.phase not in RUNNING or not waits:
            self.patience_until = None
        elif self.patience_until is None:
            self.patience_until = now + self._patience()
        is_served = self.phase not in RUNNING or self.phase is Phase.ACTIVE
        if is_served or self.patience_until is not None or self.source is not None:
            self.says_at = None
        elif self.says_at is None:
            self.says_at = now + self._pause()


TRIES_MAX = 4
"""After so many ballots in vain patience grows no more."""

_BEATS = 2
"""For so many heartbeats an answer of the register counts."""

_NEXT = Closing.NEXT_VIEW
_CLOSING = {
    Phase.SUSPENDED: Closing.NO_MAJORITY,
    Phase.STOPPED: Closing.STOPPED,
    Phase.ABORTED: Closing.ABORTED,
}


def _named(view: View) -> str:
    return f"this one would be {' '.join(sorted(seat.member for seat in view.members))} alone"


def _by_name(seat: Seat) -> str:
    return seat.member
