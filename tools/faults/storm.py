"""A storm: faults of every kind, one after the other and into each other, from one seed.

The seed decides which fault comes when, whom it hits and how long it lasts.  The members'
own timing is theirs, so the same seed is the same storm, and not the same run to the last bit.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from attrs import define, field

from joinproto.errors import EnvironmentProblem, JoinprotoError
from tools.faults.clients import Ledger, Writers
from tools.faults.nodes import Fleet, until
from tools.faults.recovering import recover
from tools.faults.register import KINDS as REGISTER_KINDS

CALM_SECONDS = 60.0
STUCK_SECONDS = 120.0
CLOCK_SECONDS = 3_600
ENDS_SECONDS = 30.0


@define
class Storm:
    """`counts`: faults by kind; `verdicts`: of the recovery tool; `say`: told what happens."""

    fleet: Fleet
    seed: int
    writers: int = 6
    say: Callable[[str], None] = lambda line: None
    ledger: Ledger = field(factory=Ledger)
    counts: Counter[str] = field(factory=Counter)
    verdicts: Counter[str] = field(factory=Counter)
    chance: random.Random = field(init=False)
    _clocks: dict[str, float] = field(factory=dict)
    _bag: list[str] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the faults of this storm."""
        return KINDS if self.fleet.register is None else (*KINDS, *REGISTER_KINDS)

    @property
    def names(self) -> list[str]:
        return sorted(self.fleet.nodes)

    def run(self, seconds: float) -> None:
        """Rage for so many seconds, then let all come back."""
        fleet = self.fleet
        fleet.start()
        fleet.wait_active(seconds=STUCK_SECONDS)
        addresses = [node.clients for node in fleet.nodes.values()]
        writers = Writers(addresses, self.ledger, count=self.writers, seed=self.seed)
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                kind = self._next_kind()
                if kind in REGISTER_KINDS and self.fleet.register is not None:
                    self.fleet.register.strike(kind, self.chance, self.say)
                else:
                    getattr(self, f"_{kind}")()
                self.counts[kind] += 1
                if self.chance.random() < 0.7:
                    self.calm()
                else:
                    self._pause(0.2, 1.0)
            self.calm(STUCK_SECONDS)
        finally:
            writers.stop()

    def _next_kind(self) -> str:
        """Return each kind as often as any other, in an order of chance."""
        if not self._bag:
            self._bag = list(self.kinds)
            self.chance.shuffle(self._bag)
        return self._bag.pop()

    # -- the faults ----------------------------------------------------------------------------

    def _kill(self) -> None:
        name = self.chance.choice(self.names)
        self.say(f"kill -9 {name}")
        self.fleet[name].kill()
        self._pause(0.1, 2.0)
        self._start(name)

    def _stop(self) -> None:
        name = self.chance.choice(self.names)
        self.say(f"SIGSTOP {name}")
        self.fleet[name].signal(signal.SIGSTOP)
        self._pause(0.5, 4.0)
        self.fleet[name].signal(signal.SIGCONT)

    def _partition(self) -> None:
        count = self.chance.randrange(1, (len(self.names) + 1) // 2 + 1)
        side = self.chance.sample(self.names, count)
        self.say(f"partition {' '.join(sorted(side))}")
        self.fleet.network.isolate(side)
        self._pause(0.5, 4.0)
        self.fleet.network.heal()

    def _one_way(self) -> None:
        sender, receiver = self.chance.sample(self.names, 2)
        self.say(f"drop {sender} -> {receiver}")
        self.fleet.network.drop(sender, receiver)
        self._pause(0.5, 4.0)
        self.fleet.network.heal()

    def _link(self) -> None:
        one, other = self.chance.sample(self.names, 2)
        self.say(f"cut {one} - {other}")
        self.fleet.network.cut(one, other)
        self._pause(0.5, 4.0)
        self.fleet.network.heal()

    def _full_disk(self) -> None:
        name = self.chance.choice(self.names)
        self.say(f"full disk {name}")
        self.fleet[name].fill_disk()
        with suppress(JoinprotoError):
            until(lambda: not self.fleet[name].is_up, 10)
        self.fleet[name].kill()
        self._start(name)

    def _clock(self) -> None:
        name = self.chance.choice(self.names)
        jump = self.chance.choice([-1, 1]) * self.chance.uniform(1, CLOCK_SECONDS)
        self._clocks[name] = self._clocks.get(name, 0.0) + jump
        self.say(f"clock of {name} {jump:+.0f} s")
        self.fleet[name].set_clock(self._clocks[name])
        self._pause(0.2, 1.0)

    def _shutdown(self) -> None:
        """The orderly shutdown of the whole cluster, at a moment that may not be a good one."""
        name = self.chance.choice(self.names)
        self.say(f"orderly shutdown, asked at {name}")
        with suppress(EnvironmentProblem):
            self.fleet[name].shutdown_cluster()
        for node in self.fleet.nodes.values():
            with suppress(subprocess.TimeoutExpired):
                node.wait(8)
            node.kill()
        self._start_in_any_order()

    def _sigterm(self) -> None:
        """One is stopped as by `systemctl stop`: it stays a member, or leaves, as configured."""
        name = self.chance.choice(self.names)
        self.say(f"SIGTERM {name}")
        self.fleet[name].signal(signal.SIGTERM)
        self._pause(0.1, 2.0)
        self._require_end(name)
        self._start(name)

    def _sigterm_all(self) -> None:
        """All are stopped one after the other, in any order, and started in any other."""
        names = self.names
        self.chance.shuffle(names)
        self.say(f"SIGTERM {', '.join(names)}")
        for name in names:
            self.fleet[name].signal(signal.SIGTERM)
            self._pause(0.0, 2.0)
        for name in names:
            self._require_end(name)
        self._start_in_any_order()

    def _total_failure(self) -> None:
        """All are killed at once; the operator recovers, and starts them again."""
        self.say("total failure")
        names = self.names
        self.chance.shuffle(names)
        for name in names:
            self.fleet[name].kill()
        self._recover()

    # -- coming back ---------------------------------------------------------------------------

    def calm(self, seconds: float = CALM_SECONDS) -> None:
        """Let the cluster come back, as an operator would: what is down is started."""
        self.fleet.network.heal()
        end = time.monotonic() + seconds
        while True:
            for node in self.fleet.nodes.values():
                node.signal(signal.SIGCONT)
            self._start(*(name for name in self.names if not self.fleet[name].is_up))
            try:
                self.fleet.wait_active(seconds=5)
            except JoinprotoError:
                if self._needs_recovery():
                    self._recover()
                elif time.monotonic() > end:
                    raise
            else:
                return

    def _needs_recovery(self) -> bool:
        """Say whether all who run wait for the operator."""
        waits = [node.status().get("waiting") for node in self.fleet.nodes.values()]
        return any(one is not None and one["reason"] == "no-clean-store" for one in waits)

    def _recover(self) -> None:
        for node in self.fleet.nodes.values():
            node.kill()
        verdict = recover(self.fleet, f"{sum(self.verdicts.values())}")
        self.verdicts[verdict] += 1
        self.say(f"recover: {verdict}")
        self._start(*self.names)

    def _require_end(self, name: str) -> None:
        """Wait until a node that was told to end has ended; raises where it does not."""
        try:
            self.fleet[name].wait(ENDS_SECONDS)
        except subprocess.TimeoutExpired:
            raise JoinprotoError(
                f"{name} goes on {ENDS_SECONDS:g} s after SIGTERM",
                next=f"look at {self.fleet[name].log}",
                code=1,
            ) from None

    def _start_in_any_order(self) -> None:
        names = self.names
        self.chance.shuffle(names)
        for name in names:
            self._start(name)
            self._pause(0.0, 1.0)

    def _start(self, *names: str) -> None:
        for name in names:
            self.fleet[name].start()

    def _pause(self, least: float, most: float) -> None:
        time.sleep(self.chance.uniform(least, most))


KINDS = (
    "kill",
    "stop",
    "partition",
    "one_way",
    "link",
    "full_disk",
    "clock",
    "shutdown",
    "sigterm",
    "sigterm_all",
    "total_failure",
)
