"""A world in which a service forgets records of running nodes, which must write them again.

Source: discovery, D2; operators' case 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import partial
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Rule
from joinproto.check.properties import always, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto.discovery.keep import TABLES, KeepAliveResult, Record

NAMES = "abcdefgh"


class Keeper(Enum):
    """The part of a node that keeps its record alive."""

    WELL = "well"
    WROTE = "wrote it again"
    CRASHED = "crashed"


@frozen
class Checks:
    """Event: a node asks the service.  `there`: the service has the node's record; `others`: it has
    other records; `failed`: it does not answer.
    """

    there: bool
    others: bool
    failed: bool


@define
class Node:
    """A node that runs.  `rules`: "real" or "ours"."""

    name: str
    rules: str
    keeper: Keeper = Keeper.WELL

    def shows(self) -> Keeper:
        return self.keeper

    def receive(self, event: Any) -> Any:
        if not isinstance(event, Checks):
            return NOT_ENABLED
        row = Record(name=self.name, there=event.there, failed=event.failed, others=event.others)
        found = TABLES[self.rules].choose((row,), 0)
        if found.outcome is KeepAliveResult.CRASH:
            self.keeper = Keeper.CRASHED
        elif found.outcome is KeepAliveResult.WRITTEN:
            self.keeper = Keeper.WROTE
        return [Rule(f"{self.rules}: {found.name}")]


@define
class Service:
    """The nodes that are registered, and how many records the service may still forget."""

    records: frozenset[str]
    forgets: int

    def receive(self, event: Any) -> Any:
        match event:
            case ("write", name):
                self.records |= {name}
            case ("forget", name) if self.forgets and name in self.records:
                self.forgets -= 1
                self.records -= {name}
            case _:
                return NOT_ENABLED
        return None


def build(members: int = 3, *, rules: str = "real", forgets: int = 1) -> World:
    """Return a world of nodes that all run and are registered; `forgets`: see `Service`."""
    names = tuple(NAMES[:members])
    made: dict[str, Any] = {name: partial(Node, name, rules) for name in names}
    made["service"] = partial(Service, frozenset(names), forgets)
    return World(
        name="discovery-keeping",
        members=made,
        beside=("service",),
        properties=[
            always("no keeper crashes", partial(_none_crashed, names)),
            sometimes("a lost record is there again", partial(_is_written_again, names)),
        ],
        together=partial(_moves, names, rules),
        about="a record that the service forgot is written again",
    )


def _moves(names: tuple[str, ...], rules: str, view: View) -> Iterator[Together]:
    records = view["service"].records
    for name in names:
        if view["service"].forgets and name in records:
            yield Together("forgets", {"service": ("forget", name)}, name, fault=True)
        if view[name] is Keeper.CRASHED or name in records:
            continue
        for failed in (False, True):
            others = bool(records - {name}) and not failed
            checks = Checks(False, others, failed)
            row = Record(name=name, there=False, failed=failed, others=others)
            events: dict[str, Any] = {name: checks}
            if TABLES[rules].choose((row,), 0).outcome is KeepAliveResult.WRITTEN:
                events["service"] = ("write", name)
            yield Together("keeps alive", events, name)


def _none_crashed(names: tuple[str, ...], view: View) -> bool:
    return all(view[name] is not Keeper.CRASHED for name in names)


def _is_written_again(names: tuple[str, ...], view: View) -> bool:
    records = view["service"].records
    return any(view[name] is Keeper.WROTE and name in records for name in names)
