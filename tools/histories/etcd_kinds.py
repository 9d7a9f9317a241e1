"""The kinds of histories of etcd: each function plays events that the seed draws."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import Any

from joinproto.errors import EnvironmentProblem
from tools.histories.etcd_cluster import Cluster, call, copied, keys_in, packed


def _orderly(it: Cluster) -> None:
    it.write()
    for name in sorted(it.running):
        it.end(name, kill=False)
    it.note("all are stopped in order")


def _killed(it: Cluster) -> None:
    it.write()
    with it.writing():
        time.sleep(0.2)
        for name in it.chance.sample(sorted(it.running), len(it.running)):
            it.end(name)
    it.note("all are killed")


def _away(it: Cluster) -> None:
    it.write()
    it.away()
    if len(it.running) > 3 and it.chance.random() < 0.5:
        it.away()


def _back(it: Cluster) -> None:
    it.back(it.away())


def _cut(it: Cluster) -> None:
    """A member is cut off; clients write on both sides."""
    it.write()
    lone = it.one()
    with it.writing():
        it.links.cut(lone)
        time.sleep(it.chance.uniform(0.5, 3.5))
        if it.chance.random() < 0.4:
            it.links.heal()
            time.sleep(it.chance.uniform(0.0, 1.5))
    it.note(f"{lone} is cut off{'' if it.links.away else ', and comes back'}")


def _wiped(it: Cluster) -> None:
    it.write()
    who = it.away()
    shutil.rmtree(it.data(who))
    it.note(f"the disk of {who} is wiped")


def _wiped_back(it: Cluster) -> None:
    """A member is wiped, and started with an empty disk under its name, as the same member."""
    _wiped(it)
    who = next(iter({*it.names} - {*it.running}))
    it.back(who, state="existing")


def _founded_again(it: Cluster) -> None:
    """All end; a member that was there to the end is wiped, and started as at the founding."""
    it.write()
    behind = it.away()
    it.down()
    who = next(name for name in it.chance.sample(it.names, len(it.names)) if name != behind)
    shutil.rmtree(it.data(who))
    it.start(who)
    time.sleep(it.chance.uniform(2.0, 4.0))
    it.end(who)
    it.note(f"{who} is wiped, started alone as at the founding, and ended")


def _replaced(it: Cluster) -> None:
    """A member is removed, and another is added in its place, as the manual says."""
    _wiped(it)
    who = next(iter({*it.names} - {*it.running}))
    port, spare = it.clients[it.one()], next(one for one in it.urls if one not in it.names)
    members = call(port, "/v3/cluster/member/list", 10)["members"]
    gone = next(one["ID"] for one in members if one.get("name") == who)
    _changed(port, "remove", ID=gone)
    _changed(port, "add", peerURLs=[it.urls[spare]])
    it.names = (*(one for one in it.names if one != who), spare)
    it.start(spare, state="existing")
    it.wait(spare)
    it.note(f"{who} is removed, {spare} is added")
    it.write()


def _old_copy(it: Cluster) -> None:
    it.write()
    who = it.one()
    it.end(who)
    copied(it.data(who), it.folder / "old")
    it.back(who)
    it.write()
    if it.chance.random() < 0.5:
        it.end(who)
        it.write()
    else:
        it.down()
    shutil.rmtree(it.data(who))
    it.asked.pop(who, None)
    copied(it.folder / "old", it.data(who))
    it.note(f"an old copy of {who} is put back")
    if it.running and it.chance.random() < 0.5:
        it.back(who)


def _forced(it: Cluster) -> None:
    """A member is started alone by force, and gets writes; the others may start without notice."""
    it.write()
    who = it.one()
    if it.chance.random() < 0.5:
        it.end(who)
        it.write()
    if it.running:
        it.down()
    it.start(who, "--force-new-cluster")
    if not it.wait(who):
        raise EnvironmentProblem(f"{who} does not start by force")
    it.write()
    it.end(who)
    it.note(f"{who} is started alone by force, and ended")
    if it.chance.random() < 0.7:
        rest = [name for name in it.names if name != who]
        for name in rest:
            it.start(name)
        it.wait(*rest)
        it.write()
        it.note("the others are started")


def _worked(it: Cluster) -> None:
    """Leases end and keys are deleted; perhaps keys are compacted and a store is defragmented."""
    it.write()
    port = it.at()
    for number in range(6):
        lease = call(port, "/v3/lease/grant", 10, TTL=1 if number % 2 else 600)["ID"]
        call(port, "/v3/kv/put", 10, key=packed(f"leased-{number}"), value="", lease=lease)
    for number in range(5):
        call(port, "/v3/kv/put", 10, key=packed(f"gone-{number}"), value="")
    told = call(port, "/v3/kv/deleterange", 10, key=packed("gone-"), range_end=packed("gone."))
    revision = int(told["header"]["revision"])
    if it.chance.random() < 0.7:
        # Of the last revisions, only the fact that they were compacted may be left.
        call(port, "/v3/kv/compaction", 10, revision=revision, physical=it.chance.random() < 0.5)
        it.note(f"compacted at {revision}")
    if it.chance.random() < 0.7:
        _secured(it, port)
    if it.chance.random() < 0.6:
        it.write()
    time.sleep(it.chance.uniform(0.0, 2.5))
    if it.chance.random() < 0.7:
        who = it.one()
        begun = [threading.Thread(target=_defragmented, args=(it.clients[who],), daemon=True)]
        with it.writing() if it.chance.random() < 0.5 else nullcontext():
            begun[0].start()
            time.sleep(it.chance.uniform(0.0, 0.3))
            if it.chance.random() < 0.5:
                it.end(who)
            begun[0].join()
        it.note(f"{who} is defragmented{'' if who in it.running else ', and killed meanwhile'}")
    if it.running and it.chance.random() < 0.5:
        for name in it.chance.sample(sorted(it.running), len(it.running)):
            it.end(name, kill=it.chance.random() < 0.5)
        it.note("all are ended, without writes")


def _secured(it: Cluster, port: int) -> None:
    """Create a user, who makes some writes while authentication is enabled."""
    for path, said in (
        ("user/add", {"name": "root", "password": "x"}),
        ("role/add", {"name": "root"}),
        ("user/grant", {"user": "root", "role": "root"}),
        ("enable", {}),
    ):
        call(port, f"/v3/auth/{path}", 10, **said)
    ticket = call(port, "/v3/auth/authenticate", 10, name="root", password="x")["token"]
    for number in range(4):
        key = f"key-{90_000 + number:05}-u-{it.chance.getrandbits(32):08x}"
        call(port, "/v3/kv/put", 10, ticket=ticket, key=packed(key), value=packed(key))
        it.acknowledged.add(key)
    call(port, "/v3/auth/disable", 10, ticket=ticket)
    it.note("a user wrote")


def _defragmented(port: int) -> None:
    with suppress(OSError, ValueError):
        call(port, "/v3/maintenance/defragment", 20)


def _changed(port: int, change: str, **said: Any) -> Any:
    """Change the members; etcd refuses until it has seen all of them healthy for five seconds."""
    end = time.monotonic() + 30
    while True:
        try:
            return call(port, f"/v3/cluster/member/{change}", 10, **said)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def _learner(it: Cluster) -> None:
    """A learner is added, and perhaps made a voter."""
    it.write()
    spare = next(one for one in it.urls if one not in it.names)
    port = it.at()
    added = _changed(port, "add", peerURLs=[it.urls[spare]], isLearner=True)["member"]
    it.start(spare, state="existing")
    it.note(f"{spare} is added as a learner")
    it.write()
    if it.chance.random() < 0.6:
        _changed(port, "promote", ID=added["ID"])
        it.names = (*it.names, spare)
        it.note(f"{spare} is made a voter")
    it.write()
    if it.chance.random() < 0.5:
        it.away()


def _restored(it: Cluster) -> None:
    """All members are restored from one snapshot; later writes are lost."""
    it.write()
    snapshot = it.saved("snapshot")
    it.write()
    it.down()
    for name in it.names:
        it.restore(name, snapshot)
    it.acknowledged &= keys_in(snapshot)
    it.asked.clear()
    it.note("all are restored from a snapshot")
    if it.chance.random() < 0.8:
        for name in it.names:
            it.start(name)
        it.wait(*it.names)
        it.write()


def _restored_apart(it: Cluster) -> None:
    """Each member is restored from one of two snapshots, and they run together or apart."""
    it.write()
    snapshots = [it.saved("first")]
    it.write()
    snapshots.append(it.saved("second"))
    it.down()
    chosen = {name: it.chance.choice(snapshots) for name in it.names}
    chosen |= dict(zip(it.chance.sample(it.names, 2), snapshots, strict=True))
    for name, snapshot in chosen.items():
        it.restore(name, snapshot)
    it.acknowledged &= keys_in(snapshots[1])
    it.asked.clear()
    it.note("restored: " + ", ".join(f"{name} {one.name}" for name, one in chosen.items()))
    if it.chance.random() < 0.5:
        for name in it.names:
            it.start(name)
        it.wait(*it.names)
        it.write()


def _upgraded(it: Cluster) -> None:
    """Members of an older release are started again, one by one, with this release."""
    it.write()
    it.program = "etcd"
    count = it.chance.choice((1, 2, len(it.names), len(it.names)))
    for name in it.chance.sample(it.names, count):
        with it.writing():
            it.end(name, kill=it.chance.random() < 0.5)
        it.back(name)
        it.note(f"{name} runs this release")
    it.write()
    if it.chance.random() < 0.4:
        it.away()


def _receiving(it: Cluster) -> None:
    """A member returns so late that it gets a snapshot, and is killed during or after that."""
    it.write()
    who = it.away()
    port = it.at()
    for number in range(30):
        call(port, "/v3/kv/put", 10, key=packed(f"large-{number}"), value=packed("x" * 400_000))
    with ThreadPoolExecutor(16) as pool:
        # etcd keeps the 5,000 entries before its snapshot.
        said = pool.map(lambda _: call(port, "/v3/kv/deleterange", 20, key="AA=="), range(5_300))
        assert all(said)
    it.start(who)
    time.sleep(it.chance.uniform(0.1, 2.5))
    it.end(who)
    it.note(f"{who} is started late, and killed")
    if it.chance.random() < 0.4:
        it.back(who)


PLOTS: Mapping[str, Callable[[Cluster], None]] = {
    "orderly": _orderly,
    "killed": _killed,
    "away": _away,
    "back": _back,
    "cut": _cut,
    "wiped": _wiped,
    "replaced": _replaced,
    "wiped-back": _wiped_back,
    "old-copy": _old_copy,
    "cut-again": _cut,
    "forced": _forced,
    "founded-again": _founded_again,
    "worked": _worked,
    "learner": _learner,
    "restored": _restored,
    "restored-apart": _restored_apart,
    "receiving": _receiving,
    "upgraded": _upgraded,
}
KINDS = tuple(PLOTS)
DRAWN = KINDS[:10]
"""The kinds that a seed draws; the other kinds need `--kind`."""
UNSEEN = ("wiped-back", "old-copy", "forced", "founded-again", "restored-apart")
"""The kinds in which a store went back and files may not show it: a proof states assumptions."""
