"""`joinproto check`: exit codes, output, refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from joinproto.check import catalogue
from joinproto.check.engine.stopping import Tick
from joinproto.check.memory import resident_bytes
from joinproto.cli.show.progress import Progress
from tests.check.chosen import CHOSEN
from tests.cli.running import FUNCTION, ROOT, Done, Run, model, run_apart, run_here

BROKEN = ("two-phase-commit", "--mutant", "one-vote-short")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto check` here."""
    return lambda *words: run_here(capsys, "check", *words)


# -- findings --------------------------------------------------------------------------


def test_a_world_that_holds_exits_0(run: Run) -> None:
    """All claims hold; the number of states is the closed form 2^N + 4^N + 6^N."""
    done = run("two-phase-commit", "--members", "5")

    assert 0 == done.code
    assert "8,832 distinct" in done.out
    assert "everything" in done.out
    assert "" == done.remarks


def test_progress_lines_are_not_remarks() -> None:
    """A progress line, every ten seconds in a log, is not counted as a warning or an error."""
    log = StringIO()
    Progress(log)(Tick(17, 8_830, 40_000, 120, 1 << 28, 10.2))
    log_text = f"compiling the search, once: up to two minutes\n{log.getvalue()}wrote run.html\n"

    assert "distinct" in log.getvalue()
    assert "wrote run.html\n" == Done(0, "", log_text).remarks


def test_a_violated_world_exits_1_and_shows_its_run(run: Run) -> None:
    """The sequence chart comes after the summary."""
    done = run(*BROKEN)

    assert 1 == done.code
    summary, _, chart = done.out.partition("“consistent” is violated after 7 steps")
    assert "VIOLATED" in summary
    assert "choose to abort" in chart


@pytest.mark.parametrize("name", [name for name, mutant in CHOSEN if mutant is None])
def test_the_exit_code_of_a_chosen_world_is_that_of_its_result(run: Run, name: str) -> None:
    """`check` exits 1 on a violation, even an expected one, and shows the run."""
    item, done = catalogue.entry(name), run(name, "--json")

    assert item.expected == done.object["result"]
    assert (1 if item.expected == "violated" else 0) == done.code
    assert item.steps is None or item.steps == len(done.object["trace"])


def test_a_claim_that_is_not_reached_exits_1(run: Run, tmp_path: Path) -> None:
    """A `sometimes` that no state reaches is a violation."""
    done = run(model(tmp_path, replace=("return 3 in", "return 4 in")))

    assert 1 == done.code
    assert "NOT REACHED" in done.out


def test_a_claim_that_was_not_tested_is_reported_also_on_success(run: Run, tmp_path: Path) -> None:
    """The claim's premise is never met; with --strict the command exits 1."""
    never = 'always("low", low, premise=lambda view: False)'
    path = model(tmp_path, replace=('always("low", low)', never))

    done, strict = run(path), run(path, "--strict")

    assert (0, 1) == (done.code, strict.code)
    assert "its premise was never met" in done.out
    assert "--strict: not exercised: “low” says nothing here" in strict.err


@pytest.mark.parametrize(
    ("world", "expected", "code"),
    [
        ("note-lone-restart", "violated", 0),
        ("note-lone-restart", "holds", 1),
        ("two-phase-commit", "violated", 1),
        ("two-phase-commit", "holds", 0),
    ],
)
def test_the_exit_code_is_0_only_for_the_expected_result(
    run: Run, world: str, expected: str, code: int
) -> None:
    done = run(world, "--expect", expected)

    assert code == done.code
    assert (f"--expect {expected}, but the result is" in done.err) is bool(code)


def test_strict_accepts_a_world_that_exercised_every_part(run: Run) -> None:
    """A search of two-phase commit takes every step."""
    assert 0 == run("two-phase-commit", "--strict").code


def test_symmetry_is_off_without_its_option(run: Run) -> None:
    """C(N+5,5) + C(N+3,3) + (N+1) orbits: 80 for three resource managers, of 288 states."""
    plain = run("two-phase-commit", "--json").object
    reduced = run("two-phase-commit", "--symmetry", "--json").object

    assert (288, 80) == (plain["distinct"], reduced["distinct"])
    assert [] == plain["reductions"]
    assert "--symmetry" in run("two-phase-commit", "--symmetry").out


# -- limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [("--max-states", "100"), ("--max-seconds", "0.001")])
def test_a_search_that_a_limit_ends_exits_3_with_unknown_claims(
    run: Run, limit: tuple[str, str]
) -> None:
    """The search ended before all states, so the result is neither holds nor violated."""
    done = run("two-phase-commit", "--members", "6", *limit, "--json")

    assert 3 == done.code
    assert "incomplete" == done.object["result"]
    assert "limit" in done.object["stopped_by"]
    assert "unknown" == done.object["properties"][0]["result"]


def test_a_violation_found_before_the_limit_is_a_violation(run: Run) -> None:
    """The rest of the search cannot change this result."""
    assert 1 == run(*BROKEN, "--max-states", "1000").code


@pytest.mark.parametrize("size", ["1", "1k", "5M"])
def test_a_memory_limit_below_the_process_itself_exits_3(run: Run, size: str) -> None:
    """The limit cannot suffice, so the command says so before it searches."""
    done = run("two-phase-commit", "--max-memory", size)

    assert 3 == done.code
    assert "this process needs before its first state" in done.err
    assert "--max-memory" in done.remarks.splitlines()[1]


def test_a_memory_limit_that_suffices_is_accepted(run: Run) -> None:
    """2 GiB suffice for 288 states and for the memory that earlier tests left in this process."""
    size = str((2 << 30) + resident_bytes())

    assert 0 == run("two-phase-commit", "--max-memory", size).code


@pytest.mark.parametrize("size", ["lots", "-1", "0", "5X", "1e400", "infG", ""])
def test_a_bad_size_is_a_usage_error(run: Run, size: str) -> None:
    """The message names the option."""
    done = run("two-phase-commit", f"--max-memory={size}")

    assert 2 == done.code
    assert "--max-memory: " in done.err


# -- usage -----------------------------------------------------------------------------

USAGE = {
    "no world": ((), "name a world or a file"),
    "an unknown world": (("two-phase-comit",), "did you mean two-phase-commit?"),
    "too many members": (("two-phase-commit", "--members", "99"), "give it 1 to 12"),
    "no members": (("two-phase-commit", "--members", "0"), "--members"),
    "members in words": (("two-phase-commit", "--members", "three"), "'three' is not a valid"),
    "an unknown option": (("two-phase-commit", "--colour"), "--colour"),
    "an option it lacks": (("two-phase-commit", "--crashes", "1"), "it takes --members, --mutant"),
    "a parameter it lacks": (
        ("two-phase-commit", "--set", "colour=1"),
        "takes no --set colour=...",
    ),
    "a set without a value": (("two-phase-commit", "--set", "colour"), "NAME=VALUE"),
    "too many digits": (("two-phase-commit", "--members", "1" + 400 * "0"), "give it 1 to 12"),
    "an option twice": (("two-phase-commit", "--members", "3", "--set", "members=3"), "twice"),
    "an unknown mutant": (("two-phase-commit", "--mutant", "x"), "it has one-vote-short"),
    "an unknown engine": (("two-phase-commit", "--engine", "steam"), "--engine"),
    "no states": (("two-phase-commit", "--max-states", "0"), "--max-states"),
    "no number": (("two-phase-commit", "--max-seconds", "nan"), "--max-seconds"),
    "resume here": (("two-phase-commit", "--resume"), "--resume belongs to the Spark engine"),
    "a master here": (
        ("two-phase-commit", "--engine", "local", "--master", "local[2]"),
        "--master belongs to the Spark",
    ),
    "no master": (("two-phase-commit", "--master", "x"), "is not the address of a Spark master"),
    "an unknown format": (("two-phase-commit", "--trace", "run.doc"), "endings: .html"),
    "no such folder": (("two-phase-commit", "--trace", "no/such/run.html"), "there is no folder"),
    "a folder as trace": (("two-phase-commit", "--trace", f"{ROOT}/x.html/.."), "in which format"),
    "a tier and a world": (("two-phase-commit", "--tier", "quick"), "--tier checks many worlds"),
    "a tier with members": (("--tier", "quick", "--members", "3"), "--members is for one"),
    "a tier with a trace": (("--tier", "quick", "--trace", "run.html"), "--trace is for one"),
    "an unknown tier": (("--tier", "slow"), "--tier"),
}


@pytest.mark.parametrize(("words", "text"), USAGE.values(), ids=USAGE.keys())
def test_bad_usage_exits_2_with_a_message_and_advice(
    run: Run, words: tuple[str, ...], text: str
) -> None:
    """The message names the wrong option or word."""
    done = run(*words)

    assert 2 == done.code
    assert "" == done.out
    assert text in done.err
    assert "\n  next: " in done.err


@pytest.mark.parametrize(("words", "text"), USAGE.values(), ids=USAGE.keys())
def test_bad_usage_with_json_is_one_object(run: Run, words: tuple[str, ...], text: str) -> None:
    """An error is {"error": {"code", "message", "next"}}, on standard output."""
    done = run(*words, "--json")

    assert 2 == done.code
    assert {"code", "message", "next"} == done.error.keys()
    assert 2 == done.error["code"]
    assert text in done.error["message"] + done.error["next"]
    assert "" == done.err


def test_a_search_that_a_limit_ends_with_json_is_one_object(run: Run) -> None:
    """The exit code is in the object as well."""
    assert 3 == run("two-phase-commit", "--max-memory", "1k", "--json").error["code"]


def test_resume_on_spark_needs_a_folder(run: Run) -> None:
    """The folder holds the search that is resumed."""
    done = run("two-phase-commit", "--engine", "spark", "--resume")

    assert 2 == done.code
    assert "--resume without --out" in done.err


# -- files -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.html", "run.json", "run.itf.json", "run.txt", "test_run.py"])
def test_a_run_is_written_to_a_file_with_each_ending(run: Run, tmp_path: Path, name: str) -> None:
    done = run(*BROKEN, "--trace", str(tmp_path / name))

    assert 1 == done.code
    assert "consistent" in (tmp_path / name).read_text(encoding="utf-8")
    assert f"wrote {tmp_path / name}\n" == done.remarks


def test_without_a_run_a_test_is_not_written(run: Run, tmp_path: Path) -> None:
    """Without a violation there is no run that a test could repeat."""
    done = run("two-phase-commit", "--trace", str(tmp_path / "test_run.py"))

    assert 0 == done.code
    assert "there is no run" in done.err
    assert "next: name a file that ends in .html, .json or .txt" in done.err
    assert [] == list(tmp_path.iterdir())


def test_an_old_test_is_not_taken_for_one_of_this_check(run: Run, tmp_path: Path) -> None:
    """The old file stays as it is, and the command says so."""
    (tmp_path / "test_run.py").write_text("old")

    done = run("two-phase-commit", "--trace", str(tmp_path / "test_run.py"))

    assert "the file there is of an earlier check" in done.err
    assert "old" == (tmp_path / "test_run.py").read_text()


@pytest.mark.parametrize("name", ["run.html", "run.json", "run.txt"])
def test_without_a_run_the_report_is_written_and_that_is_reported(
    run: Run, tmp_path: Path, name: str
) -> None:
    """The command says that the file has the report, and why."""
    done = run("two-phase-commit", "--trace", str(tmp_path / name))

    assert 0 == done.code
    assert f"wrote {tmp_path / name}: the report, for there is no run to show\n" == done.remarks


def test_the_result_says_that_the_world_must_fail_with_its_default_options(run: Run) -> None:
    """The world holds if members wait for two."""
    done = run("note-lone-restart", "--wait-for", "2")

    assert 0 == done.code
    assert "HOLDS; with its default options it must fail" in done.out


def test_a_search_that_ended_at_a_violation_did_not_exercise_everything(run: Run) -> None:
    """States after the violation are unknown."""
    done = run(*BROKEN)

    assert "everything" not in done.out
    assert "the search ended at the violation" in done.out


def test_the_json_object_is_alone_on_standard_output(run: Run, tmp_path: Path) -> None:
    """It is alone even if files are written and if the model prints."""
    path = model(tmp_path, replace=("self.count += 1", "self.count += 1; print('counted')"))
    done = run(path, "--json", "--trace", str(tmp_path / "run.html"))

    assert "holds" == done.object["result"]
    assert "counted" in done.err
    assert "wrote" in done.err


def test_the_options_that_were_given_are_in_the_object(run: Run, tmp_path: Path) -> None:
    """A stored report then has the options of its search."""
    path = model(tmp_path, world=FUNCTION)

    found = run(path, "--members", "3", "--set", "top=4", "--json").object

    assert {"members": 3, "top": 4} == found["options"]
    assert 3 == found["members"]


# -- as a process ----------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_full_disk_exits_4(more: tuple[str, ...]) -> None:
    """With --json, the error object cannot be written either."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "joinproto", "check", "ring-election", *more],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert 4 == done.returncode
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_exits_141() -> None:
    """`joinproto check ... | head -1` exits 141 as after SIGPIPE, and never 1."""
    process = subprocess.Popen(
        [sys.executable, "-m", "joinproto", "check", "two-phase-commit"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    process.stderr.close()

    assert 141 == process.wait(timeout=300)
    assert "" == Done(141, "", errors).remarks


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&-", "2>&-"])
def test_a_closed_stream_changes_no_exit_code(closed: str) -> None:
    """A daemon may start the command with closed streams."""
    words = f"{sys.executable} -m joinproto check {' '.join(BROKEN)} {closed}"

    done = subprocess.run(
        words, shell=True, cwd=ROOT, capture_output=True, timeout=300, check=False
    )

    assert 1 == done.returncode
    assert b"" == done.stderr


def test_an_ascii_terminal_gets_ascii() -> None:
    """A chart of box characters could not be written there."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}

    done = run_apart("check", *BROKEN, env=environment)

    assert 1 == done.code
    assert done.out.isascii()
    assert '"consistent" is violated after 7 steps' in done.out


def test_a_process_with_json_prints_only_json() -> None:
    """The contract of --json, once in a process as users run it."""
    done = run_apart("check", *BROKEN, "--json")

    assert 1 == done.code
    assert 7 == len(json.loads(done.out)["trace"])


def test_the_help_shows_an_example(run: Run) -> None:
    done = run("--help")

    assert 0 == done.code
    assert "  joinproto check two-phase-commit --members 7\n" in done.out


def test_the_help_names_every_exit_code(run: Run) -> None:
    """A script must know that `check` exits neither 0 nor 1 for a search that ends early."""
    help_text = " ".join(run("--help").out.split())

    assert "Exit code 0: all hold; 1: violated" in help_text
    assert all(f"; {code}: " in help_text for code in (1, 2, 3, 4))


def test_an_estimate_is_printed_with_its_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """2^8 + 4^8 + 6^8 = 1,745,408 states; fewer members predict this within a fifth."""
    monkeypatch.setattr("joinproto.cli.estimate.SECONDS_MAX", 600.0)
    done = run("two-phase-commit", "--members", "8", "--estimate", "--max-states", "1000")

    assert 3 == done.code
    (line,) = (line for line in done.err.splitlines() if line.startswith("estimate"))
    assert "rough" in line
    assert "from 5, 6 and 7 members" in line
    assert 1_400_000 < float(line.partition("about ")[2].partition(" M ")[0]) * 1e6 < 2_100_000


def test_a_missing_estimate_is_reported_with_its_reason(run: Run, tmp_path: Path) -> None:
    """A fixed world has no smaller sizes; without --estimate, no message says so."""
    path = model(tmp_path)

    assert "no estimate: this world" in run(path, "--estimate").err
    assert "" == run(path).remarks


def test_a_witness_is_shown_as_a_violation_is(run: Run, tmp_path: Path) -> None:
    """The chart, JSON and a file show it; the exit code is that of the check."""
    words = ("two-phase-commit", "--witness", "committed")

    done, as_json = run(*words), run(*words, "--json")

    assert (0, 0) == (done.code, as_json.code)
    assert "“committed” is reached after 8 steps" in done.out
    assert "joinproto check two-phase-commit --witness committed --trace run.html" in done.out
    assert 8 == len(as_json.object["trace"])
    assert 0 == run(*words, "--trace", str(tmp_path / "test_it.py")).code
    compile((tmp_path / "test_it.py").read_text(), "test_it.py", "exec")


def test_a_witness_that_was_not_found_is_reported(run: Run) -> None:
    done = run("docs/examples/my_first_try.py", "--witness", "a member joined")

    assert 1 == done.code
    assert "no run to “a member joined” was found; first correct the violated claims" in done.err
    assert "--witness" not in done.out
    assert "my_first_try.py --trace run.html" in done.out


def test_a_larger_search_shows_a_witness_too(run: Run) -> None:
    done = run("durable-vote-split", "--witness", "a leader is elected")

    assert 0 == done.code
    assert "“a leader is elected” is reached after" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--witness", "commited"), "did you mean committed?"),
        (("--witness", "consistent"), "it has committed, aborted"),
        (("--witness", "committed", "--engine", "spark"), "leave out --engine spark"),
    ],
)
def test_a_witness_that_cannot_be_shown_is_refused(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    done = run("two-phase-commit", *words)

    assert (2, True) == (done.code, message in done.err)


@pytest.mark.parametrize("words", [(), ("--engine", "local"), ("--symmetry",)])
def test_edges_without_states_are_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """Edges connect the states that a search writes, so they need all states."""
    done = run_here(capsys, "check", "note-rejoin", "--edges", *words, "--json")

    assert 2 == done.code
    assert "--out DIR" in done.error["next"]
