"""`joinproto prove`: claims for any number of members, one line per obligation.

0  all proved                      2  no such claim or conjunct
1  an obligation fails             4  z3 is not installed
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import click
from attrs import define, field

from joinproto.errors import UsageProblem
from tools.cli.output import Terminal

EXAMPLE = """\b
Examples:
  joinproto prove
  joinproto prove nothing_lost
  joinproto prove --without left_out_is_blocked
"""

TABLES = "tables"
"""Asked for like a claim: what is proved of the decision tables."""


@click.command(epilog=EXAMPLE)
@click.argument("claim", required=False)
@click.option("--without", metavar="CONJUNCT", help="Leave out a part of the invariant.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def prove(claim: str | None, without: str | None, as_json: bool) -> int:
    """Prove what holds for any number of members, views and ballots.

    CLAIM is one of the protocol's, or `tables`; without it, all are proved.  Exit code 0:
    every obligation is proved; 1: one fails, and a state that speaks against it is shown.
    """
    return _Run(claim, without, as_json).run()


@define
class _Run:
    claim: str | None
    without: str | None
    as_json: bool
    told: list[dict[str, Any]] = field(factory=list)
    began: float = field(factory=time.process_time)
    terminal: Terminal = field(factory=lambda: Terminal.now(colours=False))

    def run(self) -> int:
        # z3 is loaded here, so that a missing extra is told by its name.
        from proofs import claims
        from proofs.version import solver_version

        if self.without is not None and not claims.is_conjunct(self.without):
            raise UsageProblem(
                f"there is no conjunct {self.without!r}",
                next="there are " + ", ".join(claims.conjuncts()),
            )
        if self.claim != TABLES:
            for outcome in self._layers():
                self._tell(outcome)
        if self.claim in (None, TABLES) and self.without is None:
            for finding in self._tables():
                self._tell_of_table(finding)
        failed = [one for one in self.told if one["result"] != "proved"]
        seconds = time.process_time() - self.began
        if self.as_json:
            found = {
                "result": "fails" if failed else "proved",
                "claim": self.claim,
                "without": self.without,
                "solver": solver_version(),
                "cpu_seconds": round(seconds, 3),
                "proved": len(self.told) - len(failed),
                "failed": len(failed),
                "obligations": self.told,
                "assumptions": [] if self.claim == TABLES else list(claims.assumptions(self.claim)),
            }
            click.echo(json.dumps(found))
        else:
            what = (
                f"{len(failed)} of {len(self.told)} obligations fail"
                if failed
                else (f"all {len(self.told)} obligations are proved")
            )
            click.echo(f"\n{what}; {seconds:.1f} s of CPU, {solver_version()}")
        return 1 if failed else 0

    def _layers(self) -> Iterator[Any]:
        from proofs import claims
        from proofs.obligations import discharge, obligations

        shown = False
        for layer, wanted in claims.wanted(self.claim):
            cut = layer if self.without is None else claims.without(layer, self.without)
            for obligation in obligations(cut, wanted):
                # The first state that speaks against it is made small; the others only count.
                outcome = discharge(obligation, small=not shown)
                shown = shown or outcome.against is not None
                yield outcome

    def _tables(self) -> Iterator[Any]:
        from proofs import differences, tables

        yield from tables.findings()
        yield from differences.compare()

    def _tell_of_table(self, finding: Any) -> None:
        self.told.append(
            {
                "layer": TABLES,
                "obligation": finding.words,
                "kind": "is so of the shipped tables",
                "step": None,
                "subject": None,
                "result": finding.result,
                "seconds": round(finding.seconds, 4),
                "against": None,
                "example": finding.example,
            }
        )
        if not self.as_json:
            self._line(finding.result, finding.seconds, finding.words)
            if finding.example:
                self._say(f"            {finding.example}")

    def _tell(self, outcome: Any) -> None:
        from proofs import show

        first = all(one["against"] is None for one in self.told)
        against = outcome.against if first else None
        obligation = outcome.obligation
        subject = obligation.subject
        self.told.append(
            {
                "layer": obligation.layer.name,
                "obligation": obligation.words,
                "kind": obligation.kind.value,
                "step": None if obligation.step is None else obligation.step.name,
                "subject": None if subject is None else subject.name,
                "result": outcome.result,
                "seconds": round(outcome.seconds, 4),
                "against": None if against is None else show.as_json(obligation, against),
            }
        )
        if self.as_json:
            return
        self._line(outcome.result, outcome.seconds, obligation.words)
        if against is not None:
            for line in show.lines(obligation, against):
                self._say(f"            {line}")

    def _line(self, result: str, seconds: float, words: str) -> None:
        word = {"proved": "proved ", "fails": "FAILS  ", "unknown": "UNKNOWN"}[result]
        self._say(f"{word} {seconds:7.3f} s  {words}")

    def _say(self, line: str) -> None:
        click.echo(self.terminal.glyphs.text(line))
