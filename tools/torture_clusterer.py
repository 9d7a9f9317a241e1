"""Torture of the Clusterer: real nodes, killed, cut and reset in the middle of transitions.

    python -m tools.torture_clusterer --minutes 10 --seed 7

Configs are applied at several nodes at once, two contents of one version among them.  Claimed: no
version ever decreases on a node's disk, the gospel's data are there at the end and nobody else's,
and all nodes are ready in the end.  Real: processes, TCP, disks, kill -9; the broker is a label.

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
MUTANTS = ("older-wins", "ready-not-joined")
"""Rules whose lack shows in a storm; the lack of the others, in `joinproto check --mutant`."""
END_SECONDS = 90.0
WAIT_SECONDS = 3.0


@frozen
class Judged:
    """What became of it."""

    problems: tuple[str, ...]
    faults: dict[str, int]
    configs: int
    runs: int


@define
class Storm:
    """`label`: of the gospel's data.  `keeper`: the gospel of the newest configs; it is killed and
    cut like the others, and never reset, because then its data would be lost by rights.
    """

    fleet: Fleet
    chance: random.Random
    say: Callable[[str], None]
    version: int = 1
    label: str = ""
    keeper: str = ""
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
            tuple(self.problems), dict(self.kinds), self.version, len(self.fleet.events())
        )

    def _form(self) -> None:
        fleet = self.fleet
        self.keeper = fleet.names[0]
        first = self._config(fleet.names)
        for name in fleet.names:
            fleet.start(name, first if name == self.keeper else None)
        fleet.until_ready(fleet.names, self.version)
        self.label = str(fleet.label(self.keeper))

    def _config(self, names: tuple[str, ...]) -> Config:
        nodes = frozenset({*names, self.keeper})
        return Config(self.version, nodes, gospel=self.keeper, shutdown_timeout=1_000)

    def _one(self) -> None:
        """One fault, or configs, or all that is off started again."""
        names, chance = self.fleet.names, self.chance
        victim = chance.choice(names)
        ways: tuple[tuple[int, Callable[[str], None]], ...] = (
            (4, self.kill), (1, self.reset), (2, self.cut), (3, self.heal), (4, self.apply),
            (4, self.start), (1, self.stop),
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
        """Never the gospel, and never while the gospel may be about to change."""
        if victim != self.keeper:
            self.say(f"reset {victim}")
            self.fleet.reset(victim)

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
        """Configs at several nodes at once; each names the gospel, and who else is chance."""
        fleet, chance = self.fleet, self.chance
        at = chance.sample(fleet.names, chance.randint(1, 3))
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
        """All comes back, one config more, and all are ready with the gospel's data."""
        fleet = self.fleet
        fleet.heal()
        self.start("")
        fleet.until(
            "the gospel answers", lambda: fleet.status(self.keeper) is not None, END_SECONDS
        )
        if fleet.label(self.keeper) != self.label:
            self.problems.append(
                f"the gospel {self.keeper} has lost its data: {fleet.label(self.keeper)}, and they"
                f" were {self.label}"
            )
        self.version += 1
        last = self._config(fleet.names)
        end = time.monotonic() + END_SECONDS
        while not all(fleet.is_ready(name, self.version) for name in fleet.names):
            self.start("")  # who saw two contents of one version has ended
            fleet.apply(self.keeper, last)
            if time.monotonic() > end:
                raise AssertionError(f"not all are ready in the end:\n{fleet.told()}")
            time.sleep(0.5)
        for name in fleet.names:
            found = fleet.label(name)
            if found != self.label:
                self.problems.append(
                    f"the gospel's data are lost at {name}: {found}, and they were {self.label}"
                )

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
                    "problems": found.problems,
                    "kept": str(top) if found.problems else None,
                }
            )
        )
    else:
        faults = ", ".join(f"{count} {name}" for name, count in sorted(found.faults.items()))
        click.echo(f"seed {seed}: {faults}; {found.configs} versions, {found.runs} runs of nodes")
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
