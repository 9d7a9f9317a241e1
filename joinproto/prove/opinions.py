"""Asks cvc5 the questions that Z3 was asked, and writes them to files.

cvc5 works in its own process while Z3 continues, so its answers come later.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from attrs import define, field

from joinproto.errors import EnvironmentProblem, UsageProblem
from joinproto.prove.printed import Answer, Second
from joinproto.prove.script import Script

if TYPE_CHECKING:
    from joinproto.prove.second import Opinion


class SolverQuestion(Protocol):
    """An obligation.  `script`: the question to a solver; None if no solver is asked."""

    @property
    def script(self) -> Script | None: ...


@define
class PendingAnswer:
    """One question to cvc5.  `result` must be called once, in the order of the questions."""

    questions: Cvc5Questions
    script: Script
    future: Future[Opinion]

    def done(self) -> bool:
        """Return whether `result` returns at once."""
        return self.future.done()

    def wait(self) -> None:
        """Wait for cvc5 for a short time, so that the caller can handle Ctrl-C."""
        wait([self.future], timeout=0.1)

    def result(self) -> Answer:
        """Wait for cvc5, write the files, and return its answer."""
        try:
            opinion = self.future.result()
        except BrokenProcessPool as error:
            raise _ended() from error
        self.questions.note(self.script, opinion.result, opinion.seconds, opinion.proof)
        return opinion.result


@define
class Cvc5Questions:
    """All questions to cvc5.

    `uses_cvc5`: whether cvc5 is asked.  `folder`: the folder for files with the questions, or None.
    `proofs`: whether cvc5's proofs are written, too.
    """

    uses_cvc5: bool
    folder: Path | None = None
    proofs: bool = False
    found: Counter[Answer] = field(factory=Counter, init=False)
    seconds: float = field(default=0.0, init=False)
    written: int = field(default=0, init=False)
    _process: ProcessPoolExecutor | None = field(default=None, init=False)
    _open: int = field(default=0, init=False)  # the number of questions without an answer

    def __attrs_post_init__(self) -> None:
        if self.uses_cvc5:
            from joinproto.prove.second import version  # so that a missing extra is reported now

            # Ctrl-C goes to both processes; this process handles it.
            context, ignore = multiprocessing.get_context("fork"), (signal.SIGINT, signal.SIG_IGN)
            self._process = ProcessPoolExecutor(1, context, signal.signal, ignore)
            self._process.submit(version)  # forks now, because Z3 later makes threads
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            is_used = any(self.folder.iterdir())
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        if is_used:
            raise UsageProblem(
                f"{self.folder} is not empty", next="name a new or an empty folder with --smt"
            )

    def ask(self, asked: SolverQuestion) -> PendingAnswer | None:
        """Ask cvc5, or only write the question to a file if cvc5 is not asked."""
        script = asked.script if self.uses_cvc5 or self.folder is not None else None
        if script is None:
            return None
        if self._process is None:
            self._write_question(script)
            return None
        from joinproto.prove.second import ask

        try:
            future = self._process.submit(ask, script, proof=self.proofs)
        except BrokenProcessPool as error:
            raise _ended() from error
        self._open += 1
        return PendingAnswer(self, script, future)

    def note(self, script: Script, result: Answer, seconds: float, proof: str) -> None:
        """Count an answer of cvc5, and write the files."""
        self._open -= 1
        self.found[result] += 1
        self.seconds += seconds
        if self.folder is not None:
            self._write_question(script, proof)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process of cvc5; open questions get no answer.

        With open questions, all child processes of this process are killed.
        """
        if self._process is None:
            return
        if self._open:
            for process in multiprocessing.active_children():
                process.kill()
        self._process.shutdown(cancel_futures=True)

    def _write_question(self, script: Script, proof: str = "") -> None:
        if self.folder is None:
            return
        self.written += 1
        name = script.name(self.written)
        self._write(self.folder / f"{name}.smt2", script.text)
        if proof:
            self._write(self.folder / f"{name}.cpc", proof)

    @property
    def has_unproved(self) -> bool:
        """Return whether there is an obligation that cvc5 did not prove."""
        return self.found.total() > self.found["proved"]

    def summary(self) -> Second | None:
        """Return the counts of cvc5's answers; None if cvc5 is not asked."""
        if not self.uses_cvc5:
            return None
        from joinproto.prove.second import version

        return Second(
            solver=version(),
            cpu_seconds=self.seconds,
            proved=self.found["proved"],
            failed=self.found["fails"],
            unknown=self.found["unknown"],
        )

    def _write(self, path: Path, text: str) -> None:
        try:
            path.write_text(text, "utf-8")
        except OSError as error:
            raise _unwritable(path, error) from error


def _ended() -> EnvironmentProblem:
    return EnvironmentProblem(
        "the process of cvc5 was ended from outside, perhaps because memory was short",
        next="free some memory, or leave out --second",
    )


def _unwritable(path: Path, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"{path} cannot be written: {error.strerror}", next="name another folder with --smt"
    )
