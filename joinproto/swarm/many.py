"""Many runs: seed after seed, on one core or on several, up to a number of runs or a time.

A run depends on its seed alone, so it does not matter on which core it is played.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count, islice
from time import monotonic

from attrs import define, evolve, field

from joinproto.join.member import Member
from joinproto.swarm.draw import draw
from joinproto.swarm.run import Outcome, run

SEEDS_AT_ONCE = 5
"""The number of seeds that a process plays before it reports their outcomes."""

FAILED_KEPT = 20
"""The most failed runs that are kept for each claim, by smallest seed; all are counted."""


@define
class Tally:
    """The totals of many runs.  `failed`: outcomes that broke a claim, by the claim's name.

    `configurations`: the number of different configurations, regardless of the actions.
    """

    runs: int = 0
    events: int = 0
    seconds: float = 0.0
    opened: int = 0
    acked: int = 0
    broken: Counter[str] = field(factory=Counter)
    failed: dict[str, list[Outcome]] = field(factory=dict)
    _configurations: set[object] = field(factory=set)

    def add(self, outcome: Outcome) -> None:
        self.runs += 1
        self.events += outcome.events
        self.opened += outcome.opened
        self.acked += outcome.acked
        self._configurations.add(evolve(outcome.scenario, seed=0, actions=()))
        if outcome.failed:
            self.broken[outcome.claim] += 1
            kept = self.failed.setdefault(outcome.claim, [])
            kept.append(outcome)
            kept.sort(key=lambda one: one.scenario.seed)
            del kept[FAILED_KEPT:]

    @property
    def configurations(self) -> int:
        return len(self._configurations)

    @property
    def violations(self) -> int:
        return sum(self.broken.values()) - self.stuck

    @property
    def stuck(self) -> int:
        return sum(self.broken[one[0].claim] for one in self.failed.values() if one[0].is_stuck)


def many(
    *,
    seed: int = 0,
    runs: int | None = None,
    seconds: float | None = None,
    jobs: int = 1,
    start: Callable[..., Member] = Member.start,
    tell: Callable[[Tally], None] = lambda tally: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Tally:
    """Play runs from `seed` on, `runs` of them, or for `seconds`; return their totals.

    With neither, runs go on until `interrupted`; with both, the first bound that is reached counts.

    `jobs`: processes; with more than one, `start` must be a function of a module.  `tell`: called
    after each run.  `interrupted`: called before each run; once it is true, no run is begun.
    """
    began, tally = monotonic(), Tally()
    seeds: Iterable[int] = count(seed) if runs is None else range(seed, seed + runs)
    until = None if seconds is None else began + seconds

    def goes_on() -> bool:
        return not interrupted() and (until is None or monotonic() < until)

    for outcome in _played(iter(seeds), goes_on, jobs, start):
        tally.add(outcome)
        tally.seconds = monotonic() - began
        tell(tally)
    return tally


def _played(
    seeds: Iterator[int], goes_on: Callable[[], bool], jobs: int, start: Callable[..., Member]
) -> Iterator[Outcome]:
    if jobs == 1:
        for seed in seeds:
            if not goes_on():
                return
            yield run(draw(seed), start=start)
        return
    with ProcessPoolExecutor(jobs, initializer=_leave_ctrl_c_to_the_caller) as pool:
        waiting: set[Future[list[Outcome]]] = set()
        while True:
            while (
                goes_on()
                and len(waiting) < 2 * jobs
                and (part := list(islice(seeds, SEEDS_AT_ONCE)))
            ):
                waiting.add(pool.submit(_play, part, start))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for one in done:
                yield from one.result()


def _leave_ctrl_c_to_the_caller() -> None:
    # A terminal sends Ctrl-C to all processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _play(seeds: list[int], start: Callable[..., Member]) -> list[Outcome]:
    return [run(draw(seed), start=start) for seed in seeds]
