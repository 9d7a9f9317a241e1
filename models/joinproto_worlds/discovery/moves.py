"""The joint steps of nodes with the service, the network and each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from joinproto.check.view import View
from joinproto.check.world import Together
from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.boot import Rules, Step
from joinproto.discovery.round import Properties
from joinproto_worlds.discovery.facts import Facts
from joinproto_worlds.discovery.node import Begins, Cluster, Founds, Joins, Looks, Stage, Votes


@frozen
class Moves:
    """A function that yields the possible joint steps in a state of the world of `facts`."""

    facts: Facts

    def __call__(self, view: View) -> Iterator[Together]:
        for name in self.facts.names:
            node = view[name]
            if node.stage is Stage.OFF:
                yield from self._begin(view, name)
            elif node.stage is Stage.BOOTS:
                seen = self._seen(view, name)
                for answer in self._answers(view, name):
                    for last in (False, True) if self.facts.gives_up else (False,):
                        look = Looks(answer, seen, last)
                        yield Together("looks", {name: look}, str(look))
            elif node.stage is Stage.DECIDED and node.step is Step.JOIN:
                yield self._join(view, name)
            elif node.stage is Stage.DECIDED and node.step is Step.FOUND:
                yield from self._founding(view, name)
            elif self._unlocks(view, name):
                yield Together("unlocks", {"service": ("unlock",)}, name)
            elif self._registers_now(view, name):
                yield Together("registers", {"service": ("register", name)}, name)
        yield from self._faults(view)

    def _faults(self, view: View) -> Iterator[Together]:
        service, first = view["service"], self.facts.names[0]
        for record in service.records if service.lapses else ():
            yield Together("a record lapses", {"service": ("lapse", record)}, record, fault=True)
        if self.facts.expires and service.holder is not None:
            yield Together("the lock expires", {"service": ("unlock",)}, fault=True)
        if self.facts.wipes and view[first].stage is Stage.RUNS and view[first].disk == 0:
            yield Together("loses its disk", {first: "is wiped"}, first, fault=True)

    def _begin(self, view: View, name: str) -> Iterator[Together]:
        holder = view["service"].holder
        # A lock among nodes keeps off only the nodes that hear its holder.
        is_free = holder is None or (self.facts.is_global and not self._hears(view, name, holder))
        if not is_free:
            return
        # Our rules do not choose by start times, so the order of starts is no part of a state.
        order = 0
        if self.facts.rules is not Rules.OURS:
            order = sum(view[other].stage is not Stage.OFF for other in self.facts.names)
        events: dict[str, Any] = {name: Begins(order)}
        if self._registers and not self.facts.registers_late:
            events["service"] = ("register", name)
        elif view["service"].locks and holder is None:
            events["service"] = ("lock", name)
        yield Together("begins", events, name)

    def _unlocks(self, view: View, name: str) -> bool:
        is_done = view[name].stage in (Stage.RUNS, Stage.ENDED)
        return self.facts.is_global and is_done and view["service"].holder == name

    @property
    def _registers(self) -> bool:
        return self.facts.backend in ("selects", "registered")

    def _registers_now(self, view: View, name: str) -> bool:
        is_late = self._registers and self.facts.registers_late
        return is_late and view[name].stage is Stage.RUNS and name not in view["service"].records

    def _answers(self, view: View, name: str) -> Iterator[Answer]:
        """Yield the possible answers of the backend."""
        names = self.facts.names
        if self.facts.fails:
            yield Failed("it does not answer")
        told = dict(self.facts.told)
        if name in told:
            yield told[name]
        elif self.facts.backend == "lists":
            yield Listed(names)
            for other in names if self.facts.partial_lists else ():
                if other != name:
                    yield Listed(tuple(one for one in names if one != other))
        elif self.facts.backend == "registered":
            yield Listed(view["service"].records)
        elif self.facts.backend == "seed":
            yield Selected(names[0])
        else:
            records = view["service"].records
            yield Selected(records[0]) if records else Listed(())

    def _hears(self, view: View, one: str, other: str) -> bool:
        return all((one in group) == (other in group) for group in view["links"].groups)

    def _seen(self, view: View, me: str) -> tuple[tuple[str, Properties], ...]:
        """Return the answers of the nodes that `me` hears, itself included.

        By `Rules.SEED` only nodes that have a database answer.
        """
        found = []
        for name in self.facts.names:
            node = view[name]
            runs = node.stage is Stage.RUNS
            if node.stage in (Stage.OFF, Stage.ENDED) or not self._hears(view, me, name):
                continue
            if self.facts.rules is Rules.SEED and not runs:
                continue
            others = self.facts.names if runs else ()
            size = sum(view[other].cluster == node.cluster for other in others)
            properties = Properties(
                members=max(size, 1), started=node.order, ready=runs, in_cluster=runs
            )
            found.append((name, properties))
        return tuple(found)

    def _join(self, view: View, name: str) -> Together:
        other = view[name].target
        # The list may name a node that does not exist, and so never answers.
        is_there = other in self.facts.names and self._hears(view, name, other)
        runs = is_there and view[other].stage is Stage.RUNS
        return Together("joins", {name: Joins(view[other].cluster if runs else None)}, name)

    def _founding(self, view: View, name: str) -> Iterator[Together]:
        cluster = Cluster(name, view[name].disk)
        listed = set(self.facts.names) & view[name].asks
        asked = {one for one in listed if self._hears(view, name, one)}
        voters = [
            other
            for other in self.facts.names
            if other in asked
            and view[other].stage in (Stage.BOOTS, Stage.DECIDED)
            and view[other].vote in (None, cluster)
        ]
        # Running nodes are asked, too: if one of them has a cluster, no new cluster is founded.
        has_cluster = any(view[one].cluster for one in asked)
        if name in voters and not has_cluster:
            events: dict[str, Any] = {voter: Votes(cluster) for voter in voters}
            yield Together("founds", {**events, name: Founds(cluster, len(voters))}, name)
        yield Together("finds no majority", {name: Joins(None)}, name)
