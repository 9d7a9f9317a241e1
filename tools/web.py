"""Libraries of the page of `joinproto explore`, brought from npm by name and version.

    python -m tools.web            into joinproto/explore/static/vendor/ (make web)
    python -m tools.web axe DIR    the accessibility checker of the tests, into DIR

None of their code is in the repository; a wheel that is built afterwards carries what is there,
with the licences.  The page works without them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

VENDOR = Path(__file__).resolve().parents[1] / "joinproto/explore/static/vendor"


@frozen
class Library:
    """A package of npm.  `files`: where each lies in it, to its name in the folder."""

    name: str
    version: str
    files: Mapping[str, str]
    licence: str = "LICENSE"


LIBRARIES = (
    Library("cytoscape", "3.35.0", {"dist/cytoscape.min.js": "cytoscape.js"}),
    Library("cytoscape-dagre", "4.0.1", {"dist/cytoscape-dagre.min.js": "cytoscape-dagre.js"}),
    # Part of the one above, as its authors built it.
    Library("@dagrejs/dagre", "3.0.0", {}),
    Library(
        "uplot", "1.6.32", {"dist/uPlot.iife.min.js": "uplot.js", "dist/uPlot.min.css": "uplot.css"}
    ),
)
"""All of them under the MIT licence."""

AXE = Library("axe-core", "4.14.1", {"axe.min.js": "axe.js"})
"""Under the MPL 2.0: for tests alone, and in no wheel."""


def bring(libraries: Sequence[Library], folder: Path) -> list[str]:
    """Put the files and licences of these into `folder`; return what was written.

    Raises `SystemExit` where npm is missing or does not find them.
    """
    if shutil.which("npm") is None:
        raise SystemExit("npm is missing\n  next: on Debian: apt-get install npm")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with tempfile.TemporaryDirectory() as place:
        wanted = [f"{one.name}@{one.version}" for one in libraries]
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"]
        done = subprocess.run(
            ["npm", "install", "--prefix", place, *options, *wanted],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"npm could not bring {', '.join(wanted)}:\n{done.stderr.strip()}")
        for one in libraries:
            package = Path(place, "node_modules", one.name)
            short = one.name.rpartition("/")[2]
            for source, name in {**one.files, one.licence: f"{short}.LICENSE.txt"}.items():
                shutil.copyfile(package / source, folder / name)
                written.append(name)
    return written


def main(words: Sequence[str]) -> int:
    is_axe = words[:1] == ["axe"]
    written = bring([AXE], Path(words[1])) if is_axe else bring(LIBRARIES, VENDOR)
    sys.stdout.write(f"wrote {', '.join(written)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
