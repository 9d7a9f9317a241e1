"""The ports of a broker's process: its action for each effect of the machine.

Each method reads at once the data of its effect: the present link, the contents of its messages.
The method returns the rest of the action, which is done when all effects before it are done.

Durable changes go to the disk when the turn of the event loop ends, in one fsync.  Messages that
are sent after such changes wait for that, because another broker may act on them.  Otherwise a
message is sent at once.

Source: hot standby, H2, H4; `joinproto/standby/perform.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, field

from joinproto.apps.standby.copying import AGAIN_SECONDS
from joinproto.apps.standby.keeping.form import Action
from joinproto.apps.standby.links import Outgoing
from joinproto.apps.standby.performing import Task, Work
from joinproto.standby.broker import Mark
from joinproto.standby.events import Answer, ViewWritten, Written
from joinproto.standby.messages import Change, Content, View, WiringItem

if TYPE_CHECKING:
    from joinproto.apps.standby.core import Core

log = logging.getLogger("joinproto.standby")


@define(eq=False)
class BrokerPorts:
    """The actions of one broker (`Ports` of `joinproto/standby/perform.py`)."""

    core: Core
    _once_written: list[Callable[[], object]] = field(factory=list)
    _outbox: list[Outgoing] = field(factory=list)  # to send when the pending changes are durable

    def send(self, to: str, content: Content) -> Task:
        return partial(self._send, self.core.links.frame_for(to, content))

    def _send(self, one: Outgoing) -> None:
        if self.core.bodies.has_unwritten or self._outbox:
            self._outbox.append(one)
            self.core.schedule_turn_end()
        else:
            self.core.links.send(one)

    def answer(self, answer: Answer) -> Task:
        return lambda: None

    def keep_view(self, view: View) -> Task:
        return partial(self._keep_view, view, self.core.state.follows)

    def _keep_view(self, view: View, teller: str | None) -> Iterator[Work]:
        yield self._to_keep(view=view, cluster=self.core.links.cluster_of(view, teller))
        self._say_view(view)

    def keep_mark(self, mark: Mark) -> Task:
        return lambda: [self._to_keep(clean=mark is Mark.CLEAN)]

    def _to_keep(self, **changes: Any) -> Work:
        """Return work that stores these fields after all earlier changes."""
        return partial(self.core.disk.keep, self.core.bodies.unwritten(), **changes)

    def _say_view(self, view: View) -> None:
        self.core.say("view", generation=view.generation, number=view.number, of=view.members)

    def write_view(self, view: View) -> Task:
        return partial(self._at_the_end, partial(self._write_view, view))

    def _write_view(self, view: View) -> None:
        core = self.core
        if not core.serves:
            return
        if core.manager is not None:
            core.manager.write(view)
        else:
            core.view_written(view)

    def has_view(self, view: View) -> Iterator[Work]:
        """Store a view that all other brokers in it already have."""
        if self.core.serves:
            yield self._to_keep(view=view)
            self._say_view(view)
            self.core.do(ViewWritten(view))

    def write(self, token: int, changes: Sequence[Change]) -> Task:
        return partial(self._write, token, changes)

    def _write(self, token: int, changes: Sequence[Change]) -> None:
        for change in changes:
            self.core.bodies.change(change, is_awaited=True)
        self._at_the_end(partial(self.core.do, Written(token)))

    def _at_the_end(self, action: Callable[[], object]) -> None:
        self._once_written.append(action)
        self.core.schedule_turn_end()

    def keep(self, changes: Sequence[Change]) -> Task:
        return partial(self._change, *(partial(self.core.bodies.change, one) for one in changes))

    def make(self, thing: WiringItem) -> Task:
        return partial(self._change, partial(self.core.bodies.make, thing))

    def remove(self, thing: WiringItem) -> Task:
        removed = partial(self.core.clients.removed, thing.name)
        return partial(self._change, partial(self.core.bodies.remove, thing), removed)

    def _change(self, *changes: Callable[[], object]) -> None:
        for change in changes:
            change()
        self.core.schedule_turn_end()

    def confirm(self, token: int) -> Task:
        return partial(self.core.clients.confirm, token)

    def serve(self, generation: int) -> Task:
        return partial(self.core.clients.serve, generation)

    def turn(self, why: str) -> Task:
        self.core.links.forget()
        return partial(self._turn, why)

    def _turn(self, why: str) -> None:
        self.core.clients.close(why)
        self._once_written.clear()
        self._outbox.clear()

    def leave(self, broker: str, why: str) -> Task:
        log.warning("no link with %s: %s", broker, why)
        self.core.links.leave(broker)
        return lambda: None

    # -- the end of a turn -------------------------------------------------------------------

    def turn_ends(self) -> Iterator[Work]:
        """Make pending changes durable; then run the actions that wait for them."""
        core = self.core
        answers, self._once_written = self._once_written, []
        outbox, self._outbox = self._outbox, []
        actions = core.bodies.unwritten()
        if actions or core.disk.has_more:
            yield partial(self._append, actions)
        for one in outbox:
            core.links.send(one)
        for answer in answers:
            answer()
        if outbox or answers:
            core.turn_ends()
            return
        core.copies.go_on()
        if core.disk.has_more:
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, core.schedule_turn_end)

    def _append(self, actions: Sequence[Action]) -> None:
        self.core.disk.append(actions)
        self.core.disk.go_on()
