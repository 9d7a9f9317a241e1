"""Nodes of the join protocol in a storm, with clients that write: no acknowledged write is lost."""

from __future__ import annotations

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from attrs import define, field

from joinproto.cli.validate.judge import validate
from joinproto.codec.json_form import encoded
from joinproto.errors import EnvironmentProblem, JoinprotoError
from tools.faults.clients import Connection, Ledger, Writers
from tools.faults.network import Network
from tools.faults.nodes import CLOCK, Fleet
from tools.faults.recovering import recover
from tools.faults.register import KINDS as REGISTER_KINDS
from tools.faults.register import Register
from tools.faults.storm import STUCK_SECONDS, Storm, StormVerdict, System, running_id

CLOCK_SECONDS = 3_600
READ_SECONDS = 60.0
WRITERS = 6
LOST_SHOWN = 5


@define
class Nodes(System):
    """The nodes.  `verdicts`: how often the recovery tool gave each verdict."""

    fleet: Fleet
    ledger: Ledger = field(factory=Ledger)
    verdicts: Counter[str] = field(factory=Counter)
    _clocks: dict[str, float] = field(factory=dict)
    _writers: Writers | None = None

    @classmethod
    def make(
        cls,
        top: Path,
        names: str,
        mutant: str | None,
        network: Callable[[Mapping[str, int]], Network] | None = None,
        register: Register | None = None,
    ) -> Nodes:
        """Return nodes with short timeouts, and with clocks that can jump.

        The last node leaves when it is stopped; the others stay members.
        """
        # A heartbeat must be longer than a register takes to answer (join protocol, 3.7).
        timeouts = "heartbeat = 0.2\nsilence = 1.5"
        if register is not None:
            timeouts = "heartbeat = 0.5\nsilence = 2.0"
        tables = f'[timing]\npatience = 0.4\n{timeouts}\n[testing]\nclock_offset = "{CLOCK}"'
        fleet = Fleet.make(
            top, names, leaves=names[-1], tables=tables, register=register, network=network
        )
        for node in fleet.nodes.values():
            node.mutant = mutant
        return cls(fleet)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(sorted(self.fleet.nodes))

    @property
    def network(self) -> Network:  # type: ignore[override]
        return self.fleet.network

    def own_faults(self, storm: Storm) -> Mapping[str, Callable[[], None]]:
        found: dict[str, Callable[[], None]] = {
            "clock": partial(self._clock, storm),
            "shutdown": partial(self._shutdown, storm),
        }
        if (register := self.fleet.register) is not None:
            for kind in REGISTER_KINDS:
                found[kind] = partial(register.strike, kind, storm.chance, storm.say)
        return found

    def form(self, storm: Storm) -> None:
        self.fleet.start()
        self.fleet.wait_active(seconds=STUCK_SECONDS)
        addresses = [node.clients for node in self.fleet.nodes.values()]
        self._writers = Writers(addresses, self.ledger, count=WRITERS, seed=storm.seed)

    def start(self, name: str) -> None:
        if not self.fleet[name].is_up:
            self.fleet[name].start()

    def process(self, name: str) -> int | None:
        return running_id(self.fleet[name].process)

    def signal(self, name: str, number: int) -> None:
        self.fleet[name].signal(number)
        if number == signal.SIGKILL:
            self.fleet[name].wait()

    def fill_disk(self, name: str) -> None:
        self.fleet[name].fill_disk()

    def _clock(self, storm: Storm) -> None:
        name = storm.random_name()
        jump = storm.chance.choice([-1, 1]) * storm.chance.uniform(1, CLOCK_SECONDS)
        self._clocks[name] = self._clocks.get(name, 0.0) + jump
        storm.say(f"clock of {name} {jump:+.0f} s")
        self.fleet[name].set_clock(self._clocks[name])
        storm.pause(0.2, 1.0)

    def _shutdown(self, storm: Storm) -> None:
        """Shut the whole cluster down in an orderly way, perhaps while its view changes."""
        name = storm.random_name()
        storm.say(f"orderly shutdown, asked at {name}")
        with suppress(EnvironmentProblem):
            self.fleet[name].shutdown_cluster()
        for node in self.fleet.nodes.values():
            with suppress(subprocess.TimeoutExpired):
                node.wait(8)
            node.kill()
        storm.start_in_any_order(self.names)

    def settle(self, storm: Storm, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            for name in self.names:
                self.start(name)
            try:
                self.fleet.wait_active(seconds=5)
            except JoinprotoError:
                if self._needs_recovery():
                    self.recover(storm)
                elif time.monotonic() > end:
                    raise
            else:
                return

    def _needs_recovery(self) -> bool:
        """Return whether some node waits for an operator, because there is no clean store."""
        waits = [node.status().get("waiting") for node in self.fleet.nodes.values()]
        return any(one is not None and one["reason"] == "no-clean-store" for one in waits)

    def recover(self, storm: Storm) -> None:
        for node in self.fleet.nodes.values():
            node.kill()
        verdict = recover(self.fleet, f"{sum(self.verdicts.values())}")
        self.verdicts[verdict] += 1
        storm.say(f"recover: {verdict}")
        self.fleet.start()

    def judge(self) -> StormVerdict:
        """Read every node's data, end all nodes, and validate their event logs."""
        if self._writers is not None:
            self._writers.stop()
        found: dict[str, list[str] | None] = {}
        for name, node in self.fleet.nodes.items():
            connection = Connection(node.clients, seconds=READ_SECONDS)
            # A member that is busy with reads may be suspended for a moment, so try again.
            log = connection.read_all(patience=READ_SECONDS)
            connection.close()
            found[name] = None if log is None else [text for _, text in log]
        problems = compare(self.ledger, found)
        for node in self.fleet.nodes.values():
            node.kill()
        logs = validate([self.fleet.top / "events"])
        if (differs := logs.mismatch) is not None:
            problems.append(
                f"{differs.path}, line {differs.matching + 1}: {differs.field} is"
                f" {differs.seen[:100]}, expected {differs.allowed[:100]}"
            )
        for name, broken in logs.broken.items():
            problems += [f"{name}: {what}" for what in broken[:1]]
        ledger = self.ledger
        facts = {
            "members": len(self.names),
            "register": "votes" if self.fleet.register is None else "etcd",
            "recoveries": dict(self.verdicts),
            "writes": {
                "acknowledged": len(ledger.acknowledged),
                "refused": len(ledger.refused),
                "open": len(ledger.open),
            },
            "frames": max((len(texts) for texts in found.values() if texts is not None), default=0),
            "logs": logs.counted,
            "validate": encoded(logs),
        }
        return StormVerdict(tuple(problems), facts)

    def close(self) -> None:
        if self._writers is not None:
            self._writers.stop()
        self.fleet.close()


def compare(ledger: Ledger, found: dict[str, list[str] | None]) -> list[str]:
    """Return the differences between the nodes' data, and between data and outcomes."""
    problems = [f"{name} does not show its log" for name, texts in found.items() if texts is None]
    shown = {name: texts for name, texts in found.items() if texts is not None}
    if not shown:
        return problems
    name, first = next(iter(shown.items()))
    for other, texts in shown.items():
        if texts != first:
            at = next(
                (
                    i
                    for i, pair in enumerate(zip(first, texts, strict=False), 1)
                    if pair[0] != pair[1]
                ),
                min(len(first), len(texts)) + 1,
            )
            problems.append(f"{name} and {other} differ from frame {at} on")
    lost = [
        f"{text!r} was acknowledged as frame {number}, and"
        f" {'another write is there' if number <= len(first) else 'the log is shorter'}"
        for text, number in ledger.acknowledged.items()
        if number > len(first) or first[number - 1] != text
    ]
    twice = len(first) - len(set(first))
    wrong = ledger.refused & set(first)
    problems += lost[:LOST_SHOWN]
    if len(lost) > LOST_SHOWN:
        problems.append(f"and {len(lost) - LOST_SHOWN} more acknowledged writes are lost")
    if twice:
        problems.append(f"{twice} writes are in the log twice")
    if wrong:
        problems.append(f"{len(wrong)} refused writes are in the log, such as {min(wrong)!r}")
    return problems
