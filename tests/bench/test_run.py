"""The benchmark runs its tools in turn, and finds a wrong count of any tool."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.bench.stand_ins import stand_in
from tools.bench import __main__ as command
from tools.bench import oracle, spin
from tools.bench.measure import Command, measure
from tools.bench.results import Results, Seen, read_json
from tools.bench.run import ROOT, Entrant, Plan, benchmark, disagreements, read_own, read_spin_bfs


def run(own: tuple[str, ...], *, runs: int = 1) -> tuple[Results, list[str]]:
    """Return the results of a small benchmark of the command `own`, and its lines of progress."""
    said: list[str] = []
    plan = Plan(
        sizes=(4,),
        runs=runs,
        others=(),
        peers=False,
        profiled=False,
        own=own,
        member=False,
        node=False,
        restart=False,
    )
    return benchmark(plan, say=said.append), said


def entrant(*, rounds: bool) -> Entrant:
    """Return an entrant that is not run, but whose counts are compared."""
    nothing = Command(["true"], ROOT)
    return Entrant("spin-bfs", "two-phase-commit", 9, "", nothing, read_own, rounds=rounds)


@pytest.fixture
def no_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide SPIN and gcc."""
    monkeypatch.setattr(shutil, "which", lambda _name: None)


@pytest.mark.soak("peers")
@pytest.mark.needs("spin", "gcc")
def test_every_tool_runs_on_every_size_in_turn(tmp_path: Path) -> None:
    """The order is A B A B, so other load on the machine affects all tools."""
    found, said = run(stand_in(tmp_path), runs=2)

    order = ["joinproto", "per-state", "spin-bfs-o3", "spin-bfs", "spin-dfs"]
    assert () == found.problems == found.left_out
    for members in (3, 4):
        rows = [row for row in found.rows if row.members == members]
        assert order == [row.tool for row in rows]
        assert [2] * 5 == [len(row.costs) for row in rows]
        assert order * 2 == [
            line.split()[2].rstrip(",")
            for line in said
            if f" {members} " in line and "run " in line
            if "first run" not in line
        ]


@pytest.mark.usefixtures("no_spin")
def test_the_first_runs_of_joinproto_are_not_counted(tmp_path: Path) -> None:
    """The very first run compiles the loops; its cost is `cold`."""
    found, said = run(stand_in(tmp_path))

    own = [line.split(", ", 1)[1].partition(":")[0] for line in said if "joinproto" in line]
    assert ["first run, loops not compiled", *["not counted", "run 1 of 1"] * 2] == own
    assert found.cold is not None


@pytest.mark.usefixtures("no_spin")
def test_without_spin_the_other_tools_run_and_a_line_says_what_to_install(tmp_path: Path) -> None:
    """The line names the Debian packages."""
    found, said = run(stand_in(tmp_path))

    assert () == found.problems
    assert {"joinproto", "per-state"} == {row.tool for row in found.rows}
    assert ["per-state"] == [item.peer for item in found.comparisons]
    assert "apt-get install spin gcc" in found.left_out[0]
    assert found.left_out[0] in said


@pytest.mark.usefixtures("no_spin")
def test_a_wrong_count_is_a_problem(tmp_path: Path) -> None:
    """Distinct, generated and depth are compared with the closed forms."""
    found, _ = run(stand_in(tmp_path, too_many=1))

    assert "two-phase-commit 4 joinproto: distinct 1569, expected 1568" in found.problems
    # Each problem is listed once, although it occurred in every run.
    assert len(set(found.problems)) == len(found.problems) == 2


@pytest.mark.usefixtures("no_spin")
def test_a_tool_that_fails_is_a_problem_and_the_others_run(tmp_path: Path) -> None:
    """The problem has the end of the tool's output, so that a person can mend it."""
    found, _ = run((sys.executable, "-S", "-c", "raise SystemExit('it broke')"))

    assert ["per-state"] * 2 == [row.tool for row in found.rows]
    assert any("exit code 1\nit broke" in problem for problem in found.problems)


@pytest.mark.usefixtures("no_spin")
def test_a_violation_is_not_a_measurement(tmp_path: Path) -> None:
    """A search that stops at a violation has seen fewer states."""
    found, _ = run(stand_in(tmp_path, result="violated"))

    assert all(row.tool != "joinproto" for row in found.rows)
    assert any("exit code 1" in problem for problem in found.problems)


def test_a_count_that_spin_rounds_agrees_only_to_its_digits() -> None:
    """SPIN prints eight digits: 123,558,402 is printed as 123,558,400.  No other tool may round."""
    right = oracle.two_phase_commit(9)
    printed = Seen(right.distinct, 123_558_400, right.depth)

    assert [] == disagreements(entrant(rounds=True), printed)
    assert 1 == len(disagreements(entrant(rounds=False), printed))
    assert 1 == len(disagreements(entrant(rounds=True), Seen(right.distinct, 123_558_300)))


def test_the_counts_of_a_partial_search_are_not_compared() -> None:
    """The plain search visits only the first states of worlds other than two-phase commit."""
    nothing = Command(["true"], ROOT)
    part = Entrant("per-state", "paxos-founding", 3, "", nothing, read_own, in_part=True)
    whole = Entrant("joinproto", "paxos-founding", 3, "", nothing, read_own)
    unknown = Entrant("joinproto", "join", 3, "", nothing, read_own)
    counted = Seen(20_001, 59_655)

    assert [] == disagreements(part, counted) == disagreements(unknown, counted)
    assert ["distinct 20001, expected 6826456", "generated 59655, expected 30258141"] == (
        disagreements(whole, counted)
    )


def test_a_report_of_spin_with_an_error_is_refused() -> None:
    """SPIN stops at the first error, and still ends with exit code 0."""
    report = "depth reached 7, errors: 1\n 326 states, stored\n 1110 transitions\n"

    with pytest.raises(ValueError, match="ended early or found an error"):
        read_spin_bfs(report)


def test_the_plain_search_finds_the_known_counts() -> None:
    arguments = ["-m", "tools.bench.peers.per_state", "two-phase-commit", "--members", "3"]

    done = measure(Command([sys.executable, *arguments], ROOT))

    right = oracle.two_phase_commit(3)
    assert Seen(right.distinct, right.generated, right.depth) == read_own(done.stdout)


@pytest.mark.usefixtures("no_spin")
@pytest.mark.parametrize("member", [False, pytest.param(True, marks=pytest.mark.soak("peers"))])
def test_the_command_writes_its_results_and_ends_with_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: bool
) -> None:
    """`python -m tools.bench --quick --sizes 4 --out FOLDER`."""
    own = stand_in(tmp_path)
    monkeypatch.setattr(command, "Plan", lambda **given: Plan(**given, own=own, member=member))

    done = CliRunner().invoke(
        command.main, ["--quick", "--sizes", "4", "--out", str(tmp_path / "out")]
    )

    assert 0 == done.exit_code, done.output
    assert "bytes / state" in done.stdout
    found = read_json((tmp_path / "out" / "benchmarks.json").read_text("utf-8"))
    assert {3, 4} == {row.members for row in found.rows}
    assert 1 == found.runs
    # The command that is shown leaves out --out, a folder of this machine.
    assert "python -m tools.bench --quick --sizes 4" == found.command


@pytest.mark.usefixtures("no_spin")
def test_the_command_ends_with_1_when_a_tool_counts_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The written data name the problem, and the exit code warns a script."""
    own = stand_in(tmp_path, too_many=1)
    monkeypatch.setattr(command, "Plan", lambda **given: Plan(**given, own=own, member=False))

    done = CliRunner().invoke(
        command.main, ["--quick", "--sizes", "4", "--out", str(tmp_path / "out")]
    )

    assert 1 == done.exit_code
    assert "PROBLEM: two-phase-commit 3 joinproto: distinct 289" in done.stdout
    written = json.loads((tmp_path / "out" / "benchmarks.json").read_text("utf-8"))
    assert 2 == len(written["problems"])


@pytest.mark.parametrize("sizes", ["eight", "3", "7,11", ""])
def test_sizes_that_cannot_be_measured_are_usage_errors(sizes: str) -> None:
    done = CliRunner().invoke(command.main, ["--sizes", sizes])

    assert 2 == done.exit_code
    assert "--sizes" in done.stderr


def test_the_hash_table_of_spin_for_the_largest_size_has_27_bits() -> None:
    assert 27 == spin.table_bits(oracle.two_phase_commit(spin.MEMBERS_MAX).distinct)
