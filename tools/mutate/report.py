"""The table of checks that noticed mutations, and the survivors with their reasons."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import click
from attrs import frozen

from joinproto.errors import UsageProblem
from tools.mutate.campaign import Result, read
from tools.mutate.patches import MUTATED_PACKAGES, ROOT, all_mutations, source_of

REVIEWED = Path(__file__).with_name("survivors.toml")
DOCUMENT = ROOT / "docs" / "mutation.md"
BLOCK = re.compile(r"(<!-- mutations -->\n).*?(<!-- end -->)", re.DOTALL)

KINDS = ("import", "unit", "world", "link", "run", "")
SORTS = ("equivalent", "redundant", "bound")
"""Why a survivor is accepted: it has no effect; the rule is redundant; it has an effect only
beyond the bounds of the checks.
"""


@frozen
class Reason:
    """Why a survivor is accepted.  `sort`: one of `SORTS`."""

    name: str
    sort: str
    reason: str


def reasons(names: Collection[str], file: Path = REVIEWED) -> dict[str, Reason]:
    """Return the reviewed reasons.

    Raises `UsageProblem` for a name that no mutation has (any more), or an invalid reason.
    """
    rows = tomllib.loads(file.read_text(encoding="utf-8")).get("survivor", [])
    found = {row["name"]: Reason(**row) for row in rows}
    for one in found.values():
        if one.name not in names:
            raise UsageProblem(
                f"{file.name} has a reason for {one.name}, which is not a mutation",
                next="remove the row, or find the mutation's new name with --list",
            )
        if one.sort not in SORTS or not one.reason:
            raise UsageProblem(
                f"{file.name}: {one.name} has the sort {one.sort!r} and the reason {one.reason!r}",
                next=f"give one of {', '.join(SORTS)}, and say why",
            )
    return found


def write(results: Path, document: Path = DOCUMENT) -> int:
    """Write the table into the document; return the exit code for the results."""
    mutations = {one.name: one for one in all_mutations()}
    known = {
        name: one
        for name, one in read(results).items()
        if (of := mutations.get(name)) is not None and one.source == of.hash(source_of(of.path))
    }
    if not known:
        raise UsageProblem(
            f"{results} holds no result of these sources", next="run without --report first"
        )
    listed = reasons(mutations.keys())
    text = "\n".join(_table(mutations.keys(), known, listed, {n: m.path for n, m in
                                                              mutations.items()}))  # fmt: skip
    before = document.read_text(encoding="utf-8")
    after = BLOCK.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", before)
    document.write_text(after, encoding="utf-8")
    bare = [name for name, one in known.items() if one.survived and name not in listed]
    click.echo(
        f"{document.name}: {len(known)} of {len(mutations)} mutations,"
        f" {len(bare)} survivors without a reason"
    )
    return 1 if bare else 0


def _short(path: str) -> str:
    _, package, *_, name = path.split("/")
    return name if package in ("join", "codec") else f"{package}/{name}"


def _table(
    names: Collection[str],
    known: dict[str, Result],
    listed: dict[str, Reason],
    path_of: dict[str, str],
) -> Iterator[str]:
    hours = sum(one.seconds for one in known.values()) / 3600
    mean = sum(one.seconds for one in known.values()) / len(known)
    yield f"{len(known):,} of {len(names):,} mutations were tried: {hours:.1f} hours of one core,"
    yield f"{mean:.1f} seconds each; all of them would take {mean * len(names) / 3600:.1f} hours."
    yield ""
    yield "| Package | Mutations | Tried | Noticed by its tests | By another catcher | Survived |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, package in MUTATED_PACKAGES.items():
        here = [known[each] for each in known if path_of[each] in package.files]
        of_tests = sum(one.kind in ("unit", "import") for one in here)
        lived_on = sum(one.survived for one in here)
        there = sum(path in package.files for path in path_of.values())
        others = len(here) - of_tests - lived_on
        yield f"| `{name}` | {there} | {len(here)} | {of_tests} | {others} | {lived_on} |"
    yield ""
    yield "By file, noticed first by:"
    yield ""
    yield "| File | Tried | Import | Unit test | World | Link | Random run | Survived |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    counts: Counter[tuple[str, str]] = Counter((path_of[n], one.kind) for n, one in known.items())
    for path in sorted({path for path, _ in counts}):
        row = [counts[path, kind] for kind in KINDS]
        yield f"| `{_short(path)}` | {sum(row)} | {' | '.join(map(str, row))} |"
    row = [sum(n for (_, one), n in counts.items() if one == kind) for kind in KINDS]
    yield f"| all | {sum(row)} | {' | '.join(map(str, row))} |"
    yield ""
    by = Counter(one.by for one in known.values() if one.kind not in ("", "unit", "import"))
    late = Counter(one.by for one in known.values() if one.kind == "import")
    yield (
        f"Of the mutations that survive the tests, a claim noticed {by['claim']},"
        f" another count alone {by['pin']},"
        f" an error {by['error']}, a time-out {by['time-out'] + late['time-out']}."
    )
    lived = sorted(name for name, one in known.items() if one.survived)
    if lived:
        yield ""
        yield "| Survivor | Sort | Reason |"
        yield "|---|---|---|"
        for name in lived:
            why = listed.get(name, Reason(name, "open", known[name].differs))
            yield f"| `{name}` | {why.sort} | {why.reason} |"
