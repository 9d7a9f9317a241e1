"""`joinproto simulate`: random runs are judged, and the limits of this evidence are named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from joinproto.check import load_world
from joinproto.check.simulate import simulate
from tests.cli.running import FUNCTION, Run, model, run_apart, run_here

BROKEN = ("two-phase-commit", "--mutant", "one-vote-short")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto simulate` here."""
    return lambda *words: run_here(capsys, "simulate", *words)


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    """Return the object without the parts that differ from run to run."""
    return {key: value for key, value in found.items() if key != "seconds"}


def test_a_simulation_without_violation_exits_0_and_says_that_it_is_not_a_proof(run: Run) -> None:
    """Only a search visits every state."""
    done = run("two-phase-commit", "--runs", "200", "--seed", "7")

    assert 0 == done.code
    assert "no violation met" in done.out
    assert "200, each of at most 100 steps, seed 7" in done.out
    assert "a simulation is not a proof" in done.out
    assert "joinproto check two-phase-commit  looks at every state" in done.out
    assert "simulate two-phase-commit --seed 8  takes other runs" in done.out


def test_the_share_of_all_states_that_was_met_is_reported(run: Run) -> None:
    """The share is of all states that a search finds; it is null if the world has a bound."""
    done = run("two-phase-commit", "--runs", "9")
    found = run("two-phase-commit", "--runs", "9", "--json").object
    bounded = evolve(load_world("two-phase-commit"), within=lambda _: True)

    part = found["distinct"] / 288
    assert 288 == found["states"] > found["distinct"]
    assert f"{found['distinct']} distinct, {part:.1%} of all 288\n" in done.out
    assert simulate(bounded, runs=2, count_max=None).states is None
    assert 2 == run("join", "--swarm", "--of-all").code


def test_the_state_count_of_an_earlier_whole_search_is_used(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """A whole search makes --of-all needless; one that ended early or with symmetry does not."""
    world = ("two-phase-commit", "--members", "5")
    unknown = run(*world, "--runs", "1", "--json").object["states"]
    asked = run(*world, "--runs", "1", "--of-all", "--json").object["states"]

    run_here(capsys, "check", *world, "--max-states", "2000")
    part = run(*world, "--runs", "1", "--json").object["states"]
    run_here(capsys, "check", *world, "--symmetry")
    merged = run(*world, "--runs", "1", "--json").object["states"]
    run_here(capsys, "check", *world)
    known = run(*world, "--runs", "1", "--json").object["states"]

    assert (None, None, None) == (unknown, part, merged)
    assert asked == known > 1_000


def test_a_violation_exits_1_and_shows_its_shortest_run(run: Run) -> None:
    """The run is shown as `check` shows it."""
    done = run(*BROKEN)

    assert 1 == done.code
    assert "VIOLATED" in done.out.splitlines()[0]
    assert "“consistent” is violated after" in done.out.partition("properties\n")[0]


def test_the_same_seed_gives_the_same_output(run: Run) -> None:
    """Earlier runs in the process make no difference."""
    one, two = (without_times(run(*BROKEN, "--seed", "3", "--json").object) for _ in range(2))
    other = without_times(run(*BROKEN, "--seed", "4", "--json").object)

    assert one == two
    assert one != other


@pytest.mark.parametrize("world", ["note-lone-restart", "qpid-founding"])
def test_another_process_gives_the_same_output(world: str) -> None:
    """The hashes of texts differ from process to process; the runs do not."""
    found = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = run_apart("simulate", world, "--runs", "60", "--json", env=environment)
        found.append(without_times(json.loads(done.out)))

    assert found[0] == found[1]


def test_a_claim_that_no_run_put_to_the_test_is_reported_as_untested(
    run: Run, tmp_path: Path
) -> None:
    """A simulator must say this, because silence would be taken for success."""
    never = 'always("low", low, premise=lambda view: sum(view.values()) == 6)'
    path = model(tmp_path, replace=('always("low", low)', never))

    few, many = run(path, "--runs", "5", "--steps", "4"), run(path, "--runs", "5")

    assert 0 == few.code
    assert "UNTESTED" in few.out
    assert "no run met its premise" in few.out
    assert "put to the test in 5 runs" in many.out


def test_a_sometimes_that_no_run_reached_is_reported_as_not_reached(
    run: Run, tmp_path: Path
) -> None:
    """This is no violation, because another run may reach it."""
    done = run(model(tmp_path, replace=("return 3 in", "return 4 in")))

    assert 0 == done.code
    assert "NOT REACHED" in done.out
    assert "reached in none of " in done.out


def test_claims_about_whole_runs_are_not_judged(run: Run) -> None:
    """A run that ends cannot break a claim about later states."""
    done = run("note-restart", "--runs", "20")

    assert "not judged" in done.out
    assert "its condition came true in 20 runs" in " ".join(done.out.split())


def test_a_run_that_gets_stuck_breaks_no_deadlock(run: Run, tmp_path: Path) -> None:
    """No event can follow in the stuck state."""
    stuck = 'no_deadlock("alive"), sometimes("three", three)'
    path = model(tmp_path, replace=('sometimes("three", three)', stuck))
    text = Path(path).read_text().replace("always, sometimes", "always, no_deadlock, sometimes")
    Path(path).write_text(text)

    done = run(path, "--json")

    assert 1 == done.code
    (claim,) = (row for row in done.object["properties"] if row["kind"] == "no deadlock")
    assert ("violated", 1000, 6) == (claim["result"], claim["runs"], claim["trace_length"])


def test_simulate_takes_the_options_of_a_world_as_check_does(run: Run, tmp_path: Path) -> None:
    """These are --members, --mutant, and any parameter of a user's model."""
    path = model(tmp_path, world=FUNCTION)

    assert 3 == run(path, "--members", "3", "--json").object["members"]
    assert 1 == run(path, "--set", "top=2").code


USAGE = {
    "no world": ((), "Missing argument"),
    "an unknown world": (("two-phase-comit",), "did you mean two-phase-commit?"),
    "no runs": (("two-phase-commit", "--runs", "0"), "--runs"),
    "no steps": (("two-phase-commit", "--steps", "0"), "--steps"),
    "a negative seed": (("two-phase-commit", "--seed", "-1"), "--seed"),
    "an option it lacks": (("two-phase-commit", "--crashes", "1"), "it takes --members, --mutant"),
}


@pytest.mark.parametrize(("words", "text"), USAGE.values(), ids=USAGE.keys())
def test_bad_usage_exits_2(run: Run, words: tuple[str, ...], text: str) -> None:
    """The exit code for bad usage is the same with --json."""
    done, as_json = run(*words), run(*words, "--json")

    assert (2, 2) == (done.code, as_json.error["code"])
    assert text in done.err


def test_a_bad_model_exits_2_with_file_and_line(run: Run, tmp_path: Path) -> None:
    """The exit code and the message are those of `check`."""
    done = run(model(tmp_path, replace=("self.count += 1", "{}[event]")))

    assert 2 == done.code
    assert "my_model.py:19: member a: receive() raised KeyError" in done.err


def test_a_swarm_reports_its_runs_and_exits_0_or_1(run: Run) -> None:
    """The swarm runs real members, and the exit code says whether a claim was broken."""
    done = run("join", "--swarm", "--runs", "2", "--seed", "12", "--json")
    found = done.object

    assert {"runs", "events", "violations", "stuck", "configurations"} <= set(found)
    assert (2, 2) == (found["runs"], found["configurations"])
    assert found["events"] > 100
    assert done.code == (1 if found["violations"] + found["stuck"] else 0)
    assert len(found["failures"]) == len({claim["claim"] for claim in found["failures"]})


@pytest.mark.soak("nodes")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_a_swarm_with_its_report(jobs: str) -> None:
    """A terminal sends Ctrl-C to all processes; without one, a line says how far the swarm is."""
    command = [sys.executable, "-m", "joinproto", "simulate", "join", "--swarm", "--json"]
    # The runs of this seed are short: a line is written, and Ctrl-C is noticed, between runs.
    command += ["--seconds", "300", "--jobs", jobs, "--seed", "12"]
    running = subprocess.Popen(command, stdout=-1, stderr=-1, text=True, start_new_session=True)
    assert running.stderr is not None
    assert " runs, " in running.stderr.readline()

    os.killpg(running.pid, signal.SIGINT)
    out, errors = running.communicate(timeout=120)

    found = json.loads(out)
    assert found["interrupted"]
    assert found["runs"] > 0
    assert (1 if found["failures"] else 3) == running.returncode
    assert "Traceback" not in errors


def test_a_swarm_runs_a_users_members_and_reports_how_they_fail(run: Run, tmp_path: Path) -> None:
    """The command exits 1 and prints the seed of the run and its shrunk story."""
    path = tmp_path / "my_members.py"
    path.write_text(
        "from joinproto.join.member import Member\n\n\n"
        "def start(now, config, record, *, seed):\n"
        "    member = Member.start(now, config, record, seed=seed)\n"
        "    raise RuntimeError('mine')\n"
    )

    done = run(f"{path}::start", "--swarm", "--runs", "1", "--seed", "5")

    assert 1 == done.code
    assert "no_error" in done.out
    assert "RuntimeError: mine" in done.out
    assert "--swarm --seed 5 --runs 1" in done.out


SWARM_USAGE = {
    "another world": (("two-phase-commit", "--swarm"), "members of the join protocol"),
    "no such file": (("nowhere.py::start", "--swarm"), "there is no file nowhere.py"),
    "no such function": ((__file__ + "::nothing", "--swarm"), "has no function"),
    "steps": (("join", "--swarm", "--steps", "5"), "draws its configurations"),
    "a size": (("join", "--swarm", "--members", "5"), "draws its configurations"),
    "a time without a swarm": (("two-phase-commit", "--seconds", "5"), "--swarm"),
    "jobs without a swarm": (("two-phase-commit", "--jobs", "2"), "--swarm"),
    "no time": (("join", "--swarm", "--seconds", "0"), "--seconds"),
}


@pytest.mark.parametrize(("words", "text"), SWARM_USAGE.values(), ids=SWARM_USAGE.keys())
def test_bad_usage_of_a_swarm_exits_2(run: Run, words: tuple[str, ...], text: str) -> None:
    """Each of these options is wrong or lacks another option."""
    done = run(*words)

    assert 2 == done.code
    assert text in done.err
