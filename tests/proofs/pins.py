"""For each part of a layer an obligation that fails without it, read from `pins.toml`.

A layer has hundreds of obligations, and without a part most of them are still proved.  So the
table names one that fails, and tests discharge only this one.  If it no longer fails,
`pytest --rewrite` finds another; it also removes lines that name no part.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import z3

from joinproto.prove import show
from joinproto.prove.obligations import HASTY, Obligation, Query

FILE = Path(__file__).with_name("pins.toml")
HEAD = "# A part of a layer, and an obligation that fails without it.  See pins.py.\n"
EFFORTS = (25_000, 100_000, 1_000_000, HASTY)
"""Z3's resource limits for the search of a new pin, the lowest first."""


def pins() -> dict[str, str]:
    """Return the name of an obligation for each `layer/conjunct` and `layer/step/guard`."""
    return tomllib.loads(FILE.read_text("utf-8"))


def text_of(table: Mapping[str, str]) -> str:
    """Return the table as text of the file: one line for each part, sorted."""
    return HEAD + "".join(_line(part, words) for part, words in sorted(table.items()))


def check(part: str, candidates: Sequence[Obligation], *, rewrite: bool) -> None:
    """Check that the obligation pinned for `part` fails; `rewrite`: else pin another that does.

    `candidates`: the obligations that may fail if the part is left out.
    """
    pinned = pins().get(part)
    if any(_fails(one, HASTY) for one in candidates if one.words == pinned):
        return
    found = next((one for effort in EFFORTS for one in candidates if _fails(one, effort)), None)
    assert found is not None, f"{part} is not needed: no obligation fails without it"
    if rewrite:
        FILE.write_text(text_of({**pins(), part: found.words}), "utf-8")
        return
    pytest.fail(
        f"without {part}, {pinned} does not fail, but another obligation does\n"
        f"run pytest --rewrite, or put this line into {FILE.name}: {_line(part, found.words)}"
    )


def _fails(obligation: Obligation, effort: int) -> bool:
    """Return whether Z3 finds a counterexample that the independent reader confirms."""
    query = Query.of(obligation)
    if query.check(effort) != z3.sat:
        return False
    return show.is_confirmed(obligation, query.counterexample(query.solver.model()))


def _line(part: str, words: str) -> str:
    quoted = (json.dumps(text, ensure_ascii=False) for text in (part, words))
    return " = ".join(quoted) + "\n"
