"""`python tests/tier.py test|landing`: runs one tier of tests, and compares it with its budget.

The budgets are in tests/README.md, in minutes of CPU.  In CI a tier that exceeds its budget fails;
elsewhere it only prints a warning, because the machine may be slower.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

TIERS = {"test": "not landing and not soak", "landing": "landing"}
README = Path(__file__).with_name("README.md")


def main(tier: str, options: list[str]) -> int:
    """Run the tier; return pytest's exit code, or in CI 1 if it passed and exceeded its budget."""
    # Ctrl-C and `timeout` reach pytest, too, which reports its tests and ends; then this ends.
    signal.signal(signal.SIGINT, lambda *_: None)
    began = time.monotonic()
    code = subprocess.call([sys.executable, "-m", "pytest", "-m", TIERS[tier], *options])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, most = (used.ru_utime + used.ru_stime) / 60, budget(tier)
    print(
        f"== {tier}: {cpu:.1f} minutes of CPU of {most:.1f},"
        f" {(time.monotonic() - began) / 60:.1f} on the clock",
        flush=True,
    )
    if cpu > most:
        print("== over its budget: make its slowest tests faster, or move them (tests/README.md)")
        if code == 0 and os.environ.get("CI") == "true":
            return 1
    return code if code >= 0 else 128 - code  # ended by a signal: the code of a shell


def budget(tier: str) -> float:
    """Return the minutes of CPU that tests/README.md allows."""
    (found,) = re.findall(rf"^\| `make {tier}` .*\| ([\d.]+) \|$", README.read_text(), re.MULTILINE)
    return float(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
