"""Run a policy's program: it is started once, and asked each distinct question once.

A program reads a question from its standard input, one line, writes its answer, one line, and reads
the next question.  A program that ends after one question, or that answers only when its input
ends, is started again for each question.  If `stdbuf` is installed, it makes C programs such as
`jq` write each line at once.  A program's standard error is shown if it fails.
"""

from __future__ import annotations

import inspect
import json
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal
from zlib import crc32

from joinproto.errors import UsageProblem
from joinproto.recovery.policy import serve
from joinproto.recovery.policy.question import ASKS, Question

SECONDS = 5.0
PATIENCE = 6
"""A program that computes, or waits for a processor, gets more time by this factor."""
SINGLE_ASKED_AGAIN_MAX = 200
ANSWER_BYTES_MAX = 65_536
TAIL_BYTES = 600


class PolicyFailed(UsageProblem):
    """A policy does not give a valid answer; `how`: the kind of failure."""

    def __init__(
        self, how: Literal["hangs", "dies", "differs", "malformed"], message: str, *, next: str
    ) -> None:
        super().__init__(message, next=next)
        self.how = how


def command_of(policy: str) -> tuple[str, ...]:
    """Return the command of a policy: an executable file, a Python file, or a command line.

    Raises `UsageProblem` for a program that cannot be run.
    """
    path = Path(policy)
    if path.suffix == ".py" and path.is_file():
        # The source of `serve` is passed as text, because the package may be in an archive.
        return (sys.executable, "-c", inspect.getsource(serve), str(path))
    if path.is_file():
        if not os.access(path, os.X_OK):
            raise UsageProblem(f"{policy} is not executable", next=f"chmod +x {policy}")
        return (str(path.resolve()),)
    try:
        words = tuple(shlex.split(policy))
    except ValueError as error:
        raise UsageProblem(
            f"{policy!r} is not a command: {error}", next="mend its quotes"
        ) from None
    if not words:
        raise UsageProblem("the policy is empty", next="name a program, or a Python file")
    return words


def asks_of(policy: str, seconds: float = SECONDS) -> tuple[str, ...]:
    """Return the questions that a policy knows.

    A Python file knows those for which it has functions, any other program `choose-founder` only.
    Raises `PolicyFailed` for a Python file that cannot be run, or that has no such function.
    """
    if not policy.endswith(".py") or not Path(policy).is_file():
        return ASKS[:1]
    command = (*command_of(policy), "--asks")
    try:
        run = subprocess.run(command, check=False, capture_output=True, timeout=PATIENCE * seconds)
    except subprocess.TimeoutExpired:
        raise PolicyFailed(
            "hangs",
            f"{policy} is not loaded within {PATIENCE * seconds:g} s",
            next="let the file only define functions; or give it more time with --answer-seconds",
        ) from None
    if run.returncode:
        raise PolicyFailed(
            "dies",
            f"{policy} cannot be loaded; it wrote: {_end_of(run.stderr)}",
            next="run it by hand: python " + policy,
        )
    if asks := tuple(json.loads(run.stdout)):
        return asks
    names = ", ".join(f"{ask.replace('-', '_')}(facts)" for ask in ASKS)
    raise PolicyFailed(
        "malformed",
        f"{policy} has no function that is asked",
        next=f"define one or more of {names}",
    )


def work_of(group: int) -> tuple[bool, int]:
    """Return whether a process of the group runs or waits for a processor or a disk, and CPU time.

    The CPU time is that of all its processes, in ticks; (False, 0) on a system without /proc.
    """
    is_busy, ticks = False, 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group, *more = stat.read_text().rpartition(")")[2].split()
            if int(its_group) == group:
                is_busy |= state in "RD"
                ticks += int(more[8]) + int(more[9])
    return is_busy, ticks


def unbuffered(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command with line-buffered standard output, if `stdbuf` is installed."""
    stdbuf = shutil.which("stdbuf")
    if stdbuf is None or shutil.which(command[0]) is None:
        return command
    return (stdbuf, "-oL", *command)


class Program:
    """A running policy.

    `seconds`: how long one answer may take.  `starts`: how many processes were started.
    """

    def __init__(self, command: Sequence[str], *, seconds: float = SECONDS) -> None:
        self.command = tuple(command)
        self.seconds = seconds
        self.starts = 0
        self.answers: dict[str, str | None] = {}
        self._questions: dict[str, Question] = {}
        self._is_single = False
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._read = b""
        # CPU time of its processes at the last check, in ticks.
        self._used = -1

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._errors.close()

    def answer(self, question: Question) -> str | None:
        """Return the policy's answer; None if it does not know the question.

        Raises `PolicyFailed`, or `UsageProblem` if it cannot be started.
        """
        line = question.line
        if line not in self.answers:
            self._questions[line] = question
            self.answers[line] = self._answer_to(question, line)
        return self.answers[line]

    def ask_again(self) -> None:
        """Ask a second process all questions in another order; raises `PolicyFailed`.

        An answer must depend on the question alone, and not on earlier questions.  A program that
        is started for each question is asked at most `SINGLE_ASKED_AGAIN_MAX` of them.
        """
        self._stop()
        lines = sorted(self._questions, key=lambda line: crc32(line.encode()))
        for line in lines[: SINGLE_ASKED_AGAIN_MAX if self._is_single else None]:
            again = self._answer_to(self._questions[line], line)
            if again != self.answers[line]:
                raise PolicyFailed(
                    "differs",
                    f"the policy answers {self.answers[line]!r}, and later {again!r}, to the same"
                    f" question; asked: {line}",
                    next="let the program decide from the line alone, without clock, file or"
                    " memory",
                )

    # -- one question --------------------------------------------------------------------------

    def _answer_to(self, question: Question, line: str) -> str | None:
        text = self._exchange(line)
        if text is None and not self._is_single:
            # The program answers one question and ends, or waits for the end of its input.
            self._is_single = True
            text = self._exchange(line)
        if text is None:
            raise PolicyFailed(
                "hangs",
                f"the policy gives no answer within {self.seconds:g} s{self._error_output()};"
                f" asked: {line}",
                next="write one line for each line that is read, and flush it; or give it more"
                " time with --answer-seconds",
            )
        try:
            return question.answer_of(text.decode("utf-8", "replace"))
        except ValueError as error:
            raise PolicyFailed(
                "malformed",
                f"the policy's answer is not valid: {error}; asked: {line}",
                next="answer with the name of a node or with one of these words, a line of JSON",
            ) from None

    def _exchange(self, line: str) -> bytes | None:
        """Return the line of the answer; None if none came in time, or if the program ended."""
        self._refuse_surplus()
        if self._process is not None and self._process.poll() is not None:
            self._refuse_death(self._process)
            self._stop()
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        began = time.monotonic()
        left = line.encode() + b"\n"
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            ready.register(process.stdin, selectors.EVENT_WRITE)
            while b"\n" not in self._read:
                room = self._seconds_left(began, process)
                if room <= 0:
                    self._stop()
                    return None
                for key, _ in ready.select(room):
                    if key.fileobj is process.stdin:
                        left = self._write(left)
                        if not left:
                            ready.unregister(process.stdin)
                            if self._is_single:
                                process.stdin.close()
                    elif found := os.read(process.stdout.fileno(), ANSWER_BYTES_MAX):
                        self._read += found
                        if len(self._read) > ANSWER_BYTES_MAX:
                            return self._read
                    else:
                        return self._last_output(process)
        answer, _, self._read = self._read.partition(b"\n")
        if self._is_single:
            self._stop()
        return answer

    def _seconds_left(self, began: float, process: subprocess.Popen[bytes]) -> float:
        """Return how long to wait further; a program that still computes gets more time."""
        passed = time.monotonic() - began
        if passed < self.seconds:
            self._used = -1
            return self.seconds - passed
        is_busy, used = work_of(process.pid)
        is_at_work, self._used = is_busy or used != self._used, used
        return self.seconds / 10 if is_at_work and passed < PATIENCE * self.seconds else 0.0

    def _refuse_surplus(self) -> None:
        """Raise `PolicyFailed` for surplus output, which would answer the next question."""
        process = self._process
        if process is None or process.stdout is None:
            return
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            if not self._read and ready.select(0):
                self._read = os.read(process.stdout.fileno(), ANSWER_BYTES_MAX)
        if self._read:
            raise PolicyFailed(
                "malformed",
                f"the policy writes more than one line for a question: {self._read[:80]!r}",
                next="write one line for each line that is read",
            )

    def _refuse_death(self, process: subprocess.Popen[bytes]) -> None:
        """Raise `PolicyFailed` if a program ended with an error, or only closed its output."""
        try:
            code = process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            self._stop()
            raise PolicyFailed(
                "hangs",
                "the policy closed its output, and still runs",
                next="write one line for each line that is read",
            ) from None
        if code:
            raise PolicyFailed(
                "dies",
                f"the policy ended with exit code {code}{self._error_output()}",
                next="run it by hand, with a question on its standard input",
            )

    def _write(self, left: bytes) -> bytes:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            return left[os.write(self._process.stdin.fileno(), left) :]
        except BlockingIOError:
            return left
        except BrokenPipeError:
            return b""  # the program may answer without reading all of its input

    def _last_output(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """Return the last output of a program that ended; None if there was none.

        Raises `PolicyFailed` if it failed, or if it was started for this question only and gave no
        answer.
        """
        self._refuse_death(process)
        said = self._read.strip()
        self._stop()
        if not said and self._is_single:
            raise PolicyFailed(
                "dies",
                f"the policy ended without an answer{self._error_output()}",
                next="run it by hand, with a question on its standard input",
            )
        return said or None

    # -- the process ---------------------------------------------------------------------------

    def _start(self) -> None:
        self._stop()
        self._errors.seek(0)
        self._errors.truncate()
        try:
            self._process = subprocess.Popen(
                unbuffered(self.command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                # A new session, so that its child processes can be ended with it.
                start_new_session=True,
            )
        except OSError as error:
            raise UsageProblem(
                f"{self.command[0]} cannot be run: {error.strerror}",
                next="name a program, a Python file, or a command in quotes",
            ) from None
        self.starts += 1
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)

    def _stop(self) -> None:
        process, self._process = self._process, None
        self._read = b""
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def _error_output(self) -> str:
        self._errors.seek(0, os.SEEK_END)
        size = self._errors.tell()
        self._errors.seek(max(0, size - TAIL_BYTES))
        text = _end_of(self._errors.read())
        return f"; it wrote: {text}" if text else ""


def _end_of(written: bytes) -> str:
    return written[-TAIL_BYTES:].decode("utf-8", "replace").strip()
