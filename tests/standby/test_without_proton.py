"""Only modules that speak AMQP need Proton; brokers are imported and tested without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.running import ROOT
from tests.project.test_arrows import SPEAK_AMQP

NEED_IT = {"test_built_in", "test_broker", "test_engine", "test_hanging", "test_rhea", "test_speed"}
NEED_IT |= {"test_transacting", "test_transactions"}
"""The tests of these modules, and of brokers as processes."""

IMPORTS = """
import importlib, pkgutil, sys
import joinproto.apps.standby, joinproto.standby
sys.modules["proton"] = None
ours = [
    *pkgutil.walk_packages(joinproto.standby.__path__, "joinproto.standby."),
    *pkgutil.walk_packages(joinproto.apps.standby.__path__, "joinproto.apps.standby."),
]
for name in (*(one.name for one in ours), *sys.argv[1:]):
    try:
        importlib.import_module(name)
    except ImportError as error:
        assert error.name == "proton", error
        print(name)
    except BaseException as skipped:
        assert type(skipped).__name__ == "Skipped", skipped
        print(name)
"""


def test_modules_without_amqp_are_imported_without_proton() -> None:
    """Without Proton, the tests named here fail to import, and all other modules import."""
    tests = [f"tests.standby.{one.stem}" for one in Path(__file__).parent.glob("test_*.py")]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "" == done.stderr
    assert {*SPEAK_AMQP, *(f"tests.standby.{one}" for one in NEED_IT)} == {*done.stdout.split()}
