"""The log of all decisions, one JSON object on each line, and the metrics."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from attrs import define, field
from prometheus_client import CollectorRegistry, Counter, Gauge

from joinproto.reconcile.keeper import Keeper, Verdict
from joinproto.reconcile.plan import is_settled
from joinproto.reconcile.reading import Key


@define
class Reporter:
    """Writes the log and the metrics.

    `line`: writes one line of the log.  A line that repeats a queue's last line is left out.
    """

    line: Callable[[str], None]
    registry: CollectorRegistry = field(factory=CollectorRegistry)
    _said: dict[object, tuple[object, ...]] = field(factory=dict)
    _looks: Counter = field(init=False)
    _changes: Counter = field(init=False)
    _errors: Counter = field(init=False)
    _queues: Gauge = field(init=False)
    _open: Gauge = field(init=False)
    _read: Gauge = field(init=False)

    def __attrs_post_init__(self) -> None:
        here: dict[str, Any] = {"namespace": "joinproto_reconcile", "registry": self.registry}
        counter: Any = partial(Counter, **here)
        gauge: Any = partial(Gauge, **here)
        self._looks = counter("looks", "Evaluations of queues, by result.", ["action", "rule"])
        changes = "Changes of members, by how they ended."
        self._changes = counter("changes", changes, ["action", "ended"])
        self._errors = counter("errors", "Answers that were missing or incomplete.", ["what"])
        self._queues = gauge("queues", "Queues that are kept.")
        left = gauge("queues_left", "Queues that were not as required at their last evaluation.")
        left.set_function(self._lacking)
        self._open = gauge("changes_under_way", "Changes begun.")
        self._read = gauge("read_seconds", "Time of the last complete look at the broker.")

    def judged(self, key: Key, verdict: Verdict, *, applies: bool) -> None:
        """Report one evaluation of a queue."""
        action, rule = verdict.decision.action.value, verdict.decision.rule
        self._looks.labels(action, rule).inc()
        does, case = " ".join((action, *verdict.decision.nodes)), verdict.decision.case.name
        begins = applies and verdict.intent is not None
        # The reason is not compared, because it has the seconds for which a node is away.
        said = (does, case, begins, is_settled(verdict.decision))
        if self._said.get(key) != said:
            self._said[key] = said
            self._tell(
                "decision", key, does=does, rule=rule, case=case, why=verdict.why, begins=begins
            )

    def change(self, key: Key, said: str, ended: str, action: str) -> None:
        """Report the end of a change."""
        self._changes.labels(action, ended).inc()
        self._tell("change", key, does=said, ended=ended)

    def problem(self, what: str, message: str, key: Key | None = None) -> None:
        """Report an error; a repetition is only counted."""
        self._errors.labels(what).inc()
        if self._said.get((what, key)) != (message,):
            self._said[what, key] = (message,)
            self._tell("problem", key, what=what, message=message)

    def read(self, keeper: Keeper, now: float) -> None:
        """Report that the broker was read completely."""
        gone = [at for at in self._said if isinstance(at, Key) and at not in keeper.queues]
        for at in (("api", None), *gone):
            self._said.pop(at, None)
        self._queues.set(len(keeper.queues))
        self._open.set(len(keeper.intents))
        self._read.set(now)

    def _lacking(self) -> float:
        # Called in the thread that serves the metrics; copied, because the loop changes it.
        return sum(isinstance(at, Key) and not said[-1] for at, said in list(self._said.items()))

    def _tell(self, event: str, key: Key | None, **more: object) -> None:
        place = {} if key is None else {"queue": key.name, "vhost": key.vhost}
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.line(json.dumps({"at": at, "event": event, **place, **more}))
