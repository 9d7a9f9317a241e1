"""PostgreSQL servers of a history: make, copy, start, end, kill, write to and ask them."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import define, field

from joinproto.errors import EnvironmentProblem
from tools.fixtures.servers import require
from tools.histories.links import free_port

USER = "postgres"
PACKAGE = "postgresql"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PGUSER": "postgres"}
ROWS = 400
"""The maximal number of rows of a client that writes while a server is killed."""


@define
class Servers:
    """The servers of one history, by name.

    `promoted`: servers that were promoted.  `rows`: the committed rows.  `marks`: the number of
    clients' writes so far.
    """

    folder: Path
    chance: random.Random
    ports: dict[str, int] = field(init=False, factory=dict)
    running: set[str] = field(init=False, factory=set)
    events: list[str] = field(init=False, factory=list)
    promoted: set[str] = field(init=False, factory=set)
    rows: set[str] = field(init=False, factory=set)
    marks: int = field(init=False, default=0)

    def data(self, name: str) -> Path:
        return self.folder / name

    def run(self, *words: str, check: bool = True) -> str:
        """Run a program as the servers' user; return its output.

        With `check`, a failure raises `EnvironmentProblem`.
        """
        program, *rest = words
        found = subprocess.run(
            [program_of(program), *rest],
            user=USER,
            group=USER,
            extra_groups=(),
            cwd=self.folder,
            env=ENVIRONMENT,
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
        """Make a standby of a running server."""
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

    def ask(self, name: str, text: str) -> str:
        return self.run(
            *("psql", "-h", str(self.folder), "-p", str(self.ports[name]), "-Atqc", text)
        ).strip()

    def write(self, name: str) -> None:
        rows = self.chance.choice((1, 50, 5_000))
        self.ask(name, "create table if not exists t (x text)")
        self.ask(name, "create table if not exists row (id text)")
        self.marks += 1
        mark = f"row-{self.marks}"
        self.ask(name, f"insert into row values ('{mark}')")
        self.rows.add(mark)
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

    def kill(self, *names: str) -> None:
        """Kill all processes of servers (kill -9) at once: all are frozen before the first dies."""
        processes = [one for name in names for one in self._processes(name)]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for one in processes:
                with suppress(ProcessLookupError):
                    os.kill(one, number)
        end = time.monotonic() + 20
        while any(Path(f"/proc/{one}/root").exists() for one in processes):
            if time.monotonic() > end:
                raise EnvironmentProblem(f"{', '.join(names)}: its processes do not end")
            time.sleep(0.02)
        self.running -= {*names}
        self.events.append(f"{' and '.join(names)} killed (kill -9)")

    def _processes(self, name: str) -> Sequence[int]:
        """Return the first process of a server, and all processes that it started."""
        first = int((self.data(name) / "postmaster.pid").read_text("ascii").split()[0])
        found = [first]
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                said = stat.read_text("utf-8", "replace")
                if said.rpartition(")")[2].split()[1] == str(first):
                    found.append(int(said.split()[0]))
        return found

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """Have a client commit rows during the body, and record the confirmed rows."""
        self.marks += 1
        rows = [f"row-{self.marks}-{number}" for number in range(ROWS)]
        lines = "".join(f"insert into row values ('{one}') returning id;\n" for one in rows)
        with subprocess.Popen(
            [program_of("psql"), "-h", str(self.folder), "-p", str(self.ports[name]), "-Atq"],
            user=USER,
            group=USER,
            extra_groups=(),
            cwd=self.folder,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            with suppress(OSError):
                client.stdin.write(lines)
                client.stdin.close()
            yield
            client.terminate()
            confirmed = {line.strip() for line in client.stdout} & {*rows}
        self.rows |= confirmed
        self.events.append(f"{len(confirmed)} rows committed on {name} meanwhile")

    def rows_of(self, data: Path) -> frozenset[str] | None:
        """Return the rows of a server that is started alone on a directory and stopped in order.

        Returns None if the server does not start.
        """
        port = free_port()
        # The process that the file names no longer runs.
        (data / "postmaster.pid").unlink(missing_ok=True)
        with (data / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
            file.write(f"primary_conninfo=''\nport={port}\n")
        log = str(self.folder / f"{data.name}.log")
        said = self.run("pg_ctl", "-D", str(data), "-w", "-l", log, "start", check=False)
        if "server started" not in said:
            self.run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop", check=False)
            return None
        text = "select id from row"
        words = ("psql", "-h", str(self.folder), "-p", str(port), "-Atqc", text)
        found = self.run(*words, check=False)
        self.run("pg_ctl", "-D", str(data), "-m", "fast", "-w", "stop")
        return frozenset(line for line in found.split() if line.startswith("row-"))

    def close(self) -> None:
        for name in sorted(self.running):
            self.stop(name, "immediate")


def copied(store: Path, to: Path) -> Path:
    """Copy a data directory without changes."""
    subprocess.run(["cp", "-a", str(store), str(to)], check=True)
    return to


def program_of(program: str) -> str:
    """Return the path of a program; Debian has some of them in a folder for each release."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    return str(places[-1]) if places else require(program, PACKAGE)
