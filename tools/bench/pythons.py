"""The commands of two other checkers in Python, from the package index.

minicheck runs in this Python.  musil needs Python 3.12 or later, so the benchmark makes a virtual
environment for it; without such a Python, or if musil cannot be installed, musil is left out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from joinproto.errors import EnvironmentProblem

NEWER = ("python3.14", "python3.13", "python3.12")
INSTALL_SECONDS = 300


def minicheck() -> tuple[str, ...]:
    """Return the command of minicheck's model; raises `EnvironmentProblem` if it is missing."""
    if find_spec("minicheck") is None:
        raise EnvironmentProblem("minicheck is left out: it is not installed", next="make setup")
    return (sys.executable, "-m", "tools.bench.peers.in_minicheck")


def musil(folder: Path) -> tuple[str, ...]:
    """Return the command of musil's model, which runs in a virtual environment in `folder`.

    Raises `EnvironmentProblem` if there is no newer Python, or musil cannot be installed.
    """
    newer = sys.executable if sys.version_info >= (3, 12) else newer_python()
    if newer is None:
        raise EnvironmentProblem(
            "musil is left out: it needs Python 3.12, and none is installed",
            next="install Python 3.12 or later, with python3.12 on the path",
        )
    python = folder / "musil" / "bin" / "python"
    _call([newer, "-m", "venv", str(folder / "musil")])
    _call([str(python), "-m", "pip", "install", "--quiet", "musil"])
    return (str(python), "tools/bench/peers/in_musil.py")


def newer_python() -> str | None:
    """Return the command of a Python 3.12 or later, or None; a command that fails is skipped."""
    for name in NEWER:
        found = shutil.which(name)
        if found is None:
            continue
        if subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    return None


def _call(command: list[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines()
        raise EnvironmentProblem(
            f"musil is left out: {' '.join(command)} failed: {said[-1] if said else error}",
            next="run this command by itself, and read its error",
        ) from error
