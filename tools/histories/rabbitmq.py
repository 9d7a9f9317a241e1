"""Histories of three RabbitMQ nodes with Mnesia: drawn from a seed, played, and left on disk.

A kind of history is a short plot.  A seed adds other events between those of the plot, and draws
their nodes, and where and how long clients write meanwhile.  Clients declare durable exchanges, and
publish to a quorum queue and, before RabbitMQ 4, to a mirrored queue (`rabbitmq_events.py`).

At the end all nodes are down.  A copy of each store is then started alone (with `force_boot`, and
a short limit to Mnesia's wait for the decisions of others) and asked for its exchanges.

Source: issue 37, "A harness of real histories"; RabbitMQ 3.10.8 and Mnesia 4.21 of Debian 12;
RabbitMQ 4.0.5 of Debian 13.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import asdict

from joinproto.errors import EnvironmentProblem
from tools.fixtures.rabbitmq import NODES
from tools.histories.followed import Followed, says_loss, steps_of
from tools.histories.judged import History
from tools.histories.rabbitmq_events import Copy, Play, played
from tools.histories.rabbitmq_nodes import MIRRORED, Nodes, copy, full, nodes, release

EVENTS_MIN, EVENTS_MAX = 3, 7
FOLLOWS_SECONDS = 40.0
PLAY = "play"
JOIN = ("rabbit_mnesia:join_cluster('{}', disc).", "rabbit_db_cluster:join('{}', disc).")
"""The call before RabbitMQ 3.13, and the one since."""

# The events of each kind of history, and those that a seed may add.
PLOTS: Mapping[str, tuple[str, str]] = {
    "orderly": ("publish write stop stop stop", "write publish"),
    "killed-together": ("publish write kill-all", "write publish"),
    "killed": ("publish kill down", "write stop kill"),
    "majority": ("leave publish write down", "write leave"),
    "cut": ("publish cut down", "write leave mend"),
    "forced": ("publish leave down force down", "write leave back"),
    "back": ("leave publish back write", "write leave back publish"),
    "wiped": ("publish leave down wipe", "write leave back"),
    "blank": ("publish write down blank", "write leave back"),
    "old-copy": ("publish leave write back write down old-copy", "write publish"),
    "forgotten": ("leave forget publish write down", "write leave back"),
    "reset": ("publish reset write down", "write leave back"),
    "any": ("", "write publish stop kill leave cut mend back force old-copy"),
}
KINDS = tuple(PLOTS)


def draw(seed: int, folder: Path, kind: str | None = None) -> History:
    """Play the history of a seed in `folder`; the formed cluster is kept next to the folder.

    `kind`: one of `KINDS`; without a kind, the seed gives it.
    """
    kind = kind or KINDS[seed % len(KINDS)]
    formed = _formed(folder.parent / "formed")
    chance = random.Random(f"{seed} {kind}")
    with nodes(folder / PLAY) as cluster:
        cluster.prepare(formed)
        play = Play(cluster, chance, folder / "aside")
        play.copies += [Copy(node, formed[full(node)], -1) for node in NODES]
        if play.start(*NODES, seconds=90) != "up":
            raise EnvironmentProblem(f"the copy of a formed cluster in {folder} does not start")
        # Not when the cluster was formed: Ra's files have paths, which are wrong in a copy.
        play.confirmed.update(cluster.publish("a", 1))
        for name in (*_drawn(chance, kind), "down"):
            played(play, name)
        stores = {}
        for node in NODES:
            if (here := cluster.directory(node)).exists():
                stores[full(node)] = folder / "stores" / full(node)
                copy(here, stores[full(node)])
        has, silent = alone(cluster, stores, folder / "alone")
        play.events += [f"the store of {name} does not start alone" for name in silent]
        acknowledged = list(cluster.control.acknowledged)
        confirmed = dict(play.confirmed)
    for rest in (PLAY, "aside", "alone"):
        shutil.rmtree(folder / rest, ignore_errors=True)
    (folder / "acknowledged.json").write_text(
        json.dumps([asdict(one) for one in acknowledged], indent=0), "utf-8"
    )
    return History(
        broker="rabbitmq",
        seed=seed,
        kind=kind,
        events=tuple(play.events),
        stores=stores,
        has=has,
        acknowledged=frozenset(one.name for one in acknowledged),
        nodes=len(NODES),
        confirmed=confirmed,
    )


def _drawn(chance: random.Random, kind: str) -> list[str]:
    names, others = (words.split() for words in PLOTS[kind])
    for _ in range(max(0, chance.randint(EVENTS_MIN, EVENTS_MAX) - len(names))):
        names.insert(chance.randint(0, len(names)), chance.choice(others))
    return names


def alone(
    cluster: Nodes, stores: Mapping[str, Path], folder: Path
) -> tuple[Mapping[str, frozenset[str]], Sequence[str]]:
    """Return the data of each store, from a node that is started alone on a copy of the store.

    A node that does not start has no data; the names of such nodes are returned, too.
    """
    lonely = {}
    for name, store in stores.items():
        node = _short(name)
        lonely[node] = cluster.at(folder / node, alone=True)
        lonely[node].prepare({name: store})
        lonely[node].force(node)
        lonely[node].start(node)
    has, silent = {}, []
    for node, cell in lonely.items():
        is_up = cell.come_up(node, seconds=60)
        has[full(node)] = cell.exchanges(node) if is_up else frozenset()
        silent += [] if is_up else [node]
    cluster.servers.kill(*lonely)
    return has, silent


def _formed(folder: Path, *, khepri: bool = False) -> Mapping[str, Path]:
    """Return the directories of a cluster that was formed once, and shut down in order.

    `khepri`: whether the metadata are in Khepri, if the release allows a choice.
    """
    places = {full(node): folder / full(node) for node in NODES}
    if folder.exists():
        return places
    # A failed attempt may have left it.
    shutil.rmtree(folder.with_name("forming"), ignore_errors=True)
    with nodes(folder.with_name("forming")) as cluster:
        cluster.prepare()
        cluster.start("a")
        cluster.up("a", seconds=300)
        cluster.start("b", "c")
        cluster.up("b", "c", seconds=300)
        for node in ("b", "c"):
            cluster.ask(node, "rabbit:stop().", seconds=240)
            cluster.ask(node, JOIN[release() >= (3, 13)].format(full("a")), seconds=240)
            cluster.ask(node, "rabbit:start().", seconds=240)
        if khepri and not cluster.has_khepri("a"):
            cluster.ask("a", "rabbit_feature_flags:enable(khepri_db).", seconds=240)
        if not cluster.has_khepri("a"):
            cluster.agree(*NODES)
        if release() < (4,):
            cluster.ctl("a", "set_policy", "mirrored", "^mirrored$", MIRRORED)
        for node in reversed(NODES):
            cluster.stop(node)
        for name, directory in cluster.directories().items():
            copy(directory, folder / name)
        shutil.rmtree(cluster.root)
    return places


def follow(history: History, line: str, folder: Path) -> Followed | None:
    """Carry out a last line on copies; return None if the line gives no order."""
    steps = steps_of(line)
    if steps is None:
        return None
    with nodes(folder / PLAY) as cluster:
        cluster.prepare(history.stores)
        if steps.force:
            cluster.force(_short(steps.force))
        for stage in steps.stages:
            names = [_short(name) for name in stage]
            cluster.start(*names)
            cluster.come_up(*names, seconds=FOLLOWS_SECONDS)
        all_names = [name for stage in steps.stages for name in stage]
        up = [name for name in all_names if cluster.is_up(_short(name))]
        has = cluster.exchanges(_short(up[0])) if up else history.kept
        messages = cluster.messages(_short(up[0])) if up and history.confirmed else {}
    shutil.rmtree(folder / PLAY, ignore_errors=True)
    return Followed(
        steps=steps,
        kept=len(history.kept),
        lost=len(history.kept - has),
        is_said=says_loss(line),
        not_up=tuple(sorted({*all_names} - {*up})),
        messages={
            queue: max(0, history.confirmed[queue] - count) for queue, count in messages.items()
        },
    )


def _short(name: str) -> str:
    return name.partition("@")[0]
