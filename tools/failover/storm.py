"""Hot-standby brokers in a storm, while a client publishes, consumes and counts messages.

If no broker serves, a manager outside promotes one: a member of the newest view that it finds when
all brokers answer, or of the last view of the primary that it ends (docs/standby.md, the first
guard).  It fences no broker, so no links between brokers are cut in its storms.  Brokers that
promote themselves are also cut off.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, field

from joinproto.apps.standby.keeping.form import PREVIOUS
from joinproto.cli.validate.standby import validate_brokers
from tools.failover.manager import Manager, running
from tools.faults.network import Network
from tools.faults.storm import CUTS, Storm, StormVerdict, System

SECONDS = 30.0
STUCK_SECONDS = 60.0
AHEAD = 2_000
"""How many messages may be published but not confirmed."""
FEW = 20
"""New confirmations after which the cluster counts as working."""


class BrokerNetworks(Network):
    """The networks between brokers, one for each kind of port, as one network."""

    def __init__(self, names: tuple[str, ...], networks: tuple[Network, ...]) -> None:
        self.names, self._networks = names, networks

    def host(self, name: str) -> str:
        return self._networks[0].host(name)

    def address(self, caller: str, called: str) -> Any:
        return self._networks[0].address(caller, called)

    def drop(self, sender: str, receiver: str) -> None:
        for network in self._networks:
            network.drop(sender, receiver)

    def heal(self) -> None:
        for network in self._networks:
            network.heal()

    def close(self) -> None:
        for network in self._networks:
            network.close()


@define
class Brokers(System):
    """The brokers.  `manager`: calls their agents."""

    top: Path
    manager: Manager
    network: Network = field(init=False)
    verdicts: list[str] = field(factory=list)
    _client: subprocess.Popen[str] | None = None
    end = "every confirmed message was consumed, and all brokers kept the rules"

    def __attrs_post_init__(self) -> None:
        self.network = BrokerNetworks(self.names, self.manager.networks)

    @classmethod
    def make(cls, top: Path, names: str, *, built_in: bool) -> Brokers:
        more = 'events = "events"'
        return cls(top, Manager.of(top, names, more=more, built_in=built_in, cuts=built_in))

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.manager.files)

    @property
    def lacks(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset() if self.manager.is_built_in else CUTS

    def own_faults(self, storm: Storm) -> Mapping[str, Callable[[], None]]:
        faults: tuple[Callable[[Storm], None], ...] = (
            self.fail_over, self.switch, self.promote_at_once, self.in_order,
        )  # fmt: skip
        if self.manager.is_built_in:
            faults += (self.cut_primary, self.stop_primary, self.two_at_once, self.die_promoted)
        return {fault.__name__: partial(fault, storm) for fault in faults}

    # -- processes -----------------------------------------------------------------------------

    def start(self, name: str) -> None:
        self.manager.start(name)

    def process(self, name: str) -> int | None:
        return self.manager.agent(name)._pid()

    def signal(self, name: str, number: int) -> None:
        if number == signal.SIGKILL:
            self.manager.kill(name)
        elif (process := self.process(name)) is not None:
            os.kill(process, number)

    def fill_disk(self, name: str) -> None:
        """Limit the size of a broker's files to about their present size, so that a write fails."""
        if (process := self.process(name)) is not None:
            frames = self.manager.agent(name).settings.data / "frames.log"
            size = frames.stat().st_size + 1_000
            resource.prlimit(process, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def close(self) -> None:
        if self._client is not None:
            self._client.kill()
            self._client.wait()
        with running(self.manager):
            pass

    # -- all together --------------------------------------------------------------------------

    def form(self, storm: Storm) -> None:
        manager = self.manager
        manager.start()
        if not manager.is_built_in and not manager.promote():
            raise RuntimeError(f"no broker could be promoted at first: {manager.refusals}")
        (self.top / "progress").write_text("0")
        self._allow_more()
        words = [sys.executable, "-m", "tools.failover.clients", str(self.top), *manager.urls()]
        self._client = subprocess.Popen(
            words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).resolve().parents[2]
        )
        storm.calm()

    def _allow_more(self) -> int:
        """Let the client publish more messages; return how many are confirmed."""
        text = (self.top / "progress").read_text()
        done = int(text) if text.isdecimal() else 0
        (self.top / "gate").write_text(str(done + AHEAD))
        return done

    def settle(self, storm: Storm, seconds: float) -> None:
        """Wait until one broker serves, all others are backups, and messages are confirmed."""
        manager = self.manager
        end, served_at = time.monotonic() + seconds, time.monotonic()
        confirmed = self._allow_more()
        while True:
            for name in self.names:
                if self.process(name) is None:
                    manager.start(name)
            serves = manager.wait_primary(1.0)
            others = [name for name in self.names if name != serves]
            away = [name for name in others if manager.status(name).get("role") != "backup"]
            if serves and not away and self._allow_more() >= confirmed + FEW:
                return
            if serves:
                served_at = time.monotonic()
            elif (able := self._promotable()) and manager.promote(*able):
                storm.say(f"promoted {manager.primary}")
            elif time.monotonic() > served_at + SECONDS:
                self.recover(storm)
                # On a busy machine the recovery tool alone takes half a minute.
                served_at = time.monotonic()
                end = served_at + seconds
                continue
            if time.monotonic() > end:
                said = {name: manager.status(name).get("role") for name in self.names}
                raise RuntimeError(
                    f"after {seconds:g} s {serves or 'no broker'} serves; not backups: {away};"
                    f" roles: {said}; {self._allow_more() - confirmed} confirmed;"
                    f" refused: {manager.refusals[-3:]}"
                )
            time.sleep(0.1)

    def _promotable(self) -> list[str]:
        """Return the brokers that a manager outside may promote; [] if a broker does not answer."""
        statuses: list[dict[str, Any]] = [dict(self.manager.status(name)) for name in self.names]
        if self.manager.is_built_in or not all(statuses):
            return []
        youngest = max(statuses, key=lambda one: (one["generation"], one["view"]))
        return list(youngest["up_to_date"])

    def recover(self, storm: Storm) -> None:
        """Kill all brokers, and recover them with the operator's tool."""
        for name in self.names:
            self.manager.kill(name)
        verdict = recover(self.manager)
        storm.say(f"recover: {verdict}")
        self.verdicts.append(verdict)

    def judge(self) -> StormVerdict:
        """Let the client take all confirmed messages, and check the event logs."""
        if self._client is None:
            return StormVerdict(("the client did not run",), {})
        (self.top / "gate").write_text("end")
        try:
            output, _ = self._client.communicate(timeout=2 * STUCK_SECONDS)
        except subprocess.TimeoutExpired:
            return StormVerdict(("the client did not end in time",), {})
        if code := self._client.returncode:
            return StormVerdict((f"the client ended with exit code {code}",), {})
        found = json.loads(output)
        problems = [f"confirmed and lost: {found['lost']}"] if found["lost_count"] else []
        if found["confirmed"] != found["published"]:
            problems.append(
                f"of {found['published']} messages only {found['confirmed']} are confirmed"
            )
        if found["twice_unmarked"]:
            problems.append(f"{found['twice_unmarked']} messages came twice, and were not marked")
        logs = validate_brokers([self.top / "events"])
        problems += [f"{one.name}: {one.found[0]}" for one in logs.claims if one.found]
        facts = {"recoveries": len(self.verdicts), "refusals": len(self.manager.refusals)}
        return StormVerdict(tuple(problems), {**found, **facts, "logs": logs.counted})

    # -- its own faults ------------------------------------------------------------------------

    def fail_over(self, storm: Storm) -> None:
        """Kill the primary; start it again when another broker serves."""
        dead = self.manager.primary
        storm.say(f"kill -9 {dead}, the primary")
        able = self._promotable()
        self.manager.kill(dead)
        self._hand_over(dead, able)
        self.manager.start(dead)

    def in_order(self, storm: Storm) -> None:
        """Stop the primary as for maintenance of its machine."""
        gone = self.manager.primary
        storm.say(f"the agent stops {gone}, the primary")
        able = self._promotable()
        self.manager.call(gone, "stop")
        self._hand_over(gone, able)
        self.manager.start(gone)

    def _hand_over(self, gone: str, able: list[str]) -> None:
        """Promote one of the brokers in `able`, or wait until one promotes itself.

        Raises `RuntimeError` if no broker becomes primary.
        """
        if self.manager.is_built_in:
            self._wait_for_another(gone)
            return
        others = [name for name in able if name != gone]
        deadline = time.monotonic() + SECONDS
        while others and not self.manager.promote(*others):
            if time.monotonic() > deadline:
                raise RuntimeError(f"no broker could be promoted: {self.manager.refusals[-2:]}")
            time.sleep(0.2)

    def _wait_for_another(self, former: str) -> None:
        if not self.manager.wait_primary(SECONDS, but=former):
            raise RuntimeError(f"no broker took over from {former} within {SECONDS:g} s")

    def _backup(self, storm: Storm) -> str:
        return storm.chance.choice([name for name in self.names if name != self.manager.primary])

    def switch(self, storm: Storm) -> None:
        """Promote a backup while the primary runs."""
        name = self._backup(storm)
        storm.say(f"promote {name} while {self.manager.primary} is primary")
        self.manager.promote(name)

    def promote_at_once(self, storm: Storm) -> None:
        """Kill a backup, start it, and promote it before it has caught up."""
        name = self._backup(storm)
        storm.say(f"kill -9 {name}, start it, and promote it")
        self.manager.kill(name)
        self.manager.start(name)
        primary = self.manager.primary

        def hears() -> bool:
            return primary in str(self.manager.status(name).get("peers"))

        if self.manager.is_built_in or self.manager.agent(name)._until(hears, SECONDS):
            self.manager.promote(name)

    def cut_primary(self, storm: Storm) -> None:
        """Cut the primary off from the other brokers, not from clients, until another serves."""
        storm.say(f"cut off {self.manager.primary}, the primary")
        with cut_off(self.manager, former := self.manager.primary):
            self._wait_for_another(former)

    def stop_primary(self, storm: Storm) -> None:
        """Stop the primary's process with SIGSTOP until another broker serves."""
        storm.say(f"SIGSTOP {self.manager.primary}, the primary")
        with stopped(self.manager, former := self.manager.primary):
            self._wait_for_another(former)

    def two_at_once(self, storm: Storm) -> None:
        """Promote all backups at once, while the primary runs, is cut off, or is stopped."""
        others = [name for name in self.names if name != self.manager.primary]
        disturb = storm.chance.choice((left_alone, cut_off, stopped))
        storm.say(
            f"promote {' and '.join(others)} at once; {self.manager.primary}: {disturb.__name__}"
        )
        with disturb(self.manager, self.manager.primary):
            promote_at_the_same_time(self.manager, others)

    def die_promoted(self, storm: Storm) -> None:
        storm.say("kill all brokers when a promotion is in the chain but not on disk")
        die_promoted(self.manager)


def die_promoted(manager: Manager) -> None:
    """Kill all brokers when a promotion is in the chain but not on its broker's disk.

    Then recover them.
    """
    folders = [path.with_suffix("") / "standby" for path in manager.files.values()]
    others = [folder for folder in folders if folder.parent.name != manager.primary]
    for folder in others:
        # A directory replaces the file, so that the next write of metadata ends the process.
        (folder / PREVIOUS).unlink(missing_ok=True)
        (folder / PREVIOUS).mkdir()
    manager.kill(manager.primary)
    deadline = time.monotonic() + SECONDS
    while all(manager.status(folder.parent.name) for folder in others):
        if time.monotonic() > deadline:
            raise RuntimeError(f"no broker was promoted within {SECONDS:g} s")
        time.sleep(0.1)
    for folder in others:
        manager.kill(folder.parent.name)
        (folder / PREVIOUS).rmdir()
    recover(manager)


def recover(manager: Manager) -> str:
    """Mark the store that `recover pick` names, start all, and make its broker primary.

    The brokers must be down.  Raises `RuntimeError` if that fails.
    """
    paths = [path.with_suffix("") for path in manager.files.values()]
    found = run_recover("pick", *paths)
    if found["verdict"] != "proven":
        raise RuntimeError(f"after total failure: {found['verdict']}: {found['evidence']}")
    best = Path(found["latest"][0].partition(":")[2])
    others = [path for path in paths if path != best]
    made = run_recover("mark-clean", best, *others)["error"]["next"].rpartition(" ")[2]
    run_recover("mark-clean", best, *others, "--yes", "--plan-hash", made)
    manager.start()
    if manager.is_built_in:
        serving = manager.wait_primary(SECONDS)
        if serving != best.name:
            raise RuntimeError(f"{serving or 'no broker'} serves, and not {best.name}")
    elif not manager.promote(best.name):
        raise RuntimeError(f"{best.name} was not promoted: {manager.refusals[-1]}")
    return f"{found['verdict']}: {best.name}"


def run_recover(*words: object) -> dict[str, Any]:
    """Run `joinproto recover` with these words; return its JSON object."""
    command = [sys.executable, "-m", "joinproto", "recover", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def promote_at_the_same_time(manager: Manager, names: list[str]) -> None:
    """Promote these brokers at the same time; return when all have answered."""
    calls = [threading.Thread(target=manager.promote, args=(name,)) for name in names]
    for call in calls:
        call.start()
    for call in calls:
        call.join()


@contextmanager
def cut_off(manager: Manager, name: str) -> Iterator[None]:
    """Cut a broker off from the others while the block lasts."""
    manager.isolate(name)
    try:
        yield
    finally:
        manager.heal()


@contextmanager
def stopped(manager: Manager, name: str) -> Iterator[None]:
    """Stop a broker's process with SIGSTOP while the block lasts."""
    pid = manager.agent(name)._pid()
    if pid is None:
        raise RuntimeError(f"{name} does not run")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def left_alone(_manager: Manager, _name: str) -> Iterator[None]:
    """Do nothing to the broker while the block lasts."""
    yield
