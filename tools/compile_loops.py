"""`python -m tools.compile_loops`: compile the engine's loops once, for all processes.

Numba compiles a loop at its first call with each combination of argument types, and keeps it in the
cache folder.  `make setup` makes these calls, so that no test or command has to wait for them.  The
program prints how many loops are kept.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.check.engine import LOOP_CACHE
from joinproto.check.engine.expansion import workers
from joinproto.check.engine.rows.bits import fingerprints
from joinproto.check.engine.rows.merging import merged, merged_pairs, sought
from joinproto.check.engine.search import Search
from joinproto.check.engine.tables import grids

SEARCHES: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("two-phase-commit", {"members": 5}, {"workers": 2}),  # rows of one word
    ("two-phase-commit", {"members": 3}, {"symmetry": True, "workers": 2}),
    ("durable-vote-split", {}, {"symmetry": True}),
    ("zen-one-term", {"mutant": "changes-unheard"}, {"symmetry": True}),  # permutations
    ("join-founders", {}, {"workers": 2}),  # messages by number
    ("join-two", {}, {"states_max": 30_000, "workers": 2}),  # tables that grow
    ("token-ring-doubled", {}, {}),
    ("note-minority-survivor", {}, {}),  # rows of several words
)


def main() -> None:
    """Search small worlds that together call every compiled loop."""
    for name, options, more in SEARCHES:
        check(load_world(name, **options), **more)
    # Large tables with few filled cells become hash tables; here even small tables do.
    with (
        mock.patch.object(grids, "DENSE_MAX", 16),
        mock.patch.object(grids, "PLACES_PER_CELL_MAX", 2),
    ):
        for name in ("qpid-founding", "note-minority-survivor", "join-founders"):
            check(load_world(name))
    # Two workers are used for large levels; here they are used for all levels.
    with mock.patch.object(workers, "ROWS_MIN", 2):
        for name in ("token-ring-doubled", "durable-vote-split", "standby-failover", "zen-two"):
            check(load_world(name), states_max=3_000, workers=2)
    # The loops that Spark's executors call.
    search = Search(load_world("token-ring"))
    search.run()
    keys = fingerprints(search.rows()[:9])
    numbers = keys.astype("int64")
    merged(keys, keys)
    merged_pairs(keys, numbers, keys, numbers)
    sought(keys, keys)
    kept = 0 if LOOP_CACHE.folder is None else len(list(LOOP_CACHE.folder.rglob("*.nbc")))
    print(f"{kept} compiled loops in {LOOP_CACHE.folder}")


if __name__ == "__main__":
    main()
