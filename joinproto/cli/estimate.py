"""An estimate of a search's duration, from the same world with fewer members.

The smaller sizes are searched first, each for two seconds at most.  From size to size, the
number of states grows by a factor that changes slowly, so the last factors are extrapolated.  The
result is a rough guess, and its text says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from attrs import frozen

from joinproto.check.properties import ON_RUNS
from joinproto.check.report import Report
from joinproto.check.world import World
from joinproto.cli.show.amounts import duration, short, size
from joinproto.errors import JoinprotoError

STATES_MAX = 500_000
SECONDS_MAX = 2.0
SIZES_MAX = 8
"""The most sizes below the requested one that are searched; the smallest take no time."""

TABLES_BYTES = 80_000
"""Bytes of tables before the first state; small sizes would mislead if these were counted."""

STEP_BYTES = 80
"""Bytes for each step, if claims about whole runs need every step kept."""


@frozen
class Sample:
    """The result of a search of a smaller size.  `state_bytes`: bytes of memory for the states."""

    members: int
    distinct: int
    seconds: float
    state_bytes: float


@frozen
class Estimate:
    """The expected size of a search.

    `distinct`: the least and the most states.  `state_bytes`: bytes of memory for the states.
    `members`: the sizes that the estimate was made from.
    """

    distinct: tuple[float, float]
    state_bytes: float
    seconds: float
    members: tuple[int, ...]

    def text(self, limit_bytes: int | None = None) -> str:
        """Return the guess in one line; `limit_bytes`: the memory available for the states."""
        least, most = self.distinct
        states = f"about {short(round(least))}"
        if most > 1.3 * least:
            states = f"{short(round(least))} to {short(round(most))}"
        names = [str(number) for number in self.members]
        origin = f"{', '.join(names[:-1])} and {names[-1]} members"
        text = (
            f"estimate (rough): {states} states, {size(round(self.state_bytes))},"
            f" {_about(self.seconds)}, from {origin}"
        )
        if limit_bytes is not None and self.state_bytes > limit_bytes:
            text += (
                f"; only {size(limit_bytes)} of memory is available, so the search will stop early"
            )
        return text


def _about(seconds: float) -> str:
    """Return a time without meaningless digits."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3 * 86_400:
        return duration(60 * round(seconds / 60))
    return f"{short(round(seconds / 86_400))} days"


def estimate(
    members: int, least: int, report_of: Callable[[int], Report | None]
) -> Estimate | None:
    """Return a guess for `members`, or None if fewer than two smaller sizes could be searched.

    `least`: the fewest members that the world can have.  `report_of(n)`: the report of a search of
    n members, or None if it was stopped, failed, or the world cannot have n members.
    """
    samples: list[Sample] = []
    for number in range(max(least, members - SIZES_MAX), members):
        # A size is not begun if the last two sizes say that it would be stopped.
        if len(samples) > 1 and _next_distinct_min(samples) > STATES_MAX:
            break
        report = report_of(number)
        if report is None:
            if samples:
                break
            continue
        state_bytes = max(0.0, report.distinct * report.bytes_per_state - TABLES_BYTES)
        if any(item.kind in ON_RUNS for item in report.properties):
            state_bytes += report.generated * STEP_BYTES
        samples.append(Sample(number, report.distinct, report.seconds, state_bytes))
    return fit(members, samples[-3:]) if len(samples) > 1 else None


def _next_distinct_min(samples: Sequence[Sample]) -> float:
    """Return the least number of states that the next size is expected to have."""
    one, two = samples[-2:]
    return two.distinct * two.distinct / one.distinct


def fit(members: int, samples: Sequence[Sample]) -> Estimate:
    """Return the guess for `members` from two or three sizes below it, in order."""
    logs = [math.log(sample.distinct) for sample in samples]
    growth = logs[-1] - logs[-2]
    # How much larger the last growth is than the growth before it; two sizes do not show this.
    change = max(0.0, growth - (logs[-2] - logs[-3])) if len(logs) > 2 else 0.0
    ahead = members - samples[-1].members
    low = logs[-1] + growth * ahead
    high = low + change * ahead * (ahead + 1) / 2
    least, most = (math.exp(min(value, 200.0)) for value in (low, high))
    last = samples[-1]
    state_bytes = last.state_bytes / last.distinct if last.state_bytes else 32.0
    middle = math.sqrt(least * most)
    return Estimate(
        (least, most),
        middle * max(state_bytes, 16.0),
        last.seconds * middle / last.distinct,
        tuple(sample.members for sample in samples),
    )


def smaller_reports(
    sized: Callable[[int], World], *, symmetry: bool
) -> Callable[[int], Report | None]:
    """Return the argument `report_of` of `estimate`; `sized(n)` makes the world of n members."""
    from joinproto.check.check import check

    def report_of(members: int) -> Report | None:
        try:
            report = check(
                sized(members), symmetry=symmetry, states_max=STATES_MAX, seconds_max=SECONDS_MAX
            )
        except JoinprotoError:
            # The world does not have this size.  If the model is bad, the search itself says so.
            return None
        # A violation ends a search early, so this size says nothing about the next one.
        return report if report.result == "holds" else None

    return report_of
