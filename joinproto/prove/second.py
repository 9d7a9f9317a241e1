"""A second opinion on Z3's proofs: cvc5 answers the same questions.

cvc5 shares no code with Z3.  It reads the questions as Z3 prints them, so it checks Z3's answers.
It does not check `to_z3.py`; the other readers of formulas do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import cvc5
from attrs import frozen

from joinproto.prove.printed import Answer
from joinproto.prove.script import Script

LIMIT = "400000"
"""The limit for one attempt, in cvc5's own unit, which does not depend on the machine's load."""

PLAIN: Mapping[str, str] = {}
THOROUGH = {"enum-inst": "true"}
MODELS = {"finite-model-find": "true"}
ATTEMPTS = {"unsat": (PLAIN, MODELS, THOROUGH), "sat": (MODELS, PLAIN, THOROUGH)}
"""Options of each attempt, by the expected answer; the first attempt is nearly always enough."""


@frozen
class Opinion:
    """cvc5's answer.  `result`: the result for the obligation; `proof`: a proof in cvc5's format
    CPC, if requested.
    """

    result: Answer
    seconds: float
    proof: str = ""


def version() -> str:
    return f"cvc5 {cvc5.__version__}"


def ask(script: Script, *, proof: bool = False) -> Opinion:
    """Return cvc5's answer.  `proof`: with a proof, if cvc5 says `unsat` as expected."""
    began = time.process_time()
    for attempt in ATTEMPTS[script.expected]:
        solver = cvc5.Solver()
        options = {**attempt, "rlimit-per": LIMIT, "strict-parsing": "true"}
        if proof and script.expected == "unsat":
            options |= {"produce-proofs": "true", "proof-format-mode": "cpc"}
        for name, value in options.items():
            solver.setOption(name, value)
        for answer in _answers(solver, script.text):
            if answer in ("sat", "unsat"):
                proof_text = ""
                if answer == "unsat" and "produce-proofs" in options:
                    proof_text = "".join(map(_text, map(solver.proofToString, solver.getProof())))
                    # cvc5 puts a proof into parentheses; checkers of proofs read the text inside.
                    proof_text = (
                        proof_text.strip().removeprefix("(").removesuffix(")").strip() + "\n"
                    )
                seconds = time.process_time() - began
                return Opinion(
                    "proved" if answer == script.expected else "fails", seconds, proof_text
                )
    return Opinion("unknown", time.process_time() - began)


def _answers(solver: cvc5.Solver, text: str) -> Iterator[str]:
    """Yield the answer of each command of the script that has one."""
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    while not (command := parser.nextCommand()).isNull():
        answer = command.invoke(solver, parser.getSymbolManager()).strip()
        if answer:
            yield answer


def _text(proof: bytes | str) -> str:
    return proof.decode() if isinstance(proof, bytes) else proof
