"""The verdict on event logs: do the members keep to the protocol, and do its claims hold?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from attrs import frozen

from joinproto import __version__
from joinproto.json_form import Count, Key
from tools.validate.history import History
from tools.validate.logs import Run, read_runs
from tools.validate.properties import PROPERTIES
from tools.validate.replay import Mismatch, replay

SHOWN = 3


@frozen
class Judged:
    """One claim."""

    name: Annotated[str, "as in docs/protocol.md"]
    found: Annotated[tuple[str, ...], "what breaks it, in words"]

    @property
    def result(self) -> Annotated[Literal["holds", "violated"], "what was found"]:
        return "violated" if self.found else "holds"


@frozen(kw_only=True)
class Verdict:
    """`joinproto validate LOG... --json`"""

    runs: Annotated[Count, "processes, one log each"]
    lines: Annotated[Count, "events in them that were replayed"]
    members: Annotated[tuple[str, ...], "whose logs there are"]
    views: Annotated[Count, "views that they learned"]
    committed: Annotated[Count, "frames that every member of their view had on its disk"]
    openings: int
    claims: Annotated[tuple[Judged, ...], Key("properties"), "every claim"]
    mismatch: Annotated[Mismatch | None, "the first line that the member would not have written"]
    notes: Annotated[tuple[str, ...], "what was not judged, and why"]

    @property
    def result(self) -> Annotated[Literal["holds", "violated"], "of all together"]:
        return "holds" if self.holds else "violated"

    @property
    def broken(self) -> dict[str, tuple[str, ...]]:
        """Return what breaks each claim, by its name."""
        return {claim.name: claim.found for claim in self.claims}

    @property
    def holds(self) -> bool:
        return self.mismatch is None and not any(claim.found for claim in self.claims)


def validate(paths: Iterable[Path]) -> Verdict:
    """Return the verdict on these logs; raises `UsageProblem` for logs that are none."""
    runs = read_runs(paths)
    history = History()
    mismatch = None
    for run in runs:
        found = replay(run, history.look)
        mismatch = mismatch or found
    broken = {name: tuple(claim(history)) for name, claim in PROPERTIES.items()}
    broken["nothing_invented"] = tuple(_invented(runs))
    members = tuple(sorted({run.member for run in runs}))
    return Verdict(
        runs=len(runs),
        lines=history.lines,
        members=members,
        views=len(history.views),
        committed=len(history.committed()),
        openings=len(history.openings),
        mismatch=mismatch,
        claims=tuple(Judged(name, found) for name, found in broken.items()),
        notes=tuple(_notes(history, runs, members)),
    )


def _invented(runs: list[Run]) -> list[str]:
    """What a member received, another one has sent; if not, a log is cut, or a peer lied."""
    sent: Counter[tuple[str, str, str]] = Counter()
    logged = {run.member for run in runs}
    for run in runs:
        for line in run.lines:
            if line["kind"] == "batch":
                for to, message in line["sends"]:
                    sent[run.member, to, json.dumps(message)] += 1
    found = []
    for run in runs:
        for line in run.lines:
            if line["kind"] != "receive" or line["peer"] not in logged:
                continue
            message = line["message"]
            if not sent[line["peer"], run.member, json.dumps(message)]:
                found.append(
                    f"{run.path}, line {line['n'] + 1}: {line['peer']} says {message[0]!r}, and its"
                    " log has no such line"
                )
    return found


def _notes(history: History, runs: list[Run], members: tuple[str, ...]) -> list[str]:
    named = {seat.member for view in history.views.values() for seat in view.members}
    missing = sorted(named - set(members))
    notes = []
    if missing:
        notes.append(f"no log of {', '.join(missing)}: what they kept and committed is not judged")
    others = sorted({str(run.start.get("version", __version__)) for run in runs} - {__version__})
    if others:
        notes.append(f"written by joinproto {', '.join(others)}, replayed by {__version__}")
    if not history.openings:
        notes.append("nobody ever served, so most of this says nothing")
    return notes
