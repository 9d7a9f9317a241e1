"""Warm up once: what every child needs is imported and compiled before the first fork."""

from __future__ import annotations

WORLDS = ("join-options", "join-votes-crash")
"""One whose states are a word each, and one whose states are several."""


def warm_up() -> None:
    """Load the loops that searches need, and the packages that tests and worlds import."""
    from importlib import import_module

    from models.catalogue import load_world
    from models.check import check

    for name in WORLDS:
        check(load_world(name), states_max=200)
    for name in ("hypothesis.strategies", "transitions", "coverage", "cattrs", "anyio"):
        import_module(name)
