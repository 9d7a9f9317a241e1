"""The same search on each kind of master that can run on one machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from joinproto.check.packages import ALL, folder, places
from spark_explore import session
from tests.cli.running import run_here
from tests.spark_explore.cluster import ROOT, SPARK_HOME, below, cluster
from tests.spark_explore.runs import WORDS, begin, command_line, wait_for_level
from tests.spark_explore.test_faults import expected, same

SOAK = [pytest.mark.soak("spark-apart"), pytest.mark.needs("pyspark", "java")]
SMALL = "--conf spark.executor.memory=512m"


class Context:
    """The parts of a context that `owners_for` reads."""

    defaultParallelism = 2  # noqa: N815  Spark's own name

    def __init__(self, master: str, **conf: str) -> None:
        self.master, self._conf = master, {f"spark.{k}": v for k, v in conf.items()}

    def getConf(self) -> dict[str, str]:  # noqa: N802  Spark's own name
        return self._conf


@pytest.mark.parametrize(
    ("master", "conf", "owners"),
    [
        ("local[2]", {}, 2),
        ("spark://host:7077", {}, 2),
        ("yarn", {"executor.instances": "50", "executor.cores": "4"}, 200),
        ("yarn", {"executor.instances": "50", "default.parallelism": "2"}, 2),
        (
            "k8s://host",
            {"dynamicAllocation.enabled": "true", "dynamicAllocation.maxExecutors": "9"},
            9,
        ),
        (
            "k8s://host",
            {"dynamicAllocation.enabled": "true", "dynamicAllocation.maxExecutors": f"{2**31 - 1}"},
            2,
        ),
    ],
)
def test_the_number_of_shares_counts_executors_that_start_later(
    master: str, conf: dict[str, str], owners: int
) -> None:
    assert owners == session.owners_for(Context(master, **conf))


def test_spark_connect_is_refused_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--master", "sc://host:15002", "--json")

    for engine in ("auto", "spark"):
        told = run_here(capsys, "check", "join-two", "--engine", engine, *words)
        assert 2 == told.code
        assert "Spark Connect supports DataFrames only" in told.error["message"]


@pytest.mark.soak("spark-apart")
@pytest.mark.needs("pyspark", "java")
def test_the_counts_stay_the_same_while_executors_end(tmp_path: Path) -> None:
    """In a local-cluster with dynamic allocation, idle executors end, and one is killed."""
    dynamic = "--conf spark.dynamicAllocation.enabled=true"
    for name, value in {"maxExecutors": "2", "executorIdleTimeout": "1s"}.items():
        dynamic += f" --conf spark.dynamicAllocation.{name}={value}"
    words = ("two-phase-commit", "--members", "8", *WORDS, "--out", str(tmp_path))
    process = begin(
        "check",
        *words,
        "--master",
        "local-cluster[2,1,1024]",
        PYSPARK_SUBMIT_ARGS=f"{SMALL} {dynamic} pyspark-shell",
    )
    wait_for_level(tmp_path / "search", 13, process)

    executors = [one for one in below(process.pid) if b"ExecutorBackend" in command_line(one)]
    for executor in executors[:1]:
        os.kill(executor, 9)

    out, err = process.communicate(timeout=900)
    assert (0, True) == (process.returncode, len(executors) > 0), err
    same(expected("two-phase-commit", members=8), json.loads(out))


@pytest.mark.soak("spark-apart")
@pytest.mark.needs("pyspark", "java", "root", "mounts")
def test_executors_need_only_a_zip_file_of_our_packages(tmp_path: Path) -> None:
    """With spark-submit --py-files; the sources are hidden from the executors."""
    zip_file = tmp_path / "joinproto.zip"
    with zipfile.ZipFile(zip_file, "w") as archive:
        for package in ALL:
            for path in folder(package).rglob("*.*"):
                archive.write(path, str(Path(package, path.relative_to(folder(package)))))
    python = tmp_path / "python"
    hidden = " && ".join(f"mount -t tmpfs none {folder(package)}" for package in ALL)
    python.write_text(
        f"#!/bin/sh\nexec unshare --mount sh -ec '{hidden} && exec \"$@\"' sh"
        f' {sys.executable} "$@"\n'
    )
    python.chmod(0o755)

    done = subprocess.run(
        [
            SPARK_HOME / "bin" / "spark-submit",
            *("--master", "local-cluster[1,1,1024]", *SMALL.split()),
            *("--conf", f"spark.pyspark.python={python}", "--py-files", zip_file),
            *("--conf", f"spark.pyspark.driver.python={sys.executable}"),
            *(ROOT / "joinproto" / "__main__.py", "check", "two-phase-commit", "--members", "7"),
            *WORDS,
            *("--out", tmp_path / "out"),
        ],
        env={
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_SCALA_VERSION": "2.13",
            "PYTHONPATH": os.pathsep.join(places()),
        },
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert 0 == done.returncode, done.stdout + done.stderr[-3000:]
    assert '"distinct": 296448' in done.stdout


@pytest.mark.soak("spark-apart")
@pytest.mark.needs("pyspark", "java")
def test_settings_of_spark_submit_win_unless_a_search_needs_its_own(tmp_path: Path) -> None:
    """A user's --conf stays, unless it would change the states that a search finds."""
    program = tmp_path / "program.py"
    program.write_text(
        "from spark_explore.session import open_context\n"
        "conf = open_context(None).getConf()\n"
        "names = ('spark.locality.wait', 'spark.speculation', 'spark.sql.adaptive.enabled')\n"
        "print([conf.get(name) for name in names])\n"
    )

    done = subprocess.run(
        [
            SPARK_HOME / "bin" / "spark-submit",
            *("--master", "local[1]", "--conf", "spark.locality.wait=7s"),
            *("--conf", "spark.sql.adaptive.enabled=true", program),
        ],
        env={**os.environ, "SPARK_HOME": str(SPARK_HOME), "PYTHONPATH": os.pathsep.join(places())},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert "['7s', 'false', 'false']" in done.stdout, done.stdout + done.stderr[-3000:]


@pytest.mark.soak("spark-apart")
@pytest.mark.needs("pyspark", "java")
def test_all_executors_of_a_standalone_cluster_get_a_share(tmp_path: Path) -> None:
    """They start after the context, which at first knows none of them."""
    code = (
        "from spark_explore.session import await_executors, open_context, owners_for; import sys;"
        "context = open_context(sys.argv[1]); await_executors(context); print(owners_for(context))"
    )
    with cluster(tmp_path, workers=3) as spark:
        done = subprocess.run(
            [sys.executable, "-c", code, spark.address],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(places())},
        )

    assert "3" == done.stdout.strip(), done.stderr
