"""`joinproto recover` with only the base install, on hundreds of stores, on read-only disks.

Source: issue "recover": from the base install, without NumPy, Z3 or Spark; on read-only mounts;
on copies carried from other machines; on hundreds of stores.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import venv
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest

from joinproto.check import packages
from joinproto.durable.envelope import Envelope, seal
from joinproto.store.codec import encode
from joinproto.store.contents import Contents
from tests.recovery.disks import record

pytestmark = pytest.mark.landing

STORES = 300
CHAIN = "F " + " ".join(f"C{at}" for at in range(1, 30))

Run = Callable[..., subprocess.CompletedProcess[str]]


def base_files(name: str, found: dict[str, Path] | None = None) -> dict[str, Path]:
    """Return the importable files of a distribution and its dependencies, with their places."""
    found = {} if found is None else found
    there = distribution(name)
    if there.name != "joinproto":
        for file in there.files or ():
            top = file.parts[0]
            if not top.startswith(("..", "__pycache__")):
                found.setdefault(top, Path(str(there.locate_file(top))))
    for need in there.requires or ():
        wanted, _, marker = need.partition(";")
        if "extra" in marker or ("python_version <" in marker and "3.1" not in marker):
            continue
        needed = re.split(r"[ <>=!~\[(]", wanted.strip())[0]
        try:
            base_files(needed, found)
        except ModuleNotFoundError:
            continue  # a dependency for another version of Python
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that runs `recover` in an environment with the base install, offline."""
    place = tmp_path_factory.mktemp("base")
    venv.create(place / "env", with_pip=False)
    (site,) = (place / "env" / "lib").glob("python*/site-packages")
    files = {**base_files("joinproto"), **{name: packages.folder(name) for name in packages.ALL}}
    for name, path in files.items():
        (site / name).symlink_to(path)
    python = str(place / "env" / "bin" / "python")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}

    def run(*words: object, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        command = [*before, python, "-B", "-m", "joinproto", "recover", *map(str, words)]
        return subprocess.run(
            command, cwd=place, env=clean, capture_output=True, text=True, check=False
        )

    missing = "import numpy, z3, pyspark, anyio"
    for name in missing.removeprefix("import ").split(", "):
        done = subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False)
        assert done.returncode, f"{name} is no part of the base install"
    return run


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return hundreds of directories of one cluster, three of which are its members'."""
    top = tmp_path_factory.mktemp("stores")
    what = record("a", "C29 F.5", CHAIN)
    paths = []
    for at in range(STORES):
        name = "abc"[at] if at < 3 else f"x{at:03}"
        payload = encode(Contents(member=name, record=what))
        payload = payload.replace(b'"store_id": "a\'"', f'"store_id": "{name}\'"'.encode())
        paths.append(top / name)
        (paths[-1] / "joinproto").mkdir(parents=True)
        (paths[-1] / "joinproto" / "store.meta").write_bytes(seal(Envelope(1, payload)))
    return paths


def test_hundreds_of_stores_are_compared(run: Run, stores: list[Path]) -> None:
    """`inspect`, `compare` and `pick` each take all directories at once."""
    verdicts = []
    for command in ("inspect", "compare", "pick"):
        done = run(command, "--json", *stores)

        assert 0 == done.returncode, done.stderr
        said = json.loads(done.stdout)
        assert STORES == len(said["stores"])
        verdicts.append(said["verdict"])
    assert [None, "tie", "tie"] == verdicts


def test_each_command_works_or_names_the_missing_extra(
    run: Run, stores: list[Path], tmp_path: Path
) -> None:
    """collect, pick, plan, apply, undo, mark-clean work; commands that need an extra say so."""
    files = []
    for path in stores[:3]:
        files.append(tmp_path / f"{path.name}.info")
        files[-1].write_text(run("collect", path).stdout)
    assert 0 == run("pick", *files).returncode
    made = run("plan", "--json", *stores[:3], "-o", tmp_path / "plan.json")
    agreed = ("--yes", "--plan-hash", json.loads(made.stdout)["plan"]["hash"])

    done = [
        run("apply", tmp_path / "plan.json", *agreed),
        run("apply", tmp_path / "plan.json", *agreed),
        run("undo", stores[0]),
        run("mark-clean", stores[0]),
        run("rehearse", *stores[:3]),
    ]

    assert [0, 0, 0, 5, 11] == [one.returncode for one in done]
    assert "joinproto[check]" in done[-1].stderr
    assert not any("Traceback" in one.stderr for one in done)


def test_verify_works_without_the_extra_of_a_node(run: Run, tmp_path: Path) -> None:
    """A person who checks the restart may have the base install only."""
    config = tmp_path / "node.toml"
    config.write_text('member = "a"\ncluster = "c"\ndata = "a"\nelectors = ["a"]\n')

    done = run("verify", "--config", config)

    assert 1 == done.returncode
    assert "NO ANSWER" in done.stdout


@pytest.mark.needs("unshare", "root", "mounts")
def test_reading_commands_work_on_disks_that_are_mounted_read_only(
    run: Run, stores: list[Path], tmp_path: Path
) -> None:
    """All reading commands work, and a writing command says why it cannot write."""
    at = tmp_path / "mount"
    at.mkdir()
    script = (
        f'mount --bind "{stores[0].parent}" "{at}" && mount -o remount,ro,bind "{at}" && exec "$@"'
    )
    before = ("unshare", "--mount", "sh", "-c", script, "sh")
    there = [at / path.name for path in stores]

    for command in ("inspect", "collect", "compare", "pick"):
        done = run(command, *there, before=before)
        assert 0 == done.returncode, done.stderr
        assert "Traceback" not in done.stderr
    made = run("plan", "--json", *there[:3], "-o", tmp_path / "plan.json", before=before)
    agreed = ("--yes", "--plan-hash", json.loads(made.stdout)["plan"]["hash"])
    applied = run("apply", tmp_path / "plan.json", *agreed, before=before)

    assert applied.returncode in (1, 9)
    assert "ead-only" in applied.stderr
