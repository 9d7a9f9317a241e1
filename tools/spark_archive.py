"""`python -m tools.spark_archive FILE.tar.gz`: what executors need of ours, in one archive.

    spark-submit --archives FILE.tar.gz#packages joinproto/__main__.py check WORLD --engine spark
    ...

Spark unpacks it into the folder `packages` beside every executor, which is on their Python's path.
"""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

import click

from joinproto.check.packages import ALL, folder
from joinproto.errors import UsageProblem


def write(archive: Path) -> int:
    """Write the archive; returns how many files are in it."""
    files = [
        (Path(package, path.relative_to(folder(package))), path)
        for package in ALL
        for path in sorted(folder(package).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    try:
        with tarfile.open(archive, "w:gz") as out:
            for name, path in files:
                # Nobody's name and no time: the same sources give the same archive.
                info = tarfile.TarInfo(str(name))
                info.size, info.mode = path.stat().st_size, 0o644
                with path.open("rb") as content:
                    out.addfile(info, content)
    except OSError as error:
        raise UsageProblem(
            f"cannot write {archive}: {error.strerror or error}", next="name another file"
        ) from error
    return len(files)


@click.command()
@click.argument("archive", type=click.Path(path_type=Path))
def main(archive: Path) -> None:
    """Write what executors need into ARCHIVE, a .tar.gz."""
    try:
        click.echo(f"wrote {archive}: {write(archive)} files")
    except UsageProblem as problem:
        click.echo(f"joinproto: {problem}", err=True)
        sys.exit(problem.code)


if __name__ == "__main__":
    main()
