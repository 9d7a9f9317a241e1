"""A primary and its backups: the primary fails, another is promoted, nothing is lost.

Source: hot standby, H2 to H4, H8 to H10.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import frozen

from joinproto.check.properties import always, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto.standby.broker import Role, Variant
from joinproto.standby.promote import Peer
from joinproto_worlds.standby.broker import (
    SERVING,
    Broker,
    Clients,
    Counts,
    Follows,
    Has,
    Manager,
    Promoted,
)

NAMES = "abc"


def build(
    members: int = 2,
    mutant: str | None = None,
    *,
    variant: str = "ours",
    manager: str = "outside",
    messages: int = 2,
    deaths: int = 2,
    starts: int = 3,
    drops: bool = True,
) -> World:
    """Return a world of brokers that are all off at first.

    `manager`: one from `outside` promotes a broker that accepts, while no primary runs (it fences);
    a `careful` one promotes, after the first time, no broker that has only just started; the one
    `built in` knows which brokers are in the view of the last primary, and promotes no other.
    `drops`: a backup that is gone may be given up.
    """
    names = tuple(NAMES[:members])
    brokers: dict[str, Any] = {
        name: partial(Broker, name, Variant(variant), mutant) for name in names
    }
    brokers["clients"] = Clients
    is_built_in = manager == "built in"
    view = frozenset(names) if is_built_in else None
    brokers["manager"] = partial(Manager, starts, deaths, view)
    return World(
        name="standby-failover",
        members=brokers,
        beside=("clients", "manager"),
        properties=[
            always("nothing is lost", partial(_nothing_lost, names)),
            always("one primary", partial(_one_primary, names)),
            sometimes("a second primary serves", partial(_second, names)),
        ],
        together=_Moves(names, messages, manager, drops),
        about="a primary fails, another one is promoted, and nothing that was confirmed is lost",
    )


def _nothing_lost(names: tuple[str, ...], view: View) -> bool:
    confirmed = view["clients"].confirmed
    return all(confirmed <= view[one].log for one in names if view[one].role is Role.PRIMARY)


def _one_primary(names: tuple[str, ...], view: View) -> bool:
    return sum(view[one].role in SERVING for one in names) <= 1


def _second(names: tuple[str, ...], view: View) -> bool:
    """Return whether a broker serves that took over another's confirmed messages."""
    serving = [view[one] for one in names if view[one].role is Role.PRIMARY]
    return view["manager"].deaths == 0 and any(
        view["clients"].confirmed <= one.log for one in serving
    )


@frozen
class _Moves:
    """The steps that are possible in a view."""

    names: tuple[str, ...]
    messages: int
    manager: str
    drops: bool

    @property
    def is_built_in(self) -> bool:
        return self.manager == "built in"

    def __call__(self, view: View) -> Iterator[Together]:
        primary = next((one for one in self.names if view[one].role in SERVING), None)
        for name in self.names:
            broker = view[name]
            if broker.role is Role.STOPPED:
                yield Together("starts", {name: "starts", "manager": "starts"}, name)
                continue
            if primary is None and self._may(view, name):
                yield self._promotion(view, name)
            elif primary is not None and name != primary:
                yield from self._follow(view, name, primary)
            yield self._death(view, name)
        if primary is not None:
            yield from self._serve(view, primary)

    def _may(self, view: View, name: str) -> bool:
        was_one = any(view[one].was_primary or view[one].log for one in self.names)
        if self.manager == "careful" and was_one:
            return bool(view[name].role is not Role.CONNECTING)
        return not self.is_built_in or name in view["manager"].view

    def _promotion(self, view: View, name: str) -> Together:
        peers = tuple(
            Peer(
                name=other,
                role=None if view[other].role is Role.STOPPED else view[other].role,
                generation=view[other].generation,
                was_primary=view[other].was_primary,
            )
            for other in self.names
            if other != name
        )
        return Together("promotes", {name: Promoted(peers)}, name)

    def _follow(self, view: View, name: str, primary: str) -> Iterator[Together]:
        broker, leader = view[name], view[primary]
        if broker.follows != primary:
            follows = Follows(primary, leader.generation, broker.log == leader.log)
            yield Together("follows", {name: follows}, name)
        elif broker.role is Role.CATCHUP or name not in leader.current:
            fellows = leader.current | {name}
            events: dict[str, Any] = {name: Has(leader.log, fellows), primary: Counts(name, True)}
            for other in leader.current - {name}:
                if view[other].follows == primary:
                    events[other] = Counts(name, True)  # all know which brokers are up to date
            yield Together("has caught up", self._with_view(events, primary, fellows), name)
        else:
            for message in sorted(leader.log - broker.log):
                yield Together("takes", {name: message}, f"{name}: {message}")

    def _with_view(
        self, events: dict[str, Any], primary: str, current: frozenset[str]
    ) -> dict[str, Any]:
        """Add that the one built in learns the view, in the same step."""
        if self.is_built_in:
            events["manager"] = ("view", current | {primary})
        return events

    def _serve(self, view: View, primary: str) -> Iterator[Together]:
        leader, clients = view[primary], view["clients"]
        for backup in sorted(leader.current | leader.waits) if self.drops else ():
            if view[backup].follows != primary:
                left = leader.current - {backup}
                events: dict[str, Any] = {primary: Counts(backup, False)}
                yield Together("drops", self._with_view(events, primary, left), backup)
        if leader.role is not Role.PRIMARY:
            return
        if self.is_built_in and view["manager"].view != leader.current | {primary}:
            events = self._with_view({}, primary, leader.current)
            yield Together("makes the view its own", events, primary)
            return
        if clients.sent < self.messages:
            message = clients.sent + 1
            yield Together("sends", {primary: message, "clients": "send"}, str(message))
        for message in sorted(leader.log - clients.confirmed):
            if all(message in view[one].log for one in leader.current):
                yield Together("is confirmed", {"clients": ("confirmed", message)}, str(message))

    def _death(self, view: View, name: str) -> Together:
        events: dict[str, Any] = {name: "dies", "manager": "dies"}
        for other in self.names:
            if view[other].follows == name:
                events[other] = "loses its primary"
        return Together("dies", events, name, fault=True)
