"""What a check found: plain values, for the terminal, JSON, pages and tests alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Factory, field, frozen


@frozen
class MessageText:
    """A message as text.  `to` is None when it goes to every other member."""

    sender: str
    to: str | None
    content: str


@frozen
class Step:
    """One step of a run and the state it leads to.

    `action`: "receive", "start", "crash", "crash while receiving" (and the like), "lose",
    "duplicate", "split", "heal", or the choice's own words.  `member`: who takes it, None for
    the network or several.  `message`: the one received, lost or doubled.  `sent`: by this
    step.  `states`: member to attribute to text, after the step; a durable attribute's name
    ends in `*`; a stopped member has the attribute "" with the text "down".  `rules`: the
    cases of tables taken.  `detail`: a split's one side, a joint step's events.
    """

    action: str
    member: str | None
    message: MessageText | None
    sent: tuple[MessageText, ...]
    states: Mapping[str, Mapping[str, str]]
    rules: tuple[str, ...] = ()
    detail: str = ""

    @property
    def label(self) -> str:
        """The step in words, the same on every run; unique among the steps of one state."""
        words = self.action
        if self.message is not None:
            to = "" if self.member else f" to {self.message.to or 'all'}"
            words += f" {self.message.content} from {self.message.sender}{to}"
        return f"{words} {self.detail}".rstrip()


@frozen
class Trace:
    """A run: the initial states, then the steps.

    `loop_at`: for a lasso, the index of the step after which the cycle begins (0: at the
    initial state); the last step leads back there, or the run ends and nothing more can
    happen.  `fairness`: why the cycle is a fair one.
    """

    property: str
    kind: str
    initial: Mapping[str, Mapping[str, str]]
    steps: tuple[Step, ...]
    loop_at: int | None = None
    fairness: str = ""


Result = Literal["holds", "reached", "violated", "not-reached", "unknown"]


@frozen
class PropertyResult:
    """`trace_length`: steps of the shortest run that violates or reaches it, else None.

    `result` is "unknown" when the search ended before this could be said.
    """

    name: str
    kind: str
    result: Result
    trace_length: int | None = None
    premise_met: bool | None = None
    trace: Trace | None = None


@frozen
class Coverage:
    """What was exercised.  `actions`: step taken by a member, to times.  `never`: what was not.

    `rules`: case of a table to times.
    """

    actions: Mapping[str, int] = Factory(dict)
    rules: Mapping[str, int] = Factory(dict)
    never: tuple[str, ...] = ()


@frozen(kw_only=True)
class Report:
    """The result of one check.

    `depth`: states on the longest shortest run.  `generated`: steps found, counting each
    initial state once and steps that lead back to a known state.  `levels`: distinct states
    at each depth.  `stopped_by`: why the search ended early, or empty.  Memory in bytes.
    """

    world: str
    result: Literal["holds", "violated", "incomplete"]
    distinct: int
    generated: int
    depth: int
    levels: tuple[int, ...]
    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    calls: int
    engine: str
    reductions: tuple[str, ...]
    properties: tuple[PropertyResult, ...]
    coverage: Coverage
    members: int
    expected: str = "holds"
    row_bits: int = 0
    bytes_per_state: float = 0.0
    numbered_bytes: int = 0
    trace: Trace | None = None
    stopped_by: str = ""
    notes: tuple[str, ...] = field(default=())


def step_to_json(step: Step) -> dict[str, Any]:
    """Return the step as JSON values; keys as in the CLI contract."""
    return {
        "action": step.action,
        "member": step.member,
        "message": None if step.message is None else _message(step.message),
        "sent": [_message(item) for item in step.sent],
        "states": {name: dict(values) for name, values in step.states.items()},
        "rules": list(step.rules),
        "detail": step.detail,
        "label": step.label,
    }


def _message(message: MessageText) -> dict[str, Any]:
    return {"from": message.sender, "to": message.to, "content": message.content}


def to_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values, the keys of the CLI contract first."""
    out: dict[str, Any] = {
        "world": report.world,
        "result": report.result,
        "distinct": report.distinct,
        "generated": report.generated,
        "depth": report.depth,
        "seconds": round(report.seconds, 3),
        "cpu_seconds": round(report.cpu_seconds, 3),
        "peak_rss_bytes": report.peak_rss_bytes,
        "calls": report.calls,
        "engine": report.engine,
        "reductions": list(report.reductions),
        "properties": [
            {
                "name": item.name,
                "kind": item.kind,
                "result": item.result,
                "trace_length": item.trace_length,
                "premise_met": item.premise_met,
            }
            for item in report.properties
        ],
        "coverage": {
            "actions": dict(report.coverage.actions),
            "rules": dict(report.coverage.rules),
            "never": list(report.coverage.never),
        },
        "members": report.members,
        "expected": report.expected,
        "levels": list(report.levels),
        "row_bits": report.row_bits,
        "bytes_per_state": round(report.bytes_per_state, 1),
        "numbered_bytes": report.numbered_bytes,
        "stopped_by": report.stopped_by,
        "notes": list(report.notes),
    }
    if report.trace is not None:
        out["property"] = report.trace.property
        out["initial"] = {name: dict(values) for name, values in report.trace.initial.items()}
        out["trace"] = [step_to_json(step) for step in report.trace.steps]
        out["loop_at"] = report.trace.loop_at
        out["fairness"] = report.trace.fairness
    return out
