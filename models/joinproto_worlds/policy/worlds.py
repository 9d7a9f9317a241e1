"""The worlds that ask a policy, by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from joinproto.check import World
from joinproto.recovery.policy.asked import Questioner
from joinproto_worlds.policy import galera, ours, rabbitmq
from joinproto_worlds.policy.nodes import Left


@frozen(kw_only=True)
class PolicyWorld:
    """A world that asks a policy.

    `build` takes the bounds of what may happen to nodes, which it uses if `is_bounded`; else they
    are its own.  `is_large`: too large for a search in plain Python.
    """

    build: Callable[[Questioner, Left], World]
    is_bounded: bool
    is_large: bool


WORLDS = {
    "galera": PolicyWorld(build=galera.world, is_bounded=True, is_large=False),
    "rabbitmq": PolicyWorld(build=rabbitmq.world, is_bounded=True, is_large=False),
    "joinproto": PolicyWorld(
        build=lambda asker, _: ours.world(asker), is_bounded=False, is_large=True
    ),
    "joinproto-two": PolicyWorld(
        build=lambda asker, _: ours.world_of_two(asker), is_bounded=False, is_large=True
    ),
}
