"""`make pyz`: one file with the commands for a failed cluster, and a script that packs stores.

    dist/joinproto.pyz       runs on Python 3.11 or later, without any other package
    dist/joinproto-pack.sh   packs the metadata files if Python is older or missing (`pack.py`)

The file has our source, and the source of the base install's dependencies with their licenses, but
no bytecode.  Names are sorted and times are fixed, so that the same sources give the same bytes
with the same release of zlib.  The file has at most `BYTES_MAX` bytes.

Exit codes: 0 written, 1 too large, 4 a dependency is not installed.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import click

from joinproto.errors import EnvironmentProblem, LimitReached
from tools.pack_script import script

CHECKOUT = Path(__file__).resolve().parents[1]
BYTES_MAX = 1_500_000
NAME = "joinproto.pyz"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip archive can hold

SOURCES = {
    "joinproto": CHECKOUT / "joinproto",
    "joinproto_worlds": CHECKOUT / "models/joinproto_worlds",
}
COMMANDS = ("recover", "ask", "decide", "discovery", "reconcile")
# Modules that these commands do not need; the error about any other missing module says how to
# install it.
LEFT_OUT = re.compile(
    r"joinproto/(apps/(clusterer|contrib|standby/(?!__init__|keeping/))|check/(engine|tla)|contrib|explore"
    r"|cli/(diagrams|rehearse|reports|show/assets|validate|pytest_plugin)|drivers|prove|swarm|tables)"
    r"|joinproto/cli/commands/(?!__init__|ask|decide|discovery|reconcile)"
    r"|joinproto_worlds/(?!__init__|discovery/|mutations/)"
)

# Any Python must be able to read this, so it uses only syntax of old versions.
STUB = """\
import sys

if sys.version_info < (3, 11):
    sys.stderr.write(
        "joinproto: this file needs Python 3.11 or later, and this is Python %d.%d\\n"
        "  next: run it with a newer Python; without one, run joinproto-pack.sh here and give"
        " its pack\\n"
        "        to joinproto recover pick on another machine\\n" % sys.version_info[:2]
    )
    sys.exit(11 if sys.argv[1:2] == ["recover"] else 4)

from joinproto.__main__ import main

if sys.argv[1:2] != ["recover"]:
    from joinproto.cli import main as table

    for name in set(table.COMMANDS) - set({commands!r}):
        del table.COMMANDS[name]
    table.cli.epilog = "All other commands come with: pip install joinproto"

sys.exit(main())
"""


def members() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each member of the archive."""
    yield "__main__.py", STUB.format(commands=COMMANDS).encode()
    yield "joinproto-pack.sh", script().encode()
    yield "LICENSE", (CHECKOUT / "LICENSE").read_bytes()
    for package, folder in SOURCES.items():
        for file in folder.rglob("*"):
            name = f"{package}/{file.relative_to(folder).as_posix()}"
            if file.is_file() and "__pycache__" not in file.parts and not LEFT_OUT.match(name):
                yield name, file.read_bytes()
    yield from dependencies()


def dependencies() -> Iterator[tuple[str, bytes]]:
    """Yield the code and the licenses of the base install's packages, which are pure Python."""
    for needed in sorted(required_by("joinproto")):
        for path in distribution(needed).files or ():
            parts = path.parts
            is_license = "dist-info" in parts[0] and re.search("LICEN[CS]E|COPYING", path.name)
            is_code = path.suffix == ".py" and not parts[0].startswith("..")
            if is_license or is_code:
                yield path.as_posix(), Path(str(path.locate())).read_bytes()


def required_by(name: str) -> frozenset[str]:
    """Return the distributions that `name` needs without extras, directly or indirectly."""
    found: set[str] = set()
    for need in distribution(name).requires or ():
        wanted, _, marker = need.partition(";")
        if "extra" in marker or "python_version" in marker or "platform" in marker:
            continue  # on our Pythons and systems only requirements without markers are needed
        needed = re.split(r"[ <>=!~\[(]", wanted.strip())[0]
        try:
            distribution(needed)
        except PackageNotFoundError:
            raise EnvironmentProblem(f"{needed} is not installed", next="make setup") from None
        found |= {needed, *required_by(needed)}
    return frozenset(found)


def build(folder: Path) -> Path:
    """Write the two files; return the archive.  Raises `LimitReached` above `BYTES_MAX`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "joinproto-pack.sh").write_text(script(), "utf-8")
    (folder / "joinproto-pack.sh").chmod(0o755)
    archive = folder / NAME
    with archive.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w") as zip_file:
            for name, data in sorted(members()):
                zip_file.writestr(_entry(name), data, zipfile.ZIP_DEFLATED, 9)
    archive.chmod(0o755)
    size = archive.stat().st_size
    if size > BYTES_MAX:
        raise LimitReached(f"{archive} has {size:,} bytes, more than {BYTES_MAX:,}")
    return archive


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    return entry


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=CHECKOUT / "dist",
    help="The folder for both files.  [default: dist]",
)
@click.pass_context
def main(context: click.Context, out: Path) -> None:
    """Build the one file, and the script next to it."""
    try:
        archive = build(out)
    except (EnvironmentProblem, LimitReached) as error:
        click.echo(f"pyz: {error}", err=True)
        context.exit(1 if isinstance(error, LimitReached) else error.code)
    click.echo(f"{archive}: {archive.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(main())
