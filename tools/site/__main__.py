"""`make site`: build the site; a broken link, or a page that the navigation lacks, is an error.

The built site needs no network.  The program that draws Mermaid pictures in the browser is fetched
once by npm, to `build/site`.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from joinproto.errors import UsageProblem
from tools.web import MERMAID, bring

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "site"


def mermaid() -> Path:
    """Return the file of Mermaid's program; npm fetches it if it is missing."""
    folder = BUILD / f"mermaid-{MERMAID.version}"
    if not (folder / "mermaid.min.js").is_file():
        bring([MERMAID], folder)
    return folder / "mermaid.min.js"


def build(out: Path) -> None:
    """Build the site into `out`.

    Raises:
        UsageProblem: a package is missing, or a page has a mistake, which is printed.
    """
    if find_spec("material") is None:
        raise UsageProblem(
            "mkdocs-material is not installed; it builds the site", next="pip install --group docs"
        )
    mermaid()
    words = ["build", "--strict", "--quiet", "--config-file", "mkdocs.yml", "--site-dir"]
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", *words, str(out.absolute())],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    # Other lines, such as advertisements of the theme's makers, are left out.
    problems = [line for line in done.stderr.splitlines() if line.startswith(("WARNING", "ERROR"))]
    if done.returncode:
        raise UsageProblem(
            "the site was not built:\n" + "\n".join(problems or [done.stderr]),
            next="mend the pages that these lines name",
        )


@click.command(epilog="Example: python -m tools.site")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "site",
    help="The folder of the site. Its former content is removed.",
)
def main(out: Path) -> None:
    """Build the site of the documents."""
    try:
        build(out)
    except UsageProblem as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"built: open {out / 'index.html'} in a browser")


if __name__ == "__main__":
    main()
