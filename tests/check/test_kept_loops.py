"""The cache of compiled loops belongs to the present code, and no search needs it.

The search must work in a read-only installation, without a home folder, and without any folder
that it may write to.  It then compiles its loops again and says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import joinproto.check.engine
from joinproto.check import folders, packages
from joinproto.check.engine import Compiling, LoopCache, _choose_loop_cache, _without_cache, absent
from joinproto.check.folders import has_loops, loops_name
from joinproto.check.plain import USER_BOUNDS, USER_BOUNDS_COMPILED, own_bounds

ROOT = Path(__file__).resolve().parents[2]
ENGINE = Path(joinproto.check.engine.__file__).parent


def test_every_module_with_loops_is_imported_with_the_engine() -> None:
    """Loops of another module would be kept in numba's folder, where old and new loops mix."""
    compiled = {
        ".".join(("joinproto.check.engine", *file.relative_to(ENGINE).with_suffix("").parts))
        for file in ENGINE.rglob("*.py")
        if re.search(r"^@njit\(.*cache=True", file.read_text(), re.MULTILINE)
    }
    program = "import sys, joinproto.check.engine; print(*(name for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert compiled
    assert compiled <= set(done.stdout.split())


def test_changed_source_gets_another_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops are inlined into loops of other files, so all must be compiled again, or none."""
    copy = tmp_path / "engine"
    shutil.copytree(ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(folders, "_ENGINE", copy)
    before = loops_name()

    changed = copy / "rows" / "bits.py"
    changed.write_text(changed.read_text() + "\n# changed\n")

    assert before != loops_name()


def test_the_engine_leaves_the_settings_of_other_programs_loops_unchanged() -> None:
    """Importing the engine changes no setting that a program's own loops depend on."""
    program = (
        "import os; before = dict(os.environ)\n"
        "import numba; njit, folder = numba.njit, numba.config.CACHE_DIR\n"
        "import joinproto.check.engine\n"
        "assert before == dict(os.environ)\n"
        "assert (njit, folder) == (numba.njit, numba.config.CACHE_DIR)\n"
    )

    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return `_choose_loop_cache`, with a home folder and a copy of the engine for this test."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    copy = tmp_path / "engine"
    shutil.copytree(ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(folders, "_ENGINE", copy)
    return _choose_loop_cache


def test_loops_are_kept_in_the_users_cache(choose: Any, tmp_path: Path) -> None:
    """The cache is outside of the package, so that the package's folder stays unchanged."""
    kept = choose()

    assert kept.lasting
    assert kept.folder.parent == tmp_path / "home" / ".cache" / "joinproto"
    assert not has_loops()


def test_cached_loops_lower_the_bounds_of_plain_python(choose: Any) -> None:
    """Without compiled loops the engine starts slowly; loops of another Python do not count."""
    folder = choose().folder / "engine_0017"
    folder.mkdir()
    (folder / "expansion.expand-83.py27.nbi").touch()
    before = own_bounds()

    (folder / f"expansion.expand-83.py{sys.version_info[0]}{sys.version_info[1]}.nbi").touch()

    assert (USER_BOUNDS, USER_BOUNDS_COMPILED) == (before, own_bounds())


@pytest.mark.parametrize("name", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_folder_that_was_chosen_is_used(
    choose: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """`NUMBA_CACHE_DIR` or `XDG_CACHE_HOME` chooses the folder."""
    monkeypatch.setenv(name, str(tmp_path / "chosen"))

    assert (tmp_path / "chosen") in choose().folder.parents


def test_folders_of_old_versions_are_removed(choose: Any) -> None:
    """The last four stay, for users who switch between versions."""
    place = choose().folder.parent
    for number in range(10):
        (place / f"engine-{number}").mkdir()
        os.utime(place / f"engine-{number}", (number, number))

    kept = choose()

    assert {kept.folder.name, "engine-9", "engine-8", "engine-7", "engine-6"} == {
        folder.name for folder in place.iterdir()
    }


def test_without_a_home_the_packages_folder_is_used(
    choose: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many daemons run without a home folder, with HOME=/nonexistent."""
    monkeypatch.setenv("HOME", "/proc/nonexistent")

    kept = choose()

    assert kept.lasting
    assert tmp_path / "engine" in kept.folder.parents


def test_without_a_lasting_folder_the_loops_go_to_a_private_temporary_folder(
    choose: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their folder may be read by this user only, because files in it are executed."""
    monkeypatch.setattr(joinproto.check.engine, "can_write", lambda folder: False)

    kept = choose()

    assert not kept.lasting
    assert 0o700 == kept.folder.stat().st_mode & 0o777


def test_without_any_folder_at_all_the_loops_are_not_cached(
    choose: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba itself would raise "no locator available"."""

    def refuse(**more: object) -> str:
        raise OSError("read-only file system")

    monkeypatch.setattr(joinproto.check.engine, "can_write", lambda folder: False)
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    kept = choose()
    asked: list[dict[str, Any]] = []
    declare = _without_cache(lambda *functions, **options: asked.append(options))

    declare(cache=True)
    declare(inline="always")

    assert LoopCache(None, lasting=False) == kept
    assert [{}, {"inline": "always"}] == asked


def test_a_long_compilation_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message comes only after some time, because most loops come from the cache."""
    hour = 3600.0
    monkeypatch.setattr(joinproto.check.engine, "_SECONDS_SILENT", hour)
    messages: list[str] = []
    state = Compiling(messages.append)

    state.begin()
    state.end()
    assert [] == messages
    state.seconds = hour
    for _ in range(3):
        state.begin()
        if state._timer is not None:
            state._timer.join()
        state.end()

    assert 1 == len(messages)
    assert messages[0].startswith("compiling the search")


PROGRAM = """
import tempfile, joinproto.check.engine, sys
from joinproto.check import load_world
from joinproto.check.check import check
with joinproto.check.engine.telling_of_compilation(print):
    report = check(load_world("two-phase-commit"))
print(report.distinct, joinproto.check.engine.LOOP_CACHE.lasting)
"""


@pytest.mark.soak("engines")
@pytest.mark.needs("no root")
def test_a_read_only_installation_works(tmp_path: Path) -> None:
    """In another user's installation, without a home, loops are compiled for each run."""
    for package in packages.MODELS:
        shutil.copytree(packages.folder(package), tmp_path / package)
    for folder in [tmp_path, *tmp_path.rglob("*")]:
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    environment = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )

    assert "on every run" in done.stdout
    assert done.stdout.endswith("288 False\n")


@pytest.mark.soak("engines")
def test_a_machine_without_any_folder_to_write_to_works(tmp_path: Path) -> None:
    """The loops are compiled and not kept, and the counts are the same."""
    before = (
        "import tempfile, pathlib\n"
        "def refuse(*args, **more): raise OSError('read-only file system')\n"
        "tempfile.mkdtemp = tempfile.TemporaryFile = refuse\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", before + PROGRAM],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "on every run" in done.stdout
    assert done.stdout.endswith("288 False\n")


def test_hidden_modules_are_absent_only_within_the_block() -> None:
    """A module loaded before the block stays loaded; another module can be loaded after it."""
    loaded = sys.modules["os"]
    sys.modules.pop("this", None)

    with absent("os", "this"):
        assert loaded is sys.modules["os"]
        with pytest.raises(ImportError):
            import_module("this")

    assert "this" not in sys.modules
    import_module("this")
