"""Warming up: modules that every child needs are imported and compiled before the first fork."""

from __future__ import annotations

import gc

PACKAGES = (
    *("hypothesis.strategies", "transitions", "coverage", "cattrs", "anyio"),
    *("anyio.pytest_plugin", "anyio._backends._asyncio", "xdist.plugin"),
    "_hypothesis_pytestplugin",
)

WORLDS = ("join-options", "join-votes-crash")
"""A world whose states take one word each, and one whose states take several."""


def warm_up() -> None:
    """Load the loops that searches need, and the packages that tests and worlds import.

    The objects made here are frozen, so that no child's garbage collector examines them.
    """
    from importlib import import_module

    from joinproto.check.catalogue import load_world
    from joinproto.check.check import check

    for name in WORLDS:
        check(load_world(name), states_max=200)
    for name in PACKAGES:
        import_module(name)
    gc.collect()
    gc.freeze()
