"""`python -m tools.releases RELEASE -- COMMAND...`: run a command with a later release's programs.

A Debian release has one version of RabbitMQ, etcd and PostgreSQL; operators run later ones.
debootstrap makes a root directory of another Debian release.  The command runs in that directory,
in its own mount namespace: it sees this Python, this project and /tmp at their usual paths, and
all else is from the other release.  Needs root, debootstrap and `unshare`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import click

from joinproto.errors import EnvironmentProblem

ROOTS = Path("/var/tmp/joinproto-releases")
PACKAGES = (
    *("rabbitmq-server", "etcd-server", "etcd-client", "postgresql", "mariadb-server", "galera-4"),
    *("ca-certificates", "iproute2", "procps", "rsync", "util-linux"),
    *("libffi8", "libsqlite3-0"),  # libraries that this Python loads
)
# With this policy, installing a package starts no service.
STARTS_NOTHING = "#!/bin/sh\nexit 101\n"
# Arguments: the root; the folders of this machine to mount in it, until --; then the command.
ENTER = """
root=$1; here=$PWD; shift
while [ "$1" != -- ]; do mkdir -p "$root$1"; mount --rbind "$1" "$root$1"; shift; done
shift
exec chroot "$root" sh -c 'cd "$1" && shift && exec "$@"' sh "$here" "$@"
"""
SYSTEM = ("/proc", "/sys", "/dev")


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog="Example: python -m tools.releases trixie -- python -m tools.histories etcd --seed 1",
)
@click.argument("release")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--with",
    "more",
    multiple=True,
    metavar="PACKAGE",
    help="A further package to install; may be repeated.",
)
@click.option(
    "--at",
    type=click.Path(file_okay=False, path_type=Path),
    default=ROOTS,
    show_default=True,
    help="The folder of the root directories, each named after its release; they are kept.",
)
def main(release: str, command: tuple[str, ...], more: tuple[str, ...], at: Path) -> None:
    """Run a command with the programs of another Debian release, such as trixie or sid.

    Without a command the root directory is only made.  Exit code 4: the root directory cannot be
    made here; otherwise the exit code of the command.
    """
    try:
        root = make_root(release, at, more)
    except EnvironmentProblem as error:
        click.echo(f"releases: {error.message}\n  next: {error.next}", err=True)
        sys.exit(error.code)
    if command:
        words = chroot_command(root, command)
        sys.stdout.flush()
        os.execvp(words[0], words)


def make_root(release: str, at: Path = ROOTS, more: Collection[str] = ()) -> Path:
    """Return the root directory of a release with `PACKAGES` and `more`; make it if necessary.

    A root directory takes about 2 GB; it gets its name when it is complete.  Raises
    `EnvironmentProblem`.
    """
    lacks = [one for one in ("debootstrap", "unshare") if shutil.which(one, path=_path()) is None]
    if os.geteuid() != 0 or lacks:
        raise EnvironmentProblem(
            f"no root directory of {release} can be made: "
            + (f"no {', '.join(lacks)}" if lacks else "not root"),
            next="as root: apt-get install debootstrap util-linux",
        )
    root = at / release
    if not root.is_dir():
        part = root.with_name(f"{release}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        _run(["debootstrap", "--variant=minbase", release, str(part)])
        policy = part / "usr/sbin/policy-rc.d"
        policy.write_text(STARTS_NOTHING, "utf-8")
        policy.chmod(0o755)
        _install(part, PACKAGES)
        part.rename(root)
    lacking = [one for one in more if not list(root.glob(f"var/lib/dpkg/info/{one}[.:]*list"))]
    if lacking:
        _install(root, lacking)
    return root


def chroot_command(root: Path, command: Collection[str]) -> list[str]:
    """Return the command that runs `command` in a root directory, in the present working folder."""
    python = Path(sys.base_prefix)
    if python == Path("/usr"):
        raise EnvironmentProblem(
            "this Python lies in /usr, where the other release has its own programs",
            next="run it with a Python that is installed elsewhere, such as pyenv's",
        )
    folders = {python, Path(sys.prefix), Path.cwd(), Path("/tmp")}
    outer = sorted(
        str(one) for one in folders if not any(other in one.parents for other in folders)
    )
    enter = ["unshare", "--mount", "sh", "-ec", ENTER, "sh", str(root)]
    return [*enter, *SYSTEM, *outer, "--", *command]


def _install(root: Path, packages: Collection[str]) -> None:
    words = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    enter = ["unshare", "--mount", "sh", "-ec", ENTER, "sh", str(root), "/proc", "/dev", "--"]
    _run([*enter, *words], cwd="/", DEBIAN_FRONTEND="noninteractive")


def _run(words: list[str], cwd: str | None = None, **more: str) -> None:
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, "PATH": _path(), "LC_ALL": "C", **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        said = "\n".join(done.stdout.splitlines()[-5:])
        raise EnvironmentProblem(
            f"{words[0]} ended with exit code {done.returncode}: {said}",
            next=f"check the network and the disk: {words[0]} needs both, and about 2 GB",
        )


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin"


if __name__ == "__main__":
    main()
