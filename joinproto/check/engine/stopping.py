"""Limits that stop a search, and the message about the limit that was met."""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import Factory, frozen

from joinproto.check.engine import Compiling
from joinproto.check.memory import Budget, LimitMet, resident_bytes

INTERRUPTED = "interrupted"
"""The reason of a search that the user stopped."""


@frozen(kw_only=True)
class Limits:
    """The limits of a search; None means the limit of the machine.

    `interrupted`: called now and then; if it returns True, the search ends and reports its
    findings.
    """

    states: int | None = None
    memory_bytes: int | None = None
    seconds: float | None = None
    interrupted: Callable[[], bool] | None = None

    def is_interrupted(self) -> bool:
        return self.interrupted is not None and self.interrupted()


@frozen(kw_only=True)
class Stops:
    """Checks limits: a method returns why the search must end now, or "" if it may continue.

    `began`: by `time.perf_counter`.  Time spent in `compiling` is subtracted.
    """

    limits: Limits
    budget: Budget
    began: float
    compiling: Compiling = Factory(lambda: Compiling(lambda _: None))

    def while_judging(self) -> None:
        """Raise `LimitMet` if the search must end before all claims are evaluated."""
        reason = INTERRUPTED if self.limits.is_interrupted() else self.after_level()
        if reason:
            raise LimitMet(reason)

    def before_level(self, states: int) -> str:
        if self.limits.is_interrupted():
            return INTERRUPTED
        return self._by_states(states, self.limits.states) or self._by_memory()

    def within_level(self, states: int) -> str:
        """Check the slow limits.  A level may exceed the allowed number of states by a factor of
        two.
        """
        most = self.limits.states
        return (
            self._by_memory()
            or self.after_level()
            or self._by_states(states, None if most is None else 2 * most)
        )

    def after_level(self) -> str:
        seconds = self.limits.seconds
        if seconds is None:
            return ""
        passed = time.perf_counter() - self.began - self.compiling.seconds
        return f"the limit of {seconds:g} seconds" if passed > seconds else ""

    def of_memory(self) -> str:
        return (
            f"the memory limit of {self.budget.limit_bytes / 2**20:,.0f} MiB "
            f"({resident_bytes() / 2**20:,.0f} MiB in use)"
        )

    def _by_memory(self) -> str:
        return "" if self.budget.allows(0) else self.of_memory()

    def _by_states(self, states: int, most: int | None) -> str:
        if most is None or states < most:
            return ""
        return f"the limit of {self.limits.states:,} states"


@frozen
class Tick:
    """The progress of a search.

    `level`: the number of states in the shortest runs to the rows that are being expanded.
    `frontier`: the states of that level and the new ones of the next.
    """

    level: int
    distinct: int
    generated: int
    frontier: int
    rss_bytes: int
    seconds: float
