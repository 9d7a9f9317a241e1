"""A client that looks for the primary: one of two brokers serves, and then the other.

Source: hot standby, H11.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import define, frozen

from joinproto.check.events import Maybe
from joinproto.check.properties import always_each, eventually, sometimes_one
from joinproto.check.view import View
from joinproto.check.world import World
from joinproto.standby.broker import Role, Variant
from joinproto.standby.clients import Entrance, admit
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation

ADDRESSES = ("a", "b")
mutated = inside(lambda client: mutation(client.mutant))


@frozen
class ClientView:
    """The observation of a client.  `is_in`: a broker has let it in; `serves`: that broker is the
    primary.
    """

    serves: bool
    is_in: bool


@define
class Client:
    """A client and two brokers.  `roles`: the brokers' roles, in the order of their addresses.
    `at`: the place of the broker that the client tries next; `inside`: that of the broker that has
    let the client in, or None; `failovers`: how many failovers may still happen.
    """

    mutant: str | None = None
    roles: tuple[Role, ...] = (Role.PRIMARY, Role.BACKUP)
    at: int = 1
    inside: int | None = None
    failovers: int = 1

    def choices(self) -> Iterator[Any]:
        if self.inside is None:
            yield "tries"
        if self.failovers:
            yield Maybe("fails over")
        if Role.CONNECTING in self.roles:
            yield "follows"

    @mutated
    def receive(self, event: str) -> Any:
        match event:
            case "tries":
                role, primary = self.roles[self.at], ADDRESSES[self.roles.index(Role.PRIMARY)]
                found = admit(Variant.OURS, role, primary=primary if role is Role.BACKUP else None)
                if found.entrance is Entrance.ADMITTED:
                    self.inside = self.at
                elif found.primary not in (None, ADDRESSES[self.at]):
                    self.at = ADDRESSES.index(found.primary)
                else:
                    self.at = (self.at + 1) % len(ADDRESSES)
            case "fails over":
                old = self.roles.index(Role.PRIMARY)
                self.roles = tuple(
                    Role.CONNECTING if at == old else Role.PRIMARY for at in range(2)
                )
                self.failovers, self.inside = 0, None
            case _:
                self.roles = tuple(
                    Role.BACKUP if one is Role.CONNECTING else one for one in self.roles
                )
        return None

    def shows(self) -> ClientView:
        at = self.inside
        return ClientView(at is not None and self.roles[at] is Role.PRIMARY, at is not None)


def build(members: int = 1, mutant: str | None = None) -> World:
    """Return the world of a client and two brokers; `members` counts the client only."""

    def is_in(view: View) -> bool:
        return all(one.is_in for one in view.up.values())

    return World(
        name="standby-entrance",
        members={"client": partial(Client, mutant)},
        properties=[
            always_each("only a primary takes clients", lambda one: one.serves or not one.is_in),
            eventually("it is in", is_in),
            sometimes_one("it is with the primary", lambda one: one.serves),
        ],
        about="a client goes from one address to the next",
    )
