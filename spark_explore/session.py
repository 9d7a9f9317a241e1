"""Makes Spark's contexts and sessions; each setting has its reason in a comment above it."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
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
    " and set JAVA_HOME, or search with --engine local, which needs no Java"
)


def refuse_connect(master: str | None) -> None:
    """Raise `UsageProblem` for an address of Spark Connect."""
    if (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://"):
        raise UsageProblem(
            "a search does not run on Spark Connect: it needs RDDs, and Spark Connect supports"
            " DataFrames only",
            next="run joinproto on a machine of the cluster with spark-submit, or with"
            " --master spark://HOST:PORT, yarn or k8s://...",
        )


def need_java() -> None:
    """Raise `EnvironmentProblem` if there is no Java on which Spark can run."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise EnvironmentProblem(
            f"Java was not found; Spark needs Java {JAVA_LEAST} or later", next=_INSTALL
        )
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
    # Java 8 and earlier call themselves 1.8 and so on.
    version = int(found[2] or 0) if found[1] == "1" else int(found[1])
    if version < JAVA_LEAST:
        raise EnvironmentProblem(
            f"{java} is Java {version}; Spark needs Java {JAVA_LEAST} or later", next=_INSTALL
        )


TRIES = 4
"""How often a task may be tried; the number is Spark's default on a cluster."""


def cores_of(master: str) -> int | None:
    """Return the number of cores that a local master uses; None for a cluster."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if found is None:
        return None
    if found[1] is None:
        return 1
    return len(os.sched_getaffinity(0)) if found[1] == "*" else max(1, int(found[1]))


def _master_with_retries(master: str) -> str:
    """Return a local master that tries a failed task again, as a cluster does.

    By default Spark ends a local run with the first task that fails.
    """
    found = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return master if found is None else f"local[{found[1] or 1},{TRIES}]"


def is_local(master: str) -> bool:
    """Return whether tasks run in the driver's own JVM."""
    return re.match(r"local($|\[)", master) is not None


def is_here(master: str) -> bool:
    """Return whether all executors are on this machine, even as separate processes."""
    return master.startswith("local")


def owners_for(context: Any) -> int:
    """Return the number of shares: one for each core that exists or was asked for, at least two.

    If `spark.default.parallelism` is set, it is the number.  Executors of YARN and Kubernetes, and
    dynamically allocated executors, start later than the context, which until then knows of two
    cores.
    """
    conf = context.getConf()

    def number(name: str, otherwise: int = 0) -> int:
        found = conf.get(name, "")
        # Spark's default for the most executors is the largest int, which says nothing.
        return int(found) if found.isdigit() and int(found) < 2**31 - 1 else otherwise

    if conf.get("spark.default.parallelism", "") or is_here(str(context.master)):
        return max(2, context.defaultParallelism)
    executors = number("spark.executor.instances")
    if conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        executors = max(executors, number("spark.dynamicAllocation.maxExecutors"))
    asked = executors * number("spark.executor.cores", 1)
    return max(2, context.defaultParallelism, asked)


_QUIET_SECONDS = 5.0
_WAIT_SECONDS = 30.0


def await_executors(context: Any) -> None:
    """Wait for an executor, and then until no other has come for `_QUIET_SECONDS`.

    Executors start one by one after the context.  The states would be shared out among the first
    ones only, and a single one would first have all files.  Dynamically allocated executors are not
    waited for, because they come only with tasks.  The wait takes at most `_WAIT_SECONDS`.
    """
    dynamic = context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true"
    if is_local(str(context.master)) or dynamic:
        return
    tracker = context._jsc.sc().statusTracker()
    end = time.monotonic() + _WAIT_SECONDS
    known, since = 1, time.monotonic()  # the driver is listed, too
    while (now := time.monotonic()) < end and (known == 1 or now < since + _QUIET_SECONDS):
        if (number := len(tracker.getExecutorInfos())) != known:
            known, since = number, now
        time.sleep(0.1)


NEEDED = {
    "spark.executorEnv.PYTHONPATH",
    "spark.executorEnv.PYTHONSAFEPATH",
    "spark.sql.adaptive.enabled",
    "spark.sql.session.timeZone",
}
"""Settings without which a search fails or finds something else; no `--conf` changes them."""


def settings(master: str, *, heap: str = "1g") -> dict[str, str]:
    """Return Spark's settings for a search.

    Those of a `--conf` of spark-submit win, except for the settings in `NEEDED`.
    """
    path = os.pathsep.join(filter(None, [*places(), os.environ.get("PYTHONPATH", "")]))
    return {
        # The JVM needs little memory: it only moves rows, as blocks of bytes.
        "spark.driver.memory": heap,
        # Spark's own page exists only during the run, so few users see it, and it costs half a
        # second.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The address from which this machine reaches the master, so that others can reach it.
        # The machine's own name may resolve to no address, or to one in another network.
        **({"spark.driver.host": host} if (host := _own_address(master)) else {}),
        # One partition is one owner; coalescing would join the rows of two owners.
        "spark.sql.adaptive.enabled": "false",
        # A worker that is used again keeps its copy of the tables, and its compiled loops.
        "spark.python.worker.reuse": "true",
        # Libraries are imported once, before workers are forked, and not again in each worker.
        # Not on a cluster: there our packages may arrive with the first task, after the daemon.
        **({"spark.python.daemon.module": "spark_explore.daemon"} if is_local(master) else {}),
        # The places of our packages, if they are not installed alongside pyspark.  Without
        # PYTHONSAFEPATH the working folder would come first, with a foreign `models` perhaps.
        "spark.executorEnv.PYTHONPATH": path,
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        # One thread in each process, because the owners run in parallel.
        "spark.executorEnv.OMP_NUM_THREADS": "1",
        "spark.executorEnv.NUMBA_NUM_THREADS": "1",
        # A second run of a slow step would be no faster: it is slow because it has many rows.
        "spark.speculation": "false",
        # If a task's preferred host is busy, any free core takes it: a step waits for all owners.
        "spark.locality.wait": "0s",
        # An idle executor may be removed although it caches an empty block of `homes.py`.
        "spark.dynamicAllocation.cachedExecutorIdleTimeout": "60s",
        # The same compression as in the dataset's own files.
        "spark.sql.parquet.compression.codec": "zstd",
        # A time has the same text on all machines.
        "spark.sql.session.timeZone": "UTC",
        # The JVM has little to compute, so its second compiler and a parallel collector would
        # only use CPU, half of the cost of a short run.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


def refuse_without_spark() -> None:
    """Raise `ImportError` without pyspark, and `EnvironmentProblem` without a suitable Java."""
    import pyspark  # noqa: F401  to see whether it is installed

    need_java()


@contextmanager
def explained() -> Iterator[None]:
    """Turn Spark's errors about a failed job into errors for the user."""
    try:
        yield
    except JoinprotoError:
        raise
    except StoreFailure as error:
        raise EnvironmentProblem(
            f"the store of the run failed: {error}",
            next="--resume continues from the last level that was written",
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
            raise full_disk("Spark could not write its shuffle files") from error
        absent = re.search(r"No module named '?([\w.]+)", text)
        if absent:
            raise EnvironmentProblem(
                f"an executor's Python has no module {absent[1]}",
                next="send an environment along (spark-submit --archives), or the wheel"
                " (--py-files), or install joinproto[spark] there: see docs/spark.md",
            ) from error
        raise EnvironmentProblem(
            f"Spark gave up: {_reason(text)}",
            next="Spark's own log says more; with --out, --resume continues from the last level"
            " that was written",
        ) from error


def is_full(error: OSError) -> bool:
    """Return whether a write failed for lack of space, a quota, or a limit of a file's size."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def full_disk(what: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the disk is full, or a quota or a limit of a file's size is reached: {what}",
        next="free some space, or raise the limit (Spark's own files are where SPARK_LOCAL_DIRS"
        " says); with --out, --resume continues from the last level that was written",
    )


def _reason(text: str) -> str:
    lines = lines_of(text)
    said = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Failure)\b", line)]
    return (said or lines)[-1 if said else 0][:300]


def lines_of(text: str) -> list[str]:
    """Return the lines of a message that are not empty; at least one line."""
    return [line.strip() for line in text.splitlines() if line.strip()] or ["(no message)"]


def _own_address(master: str) -> str:
    """Return the address from which this machine reaches the master; "" if that is unknown."""
    if is_here(master):
        return "127.0.0.1"
    found = re.match(r"spark://\[?([^/,]+?)\]?:(\d+)", master)
    if found is None:
        return ""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # Nothing is sent: the system only chooses the route, and so the address.
            probe.connect((found[1], int(found[2])))
            return str(probe.getsockname()[0])
    except OSError:
        return ""


def open_session(master: str | None, *, more: dict[str, str] | None = None) -> Any:
    """Return a session, for callers that need DataFrames; otherwise like `open_context`."""
    context = open_context(master, more=more)
    from pyspark.sql import SparkSession

    return SparkSession(context)


def open_context(master: str | None, *, more: dict[str, str] | None = None) -> Any:
    """Return a context.

    Raises `ImportError` without pyspark, and `EnvironmentProblem` without a suitable Java or if
    Spark does not start; `UsageProblem` if Spark refuses the master.
    `master`: None means that of spark-submit, else all cores of this machine.  A context is enough
    for most searches: a session takes seconds to start, and few searches need DataFrames.
    """
    refuse_connect(master)
    refuse_without_spark()
    import pyspark
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException

    # Workers must run the same Python as this process.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Spark's launcher must use the Spark that belongs to this pyspark.
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    # If there is a gateway port, spark-submit has started this process and gives the master.
    submitted = master is None and "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:
        SparkContext._ensure_initialized()
        master = str(SparkConf().get("spark.master"))
    local = is_local(master or "local")
    if is_here(master or "local"):
        # Otherwise Spark prints a warning on a machine whose name has no address.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Without this, workers of a local-cluster look for the folders of a Spark source tree.
        os.environ.setdefault("SPARK_SCALA_VERSION", "2.13")
        _for_local_workers()
    chosen = SparkConf().setAppName("joinproto")
    if not submitted:
        chosen.setMaster(_master_with_retries(master or "local[*]"))
    for name, value in settings(master or "local[*]").items():
        if submitted and name not in NEEDED:
            chosen.setIfMissing(name, value)
        else:
            chosen.set(name, value)
    for name, value in (more or {}).items():
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
            f"Spark does not start{f' with master {master!r}' if master else ''}:"
            f" {_first_line(str(error))}",
            next="use --master local[2], or --master spark://HOST:PORT of a running master",
        ) from error
    context.setLogLevel("OFF" if local else "ERROR")
    return context


def frames_of(context: Any, parts: int) -> Any:
    """Return the session of a context, for DataFrames of this many parts."""
    from pyspark.sql import SparkSession

    session = SparkSession(context)
    # With the default of 200 each round of an analysis would wait for 200 tasks.
    session.conf.set("spark.sql.shuffle.partitions", str(parts))
    return session


def _for_local_workers() -> None:
    """Set the variables that executors get from `settings` also in this process's environment.

    Local workers inherit them.
    """
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    new = [place for place in places() if place not in path]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*new, *path]))
    os.environ["PYTHONSAFEPATH"] = "1"


@contextmanager
def _quiet(said: list[str]) -> Iterator[None]:
    """While a JVM is started, let it write to a temporary file instead of standard error.

    The JVM prints a dozen lines, and keeps the file as its standard error.  `said[0]` is set to the
    JVM's text at the end.
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
