"""Claims about the whole world, evaluated under every renaming of interchangeable members.

Answers are not kept by the values read (`reading.py`), because a renaming concerns the whole view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from joinproto.check.asking import guard, is_within
from joinproto.check.local import freeze_event, rename_event
from joinproto.check.problems import ModelProblem
from joinproto.check.view import View
from joinproto.check.world import Together

if TYPE_CHECKING:
    from joinproto.check.engine.claims.judge import Judge

RenamedViews = Callable[..., Iterable[tuple[dict[str, str], Callable[[], View]]]]
"""A view under every renaming, as `CodeComparison.swapped_views` yields it."""


def listed_steps(together: Callable[[View], Any], view: View) -> list[Any]:
    """Return the joint steps of a view; raises `ModelProblem` for a wrong one."""
    steps = list(together(view))
    for step in steps:
        if not isinstance(step, Together):
            raise ModelProblem(
                f"together(view) gives {step!r}", next="yield Together(action, {name: event})"
            )
        for name, event in step.events.items():
            freeze_event(event)
            if not isinstance(name, str):
                raise ModelProblem(
                    f"joint step {step.action!r} names {name!r}", next="name members by their names"
                )
    return steps


def _actions(steps: list[Together], names: dict[str, str]) -> Counter[Any]:
    """Return the renamed steps, without `detail`, a text that may name members in any way."""
    return Counter(
        (
            step.action,
            frozenset(
                (names.get(name, name), rename_event(freeze_event(event), names))
                for name, event in step.events.items()
            ),
            step.fair,
            step.fault,
        )
        for step in steps
    )


def ask_renamed(judge: Judge, count: int) -> None:
    """Evaluate all claims on the combinations from `judge.evaluated` up to `count`."""
    world, renamed = judge.tables.world, judge.renamed
    questions = [(bit, ask) for bit, ask in judge.questions() if bit >= 0]
    for number in range(judge.evaluated, count):
        if number % 64 == 0:
            judge.evaluated = number
            judge.go_on()
        # A new view for each question, because a claim may change its view.
        flags = sum(bool(ask(judge.view(number))) << bit for bit, ask in questions)
        _refuse_unlike(judge, number, flags)
        judge.flags[number] = flags
        for claim in judge.whole:
            claim.premise_met |= claim.premise_bit >= 0 and bool(flags >> claim.premise_bit & 1)
        if callable(world.together) or (world.together is not None and renamed is not None):
            _list_joint(judge, judge.view(number))
    judge.evaluated = count


def _refuse_unlike(judge: Judge, number: int, flags: int) -> None:
    """Raise `ModelProblem` if a claim or `within` has another answer for a renamed view."""
    tables = judge.tables
    if tables.code_comparison is not None and judge.whole:
        tables.code_comparison.check_whole(judge.whole, judge.view(number), flags)
    within = tables.world.within
    if within is None or judge.renamed is None:
        return
    is_inside = bool(flags >> judge.within_bit & 1)
    if any(
        is_within(within, other()) != is_inside for _, other in judge.renamed(judge.view(number))
    ):
        raise ModelProblem(
            "within(view) changes when members are renamed",
            next="make it the same for interchangeable members, or run with --no-symmetry",
        )


def _list_joint(judge: Judge, view: View) -> None:
    """Give the next combination its joint steps; a renamed view must have the renamed steps."""
    listed = judge.tables.world.joint_steps
    steps = guard("together(view)", partial(listed_steps, listed, view))
    judge.tables.add_joint(steps)
    for names, other in judge.renamed(view, every=True) if judge.renamed else ():
        moved = guard("together(view)", partial(listed_steps, listed, other()))
        if _actions(steps, names) != _actions(moved, {}):
            raise ModelProblem(
                "together(view) gives other joint steps when members are renamed",
                next="treat interchangeable members alike, or run with --no-symmetry",
            )
