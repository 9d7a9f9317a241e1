"""Following the last line of a verdict: its steps, and the messages lost by them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from attrs import field, frozen

NODE = r"[\w-]+@[\w.-]*\w"
STAGES = re.compile(rf": ({NODE}(?:(?:, |; then |; ){NODE})*)")
FORCE = re.compile(rf"rabbitmqctl -n ({NODE}) force_boot")
EVAL = re.compile(rf"rabbitmqctl -n '?({NODE})'? eval ('(?:[^']|'\"'\"')*')")
"""The code is quoted by `shlex.quote`."""


@frozen(kw_only=True)
class Steps:
    """The steps of a last line: the node that is forced ("": none), and the nodes of each stage.

    `evals`: nodes, and the code that each evaluates at the end.
    """

    force: str
    stages: tuple[tuple[str, ...], ...]
    evals: tuple[tuple[str, str], ...] = ()


@frozen(kw_only=True)
class Followed:
    """The outcome of following a last line.

    `kept`: the number of acknowledged writes that some store has.  `lost`: how many of them are
    lost.  `is_said`: whether the line says that data are lost.  `not_up`: nodes that do not serve.
    `messages`: the number of confirmed messages that each queue lacks.  `is_assumed`: a store went
    back and no file shows it; the line assumes that no store did.  `queues`: the number of queues
    that were called proven, and were compared by message.
    """

    steps: Steps
    kept: int
    lost: int
    is_said: bool
    not_up: tuple[str, ...]
    messages: Mapping[str, int] = field(factory=dict)
    is_assumed: bool = False
    queues: int = 0

    @property
    def text(self) -> str:
        stages = "; ".join(",".join(map(_short, stage)) for stage in self.steps.stages)
        forced = f"force {_short(self.steps.force)}, " if self.steps.force else ""
        stuck = f", not up: {','.join(map(_short, self.not_up))}" if self.not_up else ""
        said = f" ({'said' if self.is_said else 'NOT SAID'})" if self.lost else ""
        gone = "".join(
            f", {lost} messages of {name}" for name, lost in self.messages.items() if lost
        )
        proven = f" in {self.queues} proven queues" if self.queues else ""
        asked = f", {len(self.steps.evals)} evaluated" if self.steps.evals else ""
        return (
            f"{forced}{stages}{asked}: lost {self.lost} of {self.kept}{proven}{gone}{said}{stuck}"
        )

    @property
    def wrong(self) -> Iterator[str]:
        if self.lost and not self.is_said and not self.is_assumed:
            lost = f"following the last line lost {self.lost} of {self.kept}"
            yield f"{lost}, and the line does not say so"


def steps_of(line: str) -> Steps | None:
    """Return the steps of a last line, or None if it gives no order and no forced start."""
    # Text in brackets is advice for the case that the other steps do not help.
    line = re.sub(r"\([^()]*\)", "", line)
    force = FORCE.search(line)
    orders = STAGES.findall(line[force.end() :] if force else line)
    if not orders:
        return Steps(force=force[1], stages=((force[1],),)) if force else None
    stages = tuple(tuple(stage.split(", ")) for stage in re.split(r"; (?:then )?", orders[-1]))
    return Steps(force=force[1] if force else "", stages=stages)


def evals_of(line: str) -> tuple[tuple[str, str], ...]:
    """Return the nodes and code of a last line's evaluations, in order."""
    return tuple((node, shlex.split(code)[0]) for node, code in EVAL.findall(line))


def says_loss(line: str) -> bool:
    """Return whether a last line says that its advice loses data."""
    kept = re.search(r"(nothing|no definition) is lost|(is|are) kept", line) is not None
    return not kept and re.search(r"\blost\b", line) is not None


def _short(node: str) -> str:
    return node.partition("@")[0]
