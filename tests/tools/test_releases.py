"""Commands in the root directory of another Debian release: refusals, and the files they see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from joinproto.errors import EnvironmentProblem
from tools import releases


def test_making_a_root_directory_without_being_root_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EnvironmentProblem, match="no root directory of trixie can be made"):
        releases.make_root("trixie", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_python_in_usr_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    with pytest.raises(EnvironmentProblem, match="this Python lies in /usr"):
        releases.chroot_command(tmp_path, ["true"])


@pytest.mark.needs("debootstrap", "unshare", "root", "mounts")
def test_a_release_that_does_not_exist_leaves_no_root_directory(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="debootstrap ended with exit code"):
        releases.make_root("no-such-release", tmp_path)
    assert not (tmp_path / "no-such-release").exists()


@pytest.mark.needs("unshare", "root", "mounts")
def test_a_command_keeps_its_working_directory_and_sees_the_files_of_the_root(
    tmp_path: Path,
) -> None:
    """The root has the programs of this machine, and one more file."""
    root = tmp_path / "root"
    for one in ("usr", "bin", "lib", "lib64"):
        (root / one).mkdir(parents=True)
    (root / "release").write_text("other\n", "utf-8")
    words = releases.chroot_command(root, ["sh", "-c", "pwd; cat /release; exit 7"])
    binds = "; ".join(
        f"mount --rbind /{one} {root}/{one}" for one in ("usr", "bin", "lib", "lib64")
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", f'{binds}; exec "$@"', "sh", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (7, f"{tmp_path}\nother\n", "") == (done.returncode, done.stdout, done.stderr)
    assert not list((root / "usr").iterdir())
