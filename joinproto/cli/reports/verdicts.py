"""The verdicts of a report: holds, violated, undetermined.  Undetermined is never a success."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from attrs import frozen

from joinproto.check.loaded import Loaded
from joinproto.check.report import PropertyResult, Report
from joinproto.cli.show import findings

Verdict = Literal["holds", "violated", "undetermined"]
Expected = Literal["holds", "violated"]

_VERDICTS: dict[str, Verdict] = {
    "holds": "holds",
    "reached": "holds",
    "violated": "violated",
    "not-reached": "violated",
    "unknown": "undetermined",
}


def verdict_of(report: Report) -> Verdict:
    """Return the verdict of all claims together."""
    return "undetermined" if report.result == "incomplete" else report.result


def verdict_of_claim(item: PropertyResult) -> Verdict:
    """Return the verdict of one claim; a `sometimes` that was not reached is violated."""
    return _VERDICTS[item.result]


@frozen
class Finding:
    """One finding of a report: a claim, or a remark on the world as a whole.

    `is_as_expected`: the verdict is the expected one, which `undetermined` never is.  `words`: the
    finding, for a person.  `claim`: None for a remark.
    """

    name: str
    verdict: Verdict
    is_as_expected: bool
    words: str
    claim: PropertyResult | None = None


@frozen
class Outcome:
    """The result of a search, and its expected result.

    `loaded`: the world, with its name and options.  `strict`: parts that were never exercised
    count as failures.
    """

    report: Report
    loaded: Loaded
    expected: Expected = "holds"
    strict: bool = False

    @property
    def name(self) -> str:
        """Return the world with its options, as a person types them."""
        return self.loaded.words

    def findings(self) -> Iterator[Finding]:
        """Yield one finding for each claim; for a world that must fail, only whether it fails."""
        report = self.report
        if self.expected == "violated":
            verdict = verdict_of(report)
            broken = [item for item in report.properties if verdict_of_claim(item) == "violated"]
            claim = min(broken, key=lambda item: item.trace_length or 0, default=None)
            words = f"violated, as expected: “{claim.name}”" if claim is not None else verdict
            yield Finding("must be violated", verdict, verdict == "violated", words, claim)
            return
        for item in report.properties:
            verdict = verdict_of_claim(item)
            yield Finding(item.name, verdict, verdict == "holds", _words(report, item), item)
        idle = list(findings.not_exercised(report)) if self.strict else []
        if idle:
            yield Finding("exercised", "violated", False, f"not exercised: {'; '.join(idle)}")


@frozen
class Failed:
    """A check that ended without a result, and is undetermined.  `why`: the reason, in words."""

    name: str
    why: str


CheckEnd = Outcome | Failed
"""The end of one check, with a result or without."""


def _words(report: Report, item: PropertyResult) -> str:
    remark = findings.remark(item)
    why = findings.why_open(report, item) if item.result == "unknown" else ""
    verdict = "not reached" if item.result == "not-reached" else verdict_of_claim(item)
    return verdict + (f" {remark}" if remark else "") + (f": {why}" if why else "")
