"""Histories of real PostgreSQL servers: a primary, standbys, promotions, forks, kills, `pg_rewind`.

Clients record each committed row, and a copy of each directory is started alone to read its
rows.  `postgresql_truth.py` asks PostgreSQL's own programs where two directories diverge,
and where each log ends.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.histories.judged import History
from tools.histories.postgresql_servers import ENVIRONMENT, USER, Servers, copied, program_of
from tools.histories.postgresql_truth import contradictions


def _behind(it: Servers) -> None:
    """The standby ends first; the primary perhaps writes, and ends."""
    it.end("b")
    if it.chance.random() < 0.7:
        it.write("a")
    it.end("a")


def _promoted(it: Servers) -> None:
    """The primary ends, and the standby, which has all rows, is promoted and continues."""
    it.end("a")
    it.promote("b")
    it.write("b")
    it.end("b")


def _diverged(it: Servers) -> None:
    """The standby is promoted, and the old primary continues, too."""
    it.promote("b")
    for name in it.chance.sample("ab", 2):
        it.write(name)
    for name in it.chance.sample("ab", 2):
        it.end(name)


def _killed(it: Servers) -> None:
    """The standby is promoted and killed at once, before its first checkpoint."""
    it.write("a")
    it.promote("b")
    it.stop("b", "immediate")
    it.events.append("b is killed")
    it.end("a")


def _rewound(it: Servers) -> None:
    """The old primary is rewound, and perhaps follows the new primary."""
    it.promote("b")
    it.write("a")
    it.write("b")
    it.ask("b", "checkpoint")
    it.stop("a")
    source = f"host={it.folder} port={it.ports['b']} dbname=postgres"
    it.run("pg_rewind", "--target-pgdata", str(it.data("a")), "--source-server", source)
    it.events.append("a is rewound")
    if it.chance.random() < 0.6:
        with (it.data("a") / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(f"port={it.ports['a']}\n")
        it.follow("a", "b")
        it.start("a")
        it.caught_up("a", "b")
        it.events.append("a follows")
        it.end("a")
        it.write("b")
    it.end("b")


def _twice(it: Servers) -> None:
    """Two standbys are promoted, one after the other or independently."""
    it.copy("c", "a")
    it.start("c")
    it.write("a")
    it.caught_up("c", "a")
    it.end("a")
    it.promote("b")
    it.write("b")
    it.promote("c")
    it.write("c")
    it.end("b")
    it.end("c")


def _pause(it: Servers, *, most: float = 0.4) -> None:
    time.sleep(it.chance.uniform(0.0, most))


def _kill_primary(it: Servers) -> None:
    """The primary is killed during writes, and the standby with it, after it, or not at all."""
    with it.writing("a"):
        _pause(it)
        together = it.chance.random() < 0.4
        it.kill(*("ab" if together else "a"))
    if not together and it.chance.random() < 0.5:
        it.promote("b")
        it.write("b")
    if "b" in it.running:
        it.end("b")


def _kill_standby(it: Servers) -> None:
    """The standby is killed during writes; the primary continues, and is killed, too."""
    with it.writing("a"):
        _pause(it)
        it.kill("b")
        _pause(it)
        it.kill("a")


def _kill_checkpoint(it: Servers) -> None:
    """The primary and its standby are killed soon after each was asked for a checkpoint."""
    it.ask("a", "insert into t select repeat('y', 200) from generate_series(1, 20000)")
    it.caught_up("b", "a")
    with it.writing("a"):
        for name in it.chance.sample("ab", 2):
            client = [program_of("psql"), "-h", str(it.folder), "-p", str(it.ports[name])]
            subprocess.Popen(
                [*client, "-Atqc", "checkpoint"],
                env=ENVIRONMENT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        _pause(it, most=0.15)
        it.kill(*it.chance.sample("ab", 2))
    it.events.append("both were asked for a checkpoint before that")


def _kill_promotion(it: Servers) -> None:
    """The standby is killed in the middle of its promotion, and the primary continues."""
    it.write("a")
    it.run("pg_ctl", "-D", str(it.data("b")), "-W", "promote")
    _pause(it, most=0.12)
    it.kill("b")
    it.events.append("b was killed in its promotion")
    if (it.data("b") / "pg_wal" / "00000002.history").exists():
        it.promoted.add("b")
    it.write("a")
    it.end("a")


def _kill_recovery(it: Servers) -> None:
    """The primary is killed, and killed again while it recovers; the standby perhaps takes over."""
    it.ask("a", "insert into t select repeat('z', 200) from generate_series(1, 20000)")
    with it.writing("a"):
        _pause(it)
        it.kill("a")
    log = str(it.folder / "a.log")
    for _ in range(it.chance.choice((1, 2))):
        it.run("pg_ctl", "-D", str(it.data("a")), "-W", "-l", log, "start")
        _pause(it, most=0.3)
        it.kill("a")
    it.events.append("a was killed while it recovered")
    if it.chance.random() < 0.5:
        it.promote("b")
        it.write("b")
    it.end("b")


def _kill_diverged(it: Servers) -> None:
    """The primary is killed, the standby promoted, and the old primary perhaps started again."""
    with it.writing("a"):
        _pause(it)
        it.kill("a")
    it.promote("b")
    with it.writing("b"):
        _pause(it)
        it.kill("b")
    if it.chance.random() < 0.6:
        it.start("a")
        with it.writing("a"):
            _pause(it)
            it.kill("a")


def _kill_third(it: Servers) -> None:
    """The standby is promoted, the old primary follows it and is promoted again; all are killed."""
    it.stop("a")
    it.events.append("a is stopped")
    it.promote("b")
    it.write("b")
    it.follow("a", "b")
    it.start("a")
    it.caught_up("a", "b")
    it.events.append("a follows")
    with it.writing("b"):
        _pause(it)
        it.kill("b")
    it.promote("a")
    with it.writing("a"):
        _pause(it)
        it.kill("a")


PLOTS: Mapping[str, Callable[[Servers], None]] = {
    "behind": _behind,
    "promoted": _promoted,
    "diverged": _diverged,
    "killed": _killed,
    "rewound": _rewound,
    "twice": _twice,
    "kill-primary": _kill_primary,
    "kill-standby": _kill_standby,
    "kill-checkpoint": _kill_checkpoint,
    "kill-promotion": _kill_promotion,
    "kill-recovery": _kill_recovery,
    "kill-diverged": _kill_diverged,
    "kill-third": _kill_third,
}
KINDS = tuple(PLOTS)


def draw(seed: int, folder: Path, kind: str | None = None) -> History:
    """Play the history of a seed, and leave its stores in `folder`."""
    kind = kind or KINDS[seed % len(KINDS)]
    shutil.chown(folder, USER, USER)
    it = Servers(folder, random.Random(f"{seed} {kind}"))
    try:
        it.make("a")
        it.start("a")
        it.write("a")
        it.copy("b", "a")
        it.start("b")
        it.write("a")
        it.caught_up("b", "a")
        PLOTS[kind](it)
    finally:
        it.close()
    stores = {name: it.data(name) for name in it.ports}
    copies, has = {}, {}
    for name, store in stores.items():
        copies[name] = copied(store, folder / f"copy-{name}")
        found = it.rows_of(copied(store, folder / f"rows-{name}"))
        if found is None:
            it.events.append(f"the directory of {name} does not start alone")
        has[name] = found or frozenset()
    return History(
        broker="postgresql",
        seed=seed,
        kind=kind,
        events=tuple(it.events),
        faults=tuple(contradictions(stores, copies, it.promoted, it.run, it.rows_of)),
        stores=stores,
        has=has,
        acknowledged=frozenset(it.rows),
        nodes=len(stores),
    )
