"""Histories of real etcd clusters: members as processes, cut links, clients that count writes.

A kind of history is a plot; a seed draws the number of members, the members that events concern,
how long clients write, and how often a snapshot is taken.  Every write has its own key, so the keys
of a store are found in its bytes, without our reader.

`follow` carries out the last line with copies of the stores, and counts the keys.
"""

from __future__ import annotations

import base64
import os
import random
import re
import subprocess
from pathlib import Path

from attrs import evolve

from joinproto.errors import EnvironmentProblem
from tools.fixtures.servers import require, run, wait_until
from tools.histories.etcd_cluster import (
    API,
    UP_SECONDS,
    Cluster,
    Settings,
    call,
    copied,
    keys_in,
    packed,
)
from tools.histories.etcd_kinds import DRAWN, KINDS, PLOTS, UNSEEN
from tools.histories.etcd_truth import faults
from tools.histories.followed import Followed, Steps
from tools.histories.judged import History
from tools.histories.links import free_port

__all__ = ("KINDS", "draw", "follow")

RESTORE = re.compile(r"etcdutl snapshot restore (\S+)/member/snap/db ")
OLDER = "OLDER_ETCD"
"""The environment variable that names the older program for the kind `upgraded`."""
PLAYED: dict[int, Cluster] = {}
"""The played clusters by seed, whose addresses `follow` uses again."""


def draw(seed: int, folder: Path, kind: str | None = None) -> History:
    """Play the history of a seed, and leave its stores in `folder`."""
    kind = kind or DRAWN[seed % len(DRAWN)]
    chance = random.Random(f"{seed} {kind}")
    names = tuple("abcde"[: chance.choice((3, 3, 3, 5))])
    settings = Settings(snapshot=chance.choice((20, 100, 10_000)), token=f"history-{seed}")
    if kind == "receiving":
        settings = evolve(settings, snapshot=20)
    it = PLAYED[seed] = Cluster(folder, settings, names, chance)
    if kind == "upgraded":
        it.program = os.environ.get(OLDER, "")
        if not it.program:
            raise EnvironmentProblem(f"{OLDER} names no etcd of an older release")
    try:
        for name in names:
            it.start(name)
        if not it.wait(*names):
            raise EnvironmentProblem("the members did not start to serve")
        PLOTS[kind](it)
        if it.running:
            it.down()
    except OSError as error:
        raise EnvironmentProblem(
            f"{kind}: etcd refuses a request of the history: {error}"
        ) from error
    finally:
        it.close()
    stores = {name: it.data(name) for name in it.urls if (it.data(name) / "member").is_dir()}
    return History(
        broker="etcd",
        seed=seed,
        kind=kind,
        events=tuple(it.events),
        stores=stores,
        has={name: keys_in(store) for name, store in stores.items()},
        acknowledged=frozenset(it.acknowledged),
        nodes=len(names),
        is_unseen=kind in UNSEEN,
        faults=tuple(faults(stores, {} if kind in UNSEEN else it.asked)),
    )


def follow(history: History, line: str, folder: Path) -> Followed | None:
    """Carry out a last line on copies of the stores; return None if the line starts no node."""
    whole, _, alone = line.partition("or, if only one can run:")
    named = [name for name, store in history.stores.items() if f"{store})" in whole]
    if not whole.startswith("start ") or not named:
        return None
    node = ""
    got = {"together": _started(history, folder / "together", named)}
    force = re.search(r"--data-dir (\S+) --force-new-cluster", alone)
    if force is not None:
        node = next(name for name, store in history.stores.items() if str(store) == force[1])
        got["alone"] = _started(history, folder / "alone", [node], "--force-new-cluster")
    if (restore := RESTORE.search(alone)) is not None:
        node = next(name for name, store in history.stores.items() if str(store) == restore[1])
        got["restored"] = _restored(history.stores[node], folder / "restored")
    lost = max(len(history.acknowledged - keys) for keys in got.values())
    return Followed(
        steps=Steps(force=node, stages=(tuple(named),)),
        kept=len(history.acknowledged),
        lost=lost,
        is_said=False,
        not_up=(),
        is_assumed=history.is_unseen,
    )


def _restored(store: Path, folder: Path) -> frozenset[str]:
    """Return the keys of the one-member cluster that `etcdutl` restores from a copy of a store.

    Returns none if the member does not serve.
    """
    new, port, peer = folder / "new", free_port(), free_port()
    copy = copied(store, folder / "copy")
    words = ("--skip-hash-check", "--data-dir", str(new))
    source = str(copy / "member/snap/db")
    run([require("etcdutl", "etcd-server"), "snapshot", "restore", source, *words], env=API)
    where = f"http://127.0.0.1:{port}"
    command = [
        *(require("etcd", "etcd-server"), "--data-dir", str(new)),
        *("--listen-client-urls", where, "--advertise-client-urls", where),
        *("--listen-peer-urls", f"http://127.0.0.1:{peer}"),
    ]
    with (folder / "log").open("ab") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_until("a restored member serves", lambda: _serves(port), seconds=UP_SECONDS)
        return _keys(port)
    except EnvironmentProblem:
        return frozenset()
    finally:
        server.kill()
        server.wait()


def _serves(port: int) -> bool:
    try:
        call(port, "/v3/kv/range", key=packed("key"))
    except (OSError, ValueError):
        return False
    return True


def _keys(port: int) -> frozenset[str]:
    said = call(port, "/v3/kv/range", 20, key=packed("key-"), range_end=packed("key."))
    return frozenset(base64.b64decode(one["key"]).decode() for one in said.get("kvs", ()))


def _started(history: History, folder: Path, nodes: list[str], *more: str) -> frozenset[str]:
    """Return the keys of a cluster that is started from copies of these nodes' stores.

    Returns none if not all of its members serve.
    """
    settings = Settings(snapshot=10_000, token=f"history-{history.seed}")
    it = Cluster(folder, settings, tuple(nodes), random.Random(0), PLAYED[history.seed])
    try:
        for name in nodes:
            copied(history.stores[name], it.data(name))
        for name in nodes:
            it.start(name, *more)
        if not it.wait(*nodes):
            return frozenset()
        return _keys(it.clients[nodes[0]])
    finally:
        it.close()
