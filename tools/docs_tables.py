"""The tables and diagrams inside the documentation, written anew from the shipped tables.

A block is everything between `<!-- drawing: NAME -->` and `<!-- end -->`; NAME is one that
`joinproto draw` lists, or `sets`, or `chain-sets`.  A test compares the files with what is
made here; `python -m tools.docs_tables` rewrites them.
"""

import re
from pathlib import Path

from joinproto.core import sets
from joinproto.core.chain import succession
from joinproto.core.markdown import legend
from joinproto.errors import UsageProblem
from joinproto.reconcile.tables import SETS as RECONCILE
from tools.diagrams.catalog import drawings

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"(<!-- drawing: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
SETS = {
    "sets": (sets.I, sets.C, sets.D, sets.E, sets.T, sets.A, sets.R, sets.K),
    "chain-sets": (
        succession.SEATS,
        succession.A,
        succession.V,
        succession.S,
        succession.K,
        succession.C,
        succession.STAYING,
    ),
    "reconcile-sets": RECONCILE,
}


def regenerate(text: str) -> str:
    """Return `text` with every block written anew."""
    known = drawings()

    def block(found: re.Match[str]) -> str:
        start, name, end = found.groups()
        if name not in SETS and name not in known:
            raise UsageProblem(
                f"there is no drawing {name!r}", next="joinproto draw   lists what can be drawn"
            )
        made = legend(SETS[name]) if name in SETS else known[name].as_text("markdown")
        return f"{start}\n{made}\n\n{end}"

    return BLOCK.sub(block, text)


def stale() -> list[Path]:
    """Return the documents whose blocks are not what the tables say."""
    return [path for path in sorted(DOCS.rglob("*.md")) if regenerate(_read(path)) != _read(path)]


def main() -> None:
    """Rewrite the documents that are stale."""
    for path in stale():
        path.write_text(regenerate(_read(path)), encoding="utf-8")
        print(f"rewritten: {path.name}")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    main()
