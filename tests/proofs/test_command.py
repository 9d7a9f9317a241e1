"""`joinproto prove`: its lines, exit codes, and `--json`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import count
from typing import Any

import pytest
import z3
from attrs import evolve

from joinproto_claims import bounded_worlds, linked, tables
from joinproto_claims.claims import claims
from tests.cli.running import ROOT, run_here
from tests.cli.schemas import faults, unexplained
from tools import json_schema as schema


def test_a_claim_has_a_line_with_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    """The invariant that the claim follows from has a line, too."""
    about, invariant, claim, empty, last = run_here(
        capsys, "prove", "one_successor"
    ).out.splitlines()

    assert about.startswith("register: ")
    assert invariant.endswith(" s  the invariant holds at the beginning, and each step keeps it")
    assert claim.endswith(" s  one_successor: no view has two chosen successors")
    assert "" == empty
    assert " obligations, the parts of the claims, are proved; " in last


def test_ctrl_c_reports_what_was_proved_so_far(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt comes at the third question, which Z3 still answers."""
    asked = count()
    check = z3.Solver.check

    def press(solver: z3.Solver, *assumed: Any) -> Any:
        if next(asked) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return check(solver, *assumed)

    monkeypatch.setattr(z3.Solver, "check", press)
    done = run_here(capsys, "prove", "one_successor", "--json")

    assert (3, "incomplete", 3) == (done.code, done.object["result"], done.object["proved"])


def test_verbose_has_one_line_for_each_obligation(capsys: pytest.CaptureFixture[str]) -> None:
    """Each of these lines has a time, and the last line of the output has the solver's version."""
    done = run_here(capsys, "prove", "one_successor", "--verbose")

    *lines, empty, last = done.out.splitlines()
    assert 0 == done.code
    assert "" == empty
    assert all(line.startswith("proved ") and " s  register: " in line for line in lines)
    assert last.startswith(f"all {len(lines)} obligations, the parts of the claims, are proved; ")
    assert "Z3 " in last


def test_without_a_conjunct_the_two_states_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 1; the conjunct that breaks and the step are shown, too."""
    done = run_here(capsys, "prove", "one_successor", "--without", "one_proposal")

    assert 1 == done.code
    assert "FAILS " in done.out
    assert "before:" in done.out
    assert "afterwards:" in done.out
    assert "is broken" in done.out


@pytest.mark.parametrize("words", [(), ("--without", "vote_is_told")])
def test_json_is_as_documented(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    """The output is one object, as docs/json.md says."""
    done = run_here(capsys, "prove", "one_successor", *words, "--json")

    assert (1 if words else 0) == done.code
    assert [] == list(faults(done.object, schema.PROVE))
    assert [] == list(unexplained(done.object, schema.PROVE))
    against = [one["against"] for one in done.object["obligations"] if one["against"]]
    assert bool(words) == bool(against)
    assert all(one["confirmed"] for one in against)


def test_an_unknown_claim_is_refused_with_the_existing_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The exit code is 2."""
    done = run_here(capsys, "prove", "world_peace", "--json")

    assert 2 == done.code
    assert all(name in done.error["next"] for name in claims())


def test_an_unknown_conjunct_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 2: a conjunct that does not exist cannot be left out."""
    done = run_here(capsys, "prove", "--without", "no_such_thing", "--json")

    assert 2 == done.code
    assert "register/one_proposal" in done.error["next"]


def test_without_z3_the_error_says_what_to_install() -> None:
    """The exit code is 4."""
    program = (
        "import sys; sys.modules['z3'] = None\n"
        "from joinproto.__main__ import main\n"
        "sys.exit(main(['prove', '--json']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert 4 == done.returncode
    assert "joinproto[prove]" in json.loads(done.stdout)["error"]["next"]


@pytest.mark.soak("proofs")
def test_a_mutant_is_rejected_by_the_link(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 1, although all obligations are proved, which are not about that code."""
    done = run_here(
        capsys, "prove", "nothing_lost", "--link", "--mutant", "status-does-not-freeze", "--json"
    )

    assert 1 == done.code
    assert [] == list(faults(done.object, schema.PROVE))
    assert [] == list(unexplained(done.object, schema.PROVE))
    assert 0 == done.object["failed"]
    assert ["rejected"] == [one["result"] for one in done.object["link"]]


@pytest.mark.soak("proofs")
def test_the_counterexample_of_a_failing_obligation_is_looked_up_in_worlds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report says that no world reaches this state, and how many states were compared."""
    register, *_ = linked.worlds(frozenset({"register"}), None)
    monkeypatch.setattr(linked, "WORLDS", (evolve(register, near=1_000),))
    words = ("prove", "one_successor", "--without", "open_is_unproposed", "--link", "--json")

    done = run_here(capsys, *words)

    assert 1 == done.code
    assert [] == list(faults(done.object, schema.PROVE))
    assert [] == list(unexplained(done.object, schema.PROVE))
    (looked,) = done.object["lookup"]
    assert looked["world"] is None
    assert looked["states"] > 100


def test_the_search_finds_a_run_without_the_rule(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is the split brain with N below a majority; no run breaks another claim."""
    few = tables.shipped()[:2]
    monkeypatch.setattr(tables, "shipped", lambda: few)
    below, *_ = bounded_worlds.WORLDS
    unbroken = evolve(below, claim="stranger_never_votes", steps=None)
    monkeypatch.setattr(bounded_worlds, "WORLDS", (below, unbroken))

    done = run_here(capsys, "prove", "tables", "--search", "--json")

    assert 0 == done.code
    assert [] == list(faults(done.object, schema.PROVE))
    assert [6, None] == [one["steps"] for one in done.object["search"]]


@pytest.mark.parametrize(
    "words", [("--mutant", "minority"), ("tables", "--link"), ("tables", "--without", "one_chain")]
)
def test_incompatible_options_are_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """The exit code is 2."""
    assert 2 == run_here(capsys, "prove", *words).code
