"""`python tests/tier.py PYTEST-OPTIONS`: one tier of tests, and what it cost.

Some tests start real processes and wait for real time.  On a loaded machine one of them may miss
its time beside another worker's tests.  So where tests that ran in parallel (`-n`) failed
(pytest's exit code 1, nothing else), these run once more and alone, and the second run decides.
What failed first and passed alone is named, each test on a line, so that nobody overlooks it.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

FAILED = 1
CACHE = Path(".pytest_cache/v/cache/lastfailed")
ALONE = ("-n", "0", "--dist", "no", "--last-failed", "--last-failed-no-failures", "none")


def main(options: list[str]) -> int:
    """Return the exit code of the run that decides."""
    # Ctrl-C and `timeout` reach pytest, too: it says which tests ran, and ends; then we do.
    signal.signal(signal.SIGINT, lambda *_: None)
    began = time.monotonic()
    code = _pytest(*options)
    if code == FAILED and "-n" in options:
        first = _failed()
        _say(f"{len(first)} failed: once more, alone")
        code = _pytest(*options, *ALONE)
        for test in sorted(first - _failed()) if code in (0, FAILED) else ():
            _say(f"failed first, and passed alone: {test}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (used.ru_utime + used.ru_stime) / 60
    _say(f"{cpu:.1f} minutes of CPU, {(time.monotonic() - began) / 60:.1f} on the clock")
    return code


def _pytest(*options: str) -> int:
    code = subprocess.call([sys.executable, "-m", "pytest", *options])
    return code if code >= 0 else 128 - code  # ended by a signal: as a shell says it


def _failed() -> set[str]:
    """Return what pytest remembers as failed; what other runs left there is in both of ours."""
    try:
        return set(json.loads(CACHE.read_text("utf-8")))
    except FileNotFoundError:
        return set()


def _say(text: str) -> None:
    print(f"== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
