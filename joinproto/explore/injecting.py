"""Injecting a fault that the world does not have: a new world, and the same run with the fault.

The fault's budget is one more than was spent, which makes another world.  The steps of that world
have the same words, so the run so far is also a run of the new world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from joinproto.check.environment import every_split
from joinproto.check.faults import UNLIMITED, links_cut
from joinproto.check.injected import FAULTS, Budgets, Injected, inject_more
from joinproto.check.world import World
from joinproto.errors import UsageProblem
from joinproto.explore.arguments import keys_of, number_of
from joinproto.explore.disks import KINDS as DISK_KINDS
from joinproto.explore.disks import fault_of
from joinproto.explore.graph import Graph, Json
from joinproto.explore.walking import follow

if TYPE_CHECKING:
    from joinproto.explore.session import Session

KINDS = ("crash", "cut", *DISK_KINDS)


def inject_here(session: Session, given: Json) -> Json:
    """Inject a fault; return the world with it, and the run with the fault's steps at its end.

    `kind`: one of `KINDS`.  `member`, `to`: the members concerned.  `keys`, `start`: the run so
    far.  For the arguments of a disk's fault see `joinproto.explore.disks.fault_of`.
    """
    kind, member, to = given.get("kind"), given.get("member"), given.get("to")
    names = session.now.graph.names
    if kind not in KINDS:
        raise UsageProblem(f"there is no fault {kind!r}", next=f"use one of {', '.join(KINDS)}")
    if member not in names or (kind == "cut" and (to not in names or to == member)):
        raise UsageProblem(
            f"{kind} of {member!r}{f' and {to!r}' if kind == 'cut' else ''} is not possible",
            next=f"{'name two of' if kind == 'cut' else 'name one of'} {', '.join(names)}",
        )
    before = session.now
    start, keys = number_of(given, "start"), keys_of(given)
    if kind in DISK_KINDS:
        fault, says = fault_of(before.graph, str(kind), str(member), given)
        world, tests = _with_disk(before.graph.world, fault, str(member))
    else:
        world, tests, says = _with_fault(before.graph.world, kind, str(member), str(to))
    now = type(before).of(before.loaded, world)
    run = follow(now.graph, start, keys)
    if run["fits"] < len(keys):
        raise UsageProblem(
            f"the world with this fault does not have this run: step {run['fits'] + 1} is missing",
            next="go back some steps, and inject the fault there",
        )
    for test in tests:
        run = _take_step(now.graph, run, test, says)
    session.replace(now)
    return {"world": session.world_json(), "run": {**run, "start": start}, "says": says}


StepTest = Callable[[Json, Mapping[str, Any]], bool | None]
"""A test whether a step is a step of the fault; None if no step is needed."""


def _with_fault(world: World, kind: str, member: str, to: str) -> tuple[World, list[StepTest], str]:
    """Return the world with one more fault, the tests for the fault's steps, and a text."""
    if kind == "crash":
        world = _with_crash(world, member)
        return world, [_crashes(member)], f"{member} crashes"
    faults = world.faults
    cut = links_cut((member, to))
    splits = faults.splits
    if splits is None:
        splits = every_split(tuple(world.members)) if faults.partitions else ()
    splits = (*splits, cut) if cut not in splits else splits
    most = faults.partitions if faults.partitions >= UNLIMITED else faults.partitions + 1
    faults = evolve(faults, splits=splits, partitions=most)
    ends = {member, to}

    def split(step: Json, _: Mapping[str, Any]) -> bool | None:
        is_cut = step["action"] == "split" and step["detail"].startswith("links ")
        words = step["detail"].removeprefix("links ").replace(",", "").split()
        return is_cut and set(words) - {"to"} == ends

    return evolve(world, faults=faults), [split], f"the link of {member} and {to} is cut"


def _crashes(member: str) -> StepTest:
    def crash(step: Json, state: Mapping[str, Any]) -> bool | None:
        if member not in state["up"]:
            return None
        return bool(step["member"] == member and step["label"] == "crash")

    return crash


def _with_crash(world: World, member: str) -> World:
    """Return the world with one more crash, which this member may have."""
    faults = world.faults
    if member in faults.spared:
        faults = evolve(faults, spared=faults.spared - {member})
    if faults.crashes < UNLIMITED:
        faults = evolve(faults, crashes=faults.crashes + 1)
    return evolve(world, faults=faults)


# -- faults of disks -------------------------------------------------------------------------


def _with_disk(world: World, fault: Injected, member: str) -> tuple[World, list[StepTest]]:
    """Return the world with a disk's fault, and the tests for its steps: a crash, and the fault."""
    if world.faults.crashes < UNLIMITED:
        world = _with_crash(world, member)

    def happens(step: Json, _: Mapping[str, Any]) -> bool | None:
        return bool(step["action"] == fault.action and member in step["members"])

    tests: list[StepTest] = [_crashes(member), happens]
    if FAULTS not in world.members:
        show = world.show_disk
        # The member that holds the budgets has no disk that `show_disk` knows.
        shown = None if show is None else lambda disk: show(disk) if disk.values else None
        world = evolve(world, show_disk=shown)
    elif not isinstance(world.members[FAULTS](), Budgets):
        raise UsageProblem(
            f"the world has a member {FAULTS!r} of its own", next="rename it in the model"
        )
    return inject_more(world, fault), tests


def _take_step(graph: Graph, run: Json, test: StepTest, says: str) -> Json:
    """Return the run with the step that the test finds at its end; raises `UsageProblem`."""
    at = run["ids"][-1]
    state = graph.state_json(at)
    here = {"up": [one["name"] for one in state["members"] if one["up"]]}
    for step in graph.steps_json(at):
        answer = test(step, here)
        if answer is None:
            return run
        if answer:
            return {**run, "ids": [*run["ids"], step["to"]], "steps": [*run["steps"], step]}
    raise UsageProblem(
        f"{says}: this fault changes nothing here, or cannot happen",
        next="for a cut link, heal the present partition first; a blank disk cannot be lost",
    )
