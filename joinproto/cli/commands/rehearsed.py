"""What `joinproto recover rehearse` says of members and of brokers alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from joinproto.errors import JoinprotoError
from joinproto.pick.table import Verdict
from joinproto.recovery import show
from joinproto.recovery.judgement import Judgement

UNPROVEN = 5
REFUSED = (Verdict.DIFFERENT_CLUSTERS, Verdict.IN_USE, Verdict.DIVERGED)
HEAD = "before the start"


def require_judged(judgement: Judgement, *, is_twice: bool) -> None:
    """Raise where a restart of these stores means nothing.  `is_twice`: one of them is a copy."""
    if judgement.verdict in REFUSED or is_twice:
        raise JoinprotoError(judgement.sentence, next=judgement.next, code=judgement.code or 5)


def choices_text(said: Sequence[tuple[str, bool, Sequence[str]]]) -> str:
    """Return a table of choices: its name, whether something can be lost, what can follow."""
    width = max(len(HEAD), *(len(name) for name, _, _ in said))
    rows = [f"  {HEAD.ljust(width)}  what can follow"]
    for name, loses, lines in said:
        names = [name, *[""] * len(lines)]
        rows += [
            f"{'!' if loses else ' '} {left.ljust(width)}  {line}"
            for left, line in zip(names, lines, strict=False)
        ]
    return "\n".join(rows)


def not_searched_text(notes: Iterable[str]) -> str:
    """Return what the search left out."""
    return "\n".join(["not searched", *(show.wrapped(note, "  - ", "    ") for note in notes)])
