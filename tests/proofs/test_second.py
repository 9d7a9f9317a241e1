"""`joinproto prove --second cvc5` and `--smt`: another solver answers the same questions."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import z3
from attrs import evolve

from joinproto.prove import second
from joinproto.prove.layer import Layer
from joinproto.prove.obligations import Kind, Obligation, Query, obligations
from joinproto.prove.printed import Answer
from joinproto.prove.script import Script
from joinproto_claims import tables
from joinproto_claims.claims import LAYERS
from tests.cli.running import run_apart, run_here
from tests.cli.schemas import faults, unexplained
from tests.proofs import pins
from tools import json_schema as schema

pytestmark = pytest.mark.needs("cvc5")

REGISTER = next(layer for layer in LAYERS if layer.name == "register")


def _pinned(layer: Layer, conjunct: str) -> Obligation:
    """Return the obligation that fails without the conjunct, by `pins.toml`."""
    words = pins.pins()[f"{layer.name}/{conjunct}"]
    return next(one for one in obligations(layer.without(conjunct)) if one.words == words)


@pytest.mark.parametrize("layer", LAYERS, ids=[layer.name for layer in LAYERS])
def test_the_second_solver_refutes_an_obligation_without_each_conjunct(layer: Layer) -> None:
    """The obligation is the pinned one."""
    cut = {one.name: _pinned(layer, one.name) for one in layer.conjuncts}

    said = {name: second.ask(Query.of(one).script).result for name, one in cut.items()}

    assert dict.fromkeys(cut, "fails") == said


@pytest.mark.soak("proofs")
def test_both_solvers_prove_all_obligations(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Each obligation is written to a file with names that SMT-LIB allows without quotes."""
    done = run_here(capsys, "prove", "--second", "cvc5", "--smt", str(tmp_path / "all"), "--json")

    assert 0 == done.code
    assert [] == list(faults(done.object, schema.PROVE))
    asked = [one for one in done.object["obligations"] if "second" in one]
    assert {"proved"} == {one["second"] for one in asked}
    assert len(asked) == done.object["second"]["proved"] > 1_700
    texts = [path.read_text("utf-8") for path in (tmp_path / "all").iterdir()]
    assert len(asked) == len(texts)
    # A name that is no simple symbol would be quoted.
    assert not any("|" in text for text in texts)


def test_both_solvers_prove_a_claim_and_its_questions_are_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Z3 reads some of the files, and answers each question as its file expects."""
    folder = tmp_path / "new" / "questions"

    done = run_here(
        capsys, "prove", "one_successor", "--second", "cvc5", "--smt", str(folder), "--json"
    )

    assert 0 == done.code
    assert [] == list(faults(done.object, schema.PROVE))
    assert [] == list(unexplained(done.object, schema.PROVE))
    assert {"proved"} == {one["second"] for one in done.object["obligations"]}
    written = sorted(folder.iterdir())
    assert len(done.object["obligations"]) == len(written)
    for path in written[::25]:
        solver = z3.Solver()
        solver.from_file(str(path))
        assert f"; proved if the answer is {solver.check()}\n" in path.read_text("utf-8")


def test_both_solvers_read_the_questions_of_a_table() -> None:
    """A field may have a member's name, and a sum or an `and` may have only one part."""
    (joining,) = (one for one in tables.shipped() if one.table.name == "clusterer-join")

    found = (tables.treats_equals_alike(joining), tables.has_no_gap(joining))

    assert ["proved"] * 2 == [second.ask(one.script).result for one in found if one.script]


ANSWERS: Iterator[Answer] = iter(("unknown", "fails"))
RIGHT = second.ask


def _doubt(script: Script, *, proof: bool = False) -> second.Opinion:
    """Give two wrong answers, in the process of cvc5, which has its own `ANSWERS`."""
    opinion = RIGHT(script, proof=proof)
    return evolve(opinion, result=next(ANSWERS, opinion.result))


def test_both_solvers_must_prove_a_claim(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the exit code is 1, and the second solver's answers are reported."""
    monkeypatch.setattr(second, "ask", _doubt)
    few = tables.shipped()[1:2]
    monkeypatch.setattr(tables, "shipped", lambda: few)

    done = run_here(capsys, "prove", "tables", "--second", "cvc5")

    assert 1 == done.code
    said = " ".join(done.out.split())
    assert 1 == said.count("; cvc5: unknown")
    assert 1 == said.count("; cvc5: fails")
    assert "finds a state against 1, gives up on 1 of the obligations" in said


def _killed(script: Script, *, proof: bool = False) -> second.Opinion:
    """Kill this process, as the system does when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)
    return RIGHT(script, proof=proof)


def test_a_killed_process_of_the_second_solver_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is 4."""
    monkeypatch.setattr(second, "ask", _killed)

    done = run_here(capsys, "prove", "one_successor", "--second", "cvc5", "--json")

    assert 4 == done.code
    assert "the process of cvc5 was ended from outside" in done.object["error"]["message"]


def test_a_proof_is_written_alongside_its_question(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof is in cvc5's format and derives `false`; an expected `sat` has no proof."""
    few = tables.shipped()[1:2]
    monkeypatch.setattr(tables, "shipped", lambda: few)
    folder = str(tmp_path / "proofs")

    done = run_here(
        capsys, "prove", "tables", "--second", "cvc5", "--smt", folder, "--proofs", "--json"
    )

    assert 0 == done.code
    questions = [*Path(folder).glob("*.smt2")]
    assert questions
    for path in questions:
        proof = path.with_suffix(".cpc")
        is_unsat = "; proved if the answer is unsat" in path.read_text("utf-8")
        assert is_unsat == proof.exists()
        if is_unsat:
            text = proof.read_text("utf-8")
            assert re.match(r"\((declare|define|assume)", text)
            assert text.count("(") == text.count(")")
            assert "(assume " in text
            assert re.search(r"\(step \S+ false ", text)


@pytest.mark.parametrize(
    "words", [("--proofs",), ("--second", "cvc5", "--proofs"), ("--second", "yices")]
)
def test_impossible_options_are_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str]
) -> None:
    """The exit code is 2."""
    assert 2 == run_here(capsys, "prove", *words).code


def test_a_folder_that_is_not_empty_or_cannot_be_made_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """No file is written.  The exit code is 2 or 4."""
    (tmp_path / "mine").touch()

    done = run_here(capsys, "prove", "--smt", str(tmp_path), "--json")
    below_a_file = run_here(capsys, "prove", "--smt", str(tmp_path / "mine" / "x"), "--json")

    assert (2, f"{tmp_path} is not empty") == (done.code, done.error["message"])
    assert (4, "name another folder with --smt") == (below_a_file.code, below_a_file.error["next"])
    assert [tmp_path / "mine"] == [*tmp_path.iterdir()]


def test_without_cvc5_the_error_says_what_to_install() -> None:
    """The exit code is 4."""
    blocked = "import sys; sys.modules['cvc5'] = None; from joinproto.__main__ import main; "

    done = run_apart(
        python=("-c", f"{blocked}sys.exit(main(['prove', '--second', 'cvc5', '--json']))")
    )

    assert 4 == done.code
    assert "joinproto[second]" in done.error["next"]


def test_the_first_question_is_whether_a_state_is_possible() -> None:
    """The answer `sat` proves this obligation."""
    first = next(obligations(REGISTER))

    assert Kind.POSSIBLE is first.kind
    assert "sat" == Query.of(first).script.expected
