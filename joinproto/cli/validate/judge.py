"""The verdict on event logs: do members follow the protocol, and do its claims hold?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from attrs import Factory, define, frozen

from joinproto import __version__
from joinproto.cli.validate.history import History
from joinproto.cli.validate.logs import Run, read_runs
from joinproto.cli.validate.properties import PROPERTIES
from joinproto.cli.validate.replay import Mismatch, ReplayedLine, replay
from joinproto.codec.json_form import Count, Key
from joinproto.host.lines import batch_as_json

EVIDENCE_SHOWN_MAX = 3


@frozen
class JudgedClaim:
    """One claim."""

    name: Annotated[str, "the claim's name in docs/protocol.md"]
    found: Annotated[tuple[str, ...], "the evidence against it, in words"]

    @property
    def result(self) -> Annotated[Literal["holds", "violated"], "the verdict"]:
        return "violated" if self.found else "holds"


class LogVerdict:
    """The common parts of verdicts on logs."""

    __slots__ = ()
    claims: tuple[JudgedClaim, ...]

    @property
    def holds(self) -> bool:
        return not any(claim.found for claim in self.claims)

    @property
    def result(self) -> Annotated[Literal["holds", "violated"], "the verdict on all claims"]:
        return "holds" if self.holds else "violated"


@frozen(kw_only=True)
class Verdict(LogVerdict):
    """`joinproto validate LOG... --json`"""

    runs: Annotated[Count, "processes, each with its log"]
    lines: Annotated[Count, "events in the logs that were replayed"]
    members: Annotated[tuple[str, ...], "the members that have logs"]
    views: Annotated[Count, "views that the members learned"]
    committed: Annotated[Count, "frames that every member of their view had on its disk"]
    openings: int
    claims: Annotated[tuple[JudgedClaim, ...], Key("properties"), "every claim"]
    mismatch: Annotated[Mismatch | None, "the first line that the member would not have written"]
    notes: Annotated[tuple[str, ...], "parts that were not judged, and why"]
    assumed: Annotated[tuple[str, ...], "facts that the logs leave out and that were assumed"]

    @property
    def counted(self) -> str:
        """Return the amounts in the logs, in one line."""
        return (
            f"{self.runs} runs of {', '.join(self.members)}: {self.lines} events,"
            f" {self.views} views, {self.openings} times active,"
            f" {self.committed} frames committed"
        )

    @property
    def broken(self) -> dict[str, tuple[str, ...]]:
        """Return the evidence against each claim, by its name."""
        return {claim.name: claim.found for claim in self.claims}

    @property
    def holds(self) -> bool:
        return self.mismatch is None and super().holds


def validate(paths: Iterable[Path]) -> Verdict:
    """Return the verdict on these logs; raises `UsageProblem` for files that are not logs."""
    history = History()
    try:
        return _verdict(read_runs(paths), history)
    finally:
        history.frames.spill.close()


def _verdict(runs: list[Run], history: History) -> Verdict:
    messages = _Messages()

    def record(seen: ReplayedLine) -> None:
        history.record(seen)
        messages.record(seen)

    mismatch = None
    for run in runs:
        found = replay(run, record, history.assumed)
        mismatch = mismatch or found
    broken = {name: tuple(claim(history)) for name, claim in PROPERTIES.items()}
    broken["nothing_invented"] = tuple(messages.invented(history.logged))
    members = tuple(sorted(history.logged))
    return Verdict(
        runs=len(runs),
        lines=history.lines,
        members=members,
        views=len(history.views),
        committed=sum(frames.count for frames in history.committed().values()),
        openings=len(history.openings),
        mismatch=mismatch,
        claims=tuple(JudgedClaim(name, found) for name, found in broken.items()),
        notes=tuple(_notes(history, runs, members)),
        assumed=tuple(_assumed(history, members)),
    )


@define
class _Messages:
    """Checks that received messages were sent; if not, a log is cut, or a peer lied.

    Only hashes of messages are kept, each once, because members repeat their messages.
    """

    sent: set[int] = Factory(set)
    received: dict[int, tuple[str, str]] = Factory(dict)  # the sender, and a description

    def record(self, seen: ReplayedLine) -> None:
        line, own = seen.line, seen.run.member
        if line["kind"] == "batch":
            sends = line.get("sends")
            if sends is None:
                sends = batch_as_json(seen.member.poll(), own)["sends"]
            for to, message in sends:
                self.sent.add(hash((own, to, json.dumps(message))))
        elif line["kind"] == "receive":
            peer, message = line["peer"], line["message"]
            key = hash((peer, own, json.dumps(message)))
            if key not in self.sent and key not in self.received:
                about = f"{seen.run.path}, line {line['n'] + 1}: {peer} says {message[0]!r}"
                self.received[key] = peer, about

    def invented(self, logged: set[str]) -> Iterator[str]:
        """Yield received messages that the log of their sender does not have, if it is given."""
        for key, (peer, about) in self.received.items():
            if key not in self.sent and peer in logged:
                yield f"{about}, but its log has no such line"


def _assumed(history: History, members: tuple[str, ...]) -> list[str]:
    without_log = [
        f"{name} has no log: it was ready where others served, had the frames that they"
        " acknowledged, and sent the messages that they received from it"
        for name in _unlogged(history, members)
    ]
    facts = sorted(history.assumed.items())
    return without_log + [f"{fact} ({count} times)" for fact, count in facts]


def _unlogged(history: History, members: tuple[str, ...]) -> list[str]:
    named = {seat.member for view in history.views.values() for seat in view.members}
    return sorted(named - set(members))


def _notes(history: History, runs: list[Run], members: tuple[str, ...]) -> list[str]:
    notes = []
    if missing := _unlogged(history, members):
        notes.append(f"no log of {', '.join(missing)}: their frames and commits are not judged")
    going_on = sorted({run.member for run in runs if run.goes_on})
    if going_on:
        notes.append(f"{', '.join(going_on)}: lines written since the reading began are left out")
    others = sorted({run.version or __version__ for run in runs} - {__version__})
    if others:
        notes.append(f"written by joinproto {', '.join(others)}, replayed by {__version__}")
    if not history.openings:
        notes.append("no member ever served, so most claims were not put to a test")
    return notes
