"""Many random runs at once: the rows of all runs are expanded together, and each run draws one
successor of its row.

The choice must not depend on the order in which the tables numbered values.  So each step has a
fixed hash, of its content.  A run mixes that hash with its own random number and takes the step
with the least result.  Every step is equally likely, and the same seed gives the same runs in
every process.

A step that leads back to the same state is never drawn, because runs would mostly receive old
messages of a set again.  No reachable state is excluded by that.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.runs.walked import (
    BlockResults,
    BreakingWalk,
    Retraced,
    RunStatistics,
    retrace_run,
)
from joinproto.check.engine.runs.walked_steps import Draws, StepAnswers
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Column, Flags, Ints, Keys, Rows, Table
from joinproto.check.engine.stopping import Limits
from joinproto.check.engine.tables import kernel
from joinproto.check.engine.tables.outcomes import FaultSteps
from joinproto.check.local import freeze_event
from joinproto.check.world import World

RUNS_AT_ONCE = 4096
"""The most runs in a block."""
HISTORY_MAX = 1 << 25
"""The most steps of all runs of a block, so that their history takes at most 256 MiB."""


def stable_text(value: Any) -> str:
    """Return `value` as text that is the same in every process."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, tuple | list):
        return f"({','.join(map(stable_text, value))})"
    if isinstance(value, frozenset | set):
        # Its own order depends on the hashes of texts, which differ from process to process.
        return f"{{{','.join(sorted(map(stable_text, value)))}}}"
    fields = getattr(type(value), "__attrs_attrs__", None)
    if fields is not None:
        inner = (stable_text(getattr(value, field.name)) for field in fields)
        return f"{type(value).__qualname__}({','.join(inner)})"
    return repr(value)


def _hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class CachedByNumber:
    """A cache of a function of a number: the function is called once for each number."""

    def __init__(self, ask: Callable[[int], Any], dtype: Any) -> None:
        self._ask = ask
        self._known: Column = np.empty(0, dtype)

    def of(self, numbers: Ints) -> Column:
        """Return the answers for `numbers`."""
        wanted = int(numbers.max(initial=-1)) + 1
        if wanted > len(self._known):
            more = [self._ask(number) for number in range(len(self._known), wanted)]
            self._known = np.concatenate([self._known, np.array(more, self._known.dtype)])
        return self._known[numbers]


def _mixed(x: Keys) -> Keys:
    """Return well-mixed numbers, all different for different `x`."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Walker:
    """Random runs of one world."""

    def __init__(
        self, world: World, *, seed: int, steps_max: int, memory_bytes: int | None = None
    ) -> None:
        self._random = np.random.default_rng(seed)
        self._steps_max = steps_max
        self.search = Search(world, limits=Limits(memory_bytes=memory_bytes))
        self.tables, self.judge = self.search.tables, self.search.judge
        self.found = RunStatistics()
        self._standing: list[Rows] = []  # rows to be packed again with a new layout
        self.search.expander.on_layout.append(self._repack)
        tables = self.tables
        # A step's hash combines the hash of its outcome with the hash of its argument: a message,
        # a take from a queue, a move or a joint step.
        self._own_hashes = CachedByNumber(self._hash_outcome, np.uint64)
        self._hashes = {
            kernel.RECEIVE: CachedByNumber(
                lambda m: _hash(stable_text(tables.messages.values[m])), np.uint64
            ),
            kernel.LOSE: CachedByNumber(lambda k: _hash(self._take_words(k)), np.uint64),
            kernel.DOUBLE: CachedByNumber(lambda k: _hash(f"2 {self._take_words(k)}"), np.uint64),
            kernel.MOVE: CachedByNumber(self._hash_move, np.uint64),
            kernel.TOGETHER: CachedByNumber(self._hash_joint, np.uint64),
        }
        self._asked = [StepAnswers(self.search, claim) for claim in self.judge.steps]
        self._taken = np.zeros(0, np.int64)
        self._events = np.zeros(8, np.int64)

    def _hash_outcome(self, o: int) -> int:
        member, _, column = self.tables.outcome_cell[o]
        if column < 0:
            return 0  # an outcome of the monitor, which takes no steps of its own
        event, effects = self.tables.columns[member].values[column], self.tables.outcomes[o].effects
        return _hash(stable_text((self.tables.names[member], event, effects)))

    def _take_words(self, k: int) -> str:
        return stable_text(self.tables.queues.taken(k))

    def _hash_move(self, k: int) -> int:
        action, surroundings = self.tables.moves[k]
        return _hash(stable_text((action, surroundings.split)))

    def _hash_joint(self, k: int) -> int:
        step = self.tables.joint_steps[k]
        events = sorted((name, stable_text(event)) for name, event in step.events.items())
        return _hash(stable_text((step.action, step.detail, events)))

    def _repack(self, old: Any) -> None:
        self._standing = [self.tables.repacked(rows, old) for rows in self._standing]

    # -- runs --------------------------------------------------------------------------

    @property
    def distinct(self) -> int:
        """How many different states the runs met."""
        return self.search.states.count

    def walk(self, runs_wanted: int, tick: Callable[[], None]) -> None:
        """Take up to `runs_wanted` runs, one block; add their statistics to `found`.

        `tick` is called after each step of all runs.
        """
        steps_max = self._steps_max
        runs = max(1, min(runs_wanted, RUNS_AT_ONCE, HISTORY_MAX // steps_max))
        history = np.full((steps_max, runs), -1, np.int64)
        ended = np.full(runs, -1, np.int64)  # after how many steps a run rests; -1: it did not
        met = BlockResults(runs)
        active = np.arange(runs)
        begin = np.zeros(runs, np.int64)
        if self.search.begins > 1:
            begin = self._random.integers(0, self.search.begins, size=runs)
        self._begin = begin
        self._standing = [self.search.rows()[begin]]
        active, numbers = self._judge(active, 0, met, history)
        for step in range(steps_max):
            draws = self._random.integers(0, 2**64, size=runs, dtype=np.uint64)
            if len(active) == 0:
                break
            info, stuck = self._draw(numbers, draws[active])
            self._judge_stuck(active, numbers, stuck, step, met, history)
            moves = info >= 0
            ended[active[~moves]] = step
            drawn = None
            if numbers is not None:
                drawn = Draws(numbers[moves], info[moves], self._standing[0][moves])
            self._standing = [self._standing[1][moves]]
            active, info = active[moves], info[moves]
            history[step, active] = info
            self.found.steps += len(active)
            if len(active):
                self.found.longest = max(self.found.longest, step + 1)
                self.search.states.insert(self._standing[0].copy(), len(active))
            active, numbers = self._judge(active, step + 1, met, history, drawn)
            tick()
        self.found.runs += runs
        self.found.rested += int(((ended >= 0) & ~met.broke).sum())
        met.add_to(self.found)

    def _draw(self, numbers: Ints | None, draws: Keys) -> tuple[Ints, Flags]:
        """Draw a step for each standing row; `_standing[1]` becomes the rows to which they lead.

        Returns the steps (-1 if no step changes the row), and which rows have only faults.
        """
        count = len(self._standing[0])
        joint = numbers if self.search.world.together is not None else None
        self._standing.append(np.zeros_like(self._standing[0]))
        chosen = np.full(count, -1, np.int64)
        stuck = np.ones(count, np.bool_)
        expander = self.search.expander
        if joint is not None:
            expander.refresh()
        for batch in expander.successors(lambda: self._standing[0], 0, count, joint):
            source, info = batch.source, batch.info
            stuck[source[~FaultSteps.of(self.tables).of_steps(info)]] = False
            before = self._standing[0][source]
            changes = (batch.rows != before).any(axis=1)
            self._count(info[~changes], before[~changes])
            changed = np.flatnonzero(changes)
            source, info = source[changed], info[changed]
            keys = _mixed(self._hash_of(info) ^ draws[source])
            # All steps out of a row are in one batch, so the first of each row is the least.
            order = np.lexsort((keys, source))
            first = order[np.flatnonzero(np.diff(source[order], prepend=-1))]
            chosen[source[first]] = info[first]
            self._standing[1][source[first]] = batch.rows[changed[first]]
            self._count(info[first], before[changed[first]])
        return chosen, stuck

    def _hash_of(self, info: Ints) -> Keys:
        kind, a, o = kernel.parts_of(info)
        found = np.zeros(len(info), np.uint64)
        own = kind <= kernel.TAKE
        found[own] = self._own_hashes.of(o[own])
        for number, hashes in self._hashes.items():
            here = kind == number
            found[here] ^= hashes.of(a[here])
        # For a joint step in which a member crashes, mix in the crash's outcome.
        crashed = (kind == kernel.TOGETHER) & (o > 0)
        found[crashed] ^= self._own_hashes.of(o[crashed] - 1)
        return found

    # -- coverage ----------------------------------------------------------------------

    def _count(self, info: Ints, before: Rows) -> None:
        kind, _, o = kernel.parts_of(info)
        self._room_for_counts()
        np.add.at(self._taken, o[kind <= kernel.TAKE], 1)
        self._events += np.bincount(kind, minlength=8)
        self._count_parts(info, before)

    def _count_parts(self, info: Ints, before: Rows) -> None:
        """Count the steps of each member in the joint steps among `info`."""
        tables = self.tables
        joint = np.flatnonzero((info & 15) == kernel.TOGETHER)
        if len(joint) == 0:
            return
        which = (info[joint] >> 4) & 0xFFFFFFF
        for k in np.unique(which).tolist():
            rows = before[joint[which == k]]
            for name, event in tables.joint_steps[k].events.items():
                member = tables.number_of[name]
                column = tables.number_event(member, freeze_event(event))
                local = tables.layout.values(rows, member)
                for value, count in zip(*np.unique(local, return_counts=True), strict=True):
                    self._taken[tables.cells.get(member, int(value), column)] += count

    def _room_for_counts(self) -> None:
        missing = len(self.tables.outcomes) - len(self._taken)
        if missing > 0:
            self._taken = np.concatenate([self._taken, np.zeros(missing, np.int64)])

    def leave_counts(self) -> None:
        """Store in the tables how often each step was drawn, not how often it was possible.

        A step that changes nothing is counted whenever it was possible, because its code ran.
        """
        self._room_for_counts()
        taken = self.tables.out["taken"].array
        taken[:] = 0
        taken[: len(self._taken)] = self._taken
        self.tables.event_taken[:] = self._events

    # -- judging -----------------------------------------------------------------------

    def _judge(
        self, active: Ints, step: int, met: BlockResults, history: Table, drawn: Draws | None = None
    ) -> tuple[Ints, Ints | None]:
        """Judge the standing rows, and the steps that led to them; runs that broke a claim end.

        Returns the runs that continue, and the numbers of their combinations of observations.
        """
        judge, rows = self.judge, self._standing[0]
        count = len(rows)
        if count == 0:
            return active, None
        broke = np.zeros(count, np.bool_)
        bad = judge.watch(rows, 0, count)
        for claim in judge.local:
            if claim.property.kind == "always":
                wrong = judge.breaking(claim, rows, bad)
                broke[wrong] = True
                self._note(claim, active[wrong], step, met, history)
            elif claim.property.kind == "sometimes":
                met.reach(claim, active[judge.reached(claim, rows, 0, count)])
        numbers = None
        if judge.combines or self._asked:
            numbers = judge.number(rows, 0, count)
            for asked in self._asked:
                wrong_ = (
                    asked.broken_by(drawn, numbers) if drawn else asked.broken_at_first(numbers)
                )
                broke |= wrong_
                self._note(asked.claim, active[wrong_], step, met, history)
            for claim in judge.whole:
                holds = judge.have_bit(numbers, claim.bit)
                if claim.property.kind == "always":
                    broke |= ~holds
                    self._note(claim, active[~holds], step, met, history)
                else:
                    met.reach(claim, active[holds])
                if claim.premise_bit >= 0:
                    met.meet(claim, active[judge.have_bit(numbers, claim.premise_bit)])
        met.broke[active[broke]] = True
        self._standing = [rows[~broke]]
        return active[~broke], None if numbers is None else numbers[~broke]

    def _judge_stuck(
        self,
        active: Ints,
        numbers: Ints | None,
        stuck: Flags,
        step: int,
        met: BlockResults,
        history: Table,
    ) -> None:
        """Judge the claims against deadlock; a stuck run may continue by faults alone."""
        if numbers is None or not stuck.any():
            return
        for claim in self.judge.whole:
            if claim.property.kind == "no deadlock":
                done = self.judge.have_bit(numbers, claim.bit)
                self._note(claim, active[stuck & ~done], step, met, history)

    def _note(self, claim: Claim, runs: Ints, step: int, met: BlockResults, history: Table) -> None:
        """Note that these runs broke `claim` after `step` steps."""
        name = claim.property.name
        fresh = met.break_(claim, runs)
        if len(fresh) == 0:
            return
        known = self.found.broken.get(name)
        if known is None or step < len(known.infos):
            run = int(fresh[0])
            infos = tuple(history[:step, run].tolist())
            begin = int(self._begin[run])
            self.found.broken[name] = BreakingWalk(claim, self.found.runs + run, infos, begin)

    def retrace(self, broken: BreakingWalk) -> Retraced:
        """Take a run's steps again, and return them as text: see `retrace_run`."""
        self._standing = []
        asked = next((item for item in self._asked if item.claim is broken.claim), None)
        return retrace_run(self.search, broken, asked)
