"""Torture of the Clusterer: real nodes, killed, cut and reset in the middle of transitions.

    python -m tools.torture_clusterer --minutes 10 --seed 7

Configs are applied at several nodes at once, two contents of one version among them.  Claimed: no
version ever decreases on a node's disk, the gospel's messages are there at the end and nobody
else's, and all nodes are ready in the end.  Real: processes, TCP, disks, kill -9; each node manages
a broker that is a process with a file of messages.

Exit code 0: all holds; 1: something does not, and the report says what.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import click
from attrs import Factory, define, frozen

from joinproto.clusterer.config import Config
from tools.faults.clusterer import Fleet

NAMES = "abcdef"
MUTANTS = ("older-wins", "ready-not-joined", "gospel-by-name")
"""Rules whose lack shows in a storm; the lack of the others, in `joinproto check --mutant`."""
END_SECONDS = 90.0
WAIT_SECONDS = 3.0
MESSAGES = 5


@frozen
class Judged:
    """What became of it."""

    problems: tuple[str, ...]
    faults: dict[str, int]
    configs: int
    runs: int
    messages: int


@define
class Storm:
    """`label`: of the gospel's data; `messages`: what was acknowledged to be in them, in order,
    published whenever all were ready with one config.  `keeper`: the gospel of all configs.

    It is killed and cut like the others.  It is reset, too, in the middle of a transition, once all
    others have its data; while it is `blank`, configs are given to those alone that know which one
    it was, and all name a `witness`: one given to the blank machine would mean the blank one's
    data, and those of who is left out do not count any more, by rights.
    """

    fleet: Fleet
    chance: random.Random
    say: Callable[[str], None]
    version: int = 1
    label: str = ""
    keeper: str = ""
    blank: bool = False
    witness: str = ""
    messages: list[str] = Factory(list)
    kinds: Counter[str] = Factory(Counter)
    problems: list[str] = Factory(list)

    def run(self, seconds: float) -> Judged:
        try:
            self._form()
            end = time.monotonic() + seconds
            while time.monotonic() < end and not self.problems:
                self._one()
                time.sleep(self.chance.uniform(0.05, 0.6))
            self._finish()
        except AssertionError as error:
            self.problems.append(str(error))
        self.problems += self._versions()
        return Judged(
            problems=tuple(self.problems),
            faults=dict(self.kinds),
            configs=self.version,
            runs=len(self.fleet.events()),
            messages=len(self.messages),
        )

    def _form(self) -> None:
        fleet = self.fleet
        self.keeper = fleet.names[0]
        first = self._config(fleet.names)
        for name in fleet.names:
            fleet.start(name, first if name == self.keeper else None)
        fleet.until_ready(fleet.names, self.version)
        self._anew()
        self._publish()

    def _anew(self) -> None:
        """The gospel comes as a blank machine, and then with a younger config: that means its data.

        It is cut off until it has some: the others would hand it theirs.
        """
        fleet = self.fleet
        others = [name for name in fleet.names if name != self.keeper]
        self.say(f"reset {self.keeper}, the gospel, which comes back with a younger config")
        fleet.cut([self.keeper], others)
        fleet.reset(self.keeper)
        fleet.start(self.keeper)
        fleet.until_ready([self.keeper], 0)
        self.label = str(fleet.label(self.keeper))
        self.version += 1
        fleet.stop(self.keeper)
        fleet.heal()
        fleet.start(self.keeper, self._config(fleet.names))
        fleet.until_ready(fleet.names, self.version)
        for name in fleet.names:
            if fleet.label(name) != self.label:
                raise AssertionError(
                    f"the gospel's data are lost at {name}: {fleet.label(name)}, and they were"
                    f" {self.label}, which {self.keeper} had when the config was given to it"
                )

    def _publish(self) -> None:
        """A few messages, each acknowledged by the brokers of all nodes."""
        for _ in range(MESSAGES):
            self.messages.append(f"message {len(self.messages)}")
            for name in self.fleet.names:
                if not self.fleet.publish(name, self.messages[-1]):
                    raise AssertionError(f"{name} is ready, and its broker takes no message")

    def _config(self, names: tuple[str, ...]) -> Config:
        nodes = frozenset({*names, self.keeper, self.witness} - {""})
        return Config(self.version, nodes, gospel=self.keeper, shutdown_timeout=1_000)

    def _one(self) -> None:
        """One fault, or configs, or all that is off started again."""
        names, chance = self.fleet.names, self.chance
        victim = chance.choice(names)
        ways: tuple[tuple[int, Callable[[str], None]], ...] = (
            (4, self.kill), (1, self.reset), (2, self.cut), (3, self.heal), (4, self.apply),
            (4, self.start), (1, self.stop), (1, self.replace),
        )  # fmt: skip
        weights = [weight for weight, _ in ways]
        (do,) = chance.choices([one for _, one in ways], weights)
        self.kinds[do.__name__] += 1
        do(victim)

    def kill(self, victim: str) -> None:
        self.say(f"kill -9 {victim}")
        self.fleet.kill(victim)

    def stop(self, victim: str) -> None:
        self.say(f"stop {victim}")
        self.fleet.stop(victim)

    def reset(self, victim: str) -> None:
        """Never the gospel, and nobody while that is blank: the others have its data."""
        if victim != self.keeper and not self.is_blank():
            self.say(f"reset {victim}")
            self.fleet.reset(victim)

    def replace(self, _: str) -> None:
        """The gospel comes as a blank machine, while the others go on to another config."""
        fleet, chance = self.fleet, self.chance
        if self.is_blank():
            return
        self._gather()
        others = [name for name in fleet.names if name != self.keeper]
        self.witness = chance.choice(others)
        self._apply(others)
        time.sleep(chance.uniform(0.0, 0.4))
        self.say(f"reset {self.keeper}, the gospel")
        fleet.reset(self.keeper)
        self.blank = True
        if chance.random() < 0.5:
            self.kill(chance.choice(others))
        fleet.start(self.keeper)

    def is_blank(self) -> bool:
        """Return whether the gospel was reset, and has not yet got its data from the others.

        That they are on its disk is not enough: killed before it is ready, it throws them away.
        """
        said = self.fleet.status(self.keeper) if self.blank else None
        is_ready = said is not None and said["status"] == "ready"
        if is_ready and self.fleet.label(self.keeper) == self.label:
            self.blank, self.witness = False, ""
        return self.blank

    def _knowing(self) -> list[str]:
        """Return who may be given a config."""
        if not self.is_blank():
            return list(self.fleet.names)
        return [name for name in self.fleet.names if self.fleet.label(name) == self.label]

    def start(self, _: str) -> None:
        for name in self.fleet.names:
            self.fleet.start(name)

    def cut(self, victim: str) -> None:
        others = [name for name in self.fleet.names if name != victim]
        far = self.chance.sample(others, self.chance.randint(1, len(others)))
        self.say(f"cut {victim} from {' '.join(sorted(far))}")
        self.fleet.cut([victim], far)

    def heal(self, _: str) -> None:
        self.say("heal")
        self.fleet.heal()

    def apply(self, _: str) -> None:
        self._apply(self._knowing())

    def _apply(self, knowing: list[str]) -> None:
        """Configs at several nodes at once; each names the gospel, and who else is chance."""
        fleet, chance = self.fleet, self.chance
        if not knowing:
            raise AssertionError(f"nobody has the gospel's data any more: {self.label}")
        at = chance.sample(knowing, chance.randint(1, min(3, len(knowing))))
        wanted = []
        for name in at:
            # Now and then two contents of one version: who waits ends, who is ready keeps its own.
            self.version += chance.random() < 0.8 or name == at[0]
            some = chance.sample(fleet.names, chance.randint(2, len(fleet.names)))
            wanted.append((name, self._config(tuple(some))))
        self.say("; ".join(f"{config} at {name}" for name, config in wanted))
        threads = [Thread(target=fleet.apply, args=one, daemon=True) for one in wanted]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_SECONDS)

    def _finish(self) -> None:
        """All comes back, and all are ready with the gospel's data."""
        self._gather()

    def _gather(self) -> None:
        """Bring all back, by one config more; what they have then is the gospel's."""
        fleet = self.fleet
        fleet.heal()
        self.start("")
        fleet.until(
            "the gospel answers", lambda: fleet.status(self.keeper) is not None, END_SECONDS
        )
        if not self.is_blank() and fleet.label(self.keeper) != self.label:
            self.problems.append(
                f"the gospel {self.keeper} has lost its data: {fleet.label(self.keeper)}, and they"
                f" were {self.label}"
            )
        self.version += 1
        last = self._config(fleet.names)
        end = time.monotonic() + END_SECONDS
        while not all(fleet.is_ready(name, self.version) for name in fleet.names):
            self.start("")  # who saw two contents of one version has ended
            fleet.apply(next(iter(self._knowing()), self.keeper), last)
            if time.monotonic() > end:
                raise AssertionError(f"not all are ready in the end:\n{fleet.told()}")
            time.sleep(0.5)
        wanted = [self.label, *self.messages]
        for name in fleet.names:
            found = fleet.data(name)
            if found != wanted:
                lost = len(set(wanted) - set(found))
                self.problems.append(
                    f"the gospel's data are lost at {name}: {found[:1]} with {len(found)} lines,"
                    f" and they were {self.label} with {len(wanted)}; {lost} of them are not there"
                )
        if not self.problems:
            self._publish()

    def _versions(self) -> list[str]:
        """Return where a version went down on one disk, from what the nodes wrote of themselves."""
        highest: dict[str, int] = {}
        problems = []
        for run, lines in sorted(self.fleet.events().items(), key=_begun):
            for line in lines:
                if line["kind"] != "stored":
                    continue
                whose = str(line["identity"]).partition("+")[0]
                if line["version"] < highest.get(whose, 0):
                    problems.append(
                        f"{run}: version {line['version']} was stored after {highest[whose]}"
                    )
                highest[whose] = max(line["version"], highest.get(whose, 0))
        return problems


def _begun(item: tuple[str, list[dict[str, Any]]]) -> int:
    return int(item[1][0]["t"]) if item[1] else 0


@click.command(epilog="Example: python -m tools.torture_clusterer --minutes 10 --seed 7")
@click.option("--minutes", type=click.FloatRange(0), default=1.0, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="The same storm again.")
@click.option("--nodes", type=click.IntRange(2, len(NAMES)), default=4, show_default=True)
@click.option("--mutant", type=click.Choice(MUTANTS), help="A rule that no node keeps.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Do not tell each fault.")
def main(
    minutes: float, seed: int, nodes: int, mutant: str | None, as_json: bool, quiet: bool
) -> None:
    """Let nodes of the Clusterer run, and do to them what happens in a year."""
    top = Path(tempfile.mkdtemp(prefix="joinproto-clusterer-"))
    fleet = Fleet(top, tuple(NAMES[:nodes]), mutant=mutant)
    began = time.monotonic()

    def say(line: str) -> None:
        if not quiet:
            click.echo(f"{time.monotonic() - began:7.1f} s  {line}", err=True)

    try:
        found = Storm(fleet, random.Random(seed), say).run(60 * minutes)
    finally:
        fleet.close()
    if as_json:
        result = "violated" if found.problems else "holds"
        click.echo(
            json.dumps(
                {
                    "result": result,
                    "seed": seed,
                    "faults": found.faults,
                    "configs": found.configs,
                    "runs": found.runs,
                    "messages": found.messages,
                    "problems": found.problems,
                    "kept": str(top) if found.problems else None,
                }
            )
        )
    else:
        faults = ", ".join(f"{count} {name}" for name, count in sorted(found.faults.items()))
        click.echo(f"seed {seed}: {faults}; {found.configs} versions, {found.runs} runs of nodes")
        click.echo(f"{found.messages} messages published")
        for problem in found.problems:
            click.echo(f"VIOLATED: {problem}")
        if found.problems:
            click.echo(f"everything is kept in {top}")
        else:
            click.echo("no version went down, the gospel's data are there, and all are ready")
    if not found.problems:
        shutil.rmtree(top)
    sys.exit(1 if found.problems else 0)


if __name__ == "__main__":
    main()
