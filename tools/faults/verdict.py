"""After the storm: is everything there that was acknowledged, and did all keep to the protocol?"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from joinproto.cli.validate.judge import Verdict, validate
from joinproto.codec.json_form import encoded
from tools.faults.clients import Connection, Ledger
from tools.faults.nodes import Fleet

SHOWN = 5
READ_SECONDS = 60.0


@frozen
class Judged:
    """`problems`: one line each; none: the run holds."""

    problems: tuple[str, ...]
    frames: int
    logs: Verdict

    def as_json(self) -> dict[str, Any]:
        return {
            "problems": list(self.problems),
            "frames": self.frames,
            "validate": encoded(self.logs),
        }


def compare(ledger: Ledger, found: dict[str, list[str] | None]) -> list[str]:
    """Return what is wrong with what the nodes show, measured against what they promised."""
    problems = [f"{name} does not show its log" for name, texts in found.items() if texts is None]
    shown = {name: texts for name, texts in found.items() if texts is not None}
    if not shown:
        return problems
    name, first = next(iter(shown.items()))
    for other, texts in shown.items():
        if texts != first:
            at = next(
                (
                    i
                    for i, pair in enumerate(zip(first, texts, strict=False), 1)
                    if pair[0] != pair[1]
                ),
                min(len(first), len(texts)) + 1,
            )
            problems.append(f"{name} and {other} differ from frame {at} on")
    lost = [
        f"{text!r} was acknowledged as frame {number}, and"
        f" {'another one is there' if number <= len(first) else 'the log is shorter'}"
        for text, number in ledger.acknowledged.items()
        if number > len(first) or first[number - 1] != text
    ]
    twice = len(first) - len(set(first))
    wrong = ledger.refused & set(first)
    problems += lost[:SHOWN]
    if len(lost) > SHOWN:
        problems.append(f"and {len(lost) - SHOWN} more acknowledged writes are lost")
    if twice:
        problems.append(f"{twice} writes are in the log twice")
    if wrong:
        problems.append(f"{len(wrong)} writes are in the log that were refused: {min(wrong)!r}")
    return problems


def judge(fleet: Fleet, ledger: Ledger) -> Judged:
    """Read what every node shows, end them all, and judge their event logs."""
    found: dict[str, list[str] | None] = {}
    for name, node in fleet.nodes.items():
        connection = Connection(node.clients, seconds=READ_SECONDS)
        # Who is kept busy reading may be suspended for a moment: what is read stays.
        log = connection.read_all(patience=READ_SECONDS)
        connection.close()
        found[name] = None if log is None else [text for _, text in log]
    problems = compare(ledger, found)
    for node in fleet.nodes.values():
        node.kill()
    logs = validate([fleet.top / "events"])
    if logs.mismatch is not None:
        differs = logs.mismatch
        problems.append(
            f"{differs.path}, line {differs.matching + 1}: {differs.field} is"
            f" {differs.seen[:100]}, and may be {differs.allowed[:100]}"
        )
    for name, broken in logs.broken.items():
        problems += [f"{name}: {what}" for what in broken[:1]]
    frames = max((len(texts) for texts in found.values() if texts is not None), default=0)
    return Judged(tuple(problems), frames, logs)
