"""`tests/needs.py`: a test skips without its needs; in CI it fails, unless no package can help."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.needs import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]

TESTS = """\
import pytest
from tests import needs

needs.PROGRAMS |= {"sh": "there", "no-program": "a-package"}
needs.PACKAGES |= {"pytest": "there", "no_module": "an-extra"}
needs.ABILITIES["to fly"] = lambda: "it has no wings"

@pytest.fixture
def server():
    needs.need("no-program")

@pytest.mark.needs("sh", "pytest", "/proc")
def test_all_is_there(): pass

@pytest.mark.needs("sh", "no-program")
def test_program(): pass

def test_server(server): pass

@pytest.mark.needs("no_module")
def test_package(): pass

@pytest.mark.needs("to fly")
def test_ability(): pass

@pytest.mark.skipif(True, reason="by condition")
def test_condition(): pass

def test_silent():
    pytest.skip("in silence")

@pytest.mark.xfail
def test_expected():
    assert False

@pytest.mark.needs("a name of no table")
def test_unknown(): pass
"""
MODULE = 'import pytest\npytest.importorskip("no_module")\ndef test_nothing(): pass\n'


def outcomes(folder: Path, ci: str, *options: str) -> dict[str, list[str]]:
    """Return the tests of a small folder by outcome, among them a module that skips as a whole."""
    (folder / "test_small.py").write_text(TESTS)
    (folder / "test_module.py").write_text(MODULE)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = needs\n")
    # A process that runs this test may be a worker itself.
    environment = {name: at for name, at in os.environ.items() if "XDIST" not in name}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "CI": ci}
    words = ["-p", "tests.needs", *options, "--continue-on-collection-errors"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--junit-xml", "said.xml"],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )
    found: dict[str, list[str]] = {"passed": []}
    for case in ET.parse(folder / "said.xml").iter("testcase"):
        how = (
            {"failure": "failed", "error": "failed"}.get(case[0].tag, "skipped")
            if len(case)
            else "passed"
        )
        found.setdefault(how, []).append(case.attrib["name"].removeprefix("test_"))
    return {how: sorted(names) for how, names in found.items()}


LACKING = ["condition", "module", "package", "program", "server", "silent"]


def test_a_test_without_its_needs_skips(tmp_path: Path) -> None:
    assert {
        "passed": ["all_is_there"],
        "skipped": sorted([*LACKING, "ability", "expected"]),
        "failed": ["unknown"],
    } == outcomes(tmp_path, "false")
    said = (tmp_path / "said.xml").read_text()
    assert "no-program is not installed: apt-get install a-package" in said
    assert "pip install 'joinproto[an-extra]'" in said.replace("&#x27;", "'")


@pytest.mark.parametrize("workers", ["0", "1"])
def test_in_ci_a_test_skips_only_without_an_ability_of_the_machine(
    tmp_path: Path, workers: str
) -> None:
    """Any other way to skip is a failure, in a worker of xdist as well."""
    assert {
        "passed": ["all_is_there"],
        "skipped": ["ability", "expected"],
        "failed": sorted([*LACKING, "unknown"]),
    } == outcomes(tmp_path, "true", "-p", "xdist.plugin", "-n", workers)
    said = (tmp_path / "said.xml").read_text()
    assert "this machine lacks to fly: it has no wings" in said
    assert "CI installs what tests need, and skips none: Skipped: in silence" in said


def test_ci_installs_every_program_that_a_test_may_need() -> None:
    """Three packages are in every Debian, so CI does not install them."""
    said = re.findall(r"wanted\+=\((.*)\)", (ROOT / ".ci" / "run").read_text())
    installs = " ".join(said).split()

    assert {"coreutils", "util-linux", "e2fsprogs"} == set(PROGRAMS.values()) - set(installs)
