"""A cluster whose machines share only an object store; processes are killed, runs resumed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark_explore.cluster import ROOT
from tests.spark_explore.test_faults import expected, same

pytestmark = [
    pytest.mark.soak("spark-apart"),
    pytest.mark.needs("root", "mounts", "network namespaces", "moto", "java", "pyspark"),
]


def test_machines_that_share_only_a_store_find_the_same_states_after_kills(tmp_path: Path) -> None:
    """After kill -9 of a worker, the driver and an executor, counts are as without kills."""
    words = [sys.executable, "-m", "tests.spark_explore.apart", str(tmp_path)]
    done = subprocess.run(
        ["unshare", "--net", *words], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert 0 == done.returncode, done.stderr
    assert "hush-hush" not in done.stdout + done.stderr
    same(expected("two-phase-commit", members=8), json.loads(done.stdout))
