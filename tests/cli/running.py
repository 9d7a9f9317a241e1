"""Run the command `joinproto`: inside the test's process, or as a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from joinproto.__main__ import main

ROOT = Path(__file__).resolve().parents[2]

Run = Callable[..., "Done"]

_PROGRESS = re.compile(r"compiling the search|level \d+: .* distinct of ")


@frozen
class Done:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> Any:
        """Return the one object on standard output."""
        return json.loads(self.out)

    @property
    def remarks(self) -> str:
        """Return the lines of standard error, without the progress of a slow search."""
        lines = self.err.splitlines(keepends=True)
        return "".join(line for line in lines if not _PROGRESS.match(line))

    @property
    def error(self) -> Any:
        """Return the contents of the error object."""
        return self.object["error"]


def run_here(capsys: pytest.CaptureFixture[str], *words: str) -> Done:
    """Run the command in this process; this saves the half second that a process needs to start."""
    capsys.readouterr()
    code = main(words)
    found = capsys.readouterr()
    assert "Traceback" not in found.out + found.err
    return Done(code, found.out, found.err)


def run_apart(*words: str, cwd: Path = ROOT, python: tuple[str, ...] = (), **more: Any) -> Done:
    """Run the command as a process of its own."""
    command = [sys.executable, *python, "-m", "joinproto", *words]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False, **more
    )
    return Done(done.returncode, done.stdout, done.stderr)


MEMBER = '''\
"""A user's model."""

from joinproto.check import NOT_ENABLED, Faults, World, always, sometimes


class Counter:
    """Counts to three."""

    def __init__(self):
        self.count = 0

    def choices(self):
        if self.count < 3:
            yield "count on"

    def receive(self, event):
        if event != "count on":
            return NOT_ENABLED
        self.count += 1

    def shows(self):
        return self.count


def low(view):
    return all(count <= 3 for count in view.values())


def three(view):
    return 3 in view.values()


'''
WORLD = """\
world = World(
    name="counters",
    members={"a": Counter, "b": Counter},
    properties=[always("low", low), sometimes("three", three)],
)
"""
FUNCTION = '''\
def world(*, members=2, top=3):
    """Counters, as many as wanted."""
    low = always("low", lambda view: max(view.values()) <= top)
    return World(
        name="counters",
        members={f"m{number}": Counter for number in range(members)},
        properties=[low, sometimes("three", three)],
    )
'''


def model(folder: Path, *, replace: tuple[str, str] = ("", ""), world: str = WORLD) -> str:
    """Write a model of two counters into `folder`, with one text replaced; return its path."""
    source = MEMBER + world
    old, new = replace
    assert old in source
    file = folder / "my_model.py"
    file.write_text(source.replace(old, new) if old else source, encoding="utf-8")
    return str(file)
