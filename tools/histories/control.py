"""A process that sends commands to RabbitMQ nodes, and runs clients that declare and publish.

`rabbitmqctl` takes a second or two for each command, and this process (`control.escript`) is
started only once.  Its clients declare as a channel of RabbitMQ does (`rabbit_exchange:declare`),
and report a declaration as acknowledged once the node has returned.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

from attrs import define, field, frozen

from joinproto.errors import EnvironmentProblem
from tools.fixtures.servers import require

SCRIPT = Path(__file__).with_name("control.escript")


@frozen(kw_only=True)
class Acknowledged:
    """An acknowledged declaration.  `at`: milliseconds since 1970."""

    name: str
    node: str
    at: int


@define
class Control:
    """The running process; leaving the context ends it.

    `plugins`: the folder of RabbitMQ's Erlang applications.  `acknowledged`: what clients declared.
    """

    environment: Mapping[str, str]
    plugins: Path
    acknowledged: list[Acknowledged] = field(factory=list)
    _process: subprocess.Popen[str] = field(init=False)
    _listener: threading.Thread = field(init=False)
    _answers: dict[int, tuple[bool, str]] = field(init=False, factory=dict)
    _news: threading.Condition = field(init=False, factory=threading.Condition)
    _ids: count[int] = field(init=False, factory=count)

    def __enter__(self) -> Control:
        self._process = subprocess.Popen(
            [require("escript", "erlang-base"), str(SCRIPT), str(self.plugins)],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._listener.join(timeout=10)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def ask(self, node: str, cookie: str, text: str, *, seconds: float = 20.0) -> str:
        """Return the value of an Erlang expression on a node; raises `EnvironmentProblem`."""
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        number = self._send("eval", node, cookie, f'"{quoted}", {int(seconds * 1000)}')
        is_done, answer = self._answer(number, seconds + 10)
        if not is_done:
            raise EnvironmentProblem(f"{node}: {text} {answer[:500]}")
        return answer

    def write(self, node: str, cookie: str, prefix: str, *, pause_ms: int) -> int:
        """Start a client that declares one exchange after another; return its number."""
        return self._send("write", node, cookie, f'"{prefix}", {pause_ms}')

    def publish(self, port: int, kind: str, queue: str, count: int) -> int:
        """Publish messages to a queue of this x-queue-type; return the number confirmed."""
        self._tell(
            f'{{publish, {(number := next(self._ids))}, {port}, "{kind}", "{queue}", {count}}}.'
        )
        is_done, answer = self._answer(number, 40)
        return int(answer) if is_done else 0

    def confirm(self, port: int, queue: str, mark: str, count: int) -> frozenset[str]:
        """Publish "MARK:NUMBER;" to a quorum queue; return the confirmed messages."""
        self._tell(
            f'{{confirm, {(number := next(self._ids))}, {port}, "{queue}", "{mark}", {count}}}.'
        )
        _, answer = self._answer(number, 90)
        return frozenset(f"{mark}:{word};" for word in re.findall(r"\d+", answer))

    def look(self, port: int, queue: str) -> frozenset[str]:
        """Return all messages of a queue, which stay in it; raises `EnvironmentProblem`."""
        self._tell(f'{{look, {(number := next(self._ids))}, {port}, "{queue}"}}.')
        is_done, answer = self._answer(number, 120)
        if not is_done:
            raise EnvironmentProblem(f"{queue}: {answer[:500]}")
        return frozenset(answer.split())

    def stop(self, *clients: int) -> None:
        """End clients; return when all their acknowledgements are recorded."""
        for client in clients:
            self._tell(f"{{stop, {client}}}.")
        for client in clients:
            self._answer(client, 30)

    def _send(self, verb: str, node: str, cookie: str, rest: str) -> int:
        number = next(self._ids)
        self._tell(f"{{{verb}, {number}, '{node}', {cookie}, {rest}}}.")
        return number

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _answer(self, number: int, seconds: float) -> tuple[bool, str]:
        with self._news:
            if not self._news.wait_for(lambda: number in self._answers, seconds):
                raise EnvironmentProblem(f"no answer within {seconds:.0f} s from {SCRIPT.name}")
            return self._answers.pop(number)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            verb, _, rest = line.rstrip("\n").partition(" ")
            with self._news:
                if verb == "ack":
                    _, node, name, at = rest.split(" ")
                    self.acknowledged.append(Acknowledged(name=name, node=node, at=int(at)))
                elif verb in ("done", "failed"):
                    number, _, answer = rest.partition(" ")
                    self._answers[int(number)] = (verb == "done", answer)
                    self._news.notify_all()
