"""`joinproto prove`: claims for any number of members, one line per obligation.

0  all proved                      2  no such claim or conjunct
1  an obligation fails, a step     4  z3 is not installed
   of the code is rejected
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import click
from attrs import define, field

from joinproto.cli.output import Terminal, error_stream, is_terminal
from joinproto.codec import json_form
from joinproto.errors import UsageProblem
from joinproto.prove import printed

EXAMPLE = """\b
Examples:
  joinproto prove
  joinproto prove nothing_lost
  joinproto prove --without left_out_is_blocked
  joinproto prove one_successor --link
  joinproto prove --link --mutant status-does-not-freeze
"""

TABLES = "tables"
"""Asked for like a claim: what is proved of the decision tables."""

WORDS = {"proved": "proved ", "fails": "FAILS  ", "unknown": "UNKNOWN"}
INDENT = " " * 12


@click.command(epilog=EXAMPLE)
@click.argument("claim", required=False)
@click.option("--without", metavar="CONJUNCT", help="Leave out a part of the invariant.")
@click.option("--link", is_flag=True, help="Hold the steps of the shipped code against it, too.")
@click.option("--mutant", metavar="NAME", help="With --link: code with a mistake built in.")
@click.option("--search", is_flag=True, help="Look for runs that break it, a rule left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def prove(claim: str | None, **options: Any) -> int:
    """Prove what holds for any number of members, views and ballots.

    CLAIM is one of the protocol's, a layer with all its claims, or `tables`; without it, all are
    proved.  Exit code 0: every obligation is proved; 1: one fails, and a state that speaks
    against it is shown.
    """
    if options["mutant"] is not None and not options["link"]:
        raise UsageProblem(
            "--mutant without --link", next="add --link: the code is looked at there"
        )
    for flag in ("link", "without"):
        if claim == TABLES and options[flag]:
            raise UsageProblem(
                f"--{flag} is about the relations, not about tables", next=f"leave out --{flag}"
            )
    return _Run(claim, **options).run()


@define
class _Run:
    claim: str | None
    without: str | None
    link: bool
    mutant: str | None
    search: bool
    as_json: bool
    told: list[printed.Obligation] = field(factory=list)
    more: dict[str, Any] = field(factory=dict)
    failing: Any = None  # the first outcome with a state against it
    is_bad: bool = False
    began: float = field(factory=time.process_time)
    terminal: Terminal = field(factory=lambda: Terminal.now(colours=False))

    def run(self) -> int:
        # z3 is loaded here, so that a missing extra is told by its name.
        from joinproto.prove.version import solver_version
        from joinproto_claims import claims

        if self.without is not None and not claims.is_conjunct(self.without):
            raise UsageProblem(
                f"there is no conjunct {self.without!r}",
                next="there are " + ", ".join(claims.conjuncts()),
            )
        if self.claim != TABLES:
            self._prove_layers()
        if self.claim in (None, TABLES) and self.without is None:
            self._prove_tables()
        proved_in = time.process_time() - self.began
        if self.search:
            self._search()
        if self.link:
            self._link()
        failed = [one for one in self.told if one.result != "proved"]
        is_bad = bool(failed) or self.is_bad
        if self.as_json:
            found = printed.Proved(
                result="fails" if is_bad else "proved",
                claim=self.claim,
                without=self.without,
                solver=solver_version(),
                cpu_seconds=proved_in,
                proved=len(self.told) - len(failed),
                failed=len(failed),
                obligations=tuple(self.told),
                assumptions=() if self.claim == TABLES else tuple(claims.assumptions(self.claim)),
                **self.more,
            )
            click.echo(json_form.printed(found))
        else:
            all_of_them = f"all {len(self.told)} obligations are proved"
            some = f"{len(failed)} of {len(self.told)} obligations fail"
            summary = some if failed else all_of_them
            self._say(f"\n{summary}; {proved_in:.1f} s of CPU, {solver_version()}")
        return 1 if is_bad else 0

    def _prove_layers(self) -> None:
        from joinproto.prove import report, show
        from joinproto.prove.obligations import discharge, obligations
        from joinproto_claims import claims

        for layer, wanted in claims.wanted(self.claim):
            cut = layer if self.without is None else claims.without(layer, self.without)
            for obligation in obligations(cut, wanted):
                # The first state that speaks against it is made small; the others only count.
                outcome = discharge(obligation, small=self.failing is None)
                is_first = self.failing is None and outcome.against is not None
                self.told.append(report.outcome_told(outcome, shown=is_first))
                self._line(outcome.result, outcome.seconds, obligation.words)
                if is_first and outcome.against is not None:
                    self.failing = outcome
                    self._lines(show.lines(obligation, outcome.against), indent=INDENT)

    def _prove_tables(self) -> None:
        from joinproto_claims import differences, tables

        for finding in (*tables.findings(), *differences.compare()):
            self.told.append(
                printed.Obligation(
                    layer=TABLES,
                    obligation=finding.words,
                    kind="is so of the shipped tables",
                    result=finding.result,
                    seconds=finding.seconds,
                    example=finding.example,
                )
            )
            self._line(finding.result, finding.seconds, finding.words)
            self._lines([finding.example] if finding.example else [], indent=INDENT)

    def _search(self) -> None:
        from joinproto.prove import bounded, report
        from joinproto_claims.bounded_worlds import WORLDS

        told = []
        self._lines(["", "runs from the beginning, a rule left out:"])
        for searched in bounded.search(WORLDS):
            told.append(report.search_told(searched))
            self._lines(report.search_lines(searched))
            self.is_bad = self.is_bad or not searched.is_as_expected
        self.more["search"] = tuple(told)

    def _link(self) -> None:
        from joinproto.prove import report
        from joinproto.prove.link import lookup
        from joinproto.prove.link.run import link
        from joinproto_claims import claims
        from joinproto_claims.linked import worlds

        layers = frozenset(layer.name for layer, _ in claims.wanted(self.claim))
        told = []
        self._lines(["", "steps of the code that ships, held against the relations:"])
        explored = []
        for linked in worlds(layers, self.mutant):
            if is_terminal():
                click.echo(f"  looking at {linked.world}", err=True, file=error_stream())
            for found in link(linked, mutant=self.mutant, layers=layers):
                explored.append(found)
                told.append(report.link_told(found))
                self._lines(report.link_lines(found))
                self.is_bad = self.is_bad or found.rejected is not None
        self.more["link"] = tuple(told)
        if self.mutant is None:
            steps = sum({one.world: one.steps for one in explored}.values())
            self._lines([f"{steps:,} distinct steps of the code together"])
        if self.failing is not None:
            looked = lookup.look_up(self.failing.obligation, self.failing.against, explored)
            self.more["lookup"] = (report.lookup_told(looked),)
            self._lines(["", f"the state against “{self.failing.obligation.words}”:"])
            self._lines(report.lookup_lines(looked), indent="  ")

    def _line(self, result: str, seconds: float, words: str) -> None:
        self._lines([f"{WORDS[result]} {seconds:7.3f} s  {words}"])

    def _lines(self, lines: Iterable[str], *, indent: str = "") -> None:
        if not self.as_json:
            for line in lines:
                self._say(f"{indent}{line}" if line else "")

    def _say(self, line: str) -> None:
        click.echo(self.terminal.glyphs.text(line))
