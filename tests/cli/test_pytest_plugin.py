"""Worlds as tests of pytest: collection, failures, and the cost in a project without worlds.

The output of `docs/examples/with_pytest` is in docs/ci.md, and is made again with the documents.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import ROOT

WORLDS = """
from joinproto.check import World, always


class Counter:
    def __init__(self):
        self.count = 0

    def choices(self):
        return ["count"] if self.count < END else []

    def receive(self, event):
        self.count += 1
        if self.count == FAULT:
            raise ValueError("too far")


END, FAULT = 2, 9


def world(expected="violated"):
    return World(
        name="counter",
        members={"a": Counter},
        expected=expected,
        properties=[always("few", lambda view: view["a"].count < 2)],
    )
"""

LAST_LINES = """
import sys


def pytest_terminal_summary(terminalreporter):
    loaded = [name for name in ("numba", "numpy", "joinproto.check") if name in sys.modules]
    terminalreporter.line(f"loaded: {' '.join(loaded)}")
"""


def project(folder: Path, settings: str, **files: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{settings}\n")
    (folder / "conftest.py").write_text(LAST_LINES)
    for name, text in files.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(exist_ok=True)
        file.with_suffix(".py").write_text(text)


def run(folder: Path, *words: str) -> str:
    """Return the output of pytest in a folder, with our plugin and no other."""
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "joinproto.cli.pytest_plugin",
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "models", ROOT / "proofs"))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "120",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def endings(printed: str) -> dict[str, str]:
    """Return the result of each item, by its name."""
    found = re.findall(r"^(PASSED|FAILED|ERROR) (\S.*?)(?: - .*)?$", printed, re.MULTILINE)
    return {name: ending for ending, name in found}


def test_worlds_of_files_and_modules_are_collected_from_any_folder(tmp_path: Path) -> None:
    """One world must fail and does, one fails, one must fail but holds, one holds, one raises."""
    project(
        tmp_path,
        'testpaths = ["tests"]\npythonpath = ["."]\n'
        'joinproto_worlds = ["shop.counter", "other/bounded.py::world", "other/*.py"]',
        shop__counter=f"{WORLDS}\n\ndef holds(unused=1) -> World:\n    return world('holds')\n",
        other__bounded=WORLDS.replace("END, FAULT = 2", "END, FAULT = 1")
        + "\n\nfixed = world('holds')\n",
        other__broken=WORLDS.replace("FAULT = 2, 9", "FAULT = 2, 1"),
        other__conftest="",
        tests__test_one="def test_one():\n    pass\n",
    )

    printed = run(tmp_path)

    assert {
        "tests/test_one.py::test_one": "PASSED",
        "shop/counter.py::world::must be violated": "PASSED",
        "shop/counter.py::holds::few": "FAILED",
        "other/bounded.py::world::must be violated": "FAILED",
        "other/bounded.py::fixed::few": "PASSED",
        "other/broken.py::world::must be violated": "ERROR",
    } == endings(printed)
    assert "“few” is violated after 2 steps" in printed
    assert "\nmust be violated: holds\n" in printed
    assert "other/broken.py:15: member a: receive() raised ValueError: too far" in printed
    assert "Traceback" not in printed
    assert "loaded: joinproto.check\n" in printed


def test_a_world_that_cannot_be_built_is_a_collection_error(tmp_path: Path) -> None:
    source = WORLDS.replace('expected="violated"', "expected")
    project(tmp_path, 'joinproto_worlds = ["counter.py"]', counter=source)

    printed = run(tmp_path)

    assert {"counter.py::world": "ERROR"} == endings(printed)
    assert "world() has no default for expected" in printed


def test_a_search_that_takes_too_long_is_an_error(tmp_path: Path) -> None:
    """A world whose search did not end does not pass."""
    source = WORLDS.replace("END, FAULT = 2, 9", "END, FAULT = 10**9, 0").replace("< 2)", "> -1)")
    project(
        tmp_path,
        'joinproto_worlds = ["counter.py"]\njoinproto_max_seconds = "0.05"',
        counter=source.replace('"violated"', '"holds"'),
    )

    printed = run(tmp_path, "counter.py")

    assert {"counter.py::world::few": "ERROR"} == endings(printed)
    assert "few: undetermined" in printed


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('joinproto_worlds = ["worlds/*.py"]', "there is no file worlds/*.py in"),
        ('joinproto_worlds = ["shop.worlds"]', "there is no module shop.worlds"),
        ('joinproto_worlds = ["::x"]', "there is no file ::x in"),
        (
            'joinproto_worlds = ["conftest.py"]\njoinproto_max_seconds = "soon"',
            "joinproto_max_seconds takes a number of seconds above 0, not soon",
        ),
        ('joinproto_worlds = ["conftest.py"]\njoinproto_max_seconds = "nan"', "above 0, not nan"),
        ('joinproto_worlds = ["./"]', "there is no file ./ in"),
        ("joinproto_worlds = [3]", "there is no module 3"),
    ],
)
def test_malformed_settings_are_refused(tmp_path: Path, settings: str, message: str) -> None:
    project(tmp_path, settings)
    printed = run(tmp_path)

    assert message in printed
    assert "Traceback" not in printed


def test_a_project_without_worlds_loads_no_checker(tmp_path: Path) -> None:
    """The checker's modules are not even imported; a file with a world is not a test."""
    project(tmp_path, "", counter=WORLDS, test_one="def test_one():\n    pass\n")

    printed = run(tmp_path)

    assert {"test_one.py::test_one": "PASSED"} == endings(printed)
    assert "loaded: \n" in printed
