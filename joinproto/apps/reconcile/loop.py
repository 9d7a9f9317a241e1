"""The loop: read the broker, follow what was begun, look at whose turn it is, begin what is due.

Each step is taken once.  What is not known is not acted on: a broker that cannot be read leaves
everything as it is, and a change is begun only on what the queue's leader itself said just before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from attrs import define, evolve

from joinproto.apps.reconcile.api import Api, Refused
from joinproto.apps.reconcile.commands import CommandFailed, Tools
from joinproto.apps.reconcile.journal import Journal
from joinproto.apps.reconcile.telling import Teller
from joinproto.errors import PeerError, UsageProblem
from joinproto.reconcile.keeper import Ended, Intent, Keeper
from joinproto.reconcile.reading import Key, Replica

One = TypeVar("One", Intent, Key)


@define
class Loop:
    """`journal` None: read-only; decisions are told, nothing is begun."""

    api: Api
    tools: Tools
    keeper: Keeper
    teller: Teller
    journal: Journal | None
    clock: Callable[[], float] = time.time

    def start(self) -> None:
        """Take up what was begun before."""
        if self.journal is not None:
            self.keeper = evolve(self.keeper, intents=self.journal.read())

    def round(self, *, refused_is_fatal: bool = False) -> bool:
        """Return whether the broker could be read.

        Bad credentials at the start are a mistake of whoever starts it; later they may pass.
        """
        try:
            facts = self.api.read()
        except (PeerError, Refused) as error:
            if isinstance(error, Refused) and refused_is_fatal:
                raise
            self.teller.problem("api", error.message)
            return False
        self.keeper = self.keeper.observe(facts, self.clock())
        self.teller.read(self.keeper, self.clock())
        for key, problem in facts.problems.items():
            self.teller.problem("queue", problem, key)
        for intent in list(self.keeper.intents.values()):
            self._alone(self._follow, intent, intent.key)
        changed = {
            key: self._alone(self._look, key, key) is not False
            for key in self.keeper.due(self.clock())
        }
        self.keeper = self.keeper.looked(changed, self.clock())
        return True

    def _alone(self, step: Callable[[One], bool | None], one: One, key: Key) -> bool | None:
        """Take a step of one queue; a placement function that fails stops no other queue."""
        try:
            return step(one)
        except UsageProblem as error:
            self.teller.problem("placement", error.message, key)
            return None

    def _follow(self, intent: Intent) -> None:
        replicas = None
        if intent.key in self.keeper.queues:
            replicas = self._replicas(intent.key)
            ended = self.keeper.follow(intent, self.clock(), replicas)
        else:
            # A list that lacks it may be a broker that starts; after a while it was deleted.
            is_old = self.clock() - intent.since >= self.keeper.rules.settle
            ended = Ended.LOST if is_old else Ended.NOT_YET
        if ended is Ended.NOT_YET:
            return
        left = self.keeper.ended(intent, ended)
        verdict = left.after(intent, ended, self.clock(), replicas)
        if verdict is not None and verdict.is_change and verdict.intent is None:
            return  # its nodes are busy: kept until they are not, as nothing else remembers it
        self.keeper = left
        self.teller.change(intent.key, intent.said, ended.value, intent.action.value)
        if verdict is not None and verdict.intent is not None:
            self._begin(verdict.intent)
        else:
            self._write()

    def _look(self, key: Key) -> bool:
        """Evaluate one queue; return whether it is to be looked at again soon."""
        verdict = self.keeper.judge(key, self.clock())
        if verdict.intent is not None and self.journal is not None:
            # The list of queues is a few seconds old, so its leader has the last word.
            replicas = self._replicas(key)
            if replicas is None:
                return True
            verdict = self.keeper.judge(key, self.clock(), replicas)
        self.teller.judged(key, verdict, applies=self.journal is not None)
        if verdict.intent is not None and self.journal is not None:
            self._begin(verdict.intent)
        return verdict.is_change or verdict.decision.action.value == "wait"

    def _begin(self, intent: Intent) -> None:
        self.keeper = self.keeper.begun(intent)
        self._write()
        self.teller.change(intent.key, intent.said, "begun", intent.action.value)
        try:
            self.tools.change(intent)
        except CommandFailed as error:
            # It may have happened all the same: the leader is asked in the next round.
            self.teller.problem("command", error.message, intent.key)

    def _replicas(self, key: Key) -> tuple[Replica, ...] | None:
        queue = self.keeper.queues[key]
        running = [node.name for node in self.keeper.nodes if node.running]
        node = queue.leader if queue.leader in running else next(iter(running), None)
        if node is None:
            return None
        try:
            return self.tools.replicas(key, queue.kind, node)
        except PeerError as error:
            self.teller.problem("status", error.message, key)
            return None

    def _write(self) -> None:
        if self.journal is not None:
            self.journal.write(self.keeper.intents)
