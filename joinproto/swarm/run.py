"""One run: a scenario, played from its first deed to its end.

A storm of deeds comes first.  Then faults stop, all that have disks are started, and the cluster
has to serve; last, in some runs, it is shut down in order, and started again.
"""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from random import Random
from shutil import rmtree

from attrs import define, evolve, field, frozen

from joinproto.core.chain.ids import ViewId
from joinproto.core.chain.member import Member
from joinproto.core.chain.messages import Learned as LearnedView
from joinproto.core.chain.messages import PhaseChanged, Proposes, Refusal, Waiting
from joinproto.core.chain.store import StoreRecord
from joinproto.core.chain.view import Position, View
from joinproto.drivers.ports import Channel
from joinproto.log.replicated import ReplicatedLog
from joinproto.swarm.host import Clients, Clock, Process
from joinproto.swarm.network import Network
from joinproto.swarm.oracle import STUCK, Oracle, Violation
from joinproto.swarm.place import Died, Place
from joinproto.swarm.rest import Up, newest, who_must_serve
from joinproto.swarm.scenario import Deed, Scenario, What

CLUSTER = "swarm"

PATIENCES_MOST = 400
"""So many times its patience a cluster has to serve again, and to come to rest."""

PATIENCES_OF_REST = 6

EVENTS_MOST = 200_000


@frozen(kw_only=True)
class Outcome:
    """What came of a run.  `claim`: what did not hold, "": all did; `what`: as it was seen.

    `opened`: how often a member began to serve.  `acked`: frames that were acknowledged.
    """

    scenario: Scenario
    events: int
    claim: str = ""
    what: str = ""
    at: float = 0.0
    opened: int = 0
    acked: int = 0
    story: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_stuck(self) -> bool:
        return self.claim in STUCK

    @property
    def failed(self) -> bool:
        return self.claim != ""


def run(
    scenario: Scenario, *, start: Callable[..., Member] = Member.start, tells: bool = False
) -> Outcome:
    """Play the scenario and return what came of it; the same for the same scenario.

    `start`: makes the members, as `Member.start` does.  `tells`: with the story.
    """
    top = Path(tempfile.mkdtemp(prefix="swarm-", dir=_FAST if _FAST.is_dir() else None))
    it = Run(scenario, start, top, tells=tells)
    claim = what = ""
    try:
        it.play()
    except Violation as found:
        claim, what = found.claim, found.what
    finally:
        it.end()
        rmtree(top, ignore_errors=True)
    return Outcome(
        scenario=scenario,
        events=it.events,
        claim=claim,
        what=what,
        at=it.now,
        opened=it.oracle.served,
        acked=it.oracle.acked,
        story=tuple(it.story),
    )


_FAST = Path("/dev/shm")


@define(eq=False)
class Run:
    """The state of a run; see the head of this file."""

    scenario: Scenario
    start: Callable[..., Member]
    top: Path
    tells: bool = False
    now: float = 0.0
    events: int = 0
    story: list[str] = field(factory=list)
    processes: dict[str, Process] = field(factory=dict)
    places: dict[str, Place] = field(factory=dict)
    oracle: Oracle = field(init=False)
    network: Network = field(init=False)
    _chance: Random = field(init=False)
    _clocks: dict[str, Clock] = field(factory=dict)
    _queue: list[tuple[float, int, Callable[[], None]]] = field(factory=list)
    _count: count[int] = field(factory=count)
    _wakes: dict[str, float] = field(factory=dict)
    _power: set[str] = field(factory=set)
    _gone: set[str] = field(factory=set)
    _options: dict[str, str] = field(factory=dict)
    _register: dict[ViewId | None, View] = field(factory=dict)
    _no_register: dict[str, float] = field(factory=dict)
    _said: dict[str, str] = field(factory=dict)
    _written: int = 0
    _acked_at: float = -1.0
    _is_calm: bool = False

    def __attrs_post_init__(self) -> None:
        it = self.scenario
        self._chance = Random(f"run {it.seed}")
        self.oracle = Oracle(it, lambda: iter(self.processes.values()), self._records)
        self.network = Network(it, self)
        for name, rate in zip(it.members, it.drift or (1.0,) * len(it.members), strict=False):
            self._clocks[name] = Clock(rate, ahead=ord(name) % 7)
            self.places[name] = Place(
                name, CLUSTER, self.top / name, name in it.transients, it.on_disk
            )

    # -- time ----------------------------------------------------------------------------------

    def play(self) -> None:
        """Play all of it; raises `Violation`."""
        for deed in self.scenario.deeds:
            self._advance(deed.at)
            self._tell(str(deed))
            self._do(deed)
        self._advance(self.now + self.scenario.patience)
        self._calm()

    def later(self, seconds: float, deed: Callable[[], None]) -> None:
        heappush(self._queue, (self.now + seconds, next(self._count), deed))

    def _advance(self, until: float) -> None:
        queue = self._queue
        while queue and queue[0][0] <= until:
            at, _, deed = heappop(queue)
            self.now = max(self.now, at)
            self.events += 1
            if self.events > EVENTS_MOST:
                raise Violation("serves_again", f"no end after {EVENTS_MOST} events")
            deed()
        self.now = max(self.now, until)

    def _tell(self, text: str) -> None:
        if self.tells:
            self.story.append(f"{self.now:9.3f} s  {text}")

    # -- processes -----------------------------------------------------------------------------

    def is_up(self, name: str) -> bool:
        return name in self.processes

    def _begin(self, name: str) -> None:
        if name in self.processes or name in self._gone:
            return
        self.oracle.starts += 1
        place, clock = self.places[name], self._clocks[name]
        try:
            disk = place.open()
        except Exception as error:
            raise self._error(name, error) from error
        clients = Clients()
        log = ReplicatedLog(disk.journal, clients)
        log.origin = f"{name}{self.oracle.starts}"
        config = self.scenario.config(name, options=self._options.get(name, "default"))
        config = evolve(config, cluster_name=CLUSTER)
        seed = f"{self.scenario.seed}.{self.oracle.starts}"
        try:
            member = self.start(clock.read(self.now), config, disk.record, seed=seed)
        except Exception as error:
            disk.close()
            raise self._error(name, error) from error
        process = Process(
            member, log, place, disk, _Wires(self, name), self, clock, lambda: self.now, name,
            self._chance,
        )  # fmt: skip
        clients.process = process
        log.attach(process)
        self.processes[name] = process
        self._step(name)
        self.network.look()

    def _step(self, name: str, deed: Callable[[Process], None] | None = None) -> None:
        """Let the process do something, and all that follows."""
        process = self.processes.get(name)
        if process is None:
            return
        try:
            process.step(None if deed is None else lambda: deed(process))
        except Died:
            self._tell(f"{name} dies")
            if process.place.dies_feeding:
                self._gone.add(name)
            self._kill(name)
            return
        except Violation:
            raise
        except Exception as error:
            raise self._error(name, error) from error
        if not process.runs:
            self._tell(f"{name} ends: {process.ended}")
            self._kill(name)
            return
        self._wake(process)

    def _error(self, name: str, error: Exception) -> Violation:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}, {frame.name}"
        return Violation("no_error", f"{name}: {type(error).__name__}: {error} ({where})")

    def _wake(self, process: Process) -> None:
        due = process.deadline
        if due is None:
            return
        due = max(due, self.now) + 1e-9
        if self._wakes.get(process.name, -1.0) >= self.now and self._wakes[process.name] <= due:
            return
        self._wakes[process.name] = due

        def wake() -> None:
            if self._wakes.get(process.name) == due:
                del self._wakes[process.name]
                if self.processes.get(process.name) is process:
                    self._step(process.name)
            else:
                self.events -= 1

        self.later(due - self.now, wake)

    def _kill(self, name: str) -> None:
        process = self.processes.pop(name, None)
        if process is None:
            return
        self._wakes.pop(name, None)
        process.disk.close()
        process.place.process_ends(power=self._chance if name in self._power else None)
        self._power.discard(name)
        self.network.ended(name)

    def end(self) -> None:
        """Close all files."""
        for process in self.processes.values():
            process.disk.close()

    def _records(self) -> dict[str, StoreRecord]:
        records = {}
        for name, place in self.places.items():
            process = self.processes.get(name)
            if place.record is not None and (process is not None or not place.is_transient):
                records[name] = place.record
        return records

    # -- what happens to them ------------------------------------------------------------------

    def _do(self, deed: Deed) -> None:
        who, place = deed.who, self.places.get(deed.who)
        match deed.what:
            case What.START:
                self._begin(who)
            case What.CRASH:
                self._kill(who)
            case What.FEEDS:
                self.places[who].dies_feeding = True
            case What.CRASH_SOON | What.POWER | What.GONE:
                if deed.what is What.GONE:
                    self._gone.add(who)
                if who in self.processes:
                    self.places[who].dies_in = int(deed.amount)
                    if deed.what is What.POWER:
                        self._power.add(who)
            case What.CUT:
                self.network.cut(pair for pair in ((who, deed.others), (deed.others, who)))
            case What.DEAF:
                self.network.cut([(who, deed.others)])
            case What.BREAK:
                self.network.lose(who, deed.others)
            case What.SPLIT:
                here = {who, *deed.others}
                away = set(self.scenario.members) - here
                self.network.mend()
                self.network.cut(
                    pair for x in sorted(here) for y in sorted(away) for pair in ((x, y), (y, x))
                )
            case What.HEAL:
                self.network.mend()
            case What.WRITE:
                self._write(who)
            case What.LEAVE:
                self._step(who, lambda it: it.member.leave(it.now()))
            case What.SHUTDOWN:
                self._step(who, lambda it: it.member.shutdown_cluster(it.now()))
            case What.JUMP:
                self._clocks[who].ahead += deed.amount
                self._step(who)
            case What.OPTIONS:
                self._options[who] = "other"
            case What.REGISTER_LOST:
                self._no_register[who] = self.now + deed.amount
            case What.WIPE | What.MARK | What.RESTORE if place is not None and not self.is_up(who):
                if deed.what is What.WIPE:
                    self._wipe(place)
                elif deed.what is What.MARK:
                    place.mark()
                else:
                    place.restore()
            case _:
                pass  # its disk is in use

    def _wipe(self, place: Place) -> None:
        if place.record is not None:
            seat = (place.member, place.record.store_id)
            views = self.oracle.views.values()
            for view in views:
                self.oracle.wiped |= {
                    item
                    for item in view.members | view.electors
                    if (item.member, item.store_id) == seat
                }
        place.wipe()

    def _write(self, name: str) -> None:
        process = self.processes.get(name)
        if process is None or not process.is_served:
            return
        self._written += 1
        body = f"w{self._written}".encode()

        def done(at: Position) -> None:
            self._acked_at = self.now
            self._tell(f"{body.decode()} of a client at {name} is acknowledged as frame {at.seq}")
            self.oracle.acknowledged(body, at)

        self._step(name, lambda it: it.submit(body, done))

    # -- what processes ask of the run ---------------------------------------------------------

    def tell_up(self, name: str, peer: str) -> None:
        self._step(name, lambda it: it.up(peer))

    def tell_down(self, name: str, peer: str) -> None:
        self._step(name, lambda it: it.down(peer))

    def deliver(self, name: str, peer: str, channel: Channel, content: object) -> None:
        self._step(name, lambda it: it.hear(peer, channel, content))

    def ask_register(
        self, process: Process, parent: ViewId | None, view: View | None, asked: float
    ) -> None:
        """Bring the question to the register, and its answer back; each takes its time."""
        name = process.name

        def delay() -> float:
            return self.scenario.delay * (0.2 + self._chance.expovariate(1.0))

        def asks() -> None:
            if self._no_register.get(name, -1.0) > self.now:
                return
            if view is not None and parent not in self._register:
                self._register[parent] = view
                self.oracle.chosen(view)
            there = self._register.get(parent)
            self.later(delay(), lambda: answers(there))

        def answers(there: View | None) -> None:
            if self.processes.get(name) is not process:
                return
            if there is not None:
                self._step(name, lambda it: it.member.register_says(it.now(), there))
            elif parent is not None and view is None:
                self._step(name, lambda it: it.member.register_free(it.now(), parent, asked))

        self.later(delay(), asks)

    # -- who watches ---------------------------------------------------------------------------

    def wrote(self, process: Process) -> None:
        self.oracle.wrote(process)

    def saw(self, process: Process, event: object) -> None:
        if self.tells:
            self._tell_event(process, event)
        self.oracle.saw(process, event)

    def opens(self, process: Process, view: View) -> None:
        self._tell(f"{process.name} serves {view}")
        self.oracle.opens(process, view)

    def has(self, process: Process, view: str, seq: int, digest: str) -> None:
        self.oracle.has(process, view, seq, digest)

    def applied(self, process: Process, seq: int, body: bytes) -> None:
        self.oracle.applied(process, seq, body)

    def _tell_event(self, process: Process, event: object) -> None:
        match event:
            case PhaseChanged(before, after, label, case):
                text = f"is {after.value}, was {before.value} ({label}: {case})"
            case LearnedView(view):
                text = f"learns {view}"
            case Proposes(label, case, view, _):
                text = f"proposes {view} ({label}: {case})"
            case Waiting(label, case, _, detail, _):
                text = f"waits ({label}: {case}{'; ' if detail else ''}{detail})"
            case Refusal(peer, what):
                text = f"refuses {peer}: {what}"
            case _:
                text = str(event)
        # What a member says again and again is told once.
        if self._said.get(process.name) != text:
            self._said[process.name] = text
            self._tell(f"{process.name} {text}")

    # -- rest ----------------------------------------------------------------------------------

    def _calm(self) -> None:
        """Stop all faults, start whoever can be started, and see whether the cluster serves."""
        it = self.scenario
        self.network.is_mended = True
        self._no_register.clear()
        for name, place in self.places.items():
            place.dies_in, place.dies_feeding = None, False
            self._power.discard(name)
            if self._options.pop(name, None) or name in self._gone:
                self._kill(name)
        if it.forgets:
            return
        if it.apart:
            self._tell(f"faults stop, but these stay apart: {' '.join(it.apart)}")
            self.network.mend(apart=it.apart)
            self._start_all()
            self._await_service()
        self._tell("faults stop, all links are whole")
        self.network.mend()
        self._start_all()
        if self._await_service() and it.ends:
            self._shut_down()

    def _start_all(self) -> None:
        for name in self.scenario.members:
            self._begin(name)

    def _await_service(self) -> bool:
        """Return whether it serves now; raises `Violation` where it must and does not."""
        patience = self.scenario.patience
        began = changed = self.now
        views = len(self.oracle.views)
        marked = self.scenario.automatic
        for turn in range(PATIENCES_MOST):
            self._advance(self.now + patience)
            for name in list(self.processes):
                self._write(name)
            if len(self.oracle.views) != views:
                views, changed = len(self.oracle.views), self.now
            if self.now - changed >= PATIENCES_OF_REST * patience and self._acked_at > changed:
                return True
            if turn % 20 == 19 and self._acked_at < began:
                if not marked:
                    marked = True
                    self._mark_all()
                elif not self._owing():
                    break
        owing = self._owing()
        if owing:
            serving = [p.name for p in self.processes.values() if p.opened is not None]
            raise Violation(
                "serves_again",
                f"{' '.join(owing)} hear each other and have all data; {newest(self.oracle)};"
                f" {views} views, serving: {' '.join(serving) or 'nobody'}; waiting:"
                f" {self._waits() or 'nobody says why'}",
            )
        says = any(it.waiting is not None or it.opened for it in self.processes.values())
        if self.processes and not says:
            phases = ", ".join(f"{p.name} {p.member.phase.value}" for p in self.processes.values())
            raise Violation("says_why", f"{phases}; {newest(self.oracle)}")
        return False

    def _waits(self) -> str:
        return "; ".join(
            f"{it.name}: {it.waiting.case} {it.waiting.detail}".rstrip()
            for it in self.processes.values()
            if it.waiting is not None
        )

    def _mark_all(self) -> None:
        self._tell("the operator stops all, marks their stores, and starts them")
        for name, place in self.places.items():
            self._kill(name)
            place.mark()
        self._start_all()

    def _owing(self) -> str:
        up = {
            name: Up(it.seat, it.member.record, it.disk.journal.runs, it.member.config.digest)
            for name, it in self.processes.items()
        }
        return who_must_serve(self.oracle, up, self.network.deaf)

    def _shut_down(self) -> None:
        """Close the cluster while one of its members has just come back, then start it again."""
        serving = sorted(p.name for p in self.processes.values() if p.opened is not None)
        back = self._chance.choice(["", *self.processes])
        if back:
            self._tell(f"{back} is killed and started")
            self._kill(back)
            self._begin(back)
            self._advance(self.now + self._chance.choice((0.0, 0.1, 1.0)) * self.scenario.patience)
            serving = [p.name for p in self.processes.values() if p.opened is not None]
        if not serving:
            return
        asked = self._chance.choice(serving)
        self._tell(f"{asked} is told to shut down the whole cluster")
        self._step(asked, lambda it: it.member.shutdown_cluster(it.now()))
        for _ in range(PATIENCES_MOST):
            if not self.processes:
                break
            self._advance(self.now + self.scenario.patience)
        tip = newest(self.oracle)
        left = ", ".join(f"{p.name} {p.member.phase.value}" for p in self.processes.values())
        self.oracle.require("all_end", not left, f"{tip}; still there: {left}")
        self._tell("all are started again")
        self._start_all()
        self._await_service()


@define(eq=False)
class _Wires:
    """What one process asks of the run."""

    run: Run
    name: str

    def send(self, to: str, channel: Channel, content: object) -> None:
        self.run.network.send(self.name, to, channel, content)

    def drop(self, peer: str) -> None:
        self.run.network.lose(self.name, peer)

    def ask_register(self, parent: ViewId | None, view: View | None, asked: float) -> None:
        self.run.ask_register(self.run.processes[self.name], parent, view, asked)
