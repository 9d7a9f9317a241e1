"""The catchers besides unit tests: import, worlds, the link, random runs; the cheapest first.

Each returns its finding, as text or counts.  They run in the process with the patched protocol, so
they import what they check when they are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

WORLDS_MOST = 1_200_000
"""Worlds with more steps take minutes; only the soak searches them."""

QUICK_MOST = 100_000

LINKED = {"chain-register": (1_500, 0), "join-two": (1_500, 400), "join-votes": (500, 400)}
"""Steps of each world that are compared with the relations: breadth first, and at random."""

RUNS = range(200, 224)
MORE_RUNS = range(1_000, 1_016)
EVENTS_MOST = 8_000


def check_tables() -> None:
    """Import every module, make every table; raise if a table is incomplete or has a dead case."""
    from importlib import import_module

    for path in sorted((Path(__file__).parents[2] / "joinproto/join").glob("*.py")):
        import_module(f"joinproto.join.{path.stem}".removesuffix(".__init__"))
    from joinproto.join import admission, phases, rules, succession

    for table in (succession.founding, succession.reopening, succession.going_on):
        table()
    admission.admission()
    phases.machine()
    assert rules.__name__


def world(name: str, states_max: int | None) -> dict[str, Any]:
    """Search a world; return the broken claims, and the counts (`pin`)."""
    from joinproto.check.catalogue import load_world
    from joinproto.check.check import check

    found = check(load_world(name), states_max=states_max)
    broken = [
        f"{item.name} {item.result}"
        for item in found.properties
        if item.result in ("violated", "not-reached")
    ]
    if found.stopped_by and not broken:
        return {"broken": "", "pin": f"more than {states_max} states"}
    return {"broken": ", ".join(broken), "pin": [found.distinct, found.generated, found.depth]}


def linked(name: str) -> str:
    """Compare steps of a world with the proved relations; return the difference, or ""."""
    from attrs import evolve

    from joinproto.prove.link.run import link
    from joinproto_claims.linked import WORLDS

    (one,) = [item for item in WORLDS if item.world == name]
    near, far = LINKED[name]
    for found in link(evolve(one, near=near, far=far)):
        if found.rejected is not None:
            return f"{found.layer.name}: {found.rejected.action}"
    return ""


def runs(seeds: range) -> dict[str, Any]:
    """Play random runs up to the first broken claim; return it, and the counts of each run."""
    from joinproto.swarm.draw import draw
    from joinproto.swarm.run import run

    counts: dict[str, Any] = {}
    for seed in seeds:
        found = run(draw(seed))
        if found.failed:
            return {"broken": f"{found.claim}, seed {seed}", "pin": counts, "seed": seed}
        counts[str(seed)] = [found.events, found.opened, found.acked]
    return {"broken": "", "pin": counts}


def quick_and_large(counts: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the quick worlds and the large worlds, both sorted by their steps."""
    steps = sorted((pin[1], name) for name, pin in counts.items())
    quick = [name for many, name in steps if many <= QUICK_MOST]
    return quick, [name for many, name in steps if QUICK_MOST < many <= WORLDS_MOST]
