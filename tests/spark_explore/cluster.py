"""A real standalone cluster on loopback: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark
from attrs import define, field

ROOT = Path(__file__).resolve().parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
SECONDS_MAX = 120.0


@define
class Cluster:
    """A standalone cluster.  `workers`: processes, in the order of their starts."""

    folder: Path
    environment: dict[str, str]
    address: str = ""
    workers: list[subprocess.Popen[bytes]] = field(factory=list)
    host: str = "127.0.0.1"
    _master: subprocess.Popen[bytes] | None = None

    def start(self, workers: int) -> None:
        log = self.folder / "master.log"
        ports = ("--port", "0", "--webui-port", "0")
        self._master = self._spawn("master.Master", log, "--host", self.host, *ports)
        self.address = self._wait_for(log, r"(spark://[\d.]+:\d+)", self._master)
        for _ in range(workers):
            self.add_worker()

    def add_worker(self, host: str = "127.0.0.1", within: Sequence[str] = ()) -> None:
        """Start a worker with one core, and wait until it is part of the cluster.

        `within`: a command that runs another command, such as one that enters a namespace.
        """
        log = self.folder / f"worker-{len(self.workers)}.log"
        size = ("--cores", "1", "--memory", "1g", "--webui-port", "0")
        place = ("--work-dir", str(self.folder / f"work-{len(self.workers)}"))
        words = ("--host", host, *size, *place, self.address)
        worker = self._spawn("worker.Worker", log, *words, within=within)
        self.workers.append(worker)
        self._wait_for(log, r"(Successfully registered)", worker)

    def _spawn(
        self, name: str, log: Path, *words: str, within: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home) / "bin" / "java") if home else "java"
        opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
        command = [*within, java, "-Xmx256m", "-XX:TieredStopAtLevel=1", *opens]
        command += ["-cp", f"{SPARK_HOME}/jars/*", f"org.apache.spark.deploy.{name}", *words]
        with log.open("wb") as out:
            # It has its own group, so that all its processes can be ended with it.
            return subprocess.Popen(
                command, stdout=out, stderr=out, env=self.environment, start_new_session=True
            )

    @staticmethod
    def _wait_for(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> str:
        end = time.monotonic() + SECONDS_MAX
        while time.monotonic() < end:
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[1]
            if process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(
            f"the process did not start:\n{log.read_text(errors='replace')[-2000:]}"
        )

    def kill_worker(self, number: int) -> None:
        """Kill a worker, its executor, and the executor's Python with kill -9."""
        kill_tree(self.workers[number].pid)

    def stop(self) -> None:
        for process in (*self.workers, *([self._master] if self._master else [])):
            kill_tree(process.pid)
            process.wait()


_OPENED = ("java.nio", "java.lang", "java.lang.invoke", "java.util", "sun.nio.ch", "java.net")


def parent_of(process: int) -> int | None:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def below(root: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int | None, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children.setdefault(parent_of(int(entry.name)), []).append(int(entry.name))
    found = [root]
    for one in found:
        found += children.get(one, [])
    return found


def kill_tree(root: int) -> None:
    """Kill a process and all its descendants with SIGKILL."""
    for one in below(root):
        try:
            os.kill(one, 9)
        except ProcessLookupError:
            continue


@contextmanager
def cluster(
    folder: Path, *, workers: int, path: str = str(ROOT), host: str = "127.0.0.1"
) -> Iterator[Cluster]:
    """Yield a cluster whose master is at `host`; `path`: PYTHONPATH of its workers."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(SPARK_HOME),
        # Without this a worker looks for the folders of Spark's own build.
        "SPARK_SCALA_VERSION": "2.13",
        # With another host, each process is given its own address.
        **({"SPARK_LOCAL_IP": host} if host == "127.0.0.1" else {}),
        "PYTHONPATH": path,
        "PYSPARK_PYTHON": sys.executable,
    }
    found = Cluster(folder, environment, host=host)
    try:
        found.start(workers)
        yield found
    finally:
        found.stop()
