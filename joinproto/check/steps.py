"""One step of a world as a value and in words; every engine uses these words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

from attrs import frozen

from joinproto.check.events import Message, plain
from joinproto.check.faults import Split, is_of_links, words_of_split
from joinproto.check.freeze import thaw
from joinproto.check.local import Lifecycle, LocalState, Outcome, bare_event, thaw_event
from joinproto.check.member import Codes
from joinproto.check.member_steps import event_words
from joinproto.check.properties import StepView
from joinproto.check.report import FailedRun, MessageText, States, Step, Trace
from joinproto.check.world import Together

Kind = Literal["choice", "receive", "lose", "duplicate", "split", "heal", "together"]
Sent = tuple[str | None, str | None, Hashable]
"""A message in the network: sender (None: unknown), addressee (None: all others), content."""


@frozen
class Move:
    """A step.  `outcomes`: (name, outcome) of each member that takes it, in the world's order.

    `event` and the content of `message` are frozen.
    """

    kind: Kind
    outcomes: tuple[tuple[str, Outcome], ...] = ()
    event: Hashable = None
    message: Sent | None = None
    split: Split | None = None
    together: Together | None = None

    @property
    def member(self) -> str | None:
        return self.outcomes[0][0] if len(self.outcomes) == 1 else None

    @property
    def is_fault(self) -> bool:
        """Return whether the step is one of the world's faults: no claim may count on it."""
        if self.together is not None and self.together.fault:
            return True
        return self.kind in ("lose", "duplicate", "split") or any(
            outcome.cost for _, outcome in self.outcomes
        )


def words(move: Move) -> tuple[str, str]:
    """Return the step's action and its detail."""
    if move.kind == "together":
        assert move.together is not None
        crashed = [
            f"; {name} crashes after effect {outcome.effects}"
            for name, outcome in move.outcomes
            if outcome.effects is not None
        ]
        return move.together.action, move.together.detail + "".join(crashed)
    if move.kind == "split":
        assert move.split is not None
        how = "links " if is_of_links(move.split) else "off "
        return "split", how + words_of_split(move.split)
    if move.kind in ("choice", "receive"):
        outcome = move.outcomes[0][1]
        event = bare_event(move.event)
        base = "receive" if isinstance(event, Message) else plain(event)
        if outcome.effects is not None:
            doing = "receiving" if base == "receive" else f"“{base}”"
            return f"crash while {doing}", f"after effect {outcome.effects}"
        return base, ""
    return move.kind, ""


def step_view(move: Move) -> StepView:
    """Return the step as claims see it."""
    action, _ = words(move)
    if move.together is not None:
        return StepView(action, None, dict(move.together.events))
    event = None
    if move.kind in ("choice", "receive"):
        event = thaw_event(move.event)
        if isinstance(event, Lifecycle):
            event = None
    return StepView(action, move.member, event)


def text_of(message: Sent) -> MessageText:
    sender, to, content = message
    return MessageText(sender, to, plain(thaw(content)))


def states_of(
    codes: Codes, locals_: Sequence[LocalState], monitor: LocalState | None
) -> dict[str, dict[str, str]]:
    """Return every member's local state as text, and the monitor's if the world has one."""
    found = {
        code.name: code.describe(local) for code, local in zip(codes.members, locals_, strict=True)
    }
    if codes.monitor is not None and monitor is not None:
        found["monitor"] = codes.monitor.describe(monitor)
    return found


def to_step(move: Move, states: Mapping[str, Mapping[str, str]]) -> Step:
    """Return the step as text, with the members' states after it."""
    action, detail = words(move)
    sent = tuple(
        text_of((name, to, content))
        for name, outcome in move.outcomes
        for to, content in outcome.sent
    )
    rules = tuple(rule for _, outcome in move.outcomes for rule in outcome.rules)
    message = None if move.message is None else text_of(move.message)
    acting = tuple(name for name, _ in move.outcomes)
    together = acting if len(acting) > 1 else ()
    return Step(action, move.member, message, sent, states, rules, detail, together)


def line_of(member: str | None, label: str) -> str:
    """Return a step in one line: the member that takes it, and its words."""
    return f"{member}: {label}" if member else label


def said(move: Move) -> str:
    """Return a step in one line, as `line_of`."""
    step = to_step(move, {})
    return line_of(step.member, step.label)


def failed_run(name: str, event: Hashable, initial: States, steps: tuple[Step, ...]) -> Trace:
    """Return the run to the state in which the code of the member `name` fails at `event`."""
    words = event_words(event) or "a start"
    asked = "a recorded event" if name == "monitor" else words
    return FailedRun(f"{name} fails at {asked}", "always", initial, steps)


def order_of(move: Move, codes: Codes) -> tuple[str, int, str]:
    """Return the sort key of a step: action, member, label.  Of equally short runs, a search
    reports the run with the first steps in this order.
    """
    action, detail = words(move)
    member = -1 if move.member is None else codes.names.index(move.member)
    message = "" if move.message is None else repr(text_of(move.message))
    return action, member, f"{message} {detail}"
