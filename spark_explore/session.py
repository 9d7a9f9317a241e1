"""The one place where sessions are made, each setting with its reason above it."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joinproto.check.packages import places
from joinproto.errors import EnvironmentProblem, JoinprotoError, UsageProblem
from spark_explore.places import StoreFailure

JAVA_LEAST = 17
_INSTALL = (
    f"install Java {JAVA_LEAST} or 21 (Debian: apt install openjdk-{JAVA_LEAST}-jre-headless)"
    " and set JAVA_HOME, or search with --engine local, which needs none"
)


def refuse_connect(master: str | None) -> None:
    """Raise `UsageProblem` for an address of Spark Connect."""
    if (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://"):
        raise UsageProblem(
            "Spark Connect carries DataFrames alone, and a search sends executors its own steps, as"
            " RDDs, and is asked by them",
            next="start it where the cluster is, with spark-submit, or with the cluster's own"
            " master (spark://, yarn, k8s://)",
        )


def need_java() -> None:
    """Raise `EnvironmentProblem` where Spark would find no Java it can run on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise EnvironmentProblem("there is no Java, which Spark runs on", next=_INSTALL)
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        where = f"JAVA_HOME is {home}, and " if home else ""
        raise EnvironmentProblem(f"{where}{java} does not run: {error}", next=_INSTALL) from error
    said = done.stderr + done.stdout
    found = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if done.returncode or found is None:
        raise EnvironmentProblem(f"{java} -version says: {said.strip()[:200]}", next=_INSTALL)
    # Up to 8 it was called 1.8.
    version = int(found[2] or 0) if found[1] == "1" else int(found[1])
    if version < JAVA_LEAST:
        raise EnvironmentProblem(
            f"{java} is Java {version}; Spark runs on {JAVA_LEAST} or 21", next=_INSTALL
        )


TRIES = 4
"""Of a task: Spark's own number on a cluster."""


def cores_of(master: str) -> int | None:
    """Return how many cores a local master uses; None for a cluster's."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if found is None:
        return None
    if found[1] is None:
        return 1
    return len(os.sched_getaffinity(0)) if found[1] == "*" else max(1, int(found[1]))


def _that_tries_again(master: str) -> str:
    """Return a local master that starts a lost task again, as a cluster's does.

    Spark's own default there is to end the run with the first one.
    """
    found = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return master if found is None else f"local[{found[1] or 1},{TRIES}]"


def is_local(master: str) -> bool:
    """Return whether executors are this machine's JVM, the driver's own."""
    return re.match(r"local($|\[)", master) is not None


def is_here(master: str) -> bool:
    """Return whether all executors are on this machine, also where they are processes."""
    return master.startswith("local")


def owners_for(context: Any) -> int:
    """Return how many shares the states get: one for each core, there already or only asked for.

    Executors of YARN and Kubernetes, and those that are allocated dynamically, come later than
    the context, which then knows of two cores.
    """
    conf = context.getConf()

    def number(name: str, otherwise: int = 0) -> int:
        found = conf.get(name, "")
        # Spark's default for the most executors is the largest number there is.
        return int(found) if found.isdigit() and int(found) < 2**31 - 1 else otherwise

    if conf.get("spark.default.parallelism", "") or is_here(str(context.master)):
        return max(2, context.defaultParallelism)
    executors = number("spark.executor.instances")
    if conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        executors = max(executors, number("spark.dynamicAllocation.maxExecutors"))
    asked = executors * number("spark.executor.cores", 1)
    return max(2, context.defaultParallelism, asked)


def settings(master: str, *, heap: str = "1g") -> dict[str, str]:
    """Return Spark's settings for a search."""
    path = os.pathsep.join(filter(None, [*places(), os.environ.get("PYTHONPATH", "")]))
    return {
        # Blocks of rows are bytes to Spark, so the JVM needs little: it moves them.
        "spark.driver.memory": heap,
        # A user hardly looks at a page that lives for minutes, and it costs half a second.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The address by which this machine reaches the master, and so others reach it: what
        # its own name resolves to may be nothing, or another network.
        **({"spark.driver.host": host} if (host := _own_address(master)) else {}),
        # One partition is one owner; coalescing would give two owners' rows to one.
        "spark.sql.adaptive.enabled": "false",
        # A worker that is used again keeps its copy of the tables, and its compiled loops.
        "spark.python.worker.reuse": "true",
        # Imported once, before workers are forked: else each loads NumPy and numba again.
        # Only here: on a cluster our packages may arrive with the first task, after the daemon.
        **({"spark.python.daemon.module": "spark_explore.daemon"} if is_local(master) else {}),
        # Our packages, where they are not installed alongside pyspark.  Not the working folder,
        # which a daemon would put first: a foreign `models` there would win.
        "spark.executorEnv.PYTHONPATH": path,
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        # One thread each: owners are what runs side by side.
        "spark.executorEnv.OMP_NUM_THREADS": "1",
        "spark.executorEnv.NUMBA_NUM_THREADS": "1",
        # A step that runs a second time gives the same; one that is slow is large.
        "spark.speculation": "false",
        # A free core takes a task whose host is busy: a step waits for all owners.
        "spark.locality.wait": "0s",
        # An executor may go although `homes.py` has an empty block in its memory.
        "spark.dynamicAllocation.cachedExecutorIdleTimeout": "60s",
        # Runs of columns as the dataset's readers expect them.
        "spark.sql.parquet.compression.codec": "zstd",
        # The same text of a time everywhere.
        "spark.sql.session.timeZone": "UTC",
        # The JVM has little to compute, so its second compiler and a parallel collector only
        # take CPU: half of what a short run costs.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


def ready() -> None:
    """Raise `EnvironmentProblem` for what Spark lacks on this machine."""
    import pyspark  # noqa: F401  only whether it is there

    need_java()


@contextmanager
def explained() -> Iterator[None]:
    """Turn what Spark says of a failed job into words for its user."""
    try:
        yield
    except JoinprotoError:
        raise
    except StoreFailure as error:
        raise EnvironmentProblem(
            f"the store of the run fails: {error}", next="--resume goes on from the last level kept"
        ) from error
    except OSError as error:
        if not is_full(error):
            raise
        raise full_disk(str(error)) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("py4j", "pyspark"):
            raise
        text = str(error)
        if "No space left on device" in text:
            raise full_disk("Spark could not write what it exchanges") from error
        absent = re.search(r"No module named '?([\w.]+)", text)
        if absent:
            raise EnvironmentProblem(
                f"an executor's Python has no module {absent[1]}",
                next="send an environment along (spark-submit --archives), or the wheel"
                " (--py-files), or install joinproto[check] there: see docs/spark.md",
            ) from error
        raise EnvironmentProblem(
            f"Spark gave up: {_reason(text)}",
            next="its own log says more; with --out, --resume goes on from the last level kept",
        ) from error


def is_full(error: OSError) -> bool:
    """Return whether a write failed for want of space."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def full_disk(what: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the disk is full: {what}",
        next="free some space (Spark's own files are where SPARK_LOCAL_DIRS says); with --out,"
        " --resume goes on from the last level kept",
    )


def _reason(text: str) -> str:
    lines = lines_of(text)
    said = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Failure)\b", line)]
    return (said or lines)[-1 if said else 0][:300]


def lines_of(text: str) -> list[str]:
    """Return the lines of a message that are not empty, at least one."""
    return [line.strip() for line in text.splitlines() if line.strip()] or ["it says nothing"]


def _own_address(master: str) -> str:
    """Return this machine's address as seen from the master; "" where that is unknown."""
    if is_here(master):
        return "127.0.0.1"
    found = re.match(r"spark://\[?([^/,]+?)\]?:(\d+)", master)
    if found is None:
        return ""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # Nothing is sent: the system only chooses the way.
            probe.connect((found[1], int(found[2])))
            return str(probe.getsockname()[0])
    except OSError:
        return ""


def open_session(master: str | None, *, more: dict[str, str] | None = None) -> Any:
    """Return a session, for callers that need DataFrames at once; else as `open_context`."""
    context = open_context(master, more=more)
    from pyspark.sql import SparkSession

    return SparkSession(context)


def open_context(master: str | None, *, more: dict[str, str] | None = None) -> Any:
    """Return a context; raises `EnvironmentProblem` for what is missing on this machine.

    `master`: None takes what spark-submit gave, else all cores here.  A search makes no session:
    its start takes seconds, and few searches need DataFrames.
    """
    refuse_connect(master)
    ready()
    import pyspark
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException

    # Workers run the Python that runs this, or nothing fits.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Spark's launcher looks for the one that belongs to this pyspark.
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    # Then spark-submit started us, and has a master of its own.
    submitted = master is None and "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:
        SparkContext._ensure_initialized()
        master = str(SparkConf().get("spark.master"))
    local = is_local(master or "local")
    if is_here(master or "local"):
        # Or a machine whose name is no address greets with a warning.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Without it workers of a local-cluster look for the folders of Spark's own build.
        os.environ.setdefault("SPARK_SCALA_VERSION", "2.13")
        _for_local_workers()
    chosen = SparkConf().setAppName("joinproto")
    if not submitted:
        chosen.setMaster(_that_tries_again(master or "local[*]"))
    for name, value in {**settings(master or "local[*]"), **(more or {})}.items():
        chosen.set(name, value)
    said = [""]
    try:
        with _quiet(said):
            context = SparkContext.getOrCreate(chosen)
    except (PySparkException, OSError) as error:
        raise EnvironmentProblem(
            f"Spark does not start: {_first_line(said[0] or str(error))}", next=_INSTALL
        ) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "py4j":
            raise
        raise UsageProblem(
            f"Spark does not start with master {master!r}: {_first_line(str(error))}",
            next="local[2], or spark://HOST:PORT of a master that runs",
        ) from error
    context.setLogLevel("OFF" if local else "ERROR")
    return context


def frames_of(context: Any, parts: int) -> Any:
    """Return the session of a context, for DataFrames of this many parts."""
    from pyspark.sql import SparkSession

    session = SparkSession(context)
    # 200 is for clusters: here a round of an analysis would wait for 200 tasks.
    session.conf.set("spark.sql.shuffle.partitions", str(parts))
    return session


def _for_local_workers() -> None:
    """In local mode the daemon is our own child, and inherits what executors get as settings."""
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    new = [place for place in places() if place not in path]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*new, *path]))
    os.environ["PYTHONSAFEPATH"] = "1"


@contextmanager
def _quiet(said: list[str]) -> Iterator[None]:
    """While a JVM is started: what it says goes to an unseen file, now and later.

    It greets with a dozen lines on standard error, and a search has one line of its own
    there.  `said[0]`: afterwards, what it said.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            said[0] = file.read().decode(errors="replace")


def _first_line(text: str) -> str:
    lines = lines_of(text)
    told = [line for line in lines if "Exception" in line or "Error" in line]
    return (told or lines)[0][:300]
