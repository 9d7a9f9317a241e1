"""Replicas of the driver's tables."""

from __future__ import annotations

from typing import Any

import numba

from joinproto.check import load_world
from joinproto.check.engine.search import Search
from joinproto.check.engine.tables.arrays import Arrays
from spark_explore.table_server import TableServer
from spark_explore.worker_cache import Address, RemoteTables


def compiled_for(tables: Arrays) -> list[Any]:
    given = (tables.lookup(), *tables.loop_tables(), tables.sets(), tables.shape())
    return [numba.typeof(part) for part in given]


def test_a_replica_has_the_same_types_as_the_tables() -> None:
    """Loops are compiled for types; for other types, each executor would compile for 30 s."""
    search = Search(load_world("two-phase-commit"), numbers_contents=False)
    search.run()

    nowhere = Address("run", "127.0.0.1", 1, "")
    replica = RemoteTables(nowhere, TableServer(search, wide=False).everything())

    assert compiled_for(search.tables) == compiled_for(replica)
    assert search.tables.shape() == replica.shape()
