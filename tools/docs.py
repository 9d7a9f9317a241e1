"""`make docs`: write the generated parts of the documentation again.

A block is between `<!-- KIND: NAME -->` and `<!-- end -->`.  The kinds are `trace` (the shortest
failing run of a world, as the command shows it), `include` (a file: Python, or Markdown), `api`
(public names), `check` (public names of `joinproto.check`), `drawing` (a shipped table), `json`
(the keys that commands print), `output` (a command, run from the root, and the beginning of its
output), `claims` (the proved claims of a layer, or `differences`), and `incidents` (their worlds,
and the faults that defeat each fix).  `...` stands for omitted lines of a run or an output, and for
lines with times.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import click

import joinproto.check
from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.cli.show.chart import chart
from joinproto.errors import UsageProblem
from joinproto_claims.claims import LAYERS
from joinproto_claims.differences import WHY
from tools import docs_api, docs_tables, fixes
from tools import json_schema as schema

ROOT = Path(__file__).parents[1]
WIDTH = 88
TIMED = ("  time ", "  memory ", "  code ", "  search ")
PROGRESS = re.compile(r"compiling the search|level \d+: ")
TOOK = re.compile(r"=+ (.*) in [\d.]+s =+")
BLOCK = re.compile(
    r"(<!-- (trace|include|api|check|drawing|json|output|claims|incidents): "
    r"([^>\n]+) -->\n).*?(<!-- end -->)",
    re.DOTALL,
)


def _trace(world: str) -> str:
    trace = check(load_world(world)).trace
    if trace is None:
        raise UsageProblem(f"world {world} has no failing run", next="name a world that must fail")
    text = chart(trace, width=WIDTH).rstrip()
    lines = f"...\n\n{text}\n\n...".splitlines()
    return "\n".join(f"    {line}".rstrip() for line in lines)


def _include(name: str) -> str:
    text = (ROOT / name).read_text(encoding="utf-8").rstrip()
    return f"```python\n{text}\n```" if name.endswith(".py") else text


def _output(command: str) -> str:
    """Return a command and its output, without the evidence at the end."""
    words = [
        found
        for word in shlex.split(command)
        for found in (_matching(word) if "*" in word else [word])
    ]
    # pytest gets only our plugin, because machines have different other plugins.  In CI pytest
    # writes its summary in another form.
    here = {key: value for key, value in os.environ.items() if key not in ("CI", "BUILD_NUMBER")}
    environment = {
        **here,
        "COLUMNS": "100",
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "joinproto.cli.pytest_plugin",
    }
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if not PROGRESS.match(line)]
    if complaints:
        raise UsageProblem("\n".join([command, *complaints]), next="name a command that works")
    kept, cut, _ = done.stdout.partition("\n\nevidence")
    shown = [
        "  ..." if line.startswith(TIMED) else line
        for line in [*TOOK.sub(r"=== \1 ===", kept).splitlines(), *["", "..."][: 2 * bool(cut)]]
    ]
    lines = [line for line, _ in groupby([f"$ {command}", *shown])]
    return "\n".join(f"    {line}".rstrip() for line in lines)


def _matching(pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))


def _claims(layer: str) -> str:
    """Return each claim of a layer with its meaning, or each difference of note and chain."""
    if layer == "differences":
        return "\n".join(f"    {one}\n      {why}" for one, why in sorted(WHY.items()))
    (found,) = (one for one in LAYERS if one.name == layer)
    return "\n".join(
        "\n      ".join([f"    {claim.name}", *textwrap.wrap(claim.about, WIDTH)])
        for claim in found.claims
    )


def _api(names: str) -> str:
    return "\n\n".join(map(docs_api.described, names.split()))


def _check_names(names: str) -> str:
    return "\n\n".join(docs_api.described(name, joinproto.check) for name in names.split())


MAKERS: dict[str, Callable[[str], str]] = {
    "trace": _trace,
    "include": _include,
    "api": _api,
    "check": _check_names,
    "drawing": docs_tables.table,
    "json": schema.document,
    "output": _output,
    "claims": _claims,
    "incidents": fixes.table,
}


def regenerate(text: str) -> str:
    """Return a document's text with the present content of every block."""

    def block(found: re.Match[str]) -> str:
        start, kind, name, end = found.groups()
        return f"{start}\n{MAKERS[kind](name)}\n\n{end}"

    return BLOCK.sub(block, text)


def documents() -> list[Path]:
    """Return every document that may hold a block."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def stale() -> list[Path]:
    """Return the documents in which a block differs from its present content."""
    return [path for path in documents() if regenerate(_read(path)) != _read(path)]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@click.command(epilog="Example: python -m tools.docs")
def main() -> None:
    """Write the generated parts of the documents again if they are stale."""
    for path in stale():
        path.write_text(regenerate(_read(path)), encoding="utf-8")
        click.echo(f"rewritten: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
