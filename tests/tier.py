"""`python tests/tier.py test|landing`: one tier of tests, and whether it cost too much.

The budgets stand in tests/README.md, in minutes of CPU.  In CI a tier that costs more than its
budget fails; elsewhere it says so, because the machine may be a slower one.
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
    """Run the tier; return the exit code of pytest, or 1 where it passed and cost too much."""
    # Ctrl-C and `timeout` reach pytest, too: it says which tests ran, and ends; then we do.
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
        print("== over its budget: make its dearest tests cheaper, or move them (tests/README.md)")
        if code == 0 and os.environ.get("CI") == "true":
            return 1
    return code if code >= 0 else 128 - code  # ended by a signal: as a shell says it


def budget(tier: str) -> float:
    """Return the minutes of CPU that tests/README.md allows."""
    (found,) = re.findall(rf"^\| `make {tier}` .*\| ([\d.]+) \|$", README.read_text(), re.MULTILINE)
    return float(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
