"""A search of all states, for questions about the whole graph; it does not stop at a violation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

from joinproto.check.world import World

if TYPE_CHECKING:
    from joinproto.check.engine.search import Search
    from joinproto.check.engine.stopping import Limits


class Bounds(TypedDict, total=False):
    """Limits that end a search early: states, bytes, seconds, or `interrupted` returning true.

    `progress`: called with the progress of the search.
    """

    states_max: int | None
    memory_max_bytes: int | None
    seconds_max: float | None
    interrupted: Callable[[], bool] | None
    progress: Callable[[Any], None] | None


def limits_of(bounds: Bounds) -> Limits:
    """Return the limits as the engine takes them."""
    from joinproto.check.engine.stopping import Limits

    return Limits(
        states=bounds.get("states_max"),
        memory_bytes=bounds.get("memory_max_bytes"),
        seconds=bounds.get("seconds_max"),
        interrupted=bounds.get("interrupted"),
    )


def search_graph(world: World, bounds: Bounds) -> tuple[Search, str]:
    """Return the search, and why it does not have the whole graph; "" if it has."""
    from joinproto.check.engine.search import Search

    search = Search(
        world,
        limits=limits_of(bounds),
        stop_at_violation=False,
        progress=bounds.get("progress"),
    )
    why = search.run().stopped_by
    search.tables.codes.ask_again()
    if world.same is not None:
        why = "the world's `same` takes several states for one"
    return search, why
