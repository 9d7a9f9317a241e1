"""Histories of MariaDB with Galera: events drawn from a seed, on real nodes.

    with TemporaryDirectory() as folder:
        history = draw(7, Path(folder), "forced")

A history starts from a copy of a cluster that was formed once and shut down in order.  Clients
insert rows; a row is acknowledged once the server has answered.  At the end all nodes are
down.  Their directories are not changed; copies are asked for their position
(`--wsrep-recover`) and started alone, to know their rows.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from joinproto.errors import EnvironmentProblem
from tools.histories.followed import Followed, Steps, says_loss
from tools.histories.galera_kinds import FIVE, KINDS
from tools.histories.galera_nodes import Clients, nodes_in
from tools.histories.galera_play import Play
from tools.histories.judged import History, first_of

__all__ = ("KINDS", "Followed", "draw", "follow")

# Values of innodb_flush_log_at_trx_commit.  With 0 a server writes its log once a second, so a kill
# may lose the writes since then.
FLUSHES = (1, 1, 1, 0)


def draw(seed: int, folder: Path, kind: str | None = None) -> History:
    """Play the history of a seed below `folder`.

    `kind`: one of `KINDS`; None: the seed draws it.  The formed clusters, from which the next
    history starts, are kept next to `folder`.
    """
    random = Random(seed)
    drawn = random.choice([*KINDS])
    kind = kind or drawn
    count = 5 if kind in FIVE else 3
    flush = random.choice(FLUSHES)
    formed = _formed(folder.parent, count)
    root = folder / kind
    with nodes_in(root, count, f"--innodb-flush-log-at-trx-commit={flush}") as nodes:
        for node in nodes.nodes:
            nodes.copy(formed / node, nodes.data(node))
        first, *others = nodes.nodes
        nodes.start(first, found=True)
        nodes.launched(*others)
        nodes.go_on(*nodes.nodes)
        play = Play(nodes, Clients(nodes), random, [*nodes.nodes])
        play.note(f"{count} nodes serve; innodb_flush_log_at_trx_commit={flush}")
        KINDS[kind](play)
        return _history_of(play, kind=kind, seed=seed)


def follow(history: History, line: str, folder: Path) -> Followed | None:
    """Found the cluster with the node that a last line names first, and join the others.

    Returns None if the line founds no cluster.
    """
    first = first_of(line, tuple(history.stores)) if "--wsrep-new-cluster" in line else None
    if first is None:
        return None
    others = [node for node in history.stores if node != first]
    with nodes_in(folder / "followed", history.nodes) as nodes:
        for node, store in history.stores.items():
            nodes.copy(store, nodes.data(node))
        serves = [first, *nodes.launched(*others)] if nodes.founds(first) else []
        # A node of the same history that is behind receives the data it lacks, and keeps its own.
        rows = [nodes.rows(node) for node in serves]
    nodes.remove(nodes.root)
    left = history.kept & frozenset.intersection(*rows) if rows else frozenset[str]()
    return Followed(
        steps=Steps(force=first, stages=((first,), tuple(others))),
        kept=len(history.kept),
        lost=len(history.kept - left) if rows else 0,
        is_said=says_loss(line),
        not_up=tuple(node for node in history.stores if node not in serves),
    )


def _history_of(play: Play, *, kind: str, seed: int) -> History:
    """Move the directories aside, read the data from copies of them, and return the history."""
    nodes = play.nodes
    left, logs = nodes.root / "left", nodes.root / "recovered"
    nodes.make(left)
    logs.mkdir()
    has, positions = {}, {}
    for node in nodes.nodes:
        if node in play.gone:
            continue
        nodes.data(node).rename(left / node)
        nodes.copy(left / node, nodes.data(node))
        try:
            log = nodes.recovered(node, nodes.data(node))
        except EnvironmentProblem:
            play.note(f"{node} cannot be asked for its position")
        else:
            positions[node] = logs / f"{node}.log"
            positions[node].write_text(log, "utf-8")
        has[node] = frozenset[str]()
        if nodes.founds(node):
            try:
                has[node] = nodes.rows(node)
            except EnvironmentProblem:
                play.note(f"{node} starts alone, and has no table")
            nodes.servers.kill(node)
        else:
            play.note(f"{node} does not start alone")
        nodes.remove(nodes.data(node))
    return History(
        broker="galera",
        seed=seed,
        kind=kind,
        events=tuple(play.events),
        stores={node: left / node for node in has},
        has=has,
        acknowledged=frozenset(play.clients.acknowledged),
        nodes=len(nodes.nodes),
        positions=positions,
    )


def _formed(folder: Path, count: int) -> Path:
    """Return the folder of a cluster that was formed and shut down in order; make it if needed."""
    formed = folder / f"formed-{count}"
    if not (formed / "done").exists():
        shutil.rmtree(formed, ignore_errors=True)
        with nodes_in(formed, count) as nodes:
            nodes.form()
            for at in range(count - 1, -1, -1):
                nodes.stop(nodes.nodes[at])
                nodes.go_on(*nodes.nodes[:at])
        (formed / "done").touch()
    return formed
