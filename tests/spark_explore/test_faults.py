"""A search finds the same states and the same run if any of its processes dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.codec.json_form import encoded
from tests.needs import need
from tests.spark_explore.cluster import ROOT, below, cluster, kill_tree, parent_of
from tests.spark_explore.runs import WORDS, begin, command, command_line, finished, wait_for_level

SAME = ("distinct", "generated", "depth", "levels", "result", "properties", "coverage")


pytestmark = pytest.mark.soak("spark-faults")


@pytest.fixture(autouse=True)
def _java() -> None:
    need("pyspark", "java")


def expected(name: str, **options: object) -> dict[str, object]:
    return dict(encoded(check(load_world(name, **options))))


def same(expected: dict[str, object], found: dict[str, object]) -> None:
    for name in (*SAME, "trace"):
        assert expected.get(name) == found.get(name), name


@pytest.mark.parametrize("level", [11, 16])
def test_a_killed_worker_does_not_change_the_counts(tmp_path: Path, level: int) -> None:
    """In a real cluster on loopback, a worker, its executor and its Python are killed with -9."""
    out = tmp_path / "out"
    with cluster(tmp_path, workers=2) as spark:
        words = ("two-phase-commit", "--members", "8", "--master", spark.address)
        process = begin("check", *words, *WORDS, "--out", str(out))
        wait_for_level(out / "search", level, process)

        spark.kill_worker(1)

        found, err = process.communicate(timeout=600)
    assert 0 == process.returncode, err
    same(expected("two-phase-commit", members=8), json.loads(found))


def python_workers_below(root: int) -> list[int]:
    """Return the processes in which Spark runs our code, without the daemon that makes them."""
    daemons = [one for one in below(root) if b"pyspark.worker" in command_line(one)]
    parents = {one: parent_of(one) for one in daemons}
    return [one for one in daemons if parents[one] in parents]


def is_running(process: int) -> bool:
    """Return whether a process is running, and therefore at work on a task."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "R"
    except OSError:
        return False


def test_killed_python_workers_are_replaced(tmp_path: Path) -> None:
    """In local mode Spark's own default is to end the run."""
    words = ("two-phase-commit", "--members", "8", *WORDS, "--out", str(tmp_path))
    process = begin("check", *words, "--master", "local[2]")
    wait_for_level(tmp_path / "search", 10, process)

    killed = 0
    while killed < 3 and process.poll() is None:
        busy = [one for one in python_workers_below(process.pid) if is_running(one)]
        for worker in busy[:1]:
            os.kill(worker, 9)
            killed += 1
        time.sleep(0.2)

    found, err = process.communicate(timeout=600)
    assert (0, 3) == (process.returncode, killed), err
    same(expected("two-phase-commit", members=8), json.loads(found))


@pytest.mark.parametrize(("level", "cores"), [(14, 3), (8, 1), (20, 2)])
def test_a_killed_driver_is_resumed_on_any_number_of_cores(
    tmp_path: Path, level: int, cores: int
) -> None:
    """After kill -9 of the driver and its descendants, --resume gives the same counts."""
    words = ("check", "two-phase-commit", "--members", "8", *WORDS, "--out", str(tmp_path))
    process = begin(*words, "--master", "local[2]")
    wait_for_level(tmp_path / "search", level, process)

    kill_tree(process.pid)
    process.communicate()
    code, found = finished(*words, "--master", f"local[{cores}]", "--resume")

    assert 0 == code
    same(expected("two-phase-commit", members=8), found)


def test_a_resumed_run_shows_the_same_shortest_run(tmp_path: Path) -> None:
    """Counts, levels and the trace are those of a local search."""
    options = ("--members", "7", "--mutant", "one-vote-short")
    words = ("check", "two-phase-commit", *options, *WORDS, "--out", str(tmp_path))
    process = begin(*words, "--master", "local[2]")
    wait_for_level(tmp_path / "search", 8, process)

    kill_tree(process.pid)
    process.communicate()
    code, found = finished(*words, "--master", "local[2]", "--resume")

    assert 1 == code
    same(expected("two-phase-commit", members=7, mutant="one-vote-short"), found)


@pytest.mark.needs("unshare", "mounts without being root")
def test_a_full_disk_is_reported_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    """The exit code is 4; with more space, --resume finds all states."""
    words = " ".join(command("check", "two-phase-commit", "--members", "8", *WORDS))
    words += f" --master local[2] --out {tmp_path}"
    script = f"""
mount -t tmpfs -o size=6m none {tmp_path}
{words}; echo "code $?"
mount -o remount,size=500m {tmp_path}
{words} --resume; echo "code $?"
"""
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=ROOT,
    )

    first, one, second, other, *_ = done.stdout.splitlines()
    assert ("code 4", "code 0") == (one, other), done.stdout + done.stderr
    assert "the disk is full" in first
    assert '"distinct": 1745408' in second


def test_a_python_without_our_packages_is_reported(tmp_path: Path) -> None:
    """The error names a module that a worker's Python lacks, and says what to install."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True
    )
    python = str(tmp_path / "bare" / "bin" / "python")
    words = ("check", "two-phase-commit", "--members", "8", *WORDS, "--master", "local[2]")

    code, found = finished(*words, PYSPARK_PYTHON=python)

    assert 4 == code
    assert "an executor's Python has no module" in found["error"]["message"]
    assert "install" in found["error"]["next"]
