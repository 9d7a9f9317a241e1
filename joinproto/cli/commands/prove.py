"""`joinproto prove`: prove claims for any number of members, and print one line for each.

0  all proved, by both solvers     2  no such claim or conjunct
   if there are two                3  Ctrl-C, without a failure so far
1  an obligation fails, a step     4  z3 or cvc5 is not installed, or a file
   of the code is rejected            cannot be written
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import define, field

from joinproto.cli import completing
from joinproto.cli.interrupting import Interrupt, interruptible
from joinproto.cli.options import AS_JSON, FOLDER, option
from joinproto.cli.output import Terminal, error_stream, is_terminal
from joinproto.cli.show import pieces
from joinproto.codec import json_form
from joinproto.errors import UsageProblem, did_you_mean
from joinproto.prove import printed

if TYPE_CHECKING:
    from joinproto.prove.obligations import Outcome
    from joinproto.prove.opinions import Cvc5Questions, PendingAnswer
    from joinproto_claims.tables import Finding

EXAMPLE = """\b
Examples:
  joinproto prove
  joinproto prove nothing_lost
  joinproto prove --without left_out_is_blocked
  joinproto prove one_successor --verbose
  joinproto prove one_successor --link
  joinproto prove --second cvc5
  joinproto prove chain --smt questions
  joinproto prove --link --mutant status-does-not-freeze
"""

TABLES = "tables"
"""Given in place of a claim's name, it asks for the proofs about the decision tables."""

WORDS = {"proved": "proved ", "fails": "FAILS  ", "unknown": "UNKNOWN"}
INDENT = " " * 12
DIFFERENCES = "the note and the chain: where they differ, and nowhere else"
INVARIANT = "the invariant holds at the beginning, and each step keeps it"


@click.command(epilog=EXAMPLE)
@click.argument("claim", required=False, shell_complete=completing.claims)
@option(
    "--without",
    "Leave out a part of the invariant.",
    metavar="CONJUNCT",
    shell_complete=completing.conjuncts,
)
@option("--link", "Compare the steps of the shipped code with the proof, too.", is_flag=True)
@option("--mutant", "With --link: code with a mistake built in.", metavar="NAME")
@option("--search", "Search for runs that break a claim if a rule is left out.", is_flag=True)
@option("--second", "Ask this solver, too; both must prove each claim.", click.Choice(["cvc5"]))
@option("--smt", "Write each obligation as SMT-LIB 2.6 into a new folder.", FOLDER, metavar="DIR")
@option("--proofs", "With --second and --smt: write cvc5's proofs (CPC), too.", is_flag=True)
@option(("--verbose", "-v"), "Print every obligation.", is_flag=True)
@AS_JSON
def prove(claim: str | None, **options: Any) -> int:
    """Prove claims for any number of members, views and ballots.

    CLAIM is a claim of the protocol, a layer with all its claims, or `tables`; without CLAIM, all
    are proved.  Each claim follows from many small obligations: Z3 is asked for a state that
    contradicts an obligation.  Exit code 0: there is no such state; 1: there is, and it is shown,
    or a solver does not know.
    """
    if options["mutant"] is not None and not options["link"]:
        raise UsageProblem("--mutant without --link", next="add --link, which looks at the code")
    if options["proofs"] and not (options["second"] and options["smt"]):
        raise UsageProblem(
            "--proofs without --second and --smt", next="add --second cvc5 --smt DIR"
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
    second: str | None
    smt: Path | None
    proofs: bool
    verbose: bool
    as_json: bool
    obligations: list[printed.Obligation] = field(factory=list)
    more: dict[str, Any] = field(factory=dict)
    cvc5: Cvc5Questions = field(init=False)
    failing: Outcome | None = None  # the first with a counter-example
    is_bad: bool = False
    interrupt: Interrupt = field(factory=Interrupt)
    began: float = field(factory=time.process_time)
    terminal: Terminal = field(factory=Terminal.now)
    waiting: deque[tuple[PendingAnswer | None, Callable[[printed.Answer | None], None]]] = field(
        factory=deque
    )

    def run(self) -> int:
        with interruptible() as self.interrupt:
            return self._run()

    def call_later(
        self, action: Callable[[printed.Answer | None], None], opinion: PendingAnswer | None = None
    ) -> None:
        """Call `action` with the second solver's answer, after all actions that came before."""
        self.waiting.append((opinion, action))
        while self.waiting and ((first := self.waiting[0][0]) is None or first.done()):
            self._call_first()

    def _call_first(self) -> None:
        opinion, action = self.waiting.popleft()
        action(None if opinion is None else opinion.result())

    def _await_answers(self) -> None:
        """Wait for all answers; after Ctrl-C, take only the answers that have come."""
        while self.waiting:
            first = self.waiting[0][0]
            if self.interrupt.asked and first is not None and not first.done():
                self.waiting.popleft()
            elif self.interrupt.asked or first is None or first.done():
                self._call_first()
            else:
                first.wait()

    def _run(self) -> int:
        # z3 is loaded here, so that the error names the missing extra.
        from joinproto.prove import report
        from joinproto.prove.opinions import Cvc5Questions
        from joinproto.prove.version import leave_ctrl_c, solver_version
        from joinproto_claims import claims

        leave_ctrl_c()
        if self.without is not None and not claims.is_conjunct(self.without):
            raise UsageProblem(
                f"there is no conjunct {self.without!r}",
                next=did_you_mean(self.without, claims.conjuncts())
                + "there are "
                + ", ".join(claims.conjuncts()),
            )
        with Cvc5Questions(self.second is not None, self.smt, self.proofs) as self.cvc5:
            if self.claim != TABLES:
                self._prove_layers()
            if self.claim in (None, TABLES) and self.without is None:
                self._prove_tables()
            self._await_answers()
        proved_in = time.process_time() - self.began
        if self.search and not self.interrupt.asked:
            self._search()
        if self.link and not self.interrupt.asked:
            self._link()
        failed = [one for one in self.obligations if one.result != "proved"]
        is_bad = bool(failed) or self.is_bad or self.cvc5.has_unproved
        if self.as_json:
            found = printed.Proved(
                result="fails" if is_bad else "incomplete" if self.interrupt.asked else "proved",
                claim=self.claim,
                without=self.without,
                solver=solver_version(),
                cpu_seconds=proved_in,
                proved=len(self.obligations) - len(failed),
                failed=len(failed),
                obligations=tuple(self.obligations),
                second=self.cvc5.summary(),
                assumptions=() if self.claim == TABLES else tuple(claims.assumptions(self.claim)),
                **self.more,
            )
            click.echo(json_form.printed(found))
        count = len(self.obligations)
        summary = f"all {count:,} obligations, the parts of the claims, are proved"
        if failed:
            summary = f"{len(failed)} of {count:,} obligations fail"
        elif self.interrupt.asked:
            summary = f"interrupted: {count:,} obligations are proved, others not asked"
        self.say(f"\n{summary}; {proved_in:.1f} s of CPU, {solver_version()}")
        self._lines(report.opinion_lines(self.cvc5))
        return 1 if is_bad else 3 if self.interrupt.asked else 0

    def _prove_layers(self) -> None:
        from joinproto.prove.obligations import discharge, obligations
        from joinproto_claims import claims

        for layer, wanted in claims.wanted(self.claim):
            cut = layer if self.without is None else claims.without(layer, self.without)
            rows = _Rows(self)
            about = f"{layer.name}: {len(cut.conjuncts)} conjuncts, {len(cut.steps)} steps"
            self.call_later(partial(rows.begin, about))
            for obligation in obligations(cut, wanted):
                if self.interrupt.asked:
                    break
                # Only the first counter-example is made small; later ones are only counted.
                outcome = discharge(obligation, small=self.failing is None)
                is_first = self.failing is None and outcome.against is not None
                if is_first:
                    self.failing = outcome
                answered = partial(self._outcome, rows, outcome, is_first)
                self.call_later(answered, self.cvc5.ask(outcome.query))
            self.call_later(rows.end)

    def _outcome(
        self, rows: _Rows, outcome: Outcome, is_first: bool, second: printed.Answer | None
    ) -> None:
        from joinproto.prove import report, show
        from joinproto.prove.layer import Claim

        asked = outcome.obligation
        self.obligations.append(report.outcome_told(outcome, shown=is_first, second=second))
        claim = asked.subject if isinstance(asked.subject, Claim) else None
        of = INVARIANT if claim is None else f"{claim.name}: {claim.about}"
        rows.add(of, outcome.result, second, outcome.seconds, asked.words)
        if is_first and outcome.against is not None:
            self._lines(show.lines(asked, outcome.against), indent=INDENT)

    def _prove_tables(self) -> None:
        from joinproto_claims import differences, tables

        rows = _Rows(self)
        about = f"{TABLES}: each case can be reached, and one always holds"
        self.call_later(partial(rows.begin, about))
        for finding in (*tables.findings(), *differences.compare()):
            if self.interrupt.asked:
                break
            self.call_later(partial(self._finding, rows, finding), self.cvc5.ask(finding))
        self.call_later(rows.end)

    def _finding(self, rows: _Rows, finding: Finding, second: printed.Answer | None) -> None:
        kind = "is so of the shipped tables"
        more = {"obligation": finding.words, "kind": kind, "second": second}
        self.obligations.append(json_form.filled(printed.Obligation, finding, layer=TABLES, **more))
        of = finding.words.split(": ")[1]
        of = DIFFERENCES if of.startswith("the note") else of
        rows.add(of, finding.result, second, finding.seconds, finding.words)
        if self.verbose or finding.result != "proved":
            self._lines([finding.example] if finding.example else [], indent=INDENT)

    def _search(self) -> None:
        from joinproto.prove import bounded, report
        from joinproto_claims.bounded_worlds import WORLDS

        searches = []
        self._lines(["", "runs from the beginning, with a rule left out:"])
        for searched in bounded.search(WORLDS):
            searches.append(report.search_told(searched))
            self._lines(report.search_lines(searched))
            self.is_bad = self.is_bad or not searched.is_as_expected
        self.more["search"] = tuple(searches)

    def _link(self) -> None:
        from joinproto.prove import report
        from joinproto.prove.link import lookup
        from joinproto.prove.link.run import link
        from joinproto_claims import claims
        from joinproto_claims.linked import worlds

        layers = frozenset(layer.name for layer, _ in claims.wanted(self.claim))
        links = []
        self._lines(["", "steps of the shipped code, compared with the relations:"])
        explored = []
        for linked in worlds(layers, self.mutant):
            if is_terminal():
                click.echo(f"  looking at {linked.world}", err=True, file=error_stream())
            for found in link(linked, mutant=self.mutant, layers=layers):
                explored.append(found)
                links.append(report.link_told(found))
                self._lines(report.link_lines(found))
                self.is_bad = self.is_bad or found.rejected is not None
        self.more["link"] = tuple(links)
        if self.mutant is None:
            steps = sum({one.world: one.steps for one in explored}.values())
            self._lines([f"{steps:,} distinct steps of the code together"])
        if self.failing is not None and self.failing.against is not None:
            looked = lookup.look_up(self.failing.obligation, self.failing.against, explored)
            self.more["lookup"] = (report.lookup_told(looked),)
            self._lines(["", f"the state that contradicts “{self.failing.obligation.words}”:"])
            self._lines(report.lookup_lines(looked), indent="  ")

    def _lines(self, lines: Iterable[str], *, indent: str = "") -> None:
        for line in lines:
            self.say(f"{indent}{line}" if line else "")

    def say(self, line: str) -> None:
        """Print one line, unless the output is JSON."""
        if not self.as_json:
            click.echo(self.terminal.glyphs.text(line))

    def say_row(self, result: str, seconds: float, words: str) -> None:
        """Print the line of one answer; it is wrapped into the column after the time."""
        text = pieces.line(f"{WORDS[result]} {seconds:7.3f} s  {words}")
        self.say(self.terminal.paragraph(text, indent=21))


def _worse(one: str, other: str) -> str:
    return max(one, other, key=["proved", "unknown", "fails"].index)


@define
class _Rows:
    """Answers, with a line for each claim; with --verbose, a line for each answer."""

    run: _Run
    found: dict[str, tuple[str, float]] = field(factory=dict)

    def begin(self, about: str, _second: printed.Answer | None) -> None:
        """Print the heading of the next lines, without --verbose."""
        if not self.run.verbose:
            self.run.say(f"\n{about}" if self.run.obligations else about)

    def add(
        self, of: str, result: str, second: printed.Answer | None, seconds: float, words: str
    ) -> None:
        """Count an answer, the worse one if two solvers are asked; print it unless it is proved."""
        if second not in (None, "proved") or (second == "proved" != result):
            words += f"; {self.run.second}: {second}"
            result = _worse(result, second)
        if self.run.verbose or result != "proved":
            self.run.say_row(result, seconds, words)
        before, spent = self.found.get(of, ("proved", 0.0))
        self.found[of] = (_worse(before, result), spent + seconds)

    def end(self, _second: printed.Answer | None) -> None:
        """Print a line for each claim, without --verbose."""
        if not self.run.verbose:
            for of, (result, seconds) in self.found.items():
                self.run.say_row(result, seconds, of)
