"""SARIF 2.1.0: each claim that is not as expected is a result, and its run is a code flow.

Claims that hold are left out, because readers of the format show each result as an alert.  An
undetermined claim is a warning, and not of the kind `open`, which readers hide.  Source: OASIS,
"Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from joinproto import __version__
from joinproto.check.options import words_of
from joinproto.check.report import Trace
from joinproto.cli.reports import places
from joinproto.cli.reports.places import Place
from joinproto.cli.reports.verdicts import CheckEnd, Failed, Finding, Outcome
from joinproto.cli.show.story import story_of
from joinproto.cli.show.words import headline, in_one_line, sentence

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "worldAndClaim/v1"


def sarif(outcomes: Sequence[CheckEnd]) -> str:
    """Return the report of these searches."""
    results: list[dict[str, Any]] = []
    rules: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            # The failure may be about no file, so it has no place.
            words = {"text": f"{outcome.name}: undetermined: {outcome.why}"}
            results.append({"ruleId": f"{outcome.name}/check", "level": "error", "message": words})
            continue
        for item in outcome.findings():
            rule = _rule(outcome, item)
            rules[rule["id"]] = rule
            if not item.is_as_expected:
                results.append(_result(outcome, item, [*rules].index(rule["id"])))
    driver = {"name": "joinproto", "semanticVersion": __version__, "rules": [*rules.values()]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [
            {"executionSuccessful": not any(isinstance(one, Failed) for one in outcomes)}
        ],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _fingerprint(outcome: Outcome, claim: str) -> str:
    """Return a fingerprint that is the same in each check of a claim, wherever its file lies."""
    words = [outcome.report.world, claim, *words_of(outcome.loaded.options)]
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _rule(outcome: Outcome, item: Finding) -> dict[str, Any]:
    kind = "" if item.claim is None else f" ({item.claim.kind})"
    about = "" if item.claim is None else item.claim.about
    rule: dict[str, Any] = {
        "id": f"{outcome.report.world}/{item.name}",
        "shortDescription": {"text": f"{item.name}{kind}"},
    }
    return {**rule, "fullDescription": {"text": about}} if about else rule


def _result(outcome: Outcome, item: Finding, rule_index: int) -> dict[str, Any]:
    claim, report = item.claim, outcome.report
    trace = None if claim is None else claim.trace
    words = f"“{item.name}” in {outcome.name}: {item.words}"
    if trace is not None:
        words = headline(trace, world=outcome.name, members=report.members)
    where = places.of_claim(outcome.loaded, claim)
    result: dict[str, Any] = {
        "ruleId": f"{report.world}/{item.name}",
        "ruleIndex": rule_index,
        "level": "warning" if item.verdict == "undetermined" else "error",
        "message": {"text": words},
        "locations": [{"physicalLocation": _physical(where)}],
        "partialFingerprints": {FINGERPRINT: _fingerprint(outcome, item.name)},
        "properties": {"verdict": item.verdict},
    }
    if trace is not None and trace.steps:
        flow = {"locations": list(_steps(outcome, trace))}
        result["codeFlows"] = [{"message": {"text": words}, "threadFlows": [flow]}]
    return result


def _steps(outcome: Outcome, trace: Trace) -> Iterator[dict[str, Any]]:
    story = story_of(trace)
    found = places.of_steps(outcome.loaded, trace)
    for moment, where in zip(story.moments[1:], found, strict=True):
        words = f"{sentence(moment, story).text}; {in_one_line(moment)}"
        state = {
            f"{name}.{key}" if key else name: {"text": value}
            for name in moment.changed
            for key, value in moment.states.get(name, {}).items()
        }
        yield {
            "location": _location(where.code, f"{moment.number}. {words}"),
            "executionOrder": moment.number,
            "nestingLevel": 0,
            **({"state": state} if state else {}),
        }
        for rule, row in where.rows.items():
            yield {
                "location": _location(row, f"{moment.number}. by {rule}"),
                "executionOrder": moment.number,
                "nestingLevel": 1,
            }


def _location(place: Place, words: str) -> dict[str, Any]:
    return {"physicalLocation": _physical(place), "message": {"text": words}}


def _physical(place: Place) -> dict[str, Any]:
    artifact = {"uri": place.file.as_uri()}
    if (uri := place.below_here) is not None:
        artifact = {"uri": uri, "uriBaseId": "%SRCROOT%"}
    return {"artifactLocation": artifact, "region": {"startLine": place.line}}
