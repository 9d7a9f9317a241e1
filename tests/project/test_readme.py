"""The commands of the README, run in their order in a fresh clone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
# `.ci/run` runs these commands, or the same steps, in its own fresh clone.
SET_UP = ("make check", "make test", "source .venv/bin/activate", "pip install")
FAILS = ("check note-lone-restart", "check join-two --mutant held-derived")
SERVES_SECONDS = 60.0


def commands() -> Iterator[str]:
    """Yield the commands of the README's indented blocks."""
    for line in README.splitlines():
        found = re.match(
            r"    (?:\$ )?((?:make|source|pip|python|joinproto) .*?)(?:\s+#.*)?$", line
        )
        if found is not None:
            yield found[1]


def expected(command: str) -> int:
    """Return the exit code of a command: 1 if its world must fail, else 0."""
    return int(command.removeprefix("joinproto ") in FAILS)


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Path]:
    """Return a clone of this checkout, with the programs of this interpreter first on the path."""
    # The path of a node's control socket, which is in the clone, must be short.
    with TemporaryDirectory(prefix="readme-") as top:
        yield _cloned(Path(top), tmp_path)


def _cloned(place: Path, tmp_path: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(place)], check=True)
    subprocess.run(["git", "-C", str(place), "checkout", "--quiet", "--", "."], check=True)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("joinproto", "-m joinproto "), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {words}"$@"\n')
        program.chmod(0o755)
    return place


@pytest.mark.landing
def test_every_command_of_the_readme_ends_with_its_exit_code(clone: Path, tmp_path: Path) -> None:
    """Commands that set up a checkout are left out."""
    path = [str(clone), str(clone / "models"), str(clone / "proofs")]
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": ":".join(path),
    }
    nodes: list[subprocess.Popen[bytes]] = []
    ran = []
    try:
        for command in commands():
            if command.startswith(SET_UP):
                continue
            if command.startswith("joinproto node "):
                nodes.append(
                    subprocess.Popen(
                        ["bash", "-c", f"exec {command}"],
                        cwd=clone,
                        env=environment,
                        stderr=subprocess.DEVNULL,
                    )
                )
                continue
            end = time.monotonic() + (SERVES_SECONDS if nodes else 0)
            while True:
                done = subprocess.run(
                    ["bash", "-c", command],
                    cwd=clone,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                # Three nodes take a moment to found their cluster.
                if done.returncode != 4 or time.monotonic() > end:
                    break
                time.sleep(0.2)
            assert expected(command) == done.returncode, f"{command}\n{done.stdout}{done.stderr}"
            ran.append(command)
    finally:
        for node in nodes:
            node.terminate()
        for node in nodes:
            node.wait()

    assert 3 == len(nodes)
    assert {f"joinproto {words}" for words in FAILS} <= {*ran}
    assert "joinproto prove" in ran
