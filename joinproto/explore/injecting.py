"""A fault that the world does not have, injected where a user stands: the world, and the run again.

The fault gets a budget of one more than was spent, so the world becomes another one; its steps
have the same words, so the run so far is one of the new world, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from joinproto.check.environment import every_split
from joinproto.check.events import plain
from joinproto.check.faults import UNLIMITED, links_cut
from joinproto.check.freeze import thaw
from joinproto.check.injected import FAULTS, Injected, disk_lost, inject
from joinproto.check.local import DiskBecomes, Offline
from joinproto.check.member import MemberCode
from joinproto.check.world import World
from joinproto.errors import UsageProblem
from joinproto.explore.arguments import keys_of, number_of
from joinproto.explore.graph import Graph, Json
from joinproto.explore.walking import follow

if TYPE_CHECKING:
    from joinproto.explore.session import Session

OF_DISKS = ("disk-lost", "disk-older", "disk-edited")
KINDS = ("crash", "cut", *OF_DISKS)

STATES_MAX = 20_000
"""So many of the states that were met are looked at for values of durable attributes."""

VALUES_MAX = 24
"""Of one attribute."""


def inject_here(session: Session, given: Json) -> Json:
    """Return the world with the fault, and the run with the fault's steps at its end.

    `kind`: one of `KINDS`.  `member`, `to`: whose.  `keys`, `start`: the run to here.  `after`: of
    an older copy, after how many steps of the run it was made.  `values`: of an edited disk,
    attribute to text, as `disks` lists them.
    """
    kind, member, to = given.get("kind"), given.get("member"), given.get("to")
    names = session.now.graph.names
    if kind not in KINDS:
        raise UsageProblem(f"there is no fault {kind!r}", next=f"there are {', '.join(KINDS)}")
    if member not in names or (kind == "cut" and (to not in names or to == member)):
        raise UsageProblem(
            f"{kind} of {member!r}{f' and {to!r}' if kind == 'cut' else ''}",
            next=f"members are {', '.join(names)}",
        )
    before = session.now
    start, keys = number_of(given, "start"), keys_of(given)
    if kind in OF_DISKS:
        fault, says = _fault_of_disk(before.graph, str(kind), str(member), given)
        world, wanted = _with_disk(before.graph.world, fault, str(member))
    else:
        world, wanted, says = _with(before.graph.world, kind, str(member), str(to))
    now = type(before).of(before.loaded, world)
    run = follow(now.graph, start, keys)
    if run["fits"] < len(keys):
        raise UsageProblem(
            f"the run is none of the world with this fault: step {run['fits'] + 1} is missing",
            next="go back some steps, and inject it there",
        )
    for is_it in wanted:
        run = _taken(now.graph, run, is_it, says)
    session.replaces(now)
    return {"world": session.world_json(), "run": {**run, "start": start}, "says": says}


Wanted = Callable[[Json, Mapping[str, Any]], bool | None]
"""Whether a step is the one; None: nothing has to be done."""


def _with(world: World, kind: str, member: str, to: str) -> tuple[World, list[Wanted], str]:
    """Return the world with one fault more, which steps it takes, and that in words."""
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


def _crashes(member: str) -> Wanted:
    def crash(step: Json, state: Mapping[str, Any]) -> bool | None:
        if member not in state["up"]:
            return None
        return bool(step["member"] == member and step["label"] == "crash")

    return crash


def _with_crash(world: World, member: str) -> World:
    """Return the world in which that member may crash once more."""
    faults = world.faults
    if member in faults.spared:
        faults = evolve(faults, spared=faults.spared - {member})
    if faults.crashes < UNLIMITED:
        faults = evolve(faults, crashes=faults.crashes + 1)
    return evolve(world, faults=faults)


# -- faults of disks -------------------------------------------------------------------------


def _with_disk(world: World, fault: Injected, member: str) -> tuple[World, list[Wanted]]:
    """Return the world with a fault of a disk, and the steps it takes: a crash, and the fault."""
    if FAULTS in world.members:
        raise UsageProblem(
            "a fault of a disk was injected into this world before",
            next="load the world again; one of the disk can be injected at a time",
        )
    if world.faults.crashes < UNLIMITED:
        world = _with_crash(world, member)
    show = world.show_disk
    # The member that holds the budgets has no disk that the world knows how to show.
    shown = None if show is None else lambda disk: show(disk) if disk.values else None
    made = inject(evolve(world, show_disk=shown), fault)

    def happens(step: Json, _: Mapping[str, Any]) -> bool | None:
        return bool(step["action"] == fault.action and member in step["members"])

    return made, [_crashes(member), happens]


def _fault_of_disk(graph: Graph, kind: str, member: str, given: Json) -> tuple[Injected, str]:
    """Return the fault that is asked for, and that in words."""
    if kind == "disk-lost":
        return disk_lost(of=(member,)), f"the disk of {member} is lost"
    held: Mapping[str, Hashable]
    if kind == "disk-older":
        ids = follow(graph, number_of(given, "start"), keys_of(given))["ids"]
        after = number_of(given, "after")
        if not 0 <= after < len(ids):
            raise UsageProblem(
                f"a copy after {after} steps of a run of {len(ids) - 1}",
                next="take one that was made before",
            )
        held = _held(graph, member, ids[after])
        action = "an older copy of the disk is put back"
        says = f"the disk of {member} is as it was after step {after}"
    else:
        known, held = _values_met(graph), {}
        texts = given.get("values")
        if not isinstance(texts, dict) or not texts:
            raise UsageProblem("an edited disk without values", next='{"values": {"term": "2"}}')
        durable = _code(graph, member).objects.persistent
        for name, text in texts.items():
            if name not in durable or text not in known.get(name, {}):
                raise UsageProblem(
                    f"{name} {text!r} is no value of a disk of {member} that was met",
                    next=f"durable are {', '.join(durable) or 'no attributes'}; search on for more",
                )
            held[name] = known[name][text]
        said = ", ".join(f"{name} {text}" for name, text in texts.items())
        action = f"the disk is edited ({said})"
        says = f"the disk of {member} says {said}"
    if not held:
        raise UsageProblem(f"{member} keeps nothing on disk", next="take a member that does")
    event = Offline(DiskBecomes(values=tuple(held.items())))
    return Injected(action, event, of=(member,)), says


def disks(session: Session, given: Json) -> Json:
    """Return what a member's disk may become: older copies in the run, and values to edit it.

    `copies`: [{`after`, `texts`}], other than the disk is at the end of the run.  `values`:
    attribute to texts that were met on a disk, the present one first.
    """
    graph, member = session.now.graph, given.get("member")
    if member not in graph.names:
        raise UsageProblem(f"{member!r} is no member", next=f"members are {', '.join(graph.names)}")
    ids = follow(graph, number_of(given, "start"), keys_of(given))["ids"]
    now = _texts(_held(graph, str(member), ids[-1]))
    copies: list[Json] = []
    for after, at in enumerate(ids[:-1]):
        texts = _texts(_held(graph, str(member), at))
        if texts != now and all(texts != copy["texts"] for copy in copies):
            copies.append({"after": after, "texts": texts})
    known = _values_met(graph)
    values = {
        name: list(dict.fromkeys([text, *known.get(name, {})]))[:VALUES_MAX]
        for name, text in now.items()
    }
    return {"copies": copies, "values": values}


def _code(graph: Graph, member: str) -> MemberCode:
    return graph.steps.codes.members[graph.names.index(member)]


def _held(graph: Graph, member: str, at: int) -> dict[str, Hashable]:
    """Return what a member's disk holds in a state, frozen, by attribute."""
    local = graph.state(at).locals[graph.names.index(member)]
    return dict(zip(_code(graph, member).objects.persistent, local.disk, strict=True))


def _texts(held: Mapping[str, Hashable]) -> dict[str, str]:
    return {name: plain(thaw(value)) for name, value in held.items()}


def _values_met(graph: Graph) -> dict[str, dict[str, Hashable]]:
    """Return the values that durable attributes had in states that were met: name, text, value."""
    met: dict[str, dict[Hashable, None]] = {}
    for state in graph.states[:STATES_MAX]:
        for code, local in zip(graph.steps.codes.members, state.locals, strict=True):
            for name, value in zip(code.objects.persistent, local.disk, strict=True):
                met.setdefault(name, {})[value] = None
    return {
        name: {plain(thaw(value)): value for value in reversed(values)}
        for name, values in met.items()
    }


def _taken(graph: Graph, run: Json, is_it: Wanted, says: str) -> Json:
    at = run["ids"][-1]
    state = graph.state_json(at)
    here = {"up": [one["name"] for one in state["members"] if one["up"]]}
    for step in graph.steps_json(at):
        answer = is_it(step, here)
        if answer is None:
            return run
        if answer:
            return {**run, "ids": [*run["ids"], step["to"]], "steps": [*run["steps"], step]}
    raise UsageProblem(
        f"{says}: that changes nothing here, or cannot happen",
        next="for a cut link, heal the present partition first; a blank disk cannot be lost",
    )
