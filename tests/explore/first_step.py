"""The time until the first step is on screen, in a running Chromium.

    python -m tests.explore.first_step join
    python -m tests.explore.first_step two-phase-commit dist/playground

The first command measures `joinproto explore` from its start, the second measures the playground
from the request of its address.  Each printed line is one try with a new page: seconds by the
clock, and seconds of CPU in joinproto and Chromium.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
TRIES = 5
WAIT_MS = 120_000


def descendants(process: int) -> Iterator[int]:
    """Yield the child processes of a process, and their child processes."""
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from descendants(child)


def cpu_seconds() -> dict[int, float]:
    """Return the seconds of CPU used by each child process."""
    found = {}
    for process in descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[process] = (int(fields[11]) + int(fields[12])) / TICKS
    return found


def measure_explore(page: Any, world: str) -> None:
    """Start the command, and wait for the first step on its page."""
    words = [sys.executable, "-m", "joinproto", "explore", world, "--no-open"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        page.goto(process.stdout.readline().strip(), wait_until="commit")
        page.locator(".step").first.wait_for()
        print_seconds(page)
        process.send_signal(signal.SIGINT)


def measure_playground(page: Any, world: str, address: str) -> None:
    """Open a world in the playground, and wait for its first step."""
    page.goto(f"{address}#worlds/{world}", wait_until="commit")
    page.get_by_role("button", name="Step through it").first.click()
    page.frame_locator("iframe.explorer").locator(".step").first.wait_for()
    print_seconds(page)


def print_seconds(page: Any) -> None:
    """Print the time since `page` was made."""
    began, before = page.began
    used = sum(now - before.get(process, 0.0) for process, now in cpu_seconds().items())
    print(f"{time.perf_counter() - began:.2f} s by the clock, {used:.2f} s of CPU", flush=True)


def main(world: str, folder: str | None = None) -> None:
    """Measure `joinproto explore`, or the playground in a folder that `make playground` wrote."""
    from playwright.sync_api import sync_playwright

    from tests.playground.serving import serve

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for _ in range(TRIES):
            page: Any = browser.new_context().new_page()
            page.set_default_timeout(WAIT_MS)
            page.began = time.perf_counter(), cpu_seconds()
            if folder is None:
                measure_explore(page, world)
            else:
                with serve(Path(folder), []) as address:
                    measure_playground(page, world, address)
            page.context.close()
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:3])
