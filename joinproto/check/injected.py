"""Faults that a model defines in addition to `Faults`: steps with a budget for the whole run.

    world = inject(
        World(...),
        disk_lost(keeps=("identity",)),          # blank again, under its old identity
        older_copy(),                            # a copy is made, and put back some time later
        disk_edited(role="replica"),             # the wrong role in the configuration at restart
        Injected("stalls", "stall", of=("n1",)), # any event: the member decides what it does
    )

`inject` adds a member, `faults`, that holds the budgets, and joint steps that spend them.  Claims
that count on steps other than faults (`always_possible`, `eventually`) do not count on these steps.
Runs show them by name, `--coverage` counts them, and a fault that never happened is reported.

A fault of a disk reaches a member that is stopped, so the world also needs crashes, or begins with
its members down.  The member's code is not called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.check.local import DiskBecomes, Offline
from joinproto.check.problems import ModelProblem, must, refuse_strangers
from joinproto.check.view import DOWN, View
from joinproto.check.world import Together, World

FAULTS = "faults"
"""The member that holds the budgets."""

_BUDGET = must(lambda value: isinstance(value, int) and value > 0, "a whole number from 1 on")


@frozen(kw_only=True)
class Injected:
    """A fault: `event` reaches one of the members `of` (None means any).

    `action`: the step's name.  `budget`: how often in one run, over all members; 1 or more.
    `event`: passed to `receive`; or `Offline(event)` for a stopped member.  A member that answers
    `NOT_ENABLED` is spared.  `when`: the fault can happen only in views for which this is true.
    """

    action: str = field(kw_only=False)
    event: Any = field(kw_only=False)
    of: Sequence[str] | None = None
    budget: int = field(default=1, validator=_BUDGET)
    when: Callable[[View], Any] | None = None

    def steps(self, names: Sequence[str], view: View) -> Iterator[Together]:
        """Yield the fault's steps in a view; a member can refuse its step with `NOT_ENABLED`."""
        if self.when is None or self.when(view):
            for name in self.of or names:
                yield Together(self.action, {name: self.event}, name, fair=False, fault=True)


@frozen(kw_only=True)
class _OlderCopy(Injected):
    """Two steps: the disk of a stopped or running member is copied, and the copy put back later."""

    def steps(self, names: Sequence[str], view: View) -> Iterator[Together]:
        for name in self.of or names:
            held = tuple(view.disk[name].values)
            copy = dict(view[FAULTS].copies).get(name)
            if copy is None:
                events: dict[str, Any] = {FAULTS: ("copy", name, held)}
                yield Together("a copy of the disk is made", events, name, fair=False, fault=True)
            elif copy != held and view[name] is DOWN:
                events = {name: Offline(DiskBecomes(values=copy))}
                yield Together(self.action, events, name, fair=False, fault=True)


def disk_lost(
    *, keeps: Sequence[str] = (), of: Sequence[str] | None = None, budget: int = 1
) -> Injected:
    """Return the fault in which a stopped member's disk becomes blank, as it was at first.

    `keeps`: durable attributes that stay.  `of`, `budget`: as of `Injected`.
    """
    kept = f", but for {', '.join(keeps)}" if keeps else ""
    event = Offline(DiskBecomes(keeps=tuple(keeps), blank=True))
    return Injected(f"the disk is lost{kept}", event, of=of, budget=budget)


def disk_edited(
    *, of: Sequence[str] | None = None, budget: int = 1, action: str = "", **values: Any
) -> Injected:
    """Return the fault in which durable attributes of a stopped member become `values`, by name.

    Examples: a wrong role in a configuration, half of an update, another cluster's identity.
    `of`, `budget`: as of `Injected`.  `action`: the step's name; "" makes a name from the values.
    """
    texts = ", ".join(f"{name} {value}" for name, value in values.items())
    event = Offline(DiskBecomes(values=tuple(values.items())))
    return Injected(action or f"the disk says {texts}", event, of=of, budget=budget)


def older_copy(*, of: Sequence[str] | None = None, budget: int = 1) -> Injected:
    """Return the fault in which an older copy of a stopped member's disk is put back.

    A copy is made at any moment, at most one of each member.  `of`, `budget`: as of `Injected`;
    the budget counts how often a copy is put back, not how often one is made.
    """
    return _OlderCopy("an older copy of the disk is put back", None, of=of, budget=budget)


@frozen
class SpendBudget:
    """Event: the budget of the fault `action` decreases by one."""

    action: str

    def __str__(self) -> str:
        return self.action


class Budgets:
    """The remaining budget of each injected fault, and copies of disks by name."""

    def __init__(self, left: Mapping[str, int]) -> None:
        self.left = dict(left)
        self.copies: dict[str, Any] = {}

    def receive(self, event: Any) -> Any:
        match event:
            case SpendBudget(action) if self.left.get(action, 0) > 0:
                self.left[action] -= 1
            case ("copy", name, held) if name not in self.copies:
                self.copies[name] = held
            case _:
                return NOT_ENABLED
        return None

    def story(self) -> dict[str, Any]:
        left = {action: f"{count} left" for action, count in self.left.items()}
        return {**left, **{f"copy of {name}": held for name, held in self.copies.items()}}

    def shows(self) -> Any:
        return Copies(tuple(sorted(self.copies.items())))


@frozen
class Copies:
    """The observation of the `faults` member: the copies that were made."""

    copies: tuple[tuple[str, Any], ...] = ()


def inject(world: World, *faults: Injected) -> World:
    """Return the world in which these faults may happen, too.

    Raises `ModelProblem` for a fault of an unknown member, two faults of one name, and a world that
    has a member called `faults`, such as a world with injected faults.
    """
    names = tuple(world.members)
    if FAULTS in names:
        raise ModelProblem(
            f"world {world.name} already has a member {FAULTS!r}",
            next="give all faults in one call of inject(...), or rename the member",
        )
    actions = [fault.action for fault in faults]
    for at, fault in enumerate(faults):
        if fault.action in actions[:at]:
            raise ModelProblem(
                f"fault {fault.action!r} is injected twice", next="inject it once, with budget=2"
            )
        refuse_strangers(f"fault {fault.action!r} is one of", fault.of or (), names)
    return inject_more(world, *faults)


def inject_more(world: World, *faults: Injected) -> World:
    """Return the world in which these faults may happen, too; `world` may have injected faults.

    The budget of a fault that `world` already has grows by the budget given here.
    """
    make: Any = world.members.get(FAULTS)
    left = {} if make is None else dict(make().left)
    added = [fault for fault in faults if fault.action not in left]
    for fault in faults:
        left[fault.action] = left.get(fault.action, 0) + fault.budget
    targets = [name for name in world.members if name not in (*world.beside, FAULTS)]

    def steps(view: View) -> Iterator[Together]:
        yield from world.joint_steps(view)
        for fault in added:
            for step in fault.steps(targets, view):
                yield step if FAULTS in step.events else spending(step)

    copies = any(isinstance(fault, _OlderCopy) for fault in added)
    disks = (lambda disk: disk) if copies and world.show_disk is None else world.show_disk
    return evolve(
        budgeted(world, left), together=steps if added else world.together, show_disk=disks
    )


def budgeted(world: World, budgets: Mapping[str, int]) -> World:
    """Return the world with a member that holds `budgets`: action of a step to its budget."""
    return evolve(
        world,
        members={**world.members, FAULTS: lambda: Budgets(budgets)},
        beside=tuple(dict.fromkeys((*world.beside, FAULTS))),
        faults=evolve(world.faults, spared=world.faults.spared | {FAULTS}),
    )


def spending(step: Together) -> Together:
    """Return the step, changed so that it decreases the budget of its action by one."""
    return evolve(step, events={**step.events, FAULTS: SpendBudget(step.action)})


def never_injected(world: World, actions: Iterable[str]) -> Iterator[str]:
    """Yield a text for each injected fault of `world` that is not among the taken `actions`."""
    make = world.members.get(FAULTS)
    budgets = None if make is None else make()
    if isinstance(budgets, Budgets):
        taken = set(actions)
        for action, count in budgets.left.items():
            if action not in taken:
                yield f"fault: {action}, up to {count}, and it never happened"
