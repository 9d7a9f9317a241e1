"""Histories on disk: `history.json`, and next to it the output of `recover collect` for each store.

A kept history can be judged again without a broker.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import evolve

from joinproto.recovery import info
from joinproto.recovery.foreign.ra.folders import DIGEST
from joinproto.recovery.sources import look
from tools.histories.judged import History

FILE = "history.json"


def keep(history: History, folder: Path) -> None:
    """Write a history, and the collected files of its stores, to a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for node, store in history.stores.items():
        (raw,) = (one.raw for one in look([str(store)], host=node).stores)
        (folder / f"{node}.info").write_text(info.write([raw], tool="histories"), "utf-8")
    for node, log in history.positions.items():
        lines = [one for one in log.read_text("utf-8").splitlines() if "Recovered position" in one]
        (folder / f"{node}.log").write_text("".join(f"{one}\n" for one in lines), "utf-8")
    told = {
        "broker": history.broker,
        "seed": history.seed,
        "kind": history.kind,
        "events": list(history.events),
        "nodes": history.nodes,
        "stores": {node: str(store) for node, store in history.stores.items()},
        "positions": sorted(history.positions),
        "has": {node: sorted(names) for node, names in history.has.items()},
        "acknowledged": sorted(history.acknowledged),
        "confirmed": dict(history.confirmed),
        "queues": dict(history.queues),
        "is_unseen": history.is_unseen,
    }
    (folder / FILE).write_text(json.dumps(told) + "\n", "utf-8")


def laid_out(history: History, folder: Path) -> History:
    """Return a kept history whose stores are directories of the collected files, below `folder`.

    Only digests of Galera's cache and of Ra's logs were collected, so the directories lack both.
    """
    stores = {}
    for node, collected in history.stores.items():
        stores[node] = folder / node
        stores[node].mkdir(parents=True)
        (raw,) = info.read(collected.read_bytes(), name=node)
        for file in raw.files:
            if file.data is not None and not file.name.endswith(DIGEST):
                (stores[node] / file.name).write_bytes(file.data)
    return evolve(history, stores=stores, names={})


def kept(folder: Path) -> Iterator[tuple[Path, History]]:
    """Yield every kept history below a folder, after its own folder."""
    for file in sorted(folder.rglob(FILE)):
        yield file.parent, _read(file)


def _read(file: Path) -> History:
    told: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return History(
        broker=told["broker"],
        seed=told["seed"],
        kind=told["kind"],
        events=tuple(told["events"]),
        stores={node: file.parent / f"{node}.info" for node in told["stores"]},
        names={f"{node}:{path}": node for node, path in told["stores"].items()},
        has={node: frozenset(names) for node, names in told["has"].items()},
        acknowledged=frozenset(told["acknowledged"]),
        nodes=told["nodes"],
        confirmed=told.get("confirmed", {}),
        queues=told.get("queues", {}),
        is_unseen=told.get("is_unseen", False),
        positions={node: file.parent / f"{node}.log" for node in told["positions"]},
    )
