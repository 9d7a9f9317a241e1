"""Faults that real processes and random orders once found, put back one by one: each is noticed.

Each row is a fault: the code that mends it, the code with the fault, and the tests that notice the
fault.  Faults 1, 2, 3 and 7 are found by random orders alone, in `tests/clusterer/test_swarm.py`
and `tests/reconcile/test_swarm.py` (docs/mutation.md).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import frozen

ROOT = Path(__file__).resolve().parents[2]

BEGIN = """
from tools.mutate.patched import patch
patch({module!r}, {source!r})
"""


@frozen
class Fault:
    """A fault.  `module`: its path; `mended`: its code without the fault, which occurs once;
    `fault`: the code with it; `tests`: files and options of pytest."""

    module: str
    mended: str
    fault: str
    tests: tuple[str, ...]


FAULTS = {
    "4 a plan is made of a cluster that would have formed": Fault(
        "joinproto/clusterer/plan.py",
        "    now = now or formed(",
        "    now = formed(",
        ("tests/clusterer/test_plan.py",),
    ),
    "5 a round that was given up is not begun again": Fault(
        "joinproto/clusterer/simulator.py",
        "elif before.round is not None and after.round is None and _is_repeated(after, event):",
        "elif False:",
        ("tests/models/test_clusterer_worlds.py",),
    ),
    "6 after a power cut any node starts first": Fault(
        "joinproto/apps/clusterer/definitions.py",
        "    return sum(other.changes_missing_in(found[name]) for other in found.values())",
        "    return 0",
        ("tests/clusterer/test_definitions.py",),
    ),
    "8 an argument counts as a number for the shipped broker": Fault(
        "joinproto/reconcile/target.py",
        "    if variant is Variant.REAL and target.argument:",
        "    if False:",
        ("tests/reconcile/test_target.py", "tests/reconcile/test_queue.py"),
    ),
    "9 a sync is waited for on the event loop": Fault(
        "joinproto/host/hand.py",
        "        patience = QUICK_SECONDS if began >= self._slow_until else 0.0",
        "        patience = 1e6",
        ("tests/standby/test_host.py",),
    ),
    "9 an accept that fails ends the process": Fault(
        "joinproto/net/accepting.py",
        "EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})",
        "EXHAUSTED = frozenset()",
        ("tests/host/test_accepting.py",),
    ),
    "9 connections that say nothing are kept": Fault(
        "joinproto/apps/standby/engine.py",
        "        if not self.is_opened and time.monotonic() - self.began >= OPEN_SECONDS:",
        "        if False:",
        ("tests/standby/test_hanging.py", "-m", "", "-k", "idle"),
    ),
    "9 an orderly end leaves half a copy clean": Fault(
        "joinproto/standby/roles.py",
        '        Case("H10", "half a copy", _is("it catches up", copying=True), Mark.DIRTY),\n',
        "",
        ("tests/standby/test_host.py",),
    ),
    "9 after a total failure brokers wait where all stores prove who was last": Fault(
        "joinproto/standby/managing.py",
        "    proven = continues and is_proven(me.who.me, around.stores(me), state.chain)",
        "    proven = False",
        ("tests/standby/test_built_in.py", "-m", "", "-k", "after_a_total_failure"),
    ),
    "9 a secret that all may read is taken in silence": Fault(
        "joinproto/net/secret.py",
        "    if mode & (stat.S_IROTH | stat.S_IWOTH):",
        "    if False:",
        ("tests/host", "-k", "secret or public"),
    ),
    "10 a data directory goes as a whole": Fault(
        "joinproto/apps/clusterer/service.py",
        "        for one in data.iterdir() if data.exists() else ():",
        "        for one in (data,) if data.exists() else ():",
        ("tests/clusterer/test_running_parts.py",),
    ),
    "10 a packet of any length is read": Fault(
        "joinproto/apps/contrib/amqtt.py",
        "                if self._left > self._most:",
        "                if False:",
        ("tests/contrib/test_limited.py",),
    ),
    "11 the private address is no path among others": Fault(
        "joinproto/discovery/aws.py",
        "        return tuple(address if path == name else path for path in"
        " self.hostname_paths or (name,))",
        "        return tuple(self.hostname_paths) or (address,)",
        ("tests/discovery/test_backend_aws.py",),
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_module_of_a_fault_has_the_code_that_mends_it(fault: Fault) -> None:
    assert 1 == (ROOT / fault.module).read_text().count(fault.mended)


@pytest.mark.soak("swarm-rules")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_is_put_back_is_noticed(name: str, tmp_path: Path) -> None:
    """Child processes have the fault, too: each Python reads `sitecustomize` as it starts."""
    fault = FAULTS[name]
    source = (ROOT / fault.module).read_text()
    module = fault.module.removesuffix(".py").replace("/", ".")
    told = BEGIN.format(module=module, source=source.replace(fault.mended, fault.fault).encode())
    (tmp_path / "sitecustomize.py").write_text(told)
    places = [tmp_path, ROOT, ROOT / "models", ROOT / "proofs"]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "--assert=plain", *fault.tests],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode, done.stdout[-2_000:]
    assert " failed" in done.stdout, done.stdout[-2_000:]
