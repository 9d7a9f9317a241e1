"""The events of a history of quorum queues, and the cluster on which they are played."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from attrs import define, field

from joinproto.errors import EnvironmentProblem
from tools.fixtures.rabbitmq import NODES
from tools.histories.rabbitmq_nodes import Nodes, copy, full, remove

IN_A_LIFE = 12
SETTLE_SECONDS = 4.0
METADATA = "rabbitmq_metadata"
"""Khepri's group; its confirmed operations are declarations of exchanges."""


@define
class Life:
    """A cluster that serves several histories, one after another.

    `lone`: the node that is cut off, or "".  `apart`: nodes that were cut off; their Mnesia stays
    separate until they are started again.  `histories`: their number so far.  `confirmed`:
    messages, by queue.  `before`: copies of the stores at the end of the last history.  `members`:
    the members of each queue whose members were changed.  `queues`: queues of the last history.
    `is_over`: no other history follows, because a node left the cluster or did not start.
    """

    cluster: Nodes
    top: Path
    running: set[str] = field(factory=set)
    lone: str = ""
    apart: set[str] = field(factory=set)
    histories: int = 0
    confirmed: dict[str, set[str]] = field(factory=dict)
    before: Mapping[str, Path] = field(factory=dict)
    members: dict[str, set[str]] = field(factory=dict)
    queues: Sequence[str] = ()
    is_over: bool = False
    has_khepri: bool = False


@define
class Play:
    """A history that is being played.

    `changes`: changes of stores, which are made to their copies.  `marks`: the number of clients'
    writes so far.  `purged`: the last queue that was purged, which therefore has a snapshot.
    """

    life: Life
    chance: random.Random
    seed: int
    queues: Sequence[str]
    events: list[str] = field(factory=list)
    changes: list[str] = field(factory=list)
    marks: int = 0
    purged: str = ""

    @property
    def cluster(self) -> Nodes:
        return self.life.cluster

    def declare(self, *, is_settled: bool) -> None:
        """Declare this history's queues.  `is_settled`: wait until `names.dets` is on the disk."""
        for queue in self.queues:
            self._publish(self.chance.choice(sorted(self.life.running)), queue=queue, count=1)
        time.sleep(SETTLE_SECONDS * is_settled)

    def event(self, name: str) -> None:
        running = sorted(self.life.running)
        away = sorted(set(NODES) - self.life.running)
        said = ""
        try:
            match name:
                case "publish" if running:
                    node = self.chance.choice(running)
                    said = self._publish(node) + self._define(node)
                case "kill" if running[1:]:
                    said = self._down(self.chance.choice(running), kill=True)
                case "stop" if running[1:]:
                    said = self._down(self.chance.choice(running), kill=False)
                case "kill-all" if running:
                    said = self._under_writes(running)
                case "back" if away and running:
                    said = self._back(self.chance.choice(away))
                case "cut" if len(running) == len(NODES) and not self.life.lone:
                    self.life.lone = lone = self.chance.choice(running)
                    self.cluster.part(lone, *(node for node in running if node != lone))
                    self.life.apart.add(lone)
                    said = f"{lone} cut off"
                case "mend" if self.life.lone:
                    self.cluster.mend(self.life.running)
                    self.life.lone = ""
                    said = "the link mended"
                case "shrink" | "grow" if running and not self.life.lone:
                    said = self._change(name, running)
                case "purge" if running and not self.life.lone:
                    said = self._purge(running[0])
                case "declare-again" if running and away and not self.life.lone:
                    said = self._declare_again(running[0])
                case "forget" if running and away and not self.life.lone:
                    said = self._forget(self.chance.choice(running), self.chance.choice(away))
                case "reset" if running[1:] and not self.life.lone:
                    said = self._reset(self.chance.choice(running))
                case "blank" if len(running) == len(NODES) - 1 and not self.life.lone:
                    said = self._blank(running[0], away[0])
                case "wipe" | "put-back":
                    self.changes.append(name)
        except EnvironmentProblem as error:
            said = f"{name} refused: {' '.join(error.message.split())[-120:]}"
        if said:
            self.events.append(said)

    def _publish(self, node: str, *, count: int = 0, queue: str = "") -> str:
        queue = queue or self.chance.choice(self.queues)
        self.marks += 1
        mark = f"m-{self.seed}-{self.marks}"
        confirmed = self.cluster.control.confirm(
            self.cluster.port(node), queue, mark, count or self.chance.choice((10, 60, 200))
        )
        self.life.confirmed.setdefault(queue, set()).update(confirmed)
        return f"{len(confirmed)} confirmed in {queue} on {node}"

    def _define(self, node: str) -> str:
        """Declare an exchange, if a Raft group keeps exchanges."""
        if not self.life.has_khepri:
            return ""
        self.marks += 1
        name = f"m-{self.seed}-{self.marks}:1;"
        what = f'rabbit_misc:r(<<"/">>, exchange, <<"{name}">>)'
        declare = f'rabbit_exchange:declare({what}, fanout, true, false, false, [], <<"client">>)'
        if not self.cluster.ask(node, f"element(1, {declare}).").startswith("ok"):
            return ", no exchange"
        self.life.confirmed.setdefault(METADATA, set()).add(name)
        return ", and an exchange"

    def _under_writes(self, chosen: Sequence[str]) -> str:
        """Kill nodes while clients publish."""
        said: list[str] = []

        def publish(node: str) -> None:
            with suppress(EnvironmentProblem):
                said.append(self._publish(node, count=400))

        clients = [Thread(target=publish, args=(node,)) for node in sorted(self.life.running)]
        for client in clients:
            client.start()
        time.sleep(self.chance.choice((0.05, 0.2, 0.5)))
        self.cluster.servers.kill(*chosen)
        self.life.running -= set(chosen)
        for client in clients:
            client.join()
        return f"{', '.join(chosen)} killed under writes ({'; '.join(said)})"

    def _down(self, node: str, *, kill: bool) -> str:
        if kill and self.chance.random() < 0.6:
            return self._under_writes([node])
        if kill:
            self.cluster.servers.kill(node)
        else:
            self.cluster.stop(node)
        self.life.running.discard(node)
        return f"{node} {'killed' if kill else 'stopped in order'}"

    def _back(self, *chosen: str) -> str:
        self.cluster.start(*chosen)
        self.cluster.come_up(*chosen, seconds=150)
        up = {node for node in chosen if self.cluster.is_up(node)}
        self.cluster.servers.kill(*({*chosen} - up))
        self.life.running |= up
        return f"{', '.join(sorted(up)) or 'none'} of {', '.join(chosen)} started again"

    def _change(self, name: str, running: Sequence[str]) -> str:
        """Remove a node from a queue's members, or add it again."""
        queue = self.chance.choice(self.queues)
        known = self.life.members.setdefault(queue, set(NODES))
        some = known & set(running) if name == "shrink" else set(running) - known
        if not some or (name == "shrink" and len(known) < 2):
            return ""
        node = self.chance.choice(sorted(some))
        vhost, title = '<<"/">>', f'<<"{queue}">>'
        asked = (
            f"rabbit_quorum_queue:delete_member({vhost}, {title}, '{full(node)}')."
            if name == "shrink"
            else f"rabbit_quorum_queue:add_member({vhost}, {title}, '{full(node)}', 5000)."
        )
        answer = self.cluster.ask(running[0], asked)
        if answer == "ok":
            known.symmetric_difference_update({node})
        return f"{queue}: {name} {node}: {answer[:60]}"

    def _purge(self, node: str) -> str:
        queue = self.chance.choice(self.queues)
        name = f'rabbit_misc:r(<<"/">>, queue, <<"{queue}">>)'
        self.purged = queue
        # From now on it is unknown which messages are left.
        lost = self.life.confirmed.pop(queue, set())
        answer = self.cluster.ask(
            node, f"rabbit_amqqueue:with({name}, fun rabbit_amqqueue:purge/1)."
        )
        return f"{queue} purged of {len(lost)}: {answer[:40]}"

    def _declare_again(self, node: str) -> str:
        """Delete a queue, and declare it again under its name, while a node is away."""
        queue = self.purged or self.chance.choice(self.queues)
        name = f'rabbit_misc:r(<<"/">>, queue, <<"{queue}">>)'
        delete = 'fun(Q) -> rabbit_amqqueue:delete(Q, false, false, <<"client">>) end'
        answer = self.cluster.ask(node, f"rabbit_amqqueue:with({name}, {delete}).")
        lost = self.life.confirmed.pop(queue, set())
        self.life.members.pop(queue, None)
        said = self._publish(node, queue=queue, count=self.chance.choice((3, 60)))
        time.sleep(SETTLE_SECONDS)
        return f"{queue} deleted with {len(lost)} ({answer[:20]}), and declared again: {said}"

    def _forget(self, node: str, other: str) -> str:
        """Make a node forget an absent node, with `rabbitmqctl`; the queues shrink, too."""
        self.life.is_over = True
        self.cluster.ctl(node, "forget_cluster_node", full(other))
        return f"{node} told to forget {other}"

    def _reset(self, node: str) -> str:
        """Make a node leave the cluster by a reset, and continue alone."""
        self.life.is_over = True
        for word in ("stop_app", "reset", "start_app"):
            self.cluster.ctl(node, word)
        return f"{node} reset, and started again by itself"

    def _blank(self, node: str, other: str) -> str:
        """Start a forgotten node with an empty disk, and let it join again."""
        self.life.is_over = True
        remove(self.cluster.directory(other))
        self.cluster.start(other)
        if not self.cluster.come_up(other, seconds=200):
            self.cluster.servers.kill(other)
            return f"{other} does not start on an empty disk"
        self.life.running.add(other)
        for word in (["stop_app"], ["join_cluster", full(node)], ["start_app"]):
            self.cluster.ctl(other, *word)
        return f"{other} started on an empty disk, and joined {node} again"

    def end_all(self) -> None:
        """End all running nodes: at once, or one after the other."""
        running = sorted(self.life.running)
        match self.chance.choice(("writes", "killed", "turn", "stopped")) if running else "none":
            case "none":
                return
            case "writes":
                self.events.append(self._under_writes(running))
            case "turn":
                for node in self.chance.sample(running, len(running)):
                    self.events.append(self._down(node, kill=self.chance.random() < 0.7))
            case "stopped":
                for node in self.chance.sample(running, len(running)):
                    self.events.append(self._down(node, kill=False))
            case _:
                self.cluster.servers.kill(*running)
                self.life.running.clear()
                self.events.append(f"{', '.join(running)} killed at one moment")

    def frozen(self, place: Path) -> tuple[Mapping[str, Path], list[str]]:
        """Copy all directories at one moment, and make `changes` to the copies.

        Returns the copies, and texts about the changes.
        """
        self._signal(signal.SIGSTOP)
        stores = {}
        try:
            for node in NODES:
                stores[full(node)] = place / full(node)
                copy(self.cluster.directory(node), place / full(node))
        finally:
            self._signal(signal.SIGCONT)
        running = ", ".join(sorted(self.life.running))
        said = [f"copied while {running} ran"] if running else []
        kept = self.life.top / "before" / str(self.life.histories)
        older = self.life.before
        self.life.before = {name: kept / name for name in stores}
        for name, store in stores.items():
            copy(store, kept / name)
        for change in self.changes:
            node = full(self.chance.choice(NODES))
            if change == "wipe":
                shutil.rmtree(stores.pop(node))
                said.append(f"the disk of {node} wiped")
            elif older:
                shutil.rmtree(stores[node])
                copy(older[node], stores[node])
                said.append(f"{node} replaced by a copy from the end of the history before")
        return stores, said

    def _signal(self, number: signal.Signals) -> None:
        for node in self.life.running:
            with suppress(ProcessLookupError):
                os.killpg(self.cluster.servers.running[node].pid, number)

    def whole_again(self) -> None:
        """Bring the cluster back for the next history; if that fails, the life ends."""
        self.life.lone = ""
        try:
            self.cluster.mend(self.life.running)
            apart = self.life.apart & self.life.running
            self.cluster.servers.kill(*apart)
            self.life.running -= apart
            self.life.apart.clear()
            away = sorted(set(NODES) - self.life.running)
            if away and self.life.histories < IN_A_LIFE:
                self._back(*away)
            if self.life.running != set(NODES):
                self.life.running.clear()
        except EnvironmentProblem:
            self.life.running.clear()
