"""The worlds that ask a policy, by their names on the command line."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from joinproto.check.world import World
    from joinproto.recovery.policy.asked import Questioner
    from joinproto_worlds.policy.nodes import Left

SERVING = "Nodes a, b and c serve together at first, and each has all that was acknowledged."


@frozen
class PolicyWorld:
    """A world that asks a policy.

    `build`: MODULE:FUNCTION, imported when the world is built.  The function takes the policy,
    and if the world `is_bounded` also the bounds on events of nodes; any other world has
    its own bounds.  `begins`: how each run begins, in words.  `is_large`: the world is too large
    for a search in plain Python.
    """

    build: str
    begins: str = SERVING
    is_bounded: bool = True
    is_large: bool = False

    def made(self, asker: Questioner, left: Left) -> World:
        """Return the world in which `asker` is asked; only a bounded one uses `left`."""
        module, _, name = self.build.partition(":")
        build = getattr(import_module(f"joinproto_worlds.policy.{module}"), name)
        world: World = build(asker, left) if self.is_bounded else build(asker)
        return world


WORLDS = {
    "galera": PolicyWorld("galera:world"),
    "rabbitmq": PolicyWorld("rabbitmq:world"),
    "joinproto": PolicyWorld(
        "ours:world",
        "Members a, b and c are started with empty disks, and found a cluster.",
        is_bounded=False,
        is_large=True,
    ),
    "joinproto-two": PolicyWorld(
        "ours:world_of_two",
        "Members a and b are started with empty disks, and found a cluster.",
        is_bounded=False,
        is_large=True,
    ),
}
