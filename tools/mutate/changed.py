"""Selecting mutations by name, or by the lines that changed since a revision."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from fnmatch import fnmatchcase

from joinproto.errors import UsageProblem
from tools.mutate.patches import MUTATED_PACKAGES, ROOT, Mutation

_PIECE = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def chosen(found: list[Mutation], only: Sequence[str], since: str | None) -> list[Mutation]:
    """Return the mutations with these names, or all, of the lines that changed since a revision.

    Raises `UsageProblem` if a name matches no mutation, or git does not know the revision.
    """
    for pattern in only:
        if not any(fnmatchcase(one.name, pattern) for one in found):
            raise UsageProblem(f"no mutation is called {pattern}", next="see --list")
    if only:
        found = [one for one in found if any(fnmatchcase(one.name, it) for it in only)]
    if since is None:
        return found
    lines = lines_since(since)
    return [
        one
        for one in found
        if any(one.lines[0] <= line <= one.lines[1] for line in lines.get(one.path, ()))
    ]


def lines_since(revision: str) -> dict[str, set[int]]:
    """Return the present lines that differ from the revision's, and those around removed lines."""
    files = [path for package in MUTATED_PACKAGES.values() for path in package.files]
    done = subprocess.run(
        ["git", "-C", str(ROOT), "diff", "--unified=0", revision, "--", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UsageProblem(
            f"git does not know the revision {revision}: {done.stderr.strip().splitlines()[0]}",
            next="name a commit, such as HEAD~1 or main",
        )
    found: dict[str, set[int]] = {}
    path = ""
    for line in done.stdout.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ ").removeprefix("b/")
        elif piece := _PIECE.match(line):
            first, count = int(piece[1]), int(piece[2] or 1)
            lines = range(first, first + count) if count else (first, first + 1)
            found.setdefault(path, set()).update(lines)
    return found
