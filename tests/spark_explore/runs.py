"""The command as a process, and how far its run has come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.spark_explore.cluster import ROOT, SECONDS_MAX

WORDS = ("--engine", "spark", "--json")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "joinproto", *words]


def begin(*words: str, **environment: str) -> subprocess.Popen[str]:
    """Start a command in a group of its own."""
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
    """Run a command to its end; return its code and its object."""
    process = begin(*words, **environment)
    out, err = process.communicate(timeout=600)
    assert "Traceback" not in err, err
    return process.returncode, json.loads(out)


def wait_for_level(out: Path, level: int, process: subprocess.Popen[str]) -> None:
    """Return when the run in `out` has noted so many levels."""
    end = time.monotonic() + 2 * SECONDS_MAX
    while time.monotonic() < end:
        try:
            state = json.loads((out / "search" / "state.json").read_bytes())
        except OSError:
            state = {"levels": ()}
        if len(state["levels"]) >= level:
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(f"it never came to level {level}")
