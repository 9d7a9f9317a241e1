"""Histories of real PostgreSQL servers: a primary, standbys, promotions, forks, `pg_rewind`.

What is compared is where two directories part.  The truth is `pg_rewind`'s own word on copies
("servers diverged at WAL location ...", or "no rewind required").
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path

from attrs import define, field

from joinproto.errors import EnvironmentProblem
from joinproto.recovery.foreign.postgresql import STOPPED, control_of, parting, place
from joinproto.recovery.gather import gather, read
from tools.fixtures.servers import require
from tools.histories.judged import History
from tools.histories.links import free_port

USER = "postgres"
PACKAGE = "postgresql"
DIVERGED = re.compile(r"servers diverged at WAL location ([0-9A-F]+/[0-9A-F]+) on timeline (\d+)")
KINDS = ("behind", "promoted", "diverged", "killed", "rewound", "twice")


@define
class Servers:
    """Servers of one system.  `ports`: of those that were made."""

    folder: Path
    chance: random.Random
    ports: dict[str, int] = field(init=False, factory=dict)
    running: set[str] = field(init=False, factory=set)
    events: list[str] = field(init=False, factory=list)
    promoted: set[str] = field(init=False, factory=set)

    def data(self, name: str) -> Path:
        return self.folder / name

    def run(self, *words: str, check: bool = True) -> str:
        """Run a program as the user of the servers; returns what it says."""
        program, *rest = words
        found = subprocess.run(
            [_found(program), *rest],
            user=USER,
            group=USER,
            extra_groups=(),
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PGUSER": "postgres"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if check and found.returncode:
            raise EnvironmentProblem(f"{program}: {found.stdout[-300:]} {found.stderr[-700:]}")
        return found.stdout + found.stderr

    def make(self, name: str) -> None:
        self.run("initdb", "-D", str(self.data(name)), "-A", "trust", "-N", "-k", "-U", "postgres")
        self._configure(name)

    def copy(self, name: str, of: str) -> None:
        """Make a standby of a server that runs."""
        self.run(
            *("pg_basebackup", "-D", str(self.data(name)), "-h", str(self.folder)),
            *("-p", str(self.ports[of]), "-R", "-c", "fast", "-X", "stream"),
        )
        self._configure(name)

    def _configure(self, name: str) -> None:
        self.ports[name] = free_port()
        with (self.data(name) / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(
                f"port={self.ports[name]}\nunix_socket_directories='{self.folder}'\n"
                "listen_addresses=''\nfsync=off\nmax_wal_size='64MB'\nwal_keep_size='256MB'\n"
                "shared_buffers='8MB'\nmax_connections=10\n"
            )

    def start(self, name: str) -> None:
        log = str(self.folder / f"{name}.log")
        self.run("pg_ctl", "-D", str(self.data(name)), "-w", "-l", log, "start")
        self.running.add(name)

    def stop(self, name: str, how: str = "fast") -> None:
        self.run("pg_ctl", "-D", str(self.data(name)), "-m", how, "-w", "stop", check=False)
        self.running.discard(name)

    def follow(self, name: str, of: str) -> None:
        (self.data(name) / "standby.signal").touch()
        shutil.chown(self.data(name) / "standby.signal", USER, USER)
        with (self.data(name) / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
            file.write(f"primary_conninfo='host={self.folder} port={self.ports[of]}'\n")

    def promote(self, name: str) -> None:
        self.run("pg_ctl", "-D", str(self.data(name)), "-w", "promote")
        self.events.append(f"{name} is promoted")
        self.promoted.add(name)

    def left(self, name: str) -> str:
        """Return where a server that was promoted once left the first timeline."""
        history = self.data(name) / "pg_wal" / "00000002.history"
        return history.read_text("ascii").split()[1]

    def ask(self, name: str, text: str) -> str:
        return self.run(
            *("psql", "-h", str(self.folder), "-p", str(self.ports[name]), "-Atqc", text)
        ).strip()

    def write(self, name: str) -> None:
        rows = self.chance.choice((1, 50, 5_000))
        self.ask(name, "create table if not exists t (x text)")
        self.ask(name, f"insert into t select repeat('x', 100) from generate_series(1, {rows})")
        if self.chance.random() < 0.3:
            self.ask(name, "select pg_switch_wal()")
        if self.chance.random() < 0.3:
            self.ask(name, "checkpoint")

    def caught_up(self, name: str, with_: str) -> None:
        end = time.monotonic() + 60
        want = self.ask(with_, "select pg_current_wal_lsn()")
        while time.monotonic() < end:
            if self.ask(name, f"select pg_last_wal_replay_lsn() >= '{want}'") == "t":
                return
            time.sleep(0.1)
        raise EnvironmentProblem(f"{name} does not follow")

    def end(self, name: str) -> str:
        how = self.chance.choice(("fast", "immediate"))
        self.stop(name, how)
        self.events.append(f"{name} is {'stopped' if how == 'fast' else 'killed'}")
        return how

    def close(self) -> None:
        for name in sorted(self.running):
            self.stop(name, "immediate")


def _behind(it: Servers) -> None:
    """A standby is ended first; the primary goes on or not."""
    it.end("b")
    if it.chance.random() < 0.7:
        it.write("a")
    it.end("a")


def _promoted(it: Servers) -> None:
    """The primary ends, and the standby, which has all, is promoted and goes on."""
    it.end("a")
    it.promote("b")
    it.write("b")
    it.end("b")


def _diverged(it: Servers) -> None:
    """Both go on."""
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
    """The old primary is rewound, and follows or not."""
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
    """Two standbys are promoted, one after the other or each by itself."""
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


PLOTS: Mapping[str, Callable[[Servers], None]] = {
    "behind": _behind,
    "promoted": _promoted,
    "diverged": _diverged,
    "killed": _killed,
    "rewound": _rewound,
    "twice": _twice,
}


def draw(seed: int, folder: Path, kind: str | None = None) -> History:
    """Play the history of a seed.  `has`, `acknowledged`: where each pair parts, and its truth."""
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
    pairs = list(permutations(sorted(stores), 2))
    said = {f"{one} {other}: {_ours(stores[one], stores[other])}" for one, other in pairs}
    true = {f"{one} {other}: {_theirs(it, one, other)}" for one, other in pairs}
    return History(
        broker="postgresql",
        seed=seed,
        kind=kind,
        events=tuple(it.events),
        faults=tuple(f"{one}, but pg_rewind says otherwise" for one in sorted(said - true)),
        stores=stores,
        has=dict.fromkeys(stores, frozenset(said)),
        acknowledged=frozenset(true),
        nodes=len(stores),
    )


def _number(place: str) -> int:
    high, _, low = place.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def _found(program: str) -> str:
    """Return where a program is; Debian has some of them in a folder for each release."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    return str(places[-1]) if places else require(program, PACKAGE)


def _ours(target: Path, source: Path) -> str:
    """Return what our reader says of two directories, as `pg_rewind` would."""
    mine, theirs = (control_of(read(gather(one, host="h"))) for one in (target, source))
    if mine is None or theirs is None:
        return "cannot be read"
    found = parting(mine, theirs)
    if found is None:
        return "no common ancestor"
    if mine.timeline == theirs.timeline and found.timeline == mine.timeline:
        return "same timeline"
    needed = ", no rewind required" if found.mine <= 0 and mine.state in STOPPED else ""
    return f"{place(found.left or found.at)} on timeline {found.timeline}{needed}"


def _theirs(it: Servers, target: str, source: str) -> str:
    """Return what `pg_rewind` says of two directories, on copies that are ended in order."""
    places, is_target_stopped = [], True
    for name in (target, source):
        copy = it.folder / f"copy-{name}"
        shutil.rmtree(copy, ignore_errors=True)
        subprocess.run(["cp", "-a", str(it.data(name)), str(copy)], check=True)
        state = it.run("pg_controldata", str(copy)).partition("cluster state:")[2]
        is_stopped = "shut down" in state.splitlines()[0]
        if not is_stopped:
            is_target_stopped = is_target_stopped and name != target
            # A standby that is started alone stops where it is; so does a primary.
            with (copy / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
                file.write(f"primary_conninfo=''\nport={free_port()}\n")
            log = str(it.folder / "copy.log")
            it.run("pg_ctl", "-D", str(copy), "-w", "-l", log, "start")
            it.run("pg_ctl", "-D", str(copy), "-m", "fast", "-w", "stop")
        places.append(str(copy))
    said = it.run(
        *("pg_rewind", "--dry-run", "--target-pgdata", places[0]),
        *("--source-pgdata", places[1]),
        check=False,
    )
    found = DIVERGED.search(said)
    if "same timeline" in said:
        # It does not know that each was promoted by itself; the files say where.
        both = {target, source} <= it.promoted
        return (
            f"{min(map(it.left, (target, source)), key=_number)} on timeline 1"
            if both
            else "same timeline"
        )
    if found is None:
        return f"pg_rewind says: {said[-300:]}"
    # One that was killed writes a checkpoint when its copy is ended in order, and so goes beyond.
    is_none = is_target_stopped and "no rewind required" in said
    needed = ", no rewind required" if is_none else ""
    return f"{found[1]} on timeline {found[2]}{needed}"
