"""The archive for executors holds what they import, and is the same each time."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from joinproto.check.packages import places
from tools.spark_archive import write

PROGRAM = """
import sys
sys.path[:] = [place for place in sys.path if place not in sys.argv[1:]]
from joinproto.check import load_world
import spark_explore.step
load_world("two-phase-commit")
print(spark_explore.step.__file__)
"""


def test_an_executor_finds_all_it_imports_in_the_archive(tmp_path: Path) -> None:
    """Unpacked elsewhere, with nothing of ours on the path but the archive."""
    write(tmp_path / "packages.tar.gz")
    with tarfile.open(tmp_path / "packages.tar.gz") as archive:
        # Python 3.11 takes no `filter` before 3.11.4.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path / "packages")

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *places()],
        env={
            "PYTHONPATH": str(tmp_path / "packages"),
            "PYTHONSAFEPATH": "1",
            "HOME": str(tmp_path),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert Path(done.stdout.strip()).is_relative_to(tmp_path / "packages")


def test_the_same_sources_give_the_same_files(tmp_path: Path) -> None:
    """No owner and no time in it."""
    write(tmp_path / "one.tar.gz")

    with tarfile.open(tmp_path / "one.tar.gz") as archive:
        members = archive.getmembers()

    assert {("", 0)} == {(item.uname, item.mtime) for item in members}
    assert "joinproto/__init__.py" in {item.name for item in members}
