"""Warm up once: modules that every child needs are imported and compiled before the first fork."""

from __future__ import annotations

import gc

PACKAGES = (
    *("hypothesis.strategies", "transitions", "coverage", "cattrs", "anyio"),
    *("anyio.pytest_plugin", "anyio._backends._asyncio", "xdist.plugin"),
    "_hypothesis_pytestplugin",
)

WORLDS = ("join-options", "join-votes-crash")
"""One whose states are a word each, and one whose states are several."""


def warm_up() -> None:
    """Load the loops that searches need, and the packages that tests and worlds import.

    Objects of that moment are no garbage, and no child looks through it: that, and pytest's
    plugins, were three quarters of the cost of a mutation that one quick test notices.
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
