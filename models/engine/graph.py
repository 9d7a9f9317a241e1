"""Claims about whole runs, on the finished graph: deadlock, possibility, liveness.

Steps are kept as arrays.  A run that breaks `eventually` ends in a strongly connected part
in which the claim never holds and no fairness is broken: each fair step is taken there, or
is impossible somewhere there.  For weak fairness the largest such part is enough, so no
part needs to be searched within.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from models.engine import kernel
from models.engine.faults import Faults
from models.engine.judge import Claim
from models.engine.paths import move_of, states_text
from models.engine.search import Search
from models.events import plain
from models.freeze import thaw
from models.local import thaw_event
from models.memory import TooMany
from models.report import Step
from models.steps import Move, order_of, to_step

Ints = npt.NDArray[np.int64]

_BYTES_PER_EDGE = 80


@define
class Run:
    """A run that breaks a claim: initial states, steps, where its cycle begins, and why."""

    initial: dict[str, dict[str, str]]
    steps: tuple[Step, ...]
    loop_at: int | None = None
    fairness: str = ""


class Graph:
    """All states and steps of a finished search."""

    def __init__(self, search: Search) -> None:
        self.search = search
        if not search.budget.allows(search.found.generated * _BYTES_PER_EDGE):
            raise TooMany
        self._collect()
        count = search.states.count
        self.numbers = search.judge.number(search.rows(), 0, count)

    def _collect(self) -> None:
        search = self.search
        self._index()
        sources, targets, infos = [], [], []
        for begin, end in zip(search.found.levels, search.found.levels[1:], strict=False):
            for batch in search.successors(begin, end):
                sources.append(batch.source.copy())
                targets.append(self._find(batch.rows))
                infos.append(batch.info.copy())
        nothing = [np.empty(0, np.int64)]
        self.source: Ints = np.concatenate(sources or nothing)
        self.target: Ints = np.concatenate(targets or nothing)
        self.info: Ints = np.concatenate(infos or nothing)
        self.fault, self.label = self._labels()
        count = search.states.count
        order = np.argsort(self.source, kind="stable")
        self.source, self.target = self.source[order], self.target[order]
        self.info, self.fault = self.info[order], self.fault[order]
        self.label = self.label[order]
        self.first = np.searchsorted(self.source, np.arange(count + 1))

    def _index(self) -> None:
        states = self.search.states
        if states.words == 1:
            keys = states.rows[: states.count, 0]
            self._order = np.argsort(keys, kind="stable")
            self._keys = keys[self._order]

    def _find(self, rows: npt.NDArray[np.uint64]) -> Ints:
        states = self.search.states
        if states.words > 1:
            return states.find(rows, len(rows))
        found: Ints = self._order[np.searchsorted(self._keys, rows[:, 0])]
        return found

    def _labels(self) -> tuple[npt.NDArray[np.bool_], Ints]:
        """Return for each step: whether it is a fault; what fairness calls it, or -1."""
        tables = self.search.tables
        choice_of = np.full(max(1, len(tables.outcomes)), -1, np.int64)
        fair: dict[tuple[int, int], set[int]] = {}
        per = tables.per_value
        for number, (member, local, column) in enumerate(tables.outcome_cell):
            if local < 0:
                continue
            key = (member, local)
            if key not in fair:
                at = int(per.off[member]) + local
                begin = int(per.arrays["choice_first"][at])
                ends = begin + int(per.arrays["choice_count"][at])
                fair[key] = {
                    int(tables.choice_column.array[k])
                    for k in range(begin, ends)
                    if tables.choice_fair[k]
                }
            if column in fair[key]:
                choice_of[number] = (member << 24) | column
        kind, a, o = self.info & 15, (self.info >> 4) & 0xFFFFFFF, self.info >> 32
        fault = Faults.of(tables).of_steps(self.info)
        label = np.full(len(self.info), -1, np.int64)
        chosen = kind == kernel.CHOICE
        label[chosen] = choice_of[o[chosen]]
        received = kind == kernel.RECEIVE
        members = np.array([m for m, _, _ in tables.outcome_cell] or [0], np.int64)
        label[received] = (1 << 40) | (a[received] << 8) | members[o[received]]
        taken = kind == kernel.TAKE
        queue = np.array(tables.take_queue or [0], np.int64)
        message = tables.take["message"].array.astype(np.int64)
        label[taken] = (2 << 40) | (queue[a[taken]] << 24) | message[a[taken]]
        moved = kind == kernel.MOVE
        heals = np.array([action == "heal" for action, _ in tables.moves] or [False])
        label[moved] = np.where(heals[a[moved]], 4 << 40, -1)
        joint = kind == kernel.TOGETHER
        if joint.any():
            names: dict[str, int] = {}
            numbers = np.array(
                [
                    names.setdefault(step.action, len(names)) if step.fair else -1
                    for step in tables.joint_steps
                ],
                np.int64,
            )
            which = numbers[a[joint]]
            label[joint] = np.where(which >= 0, (3 << 40) | which, -1)
        label[fault] = -1
        return fault, label

    # -- claims ------------------------------------------------------------------------

    def _flag(self, claim: Claim) -> npt.NDArray[np.bool_]:
        flags = self.search.judge.flags[self.numbers]
        found: npt.NDArray[np.bool_] = ((flags >> np.uint64(claim.bit)) & np.uint64(1)) != 0
        return found

    def deadlocks(self, claim: Claim) -> Ints:
        """Return states without any step but faults in which the claim's `done` is false."""
        moving = np.zeros(self.search.states.count, np.bool_)
        moving[self.source[~self.fault]] = True
        return np.flatnonzero(~moving & ~self._flag(claim))

    def impossible(self, claim: Claim) -> Ints:
        """Return states from which no steps but faults lead to one where the claim holds."""
        able = self._flag(claim)
        source, target = self.source[~self.fault], self.target[~self.fault]
        while True:
            more = able[target] & ~able[source]
            if not more.any():
                return np.flatnonzero(~able)
            able[source[more]] = True

    def unfair_to(self, claim: Claim) -> Run | None:
        """Return a fair run on which the claim never holds, or None."""
        without = ~self._flag(claim)
        if not without[0]:
            return None
        inside = without[self.source] & without[self.target]
        reach = np.zeros(len(without), np.bool_)
        reach[0] = True
        while True:
            more = inside & reach[self.source] & ~reach[self.target]
            if not more.any():
                break
            reach[self.target[more]] = True
        inside &= reach[self.source]
        part = self._parts(inside, len(without))
        stays = self._fair_parts(part, reach, inside)
        if not stays.any():
            return None
        return self._lasso(np.flatnonzero(stays & reach), part, inside)

    @staticmethod
    def _matrix(source: Ints, target: Ints, count: int) -> Any:
        ones = np.ones(len(source), np.int8)
        return csr_matrix((ones, (source, target)), shape=(count, count))

    def _parts(self, inside: npt.NDArray[np.bool_], count: int) -> Ints:
        matrix = self._matrix(self.source[inside], self.target[inside], count)
        _, part = connected_components(matrix, directed=True, connection="strong")
        return part.astype(np.int64)

    def _fair_parts(
        self, part: Ints, reach: npt.NDArray[np.bool_], inside: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """Return the states whose part a fair run may never leave."""
        _, label = np.unique(self.label, return_inverse=True)
        fair = (self.label >= 0) & reach[self.source]
        labels = int(label.max(initial=0)) + 1
        # (state, label) where it is possible, each once; then in how many states of a part.
        possible = np.unique(self.source[fair] * labels + label[fair])
        where, what = possible // labels, possible % labels
        pairs, counts = np.unique(part[where] * labels + what, return_counts=True)
        size = np.bincount(part[reach], minlength=int(part.max()) + 1)
        lasting = pairs[counts == size[pairs // labels]]
        stays_in = inside & fair & (part[self.source] == part[self.target])
        taken = np.unique(part[self.source[stays_in]] * labels + label[stays_in])
        broken = np.setdiff1d(lasting, taken, assume_unique=True) // labels
        bad_part = np.zeros(int(part.max()) + 1, np.bool_)
        bad_part[broken] = True
        result: npt.NDArray[np.bool_] = reach & ~bad_part[part]
        return result

    # -- runs --------------------------------------------------------------------------

    def _distances(self, targets: Ints, allowed: npt.NDArray[np.bool_]) -> Ints:
        """Return for each state the steps (of `allowed` edges) to the nearest target, or -1."""
        far = np.full(self.search.states.count, -1, np.int64)
        far[targets] = 0
        source, target = self.source[allowed], self.target[allowed]
        step = 0
        while True:
            more = (far[target] == step) & (far[source] < 0)
            if not more.any():
                return far
            far[source[more]] = step + 1
            step += 1

    def _move(self, edge: int) -> Move:
        return move_of(
            self.search, int(self.info[edge]), self.search.rows()[int(self.source[edge])]
        )

    def _go(self, at: int, targets: Ints, allowed: npt.NDArray[np.bool_]) -> list[int]:
        """Return the edges of the least shortest way from `at` to a target."""
        far = self._distances(targets, allowed)
        edges = []
        while far[at] > 0:
            options = [
                e
                for e in range(int(self.first[at]), int(self.first[at + 1]))
                if allowed[e] and far[self.target[e]] == far[at] - 1
            ]
            codes = self.search.tables.codes
            edge = min(options, key=lambda e: (order_of(self._move(e), codes), e))
            edges.append(edge)
            at = int(self.target[edge])
        return edges

    def _lasso(self, stays: Ints, part: Ints, inside: npt.NDArray[np.bool_]) -> Run:
        prefix = self._go(0, stays, inside)
        entry = int(self.target[prefix[-1]]) if prefix else 0
        within = inside & (part[self.source] == part[entry]) & (part[self.target] == part[entry])
        cycle, reasons = self._cycle(entry, np.flatnonzero(part == part[entry]), within)
        rows = self.search.rows()
        steps = []
        for edge in prefix + cycle:
            after = states_text(self.search, rows[int(self.target[edge])])
            steps.append(to_step(self._move(edge), after))
        return Run(states_text(self.search, rows[0]), tuple(steps), len(prefix), "; ".join(reasons))

    def _cycle(
        self, entry: int, states: Ints, within: npt.NDArray[np.bool_]
    ) -> tuple[list[int], list[str]]:
        """Return edges of a fair cycle through `entry`, and why it is fair."""
        here = np.isin(self.source, states)
        due = sorted({int(x) for x in self.label[here] if x >= 0})
        possible = {x: set(self.source[here & (self.label == x)].tolist()) for x in due}
        everywhere = set(states.tolist())
        cycle: list[int] = []
        reasons = []
        at = entry
        for x in due:
            visited = {entry, *(int(self.target[e]) for e in cycle)}
            if any(self.label[e] == x for e in cycle):
                reasons.append(f"{self._name(x)} is taken")
                continue
            impossible = everywhere - possible[x]
            if impossible & visited:
                reasons.append(f"{self._name(x)} is not always possible")
                continue
            if impossible:
                way = self._go(at, np.array(sorted(impossible)), within)
                reasons.append(f"{self._name(x)} is not always possible")
            else:
                taking = np.flatnonzero(within & (self.label == x))
                starts = np.unique(self.source[taking])
                way = self._go(at, starts, within)
                end = int(self.target[way[-1]]) if way else at
                way.append(int(next(e for e in taking if self.source[e] == end)))
                reasons.append(f"{self._name(x)} is taken")
            cycle += way
            at = int(self.target[cycle[-1]]) if cycle else entry
        if at != entry:
            cycle += self._go(at, np.array([entry]), within)
        if not cycle:
            loops = np.flatnonzero(within & (self.source == entry) & (self.target == entry))
            reasons = reasons or ["nothing that fairness forces is possible any more"]
            cycle = [int(loops[0])] if len(loops) and due else []
        return cycle, reasons

    def _name(self, label: int) -> str:
        tables = self.search.tables
        kind, rest = label >> 40, label & ((1 << 40) - 1)
        if kind == 0:
            member, column = rest >> 24, rest & 0xFFFFFF
            event = thaw_event(tables.columns[member].values[column])
            return f"“{plain(event)}” of {tables.names[member]}"
        if kind == 1:
            sender, _, content = tables.messages.values[rest >> 8]
            return f"receiving {plain(thaw(content))} from {sender} by {tables.names[rest & 255]}"
        if kind == 2:
            sender, to = divmod(rest >> 24, tables.members)
            content = plain(thaw(tables.messages.values[rest & 0xFFFFFF]))
            return f"receiving {content} from {tables.names[sender]} by {tables.names[to]}"
        return "heal" if kind == 4 else "a joint step"
