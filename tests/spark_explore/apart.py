"""A driver and two workers, as if each were on its own machine, and a store that all three reach.

    unshare --net python -m tests.spark_explore.apart FOLDER [MEMBERS [OPTION...]]

Each worker has a network namespace with one link, and a mount namespace with its own FOLDER, where
temporary files are: it shares no file with the driver or the other worker except the programs.
They have only S3 in common, for which moto's server stands.  The world is two-phase commit with
MEMBERS members (8), searched with the OPTIONs of `check`.  During the search a worker, the driver
and an executor are killed.  Prints the report of the run that reaches its end.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from spark_explore.places import place_of
from tests.spark_explore.cluster import SECONDS_MAX, Cluster, below, cluster, kill_tree
from tests.spark_explore.runs import WORDS, begin, command_line, wait_for_level
from tools.faults.namespaces import BRIDGE_HOST, Namespaces

STORE = f"http://{BRIDGE_HOST}:5000"
OUT = f"s3://runs/apart?endpoint_override={STORE}&region=us-east-1"
SECONDS = 7200.0
"""No run takes longer; the one with twelve members takes half an hour."""


def main(folder: Path, members: str = "8", *options: str) -> int:
    os.environ |= {"AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "hush-hush"}
    os.environ |= {"TMPDIR": str(folder), "SPARK_LOCAL_DIRS": str(folder)}
    network = Namespaces({"one": 0, "two": 0})
    words = [sys.executable, "-m", "moto.server", "-H", BRIDGE_HOST, "-p", "5000"]
    with (folder / "store.log").open("wb") as log:
        store = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        make_bucket()
        with cluster(folder, workers=0, host=BRIDGE_HOST) as spark:
            return go_through(spark, network, folder, ["--members", members, *options])
    finally:
        store.kill()
        network.close()


def make_bucket() -> None:
    end = time.monotonic() + SECONDS_MAX
    while True:
        try:
            asking = urllib.request.Request(f"{STORE}/runs", method="PUT")
            urllib.request.urlopen(asking).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return


def add_worker(spark: Cluster, network: Namespaces, name: str, folder: Path) -> None:
    (own := folder / f"of-{name}").mkdir(exist_ok=True)
    script = f'mount --bind {own} {folder} && exec "$@"'
    within = [*network.enter(name), "unshare", "--mount", "sh", "-ec", script, "sh"]
    spark.add_worker(network.host(name), within)


def kept_by(folder: Path, name: str) -> set[str]:
    """Return the owners whose files are in the cache of worker `name`."""
    kept = (folder / f"of-{name}").rglob("joinproto-cache-*/*/*-*-*-*.npy")
    return {file.name.split("-")[-2] for file in kept}


def executors_of(spark: Cluster, number: int) -> list[int]:
    """Return the JVMs of a worker's executors."""
    found = below(spark.workers[number].pid)
    return [one for one in found if b"ExecutorBackend" in command_line(one)]


def go_through(spark: Cluster, network: Namespaces, folder: Path, options: list[str]) -> int:
    for name in ("one", "two"):
        add_worker(spark, network, name, folder)
    search = place_of(OUT) / "search"
    words = ["check", "two-phase-commit", *options, *WORDS, "--out", OUT]
    words += ["--master", spark.address]

    process = begin(*words)
    try:
        wait_for_level(search, 11, process, SECONDS)
        moved = kept_by(folder, "one") & kept_by(folder, "two")
        assert not moved, f"owners whose files lie on both machines: {moved}"
        spark.kill_worker(1)
        shutil.rmtree(folder / "of-two")  # the disk of a machine that is lost
        wait_for_level(search, 14, process, SECONDS)
        kill_tree(process.pid)
        process.communicate()

        add_worker(spark, network, "two", folder)
        process = begin(*words, "--resume")
        wait_for_level(search, 17, process, SECONDS)
        for executor in executors_of(spark, 0):
            os.kill(executor, signal.SIGKILL)
        out, err = process.communicate(timeout=SECONDS)
    finally:
        kill_tree(process.pid)
    sys.stderr.write(err)
    print(out)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
