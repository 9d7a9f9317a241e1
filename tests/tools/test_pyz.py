"""`joinproto.pyz`: the one file for machines on which joinproto is not installed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from joinproto import __version__
from tools import pyz

pytestmark = pytest.mark.landing

EXAMPLES = pyz.CHECKOUT / "docs" / "examples"
RESCUE = [str(EXAMPLES / "rescue" / f"node-{name}.info") for name in "abc"]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file, after a check that a second build is identical, and of its size."""
    one, other = (pyz.build(tmp_path_factory.mktemp("dist")) for _ in range(2))

    assert one.read_bytes() == other.read_bytes()
    assert one.stat().st_size <= pyz.BYTES_MAX
    return one


@pytest.fixture
def run(archive: Path, tmp_path: Path) -> Run:
    """Return a function that runs the file without installed packages or variables."""

    def bare(*words: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
        command = [python, "-I", "-S", str(archive), *words]
        return subprocess.run(
            command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False
        )

    return bare


def test_the_file_judges_the_stores_of_the_page(run: Run) -> None:
    """It runs with this Python, and with the system's Python if that is 3.11 or later."""
    for python in {sys.executable, *filter(_is_new, ("/usr/bin/python3",))}:
        done = run("recover", "pick", *RESCUE, python=python)

        assert (0, "") == (done.returncode, done.stderr)
        assert "PROVEN: b (node-b:/var/lib/broker) is the latest store" in done.stdout


def _is_new(python: str) -> bool:
    asked = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    return Path(python).exists() and not subprocess.run(asked, check=False).returncode


def test_the_other_commands_of_the_file_run(run: Run, tmp_path: Path) -> None:
    """Each command gives its answer; one of them is a search in plain Python."""
    state = tmp_path / "state.json"
    queue = {"name": "q", "members": ["a"], "target": {"policy": 1}}
    state.write_text(json.dumps({"nodes": [{"name": "a"}], "queues": [queue]}))
    conf = str(EXAMPLES / "discovery" / "cleanup.conf")

    said = {
        ("--version",): (0, __version__),
        ("ask", "reconcile.target", "--schema"): (0, "policy"),
        ("decide", str(EXAMPLES / "members.json")): (0, "active"),
        ("discovery", "lint", conf, "--release", "4.1"): (1, "unsafe"),
        ("discovery", "would-it-split", conf, "--release", "3.13.2", "--nodes", "2"): (1, "splits"),
        ("reconcile", "explain", str(state)): (0, "q: "),
    }
    for words, (code, part) in said.items():
        done = run(*words)
        assert (code, True) == (done.returncode, part in done.stdout), (words, done)


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("recover", "rehearse", *RESCUE), 11, "pip install 'joinproto[check]'"),
        (("check", "note-lone-restart"), 2, "No such command 'check'"),
        (("recover", "pick", "/nowhere"), 2, "/nowhere"),
    ],
)
def test_a_missing_part_or_path_is_reported(
    run: Run, words: tuple[str, ...], code: int, part: str
) -> None:
    done = run(*words)

    assert (code, True) == (done.returncode, part in done.stderr), done


@pytest.mark.parametrize(("words", "code"), [(("recover", "pick"), 11), (("ask",), 4)])
def test_an_older_python_is_refused_with_a_sentence(
    archive: Path, words: tuple[str, ...], code: int
) -> None:
    """Any Python can parse the file's first lines; 2.7 and 3.6 were tried by hand."""
    older = (
        "import runpy, sys; sys.version_info = (3, 6, 15);"
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", older, str(archive), *words],
        capture_output=True,
        text=True,
        check=False,
    )

    assert code == done.returncode
    assert done.stderr.startswith("joinproto: this file needs Python 3.11 or later, and this is")
    assert "joinproto-pack.sh" in done.stderr
    ast.parse(pyz.STUB.format(commands=pyz.COMMANDS), feature_version=(3, 3))


def test_the_pack_script_is_next_to_the_file_and_in_it(archive: Path) -> None:
    script = archive.with_name("joinproto-pack.sh").read_bytes()

    assert dict(pyz.members())["joinproto-pack.sh"] == script
