"""Faults of one disk that a user injects: lost, restored, torn in the middle of a write, edited.

The fault happens to a stopped member without a call of its code (`DiskBecomes`).  How the member
handles the disk shows when it starts again.  An action's name has the member and the disk, so no
two actions have the same name.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from joinproto.check.events import plain
from joinproto.check.freeze import thaw
from joinproto.check.injected import Injected, disk_lost
from joinproto.check.local import DiskBecomes, Offline
from joinproto.errors import UsageProblem
from joinproto.explore.arguments import keys_of, list_of, number_of
from joinproto.explore.graph import Graph, Json
from joinproto.explore.walking import follow

if TYPE_CHECKING:
    from joinproto.explore.session import Session

KINDS = ("disk-lost", "disk-older", "disk-torn", "disk-edited")

STATES_MAX = 20_000
"""The most states that are searched for values of durable attributes."""

VALUES_MAX = 24
"""The most values of one attribute that are listed."""

Contents = Mapping[str, Hashable]
"""The contents of a disk, frozen, by attribute."""


def fault_of(graph: Graph, kind: str, member: str, given: Json) -> tuple[Injected, str]:
    """Return the fault that is asked for, and its words; raises `UsageProblem`.

    `keeps`: the attributes that a lost disk keeps.  `after`: the number of steps of the run before
    an older copy was made.  `written`: the attributes that a torn write has written.  `values`:
    attribute to text, for an edited disk, as `disks` lists them.
    """
    durable = _durable(graph, member)
    if not durable:
        raise UsageProblem(
            f"{member} keeps no attributes on disk", next="name a member that keeps some"
        )
    match kind:
        case "disk-lost":
            keeps = _names(given, "keeps", durable)
            kept = f", but for {', '.join(keeps)}" if keeps else ""
            says = f"the disk of {member} is lost{kept}"
            return evolve(disk_lost(keeps=keeps, of=(member,)), action=says), says
        case "disk-older":
            run = _disks_of(graph, member, given)
            after = number_of(given, "after")
            if not 0 <= after < len(run):
                raise UsageProblem(
                    f"a copy after {after} steps of a run of {len(run) - 1}",
                    next="name a copy that was made earlier in the run",
                )
            held: Contents = run[after]
            says = f"the disk of {member} is as it was after step {after}"
        case "disk-torn":
            written = _names(given, "written", durable)
            last = _last_write(_disks_of(graph, member, given))
            if last is None or not 0 < len(written) < len(last.names):
                raise UsageProblem(
                    f"a torn write of {', '.join(written) or 'no attributes'} by {member}",
                    next="name some of the attributes that a step of the run wrote at once",
                )
            held = last.torn(written)
            says = f"of the last write of {member}, {', '.join(written)} alone is on the disk"
        case _:
            held = _edited(graph, member, durable, given.get("values"))
            texts = ", ".join(f"{name} {text}" for name, text in _texts(held).items())
            says = f"the disk of {member} says {texts}"
    event = Offline(DiskBecomes(values=tuple(held.items())))
    return Injected(says, event, of=(member,)), says


def _names(given: Json, name: str, durable: Sequence[str]) -> list[str]:
    """Return the durable attributes that are named, in the disk's order; raises `UsageProblem`."""
    wanted = list_of(given, name)
    for one in wanted:
        if one not in durable:
            raise UsageProblem(
                f"{name}: {one!r} is not a durable attribute",
                next=f"name some of {', '.join(durable)}",
            )
    return [one for one in durable if one in wanted]


def _edited(graph: Graph, member: str, durable: Sequence[str], texts: Any) -> Contents:
    if not isinstance(texts, dict) or not texts:
        raise UsageProblem("an edited disk without values", next='{"values": {"term": "2"}}')
    known, held = _values_met(graph), {}
    for name, text in texts.items():
        if name not in durable or text not in known.get(name, {}):
            raise UsageProblem(
                f"{name} {text!r} was not met on a disk of {member}",
                next=f"name some of {', '.join(durable)}; continue the search for more values",
            )
        held[name] = known[name][text]
    return held


@frozen
class _Write:
    """A step that changed several attributes of a disk, after `after` other steps of the run."""

    after: int
    older: Contents
    newer: Contents

    @property
    def names(self) -> list[str]:
        return [name for name, value in self.newer.items() if value != self.older[name]]

    def torn(self, written: Sequence[str]) -> Contents:
        return {**self.older, **{name: self.newer[name] for name in written}}

    def parts(self) -> Iterator[list[str]]:
        """Yield the attributes that a torn write may have written: the first or the last ones."""
        names, found = self.names, []
        for count in range(1, len(names)):
            found += [one for one in (names[:count], names[count:]) if one not in found]
        yield from found


def _last_write(run: Sequence[Contents]) -> _Write | None:
    """Return the last write of several attributes in a run; None without such a write."""
    for after in range(len(run) - 2, -1, -1):
        write = _Write(after, run[after], run[after + 1])
        if len(write.names) > 1:
            return write
    return None


def disks(session: Session, given: Json) -> Json:
    """Return the contents that a member's disk may have at the end of a run.

    `durable`: its attributes.  `copies`: [{`after`, `texts`}], older contents that differ.
    `torn`: [{`written`, `texts`}], parts of its last write.  `values`: attribute to the texts that
    were met on a disk, the present text first.
    """
    graph, member = session.now.graph, given.get("member")
    if member not in graph.names:
        raise UsageProblem(
            f"{member!r} is not a member", next=f"members are {', '.join(graph.names)}"
        )
    run = _disks_of(graph, str(member), given)
    now = _texts(run[-1])
    copies: list[Json] = []
    for after, held in enumerate(run[:-1]):
        texts = _texts(held)
        if texts != now and all(texts != copy["texts"] for copy in copies):
            copies.append({"after": after, "texts": texts})
    last = _last_write(run)
    torn = [] if last is None else [(part, _texts(last.torn(part))) for part in last.parts()]
    known = _values_met(graph)
    values = {
        name: list(dict.fromkeys([text, *known.get(name, {})]))[:VALUES_MAX]
        for name, text in now.items()
    }
    return {
        "durable": list(now),
        "copies": copies,
        "torn": [{"written": part, "texts": texts} for part, texts in torn if texts != now],
        "step": None if last is None else last.after + 1,
        "values": values,
    }


def _durable(graph: Graph, member: str) -> Sequence[str]:
    return graph.steps.codes.members[graph.names.index(member)].objects.persistent


def _disks_of(graph: Graph, member: str, given: Json) -> list[Contents]:
    """Return the contents of a member's disk in each state of a run."""
    ids = follow(graph, number_of(given, "start"), keys_of(given))["ids"]
    place, durable = graph.names.index(member), _durable(graph, member)
    locals_ = (graph.state(at).locals[place] for at in ids)
    return [dict(zip(durable, local.disk, strict=True)) for local in locals_]


def _texts(held: Contents) -> dict[str, str]:
    return {name: plain(thaw(value)) for name, value in held.items()}


def _values_met(graph: Graph) -> dict[str, dict[str, Hashable]]:
    """Return the values that durable attributes had in the states met: name, text, value."""
    met: dict[str, dict[Hashable, None]] = {}
    for state in graph.states[:STATES_MAX]:
        for code, local in zip(graph.steps.codes.members, state.locals, strict=True):
            for name, value in zip(code.objects.persistent, local.disk, strict=True):
                met.setdefault(name, {})[value] = None
    return {
        name: {plain(thaw(value)): value for value in reversed(values)}
        for name, values in met.items()
    }
