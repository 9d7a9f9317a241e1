"""The coverage of a search, and its report.

A claim that no state or step tested may hold for an unintended reason, so its result is
"unknown".
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from attrs import Factory, define, evolve

from joinproto.check.causes import (
    SHOWS_NONE,
    looks_outside,
    misspelt_texts,
    only_iterates_over_names,
    shows_nothing,
    texts_shown,
)
from joinproto.check.events import Message, plain
from joinproto.check.freeze import thaw
from joinproto.check.injected import FAULTS, never_injected
from joinproto.check.local import WIPE
from joinproto.check.pictures import with_pictures
from joinproto.check.plain_steps import Steps
from joinproto.check.properties import ON_FAIR_RUNS, Property
from joinproto.check.report import Coverage, PropertyResult, Report
from joinproto.check.view import DOWN
from joinproto.check.world import World


@define
class MessageKinds:
    """For each kind of message: whether any member took one, and whether one changed anything."""

    _found: dict[str, tuple[bool, bool]] = Factory(dict)

    def add(self, event: Hashable, *, takes: bool, acts: bool) -> None:
        """Record that a member was offered a message; other events are ignored."""
        if isinstance(event, Message):
            kind = kind_of(thaw(event.content))
            known = self._found.get(kind, (False, False))
            self._found[kind] = known[0] or takes, known[1] or acts

    def never(self) -> list[str]:
        """Return a text for each kind of message that never changed anything."""
        return [
            f"message “{kind}”: "
            + ("no step that takes it has an effect" if takes else "no step takes it")
            for kind, (takes, acts) in sorted(self._found.items())
            if not acts
        ]


def kind_of(content: Any) -> str:
    """Return the kind of a message: its text, the first item of its tuple, or its class."""
    first = content[0] if isinstance(content, tuple) and content else content
    if isinstance(first, (str, enum.Enum)):
        return f"({plain(first)}, ...)" if first is not content else plain(first)
    return type(content).__qualname__


def counted_coverage(
    world: World,
    actions: Mapping[str, int],
    rules: Mapping[str, int],
    seen: Mapping[str, Sequence[Any]],
    message_kinds: MessageKinds,
    unwritten: Sequence[str] = (),
    growing: Iterable[str] = (),
) -> Coverage:
    """Return how often each step and case was taken, and the parts that never occurred.

    `actions`, `rules`: each possible step and case, with its count.  `seen`: the observations of
    each member.  `unwritten`: members with durable attributes whose disk stayed as it was made.
    `growing`: attributes that may grow without end, if a limit ended the search.
    """
    # Sorted by name, because engines number steps in different orders.
    never = [f"step: {name}" for name, count in sorted(actions.items()) if count == 0]
    never += [f"case of a table: {rule}" for rule, count in rules.items() if count == 0]
    for name, shown in seen.items():
        never += [f"shown by {name}: {text}" for text in _unseen(shown)]
    never += shows_nothing(seen)
    never += message_kinds.never()
    never += [f"disk of {name}: no Persist() ever changed it" for name in unwritten]
    faults = world.faults
    for budget, count, step in (
        ("partitions", faults.partitions, "split or heal"),
        ("losses", faults.losses, "lose"),
        ("duplicates", faults.duplicates, "duplicate"),
        ("wipes", faults.wipes, str(WIPE)),
    ):
        if count and not any(name.startswith(step) for name in actions):
            never.append(f"fault: {budget}={count}, and no such fault ever happened")
    taken = [name.removesuffix(f" ({FAULTS})") for name, count in actions.items() if count]
    never += never_injected(world, taken)
    never += misspelt_texts(world, seen)
    never += looks_outside(world)
    void = {item.name: why for item in world.properties if (why := _untested(world, item, seen))}
    return Coverage(
        dict(sorted(actions.items())),
        dict(sorted(rules.items())),
        tuple(never),
        void,
        texts_shown(seen),
        tuple(growing),
    )


def _unseen(seen: Sequence[Any]) -> list[str]:
    """Return the values of an enum that a member never showed, if it shows only this enum."""
    kinds = {type(value) for value in seen if value is not DOWN}
    if len(kinds) != 1:
        return []
    kind = kinds.pop()
    if not issubclass(kind, enum.Enum):
        return []
    return [str(value.value) for value in kind if value not in seen]


# -- claims that were never put to the test --------------------------------------------------


def _untested(world: World, item: Property, seen: Mapping[str, Sequence[Any]]) -> str:
    """Return why a claim about observations was not tested, or "" if it was."""
    shown = [
        {value is None for value in seen[name] if value is not DOWN}
        for name in item.among or world.members
    ]
    running = [values for values in shown if values]
    if only_iterates_over_names(world, item, seen):
        return "it iterates over members' names; view.values() has their observations"
    if item.scope in ("each", "pair", "beside"):
        if not running:
            return "none of its members ever runs"
        if item.scope == "pair" and len(running) < 2 <= len(shown):
            return "no two of its members ever run"
    elif item.scope == "monitor" or _sees_more(world, item):
        return ""
    if running and all(values == {True} for values in running):
        return f"its members show None: {SHOWS_NONE}"
    return ""


def _sees_more(world: World, item: Property) -> bool:
    """Return whether a claim sees more than observations of members."""
    more = (world.show_disk, world.monitor)
    return (
        item.kind in ("no deadlock", "always step", "implements")
        or any(part is not None for part in more)
        or world.show_links
        or world.faults.partitions > 0
        or world.faults.crashes > 0
    )


def _true_at_once(world: World, report: Report) -> Iterator[str]:
    """Yield a note on each `eventually` that holds because it is true in every initial state."""
    held = {item.name for item in report.properties if item.result == "holds"}
    claims = [c for c in world.properties if c.kind == "eventually" and c.name in held]
    if not claims:
        return
    steps = Steps(world)
    views = [steps.view(state) for state in dict.fromkeys(steps.initials())]
    for item in claims:
        if all(item.holds(view) for view in views):
            yield f"“{item.name}” is true in every initial state, so no run was put to a test"


def final_report(
    world: World,
    results: Iterable[PropertyResult],
    coverage: Coverage,
    *,
    idle: Sequence[str],
    levels: tuple[int, ...],
    **measured: Any,
) -> Report:
    """Return the report of a search on one machine or on Spark.

    `results`: the result of every claim, in the world's order.  `idle`: demands of fairness for
    steps that are never possible.  `levels`: distinct states at each depth.  `measured`: the other
    fields of `Report`: the engine, its counts and costs.
    """
    properties = tuple(evolve(item, trace=with_pictures(world, item.trace)) for item in results)
    broken = [item.trace for item in properties if item.result == "violated" and item.trace]
    found = {item.result for item in properties}
    result: Literal["holds", "violated", "incomplete"] = "holds"
    if not found.isdisjoint(("violated", "not-reached")):
        result = "violated"
    elif measured["stopped_by"] or "unknown" in found:
        result = "incomplete"
    live = any(item.kind in ON_FAIR_RUNS for item in properties)
    report = Report(
        world=world.name,
        about=world.about,
        result=result,
        depth=len(levels),
        levels=levels,
        properties=properties,
        fair_to=tuple(map(str, world.fairness)) if live else (),
        coverage=evolve(coverage, never=(*coverage.never, *idle)),
        members=world.size,
        expected=world.expected,
        # The shortest run; of equally short ones, that of the first claim.
        trace=min(broken, key=lambda trace: len(trace.steps), default=None),
        **measured,
    )
    return with_open_claims(world, report)


def with_open_claims(world: World, report: Report) -> Report:
    """Return the report with the result "unknown" for every claim that was never put to the test.

    If no step changes a state, these are all claims except claims about deadlocks and about steps.
    """
    void = {} if report.stopped_by else dict(report.coverage.void)
    if report.levels == (1,) and world.same is None:
        why = "no step changes a state"
        if report.generated == 1:
            why = "no step is possible: runs begin in a state without any step"
        if report.beyond:
            why = "no step is taken: `within` is not true of the state in which runs begin"
        spared = ("no deadlock", "always step") if report.generated > 1 else ("no deadlock",)
        void |= {item.name: why for item in world.properties if item.kind not in spared}
    held = {item.name for item in report.properties if item.result == "holds"}
    if report.stopped_by or report.result != "holds":
        held = set()
    void = {name: why for name, why in void.items() if name in held}
    coverage = evolve(report.coverage, void=void)
    if all(item.result != "not-reached" for item in report.properties):
        coverage = evolve(coverage, shown={})
    coverage = evolve(coverage, never=(*coverage.never, *_true_at_once(world, report)))
    if report.generated == report.levels[0] and not report.stopped_by and not report.beyond:
        coverage = evolve(coverage, never=(*coverage.never, "step: none is ever possible"))
    if not void:
        return evolve(report, coverage=coverage)
    if any(why.endswith(SHOWS_NONE) for why in void.values()):
        never = tuple(part for part in coverage.never if not part.endswith(SHOWS_NONE))
        coverage = evolve(coverage, never=never)
    properties = tuple(
        evolve(item, result="unknown") if item.name in void else item for item in report.properties
    )
    return evolve(report, coverage=coverage, properties=properties, result="incomplete")
