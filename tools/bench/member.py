"""The cost of a member: the time of one round, and its memory, in a cluster of five.

A round is `receive`, `poll` and `advance`: a host's calls for every message that arrives. Two
kinds of rounds are measured: those with a heartbeat to an active member, which are most rounds,
and those of a whole life, from the founding to the orderly shutdown.

Messages are sent as bytes, so that members share no objects; encoding is not timed. Memory is
measured for a young member, and for a member with the longest chain that a store keeps.

The reference is one trigger of the member's own machine (`transitions` with the table of
phases, down to its last case), in the same process and in turn with the rounds: on a machine that
is half as fast, triggers take twice as long, too.

Run as `python -m tools.bench.member`, it prints one JSON object.
"""

from __future__ import annotations

import gc
import json
import statistics
import tracemalloc
from collections import deque
from time import perf_counter

from attrs import asdict

from joinproto.join.choice_messages import Chosen
from joinproto.join.config import Config
from joinproto.join.fixpoint import facts
from joinproto.join.lineage import VIEWS_KEPT, Lineage
from joinproto.join.member import Member
from joinproto.join.messages import Batch, Heartbeat
from joinproto.join.phases import Phase, machine
from joinproto.join.state import values_of
from joinproto.join.step_context import StepContext
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, View, change
from joinproto.join.wire import LATEST, decode, encode
from tools.bench.results import MemberCost

MEMBERS = 5
NAMES = tuple("abcdefghijklmnopqrstuvwxyz"[:MEMBERS])


class Cluster:
    """Members in one process; messages arrive at once, in order and without loss."""

    def __init__(self) -> None:
        self.now = 0.0
        self.seconds: list[float] = []
        self._messages: deque[tuple[str, str, bytes]] = deque()
        electors = frozenset(NAMES)
        wait_for = MEMBERS // 2 + 1
        self.members = {
            name: Member.start(
                0.0,
                Config(member=name, electors=electors, wait_for=wait_for),
                StoreRecord(store_id=f"{at:032x}"),
                seed=f"seed of {name}",
            )
            for at, name in enumerate(NAMES)
        }

    def live(self, until: Phase) -> None:
        """Advance the time and deliver messages until all members are in this phase."""
        for name, member in self.members.items():
            for peer in NAMES:
                member.peer_up(self.now, peer)
            self._perform(name)
        for _ in range(1_000):
            self._deliver()
            if all(member.phase is until for member in self.members.values()):
                return
            self.pass_time()
        raise RuntimeError(
            f"{MEMBERS} members that hear each other are not {until.value} after 1,000 ticks"
        )

    def pass_time(self) -> None:
        """Go to the next deadline of a member."""
        due = [it.deadline for it in self.members.values() if it.deadline is not None]
        self.now = min(due, default=self.now)
        for name, member in self.members.items():
            if member.deadline is not None and member.deadline <= self.now:
                member.tick(self.now)
                self._perform(name)

    def close(self) -> None:
        """Shut the whole cluster down in an orderly way."""
        for name, member in self.members.items():
            member.shutdown_cluster(self.now)
            self._perform(name)
        self.live(Phase.STOPPED)

    def _deliver(self) -> None:
        while self._messages:
            sender, to, sent = self._messages.popleft()
            member, message = self.members[to], decode(sent)
            start = perf_counter()
            member.receive(self.now, sender, message)
            batch = member.poll()
            member.advance(batch)
            self.seconds.append(perf_counter() - start)
            self._send(to, batch)

    def _perform(self, name: str) -> None:
        member = self.members[name]
        batch = member.poll()
        member.advance(batch)
        self._send(name, batch)

    def _send(self, name: str, batch: Batch) -> None:
        self._messages.extend(
            (name, it.to, encode(it.message, speaks=LATEST)) for it in batch.sends
        )


def measure(*, lives: int = 15, rounds: int = 3_000) -> MemberCost:
    """Return the cost of a member.  Rounds and triggers are measured in turn."""
    Cluster().live(Phase.ACTIVE)  # makes the shared machine, and warms loops up
    life: list[float] = []
    for _ in range(lives):
        cluster = Cluster()
        cluster.live(Phase.ACTIVE)
        cluster.close()
        life += cluster.seconds

    cluster = Cluster()
    cluster.live(Phase.ACTIVE)
    listener, speaker = cluster.members["a"], cluster.members["b"]
    tip, model, phases = speaker.view, StepContext(*values_of(listener.state)), machine()
    if tip is None:
        raise RuntimeError("an active member has no view")
    heartbeat = Heartbeat(tip.id, tip.number, speaker.seat, False)
    known = facts(listener.state)
    heartbeats, triggers = [], []
    for _ in range(rounds):
        start = perf_counter()
        listener.receive(cluster.now, "b", heartbeat)
        listener.advance(listener.poll())
        middle = perf_counter()
        phases.declared(model, "settle", (known,), 0)
        triggers.append(perf_counter() - middle)
        heartbeats.append(middle - start)
    young = bytes_of_member()
    return MemberCost(
        members=MEMBERS,
        round_us=statistics.median(heartbeats) * 1e6,
        life_us=statistics.median(life) * 1e6,
        life_slowest_tenth_us=statistics.quantiles(life, n=10)[-1] * 1e6,
        life_rounds=len(life),
        trigger_us=statistics.median(triggers) * 1e6,
        young_bytes=young,
        old_bytes=young + bytes_of_views(tip),
        old_views=VIEWS_KEPT,
    )


def bytes_of_member(*, clusters: int = 20) -> int:
    """Return the average bytes of a member of an active cluster."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    kept = []
    for _ in range(clusters):
        cluster = Cluster()
        cluster.live(Phase.ACTIVE)
        cluster.seconds.clear()
        kept.append(cluster)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) // (len(kept) * MEMBERS)


def bytes_of_views(tip: View) -> int:
    """Return the bytes of as many views as a store keeps, each read from its own message."""
    messages = []
    for number in range(VIEWS_KEPT):
        position = Position(tip.id, number + 1)
        tip = change(
            tip,
            members=tip.members,
            position=position,
            activated=True,
            nonce=f"{number:016x}:1",
            time=number,
        )
        messages.append(encode(Chosen(tip.parent, (tip,)), speaks=LATEST))
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    views: list[View] = []
    for text in messages:
        heard = decode(text)
        if isinstance(heard, Chosen):
            views += heard.views
    kept = Lineage(tuple(views), tip.id)
    del views
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return after - before if kept.length else 0


if __name__ == "__main__":
    print(json.dumps(asdict(measure())))
