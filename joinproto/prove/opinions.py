"""What becomes of each question besides asking Z3: cvc5 is asked, and files are written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Protocol

from attrs import define, field

from joinproto.errors import EnvironmentProblem, UsageProblem
from joinproto.prove.printed import Answer, Second
from joinproto.prove.script import Script


class SolverQuestion(Protocol):
    """What a solver was asked, or None where none was."""

    @property
    def script(self) -> Script | None: ...


@define
class Opinions:
    """`folder`: where each question is written, None for nowhere; `proofs`: cvc5's next to it."""

    second: bool
    folder: Path | None = None
    proofs: bool = False
    found: Counter[Answer] = field(factory=Counter, init=False)
    seconds: float = field(default=0.0, init=False)
    written: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        if self.second:
            import joinproto.prove.second  # noqa: F401  # a missing extra is told at once
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            is_used = any(self.folder.iterdir())
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        if is_used:
            raise UsageProblem(
                f"{self.folder} is not empty", next="name a new folder: old files would mislead"
            )

    def of(self, asked: SolverQuestion) -> Answer | None:
        """Return what cvc5 says, None if it is not asked; write what is to be written."""
        result, proof = None, ""
        script = asked.script if self.second or self.folder is not None else None
        if script is None:
            return None
        if self.second:
            from joinproto.prove.second import ask

            opinion = ask(script, proof=self.proofs)
            result, proof = opinion.result, opinion.proof
            self.found[result] += 1
            self.seconds += opinion.seconds
        if self.folder is not None:
            self.written += 1
            name = script.name(self.written)
            self._write(self.folder / f"{name}.smt2", script.text)
            if proof:
                self._write(self.folder / f"{name}.cpc", proof)
        return result

    @property
    def is_against(self) -> bool:
        """Return whether cvc5 does not confirm each obligation."""
        return self.found.total() > self.found["proved"]

    def told(self) -> Second | None:
        """Return what cvc5 said of all, None if it was not asked."""
        if not self.second:
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


def _unwritable(path: Path, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"{path} cannot be written: {error.strerror}", next="name another folder with --smt"
    )
