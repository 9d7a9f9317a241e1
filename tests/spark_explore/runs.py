"""Run `joinproto` as a process, and wait for the progress of its run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from spark_explore.places import Place, as_place
from tests.spark_explore.cluster import ROOT, SECONDS_MAX, kill_tree

WORDS = ("--engine", "spark", "--json")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "joinproto", *words]


def begin(*words: str, **environment: str) -> subprocess.Popen[str]:
    """Start a command in its own process group."""
    return subprocess.Popen(
        command(*words),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )


def finished(*words: str, **environment: str) -> tuple[int, dict[str, Any]]:
    """Run a command to its end; return its exit code and its JSON object."""
    process = begin(*words, **environment)
    out, err = process.communicate(timeout=600)
    assert "Traceback" not in err, err
    return process.returncode, json.loads(out)


def command_line(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_for_level(
    search: Path | Place,
    level: int,
    process: subprocess.Popen[str],
    seconds: float = 2 * SECONDS_MAX,
) -> None:
    """Wait until the run with this folder `search` has written this many levels."""
    place = as_place(search)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = json.loads(place.read("state.json"))
        except (OSError, ValueError):  # it may be replaced while it is read
            state = {"levels": ()}
        if len(state["levels"]) >= level:
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    kill_tree(process.pid)
    told = "".join(process.communicate())
    raise AssertionError(f"the search never reached level {level}: {told}")
