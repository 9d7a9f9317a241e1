"""`rabbitmq-queues` and `rabbitmq-streams`: ask a leader for its members, and change them.

The exit code of a command is not trusted: the leader is asked afterwards.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

from attrs import frozen

from joinproto.errors import EnvironmentProblem, PeerError
from joinproto.reconcile.keeper import Intent
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Key, Replica, replicas_of
from joinproto.reconcile.tables import Action

VERBS = {
    (Kind.QUORUM, Action.ADD): "add_member",
    (Kind.QUORUM, Action.REMOVE): "delete_member",
    (Kind.STREAM, Action.ADD): "add_replica",
    (Kind.STREAM, Action.REMOVE): "delete_replica",
}
STATUS = {Kind.QUORUM: "quorum_status", Kind.STREAM: "stream_status"}


class CommandFailed(PeerError):
    """A tool of the broker failed, took too long, or did not print JSON."""


@frozen
class Tools:
    """The broker's tools.

    `queues`, `streams`: the tools' commands, possibly with words before, such as `sudo`.
    `timeout`: seconds for one command.
    """

    queues: Sequence[str] = ("rabbitmq-queues",)
    streams: Sequence[str] = ("rabbitmq-streams",)
    timeout: float = 60.0

    def replicas(self, key: Key, kind: Kind, node: str) -> tuple[Replica, ...]:
        """Return a queue's replicas as this node reports them; raises `CommandFailed`."""
        words = (STATUS[kind], f"--vhost={key.vhost}", "--formatter=json", "--", key.name)
        said = self._run(kind, node, words)
        try:
            return replicas_of(kind, json.loads(said))
        except (ValueError, RecursionError):
            raise CommandFailed(f"{words[0]} {key.title}: not JSON", next="ask again") from None

    def change(self, intent: Intent) -> None:
        """Make a change; raises `CommandFailed`, after which the change may be made or not."""
        key = intent.key
        verb = VERBS[intent.kind, intent.action]
        words = (verb, f"--vhost={key.vhost}", "--", key.name, intent.node)
        self._run(intent.kind, intent.leader, words)

    def _run(self, kind: Kind, node: str, words: Sequence[str]) -> str:
        program = self.queues if kind is Kind.QUORUM else self.streams
        line = [*program, "--node", node, "--quiet", *words]
        try:
            done = subprocess.run(
                line,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CommandFailed(
                f"{words[0]} on {node}: not ended after {self.timeout:g} s", next="ask again"
            ) from None
        except OSError as error:
            raise EnvironmentProblem(
                f"{program[0]}: {error.strerror}",
                next="give the tools' commands with --rabbitmq-queues and --rabbitmq-streams",
            ) from None
        if done.returncode != 0:
            reason = " ".join((done.stderr or done.stdout).split())[:300]
            raise CommandFailed(
                f"{words[0]} on {node}: exit code {done.returncode}, {reason}", next="ask again"
            )
        return done.stdout
