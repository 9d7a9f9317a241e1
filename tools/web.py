"""Fetch the libraries of our pages from npm, by name, version and checksum.

    python -m tools.web            into joinproto/explore/static/vendor/ (make web)
    python -m tools.web axe DIR    the accessibility checker of the tests, into DIR

None of their code is in the repository.  A wheel that is built afterwards contains the fetched
files with their licences.  The page of `joinproto explore` also works without them.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

VENDOR = Path(__file__).resolve().parents[1] / "joinproto/explore/static/vendor"


@frozen
class Library:
    """A package of npm.  `files`: a path in the package to the name in our folder."""

    name: str
    version: str
    integrity: str
    """SHA-512 of the archive, in Base64: the `integrity` of npm's lock files."""
    files: Mapping[str, str]
    licence: str = "LICENSE"


LIBRARIES = (
    Library(
        "cytoscape",
        "3.35.0",
        "sMvBIXiGMnhkCaWz2R06FwF/27MNlS+Tqvi17foO9UhnUg3XGZccKjxsvEqQFAQYMSSZmN5SxYzUYlQ0DOJJ3g==",
        {"dist/cytoscape.min.js": "cytoscape.js"},
    ),
    Library(
        "cytoscape-dagre",
        "4.0.1",
        "hyNdh8Vp1nwzBcjHnM4c71G81bFhPmQYLXD2HM9AZIvl+8TrMzWEOPW45hF/XOBQiEguPcDQzi6VrXR1XBcXOA==",
        {"dist/cytoscape-dagre.min.js": "cytoscape-dagre.js"},
    ),
    # The authors of the library above have built this one into it.
    Library(
        "@dagrejs/dagre",
        "3.0.0",
        "ZzhnTy1rfuoew9Ez3EIw4L2znPGnYYhfn8vc9c4oB8iw6QAsszbiU0vRhlxWPFnmmNSFAkrYeF1PhM5m4lAN0Q==",
        {},
    ),
    Library(
        "uplot",
        "1.6.32",
        "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {"dist/uPlot.iife.min.js": "uplot.js", "dist/uPlot.min.css": "uplot.css"},
    ),
)
"""The libraries of the pages, all with the MIT licence."""

AXE = Library(
    "axe-core",
    "4.14.1",
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    {"axe.min.js": "axe.js"},
)
"""A library with the MPL 2.0, which is only for tests, and in no wheel."""

MERMAID = Library(
    "mermaid",
    "11.6.0",
    "PE8hGUy1LDlWIHWBP05SFdqUHGmRcCcK4IzpOKPE35eOw+G9zZgcnMpyunJVUEOgb//KBORPjysKndw8bFLuRg==",
    {"dist/mermaid.min.js": "mermaid.min.js"},
)
"""A library with the MIT licence, for the site of the documents."""


def bring(libraries: Sequence[Library], folder: Path) -> list[str]:
    """Write the files and licences of libraries to `folder`; return the files' names.

    Raises `SystemExit` if npm is missing, does not find a library, or brings another archive.
    """
    if shutil.which("npm") is None:
        raise SystemExit("npm is missing\n  next: on Debian: apt-get install npm")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with tempfile.TemporaryDirectory() as place:
        wanted = [f"{one.name}@{one.version}" for one in libraries]
        # Dependencies are not fetched, because the wanted files work without them.
        done = subprocess.run(
            ["npm", "pack", "--silent", "--pack-destination", place, *wanted],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"npm could not bring {', '.join(wanted)}:\n{done.stderr.strip()}")
        archives = {_integrity(one): one for one in Path(place).glob("*.tgz")}
        for one in libraries:
            if one.integrity not in archives:
                found = ", ".join(f"{file.name}: {has}" for has, file in archives.items())
                raise SystemExit(
                    f"{one.name}@{one.version} must have the checksum {one.integrity}\n"
                    f"  npm brought {found}"
                )
            short = one.name.rpartition("/")[2]
            with tarfile.open(archives[one.integrity]) as archive:
                for source, name in {**one.files, one.licence: f"{short}.LICENSE.txt"}.items():
                    held = archive.extractfile(f"package/{source}")
                    assert held is not None, source
                    (folder / name).write_bytes(held.read())
                    written.append(name)
    return written


def _integrity(file: Path) -> str:
    return base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()


def main(words: Sequence[str]) -> int:
    is_axe = words[:1] == ["axe"]
    written = bring([AXE], Path(words[1])) if is_axe else bring(LIBRARIES, VENDOR)
    sys.stdout.write(f"wrote {', '.join(written)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
