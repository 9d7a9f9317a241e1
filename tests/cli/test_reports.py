"""`--report` and `--github`: output for other programs; undetermined is never a success there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import fastjsonschema
import pytest
from attrs import evolve

from joinproto.check.catalogue import load
from joinproto.check.plain import check_small
from joinproto.check.report import Trace
from joinproto.cli.reports.junit import junit
from joinproto.cli.reports.markdown import markdown
from joinproto.cli.reports.sarif import FINGERPRINT, sarif
from joinproto.cli.reports.verdicts import Expected, Outcome, verdict_of
from joinproto.cli.reports.write import reporting
from tests.cli.running import ROOT, Run, run_here

SWITCH = "docs/examples/with_pytest/worlds/switch.py"
GOOD, BAD, UNCLEAR = (f"{SWITCH}::{name}" for name in ("good", "bad", "unclear"))
ODD = 'a;#"|<b>`%\n\x00\ud800*x* [l](u) end'

MODEL = f"""
from joinproto.check import Message, NOT_ENABLED, Send, World, always

ODD = {ODD!r}

class Member:
    def choices(self):
        return [ODD]

    def receive(self, event):
        if isinstance(event, Message):
            self.got = event.content
        else:
            return [Send(ODD + "b", ODD)]

    def __init__(self):
        self.got = ""

    def shows(self):
        return self.got


def odd() -> World:
    members = {{ODD: Member, ODD + "b": Member}}
    return World(name=ODD, members=members,
                 properties=[always(ODD, lambda view: not any(view.values()))])
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(ROOT)
    return lambda *words: run_here(capsys, "check", *words)


@cache
def outcome(target: str, expected: Expected = "holds") -> Outcome:
    loaded = load(target, {})
    report = check_small(loaded.world)
    assert report is not None
    return Outcome(report, loaded, expected)


def junit_counts(*outcomes: Outcome) -> list[tuple[str, ...]]:
    """Return tests, failures and errors of each suite, as a reader of JUnit counts them."""
    suites = ET.fromstring(junit(outcomes)).findall("testsuite")
    for suite in suites:
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))
    return [
        tuple(suite.get(key, "") for key in ("tests", "failures", "errors")) for suite in suites
    ]


def results(*outcomes: Outcome) -> list[Any]:
    found: list[Any] = json.loads(sarif(outcomes))["runs"][0]["results"]
    return found


def test_there_are_three_verdicts_and_undetermined_is_never_a_success() -> None:
    """In each format, a claim holds, is violated, or could not be decided by the search."""
    worlds = [outcome(target) for target in (GOOD, BAD, UNCLEAR)]

    assert ["holds", "violated", "undetermined"] == [verdict_of(one.report) for one in worlds]
    assert [("2", "0", "0"), ("1", "1", "0"), ("2", "0", "1")] == junit_counts(*worlds)
    assert ["error", "warning"] == [result["level"] for result in results(*worlds)]
    assert ["✓", "✓", "✗", "✓", "?"] == re.findall(r"\| ([✓✗?]) ", markdown(worlds))


def test_a_world_that_must_fail_succeeds_only_if_it_fails() -> None:
    worlds = [outcome(target, "violated") for target in (GOOD, BAD, UNCLEAR)]

    assert [("1", "1", "0"), ("1", "0", "0"), ("1", "0", "1")] == junit_counts(*worlds)
    assert ["error", "warning"] == [result["level"] for result in results(*worlds)]


def test_a_failure_in_junit_shows_its_run() -> None:
    failure = ET.fromstring(junit([outcome(BAD)])).find("testsuite/testcase/failure")

    assert failure is not None
    assert "lamp receives blink from button" in (failure.text or "")


# -- SARIF ---------------------------------------------------------------------------------


def _object(needed: str, optional: str = "", **kinds: Any) -> dict[str, Any]:
    names = [*needed.split(), *optional.split()]
    return {
        "type": "object",
        "required": needed.split(),
        "properties": {name: kinds.get(name, {"type": "string"}) for name in names},
        "additionalProperties": False,
    }


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


TEXT = _object("text")
NUMBER = {"type": "integer", "minimum": 0}
PHYSICAL = _object(
    "artifactLocation region",
    artifactLocation=_object("uri", "uriBaseId"),
    region=_object("startLine", startLine={"type": "integer", "minimum": 1}),
)
STEP = _object(
    "location executionOrder nestingLevel",
    "state",
    location=_object("physicalLocation message", physicalLocation=PHYSICAL, message=TEXT),
    executionOrder=NUMBER,
    nestingLevel=NUMBER,
    state={"type": "object", "additionalProperties": TEXT},
)
FLOW = _object(
    "message threadFlows",
    message=TEXT,
    threadFlows=_list(_object("locations", locations=_list(STEP))),
)
RESULT = _object(
    "ruleId ruleIndex level message locations partialFingerprints properties",
    "codeFlows",
    ruleIndex=NUMBER,
    level={"enum": ["error", "warning"]},
    message=TEXT,
    locations=_list(_object("physicalLocation", physicalLocation=PHYSICAL)),
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
    properties={"type": "object"},
    codeFlows=_list(FLOW),
)
RULE = _object(
    "id shortDescription", "fullDescription", shortDescription=TEXT, fullDescription=TEXT
)
DRIVER = _object("name semanticVersion rules", rules=_list(RULE))
FAILED = _object("ruleId level message", level={"const": "error"}, message=TEXT)
RUN = _object(
    "tool columnKind results invocations",
    tool=_object("driver", driver=DRIVER),
    columnKind={"enum": ["unicodeCodePoints"]},
    results=_list({"anyOf": [RESULT, FAILED]}),
    invocations=_list(_object("executionSuccessful", executionSuccessful={"type": "boolean"})),
)
LOG: Callable[[Any], Any] = fastjsonschema.compile(
    _object("$schema version runs", version={"const": "2.1.0"}, runs=_list(RUN))
)
"""The part of SARIF 2.1.0 that we write, with the names and types of the standard."""


@pytest.mark.parametrize("target", [BAD, UNCLEAR, "note-lone-restart"])
def test_sarif_has_the_form_of_the_standard(target: str) -> None:
    log = json.loads(sarif([outcome(target)]))

    LOG(log)
    for result in log["runs"][0]["results"]:
        assert (
            result["ruleId"] == log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
        )


def lines_of(target: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the line of source at each place of the code flow."""
    monkeypatch.chdir(ROOT)
    (result, *_) = results(outcome(target))
    (flow,) = result["codeFlows"][0]["threadFlows"]
    places = [one["location"]["physicalLocation"] for one in flow["locations"]]
    return [
        (ROOT / place["artifactLocation"]["uri"])
        .read_text("utf-8")
        .splitlines()[place["region"]["startLine"] - 1]
        .strip()
        for place in places
    ]


def test_each_step_has_the_line_of_the_members_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the first line of the arm that the member took."""
    assert [
        'return [Send("lamp", self.words.pop(0))]',
        'return [Send("lamp", self.words.pop(0))]',
        'self.light = f"broken by {word}"',
    ] == lines_of(BAD, monkeypatch)


def test_a_step_that_takes_a_row_of_a_table_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of this run take I1, twice I8, I1, S2, and twice I8."""
    lines = lines_of("note-lone-restart", monkeypatch)

    assert ["I1", "I8", "I8", "I1", "S2", "I8", "I8"] == [
        found for line in lines for found in re.findall(r'^\(?(?:Case\()?"([A-Z]\d)",', line)
    ]


def test_a_fingerprint_is_of_the_world_and_the_claim(tmp_path: Path) -> None:
    """It stays the same if the run or the file's place changes; two claims never share one."""
    moved = tmp_path / "moved.py"
    moved.write_text("\n" + (ROOT / SWITCH).read_text("utf-8").replace('"blink"', '"on", "blink"'))

    found = [
        result["partialFingerprints"][FINGERPRINT]
        for one in (
            outcome(BAD),
            outcome(f"{moved}::bad"),
            outcome(UNCLEAR),
            evolve(outcome(BAD), loaded=evolve(outcome(BAD).loaded, options={"members": 3})),
        )
        for result in results(one)
    ]

    assert found[0] == found[1]
    assert 3 == len({*found})


# -- Markdown, and any text ----------------------------------------------------------------


def test_a_diagram_has_a_line_for_each_step() -> None:
    text = markdown([outcome("note-lone-restart")])
    diagram = text.partition("```mermaid\n")[2].partition("```")[0].splitlines()
    trace = outcome("note-lone-restart").report.trace

    assert trace is not None
    assert [f"{number}. " for number in range(1, len(trace.steps) + 1)] == [
        found for line in diagram for found in re.findall(r": (\d+\. )", line)
    ]


def test_no_text_of_a_model_becomes_markup(tmp_path: Path) -> None:
    """Names, contents and claims are shown as they are, with any characters."""
    model = tmp_path / "odd.py"
    model.write_text(MODEL, encoding="utf-8")
    odd = outcome(f"{model}::odd")
    text = markdown([odd])
    drawn = text.partition("```mermaid\n")[2].partition("\n```")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]

    assert isinstance(odd.report.trace, Trace)
    assert {4} == {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert not re.search(r"(?<!\\)[<`*\[]", text.replace("```", "").replace(drawn, ""))
    assert not re.search(r"[<\"`%\\]", drawn)
    assert all(
        len(re.findall(";", line)) == len(re.findall(r"#\d+;", line)) for line in drawn.splitlines()
    )
    assert junit_counts(odd) == [("1", "1", "0")]
    LOG(json.loads(sarif([odd])))
    for form in (junit, sarif, markdown):
        (tmp_path / "report").write_text(form([odd]), encoding="utf-8")


# -- the command ---------------------------------------------------------------------------


def test_a_check_writes_several_reports_and_annotations(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Annotations go to standard error, so that --json stays one object."""
    summary = tmp_path / "summary"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    files = [tmp_path / name for name in ("junit.xml", "sarif.json", "out.sarif", "report.md")]
    words = [word for file in files for word in ("--report", str(file))]

    done = run(BAD, *words, "--github", "--json", "--no-verify")

    assert 1 == done.code
    assert "violated" == done.object["verdict"]
    source = Path(SWITCH).read_text("utf-8").splitlines()
    (line,) = (at for at, text in enumerate(source, start=1) if "the lamp is whole" in text)
    assert f"::error file={SWITCH},line={line},title=violated%3A the lamp is whole::" in done.err
    assert files[3].read_text("utf-8") == summary.read_text("utf-8")
    assert files[1].read_text("utf-8") == files[2].read_text("utf-8")
    assert "VIOLATED" in files[3].read_text("utf-8").splitlines()[0]
    assert ET.parse(files[0]).getroot().find("testsuite/testcase/failure") is not None


def test_a_sweep_writes_one_report_of_all_its_searches(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    done = run("docs/examples/my_window.py", "--set", "window=1..2", "--report", str(file))

    assert 0 == done.code
    assert ["3", "3"] == [one.get("tests") for one in ET.parse(file).getroot()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("no-such-world",), "no-such-world"),
        ((GOOD, "--engine", "local", "--resume"), "--resume"),
        (("docs/examples/my_window.py", "--set", "window=1..x"), "window"),
    ],
)
def test_a_check_that_ends_in_an_error_leaves_no_success(
    run: Run, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    """The error, as undetermined, replaces the report of the earlier check."""
    files = [tmp_path / name for name in ("junit.xml", "sarif.json", "report.md")]
    reports = [word for file in files for word in ("--report", str(file))]
    assert 0 == run(GOOD, *reports, "--no-verify").code

    done = run(*words, *reports, "--github")

    assert 2 == done.code
    (error,) = ET.parse(files[0]).getroot().iter("error")
    (log,) = json.loads(files[1].read_text("utf-8"))["runs"]
    assert message in str(error.get("message"))
    assert message in log["results"][0]["message"]["text"]
    LOG(json.loads(files[1].read_text("utf-8")))
    assert not log["invocations"][0]["executionSuccessful"]
    assert ": UNDETERMINED\n" in files[2].read_text("utf-8")
    assert "::error title=undetermined%3A " in done.err


def test_a_check_that_an_exception_ends_leaves_no_success(tmp_path: Path) -> None:
    """The report first says that the check did not end, and then has the exception."""
    file = tmp_path / "junit.xml"

    def failing() -> None:
        with reporting("world", [], [file], github=False):
            assert "did not come to its end" in file.read_text("utf-8")
            raise MemoryError

    with pytest.raises(MemoryError):
        failing()

    assert "MemoryError()" in file.read_text("utf-8")


def test_an_expected_violation_exits_0_and_an_undetermined_result_exits_3(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "junit.xml"
    reported = ("--report", str(file), "--no-verify", "--expect")

    assert 0 == run(BAD, *reported, "violated").code
    assert "0" == ET.parse(file).getroot()[0].get("failures")
    assert 3 == run(UNCLEAR, *reported, "violated").code
    assert "1" == ET.parse(file).getroot()[0].get("errors")


def test_a_world_that_must_fail_but_holds_has_no_tick() -> None:
    assert "| must be violated | — | ✗ holds |" in markdown([outcome(GOOD, "violated")])
    assert "✓" not in markdown([outcome(GOOD, "violated"), outcome(UNCLEAR, "violated")])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("report.html", "does not say in which format to write"),
        ("no/such/junit.xml", "there is no folder"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_search(
    run: Run, tmp_path: Path, name: str, message: str
) -> None:
    done = run("no-such-world", "--report", str(tmp_path / name))

    assert 2 == done.code
    assert message in done.err


def test_a_tier_refuses_a_report(run: Run) -> None:
    done = run("--tier", "quick", "--report", "junit.xml")

    assert 2 == done.code
    assert "--report is for one" in done.err
