"""JUnit's XML: a suite for each world, a case for each claim.  An undetermined claim is an error.

The form is the one that pytest and Jenkins write and read.  Characters that XML 1.0 cannot hold are
escaped as Python escapes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from joinproto.cli.reports.verdicts import CheckEnd, Failed, Finding, Outcome
from joinproto.cli.show.chart import chart

WIDTH = 100
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(outcomes: Sequence[CheckEnd]) -> str:
    """Return the report of these searches."""
    root = ET.Element("testsuites", name="joinproto check")
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            _add_failed(root, outcome)
        else:
            _add_suite(root, outcome)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_suite(root: ET.Element, outcome: Outcome) -> None:
    found = list(outcome.findings())
    errors = sum(item.verdict == "undetermined" for item in found)
    failures = sum(not item.is_as_expected for item in found) - errors
    suite = ET.SubElement(
        root,
        "testsuite",
        name=_clean(outcome.name),
        tests=str(len(found)),
        failures=str(failures),
        errors=str(errors),
        skipped="0",
        time=f"{outcome.report.seconds:.3f}",
    )
    for item in found:
        case = ET.SubElement(
            suite, "testcase", classname=_clean(outcome.name), name=_clean(item.name), time="0"
        )
        run = _run(item)
        if item.is_as_expected:
            output = ET.SubElement(case, "system-out")
            output.text = _clean(f"{item.words}\n\n{run}" if run else item.words)
            continue
        kind = "error" if item.verdict == "undetermined" else "failure"
        fault = ET.SubElement(case, kind, message=_clean(item.words), type=item.verdict)
        fault.text = _clean(run or item.words)


def _add_failed(root: ET.Element, outcome: Failed) -> None:
    name, why = _clean(outcome.name), _clean(outcome.why)
    counts = {"tests": "1", "failures": "0", "errors": "1", "skipped": "0", "time": "0"}
    suite = ET.SubElement(root, "testsuite", {"name": name, **counts})
    case = ET.SubElement(suite, "testcase", classname=name, name="check", time="0")
    ET.SubElement(case, "error", message=why, type="undetermined").text = why


def _run(item: Finding) -> str:
    trace = None if item.claim is None else item.claim.trace
    return "" if trace is None else chart(trace, width=WIDTH)


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub(lambda found: ascii(found.group())[1:-1], text)
