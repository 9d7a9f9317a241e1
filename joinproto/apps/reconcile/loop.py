"""The host of a keeper: it reads the broker, asks leaders, changes members by tools, and reports.

The machine (`joinproto/reconcile/machine.py`) decides the next action.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from attrs import define, field

from joinproto.apps.reconcile.api import Api, Refused
from joinproto.apps.reconcile.commands import CommandFailed, Tools
from joinproto.apps.reconcile.journal import Journal
from joinproto.apps.reconcile.reporting import Reporter
from joinproto.errors import PeerError
from joinproto.machine.step import performing
from joinproto.reconcile.keeper import Intent, Keeper, Verdict
from joinproto.reconcile.machine import (
    Changed,
    Event,
    LeaderReply,
    Read,
    Start,
    State,
    Unread,
    step,
)
from joinproto.reconcile.perform import perform
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Key

Work = Callable[[], None]


@define
class Loop:
    """One keeper with its ports (`Ports`), in one thread.

    `journal`: None means read-only: decisions are reported, and no change is begun.
    """

    api: Api
    tools: Tools
    keeper: Keeper
    reporter: Reporter
    journal: Journal | None
    clock: Callable[[], float] = time.time
    state: State = field(init=False)
    _inbox: deque[Event] = field(factory=deque, init=False)

    def __attrs_post_init__(self) -> None:
        self.state = State(self.keeper, applies=self.journal is not None)

    def start(self) -> None:
        """Resume the begun changes of an earlier run."""
        if self.journal is not None:
            self.hear(Start(self.journal.read()))

    def round(self, *, refused_is_fatal: bool = False) -> bool:
        """Read the broker once, and act on it; return whether it could be read.

        `refused_is_fatal`: raise `Refused` for bad credentials.  At the start they are a mistake in
        the command; later they may be temporary.
        """
        try:
            facts = self.api.read()
        except (PeerError, Refused) as error:
            if isinstance(error, Refused) and refused_is_fatal:
                raise
            self.hear(Unread(error.message))
            return False
        self.hear(Read(facts, self.clock()))
        return True

    def hear(self, event: Event) -> None:
        """Give the machine an event, and perform all effects; return when no event is left."""
        self._inbox.append(event)
        while self._inbox:
            taken = step(self.state, self._inbox.popleft())
            self.state = taken.state
            for work in performing(taken.effects, partial(perform, ports=self)):
                work()

    # -- the effects -------------------------------------------------------------------------------

    def ask(self, key: Key, kind: Kind, node: str) -> Iterator[Work]:
        yield lambda: self._inbox.append(self._leader_reply(key, kind, node))

    def _leader_reply(self, key: Key, kind: Kind, node: str) -> LeaderReply:
        try:
            return LeaderReply(self.tools.replicas(key, kind, node), self.clock())
        except PeerError as error:
            return LeaderReply(None, self.clock(), error.message)

    def keep(self, intents: Mapping[Key, Intent]) -> Iterator[Work]:
        if self.journal is not None:
            yield partial(self.journal.write, intents)

    def begin(self, intent: Intent) -> Iterator[Work]:
        yield lambda: self._inbox.append(self._changed(intent))

    def _changed(self, intent: Intent) -> Changed:
        try:
            self.tools.change(intent)
        except CommandFailed as error:
            return Changed(self.clock(), error.message)
        return Changed(self.clock())

    def tell_read(self, keeper: Keeper, now: float) -> None:
        self.reporter.read(keeper, now)

    def tell_verdict(self, key: Key, verdict: Verdict, *, applies: bool) -> None:
        self.reporter.judged(key, verdict, applies=applies)

    def tell_change(self, intent: Intent, ended: str) -> None:
        self.reporter.change(intent.key, intent.text, ended, intent.action.value)

    def tell_problem(self, what: str, why: str, key: Key | None) -> None:
        self.reporter.problem(what, why, key)
