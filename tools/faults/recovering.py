"""The operator's work after a total failure, by the commands `recover pick`, `plan` and `apply`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tools.faults.nodes import ROOT, Fleet


def recover(fleet: Fleet, name: str) -> str:
    """Mark the latest store of a cluster of which no node runs; return the tool's verdict.

    If the tool makes no plan, no store is changed.  `name`: the end of the plan's file name.
    """
    stores = [str(node.data) for node in fleet.nodes.values() if node.data.exists()]
    picked = _joinproto("recover", "pick", "--json", *stores)
    verdict = str(picked.get("verdict") or picked.get("error", {}).get("message"))
    plan = fleet.top / f"plan-{name}.json"
    made = _joinproto("recover", "plan", "--json", "-o", str(plan), *stores)
    if "plan" in made:
        agreed = ("--yes", "--plan-hash", made["plan"]["hash"])
        done = _joinproto("recover", "apply", str(plan), *agreed, "--json")
        if "error" in done:
            verdict += f"; apply: {done['error']['message']}"
    return verdict


def _joinproto(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "joinproto", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        return {"error": {"message": done.stderr.strip() or f"exit code {done.returncode}"}}
