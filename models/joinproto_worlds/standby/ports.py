"""The ports by which a broker of a story performs its effects: links, disks, a manager, clients.

Source: hot standby, H1 to H10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import Factory, evolve, frozen

from joinproto.standby.broker import Mark
from joinproto.standby.events import Superseded, ViewWritten, Written
from joinproto.standby.managing import Due, Managing, appended, decided, is_over
from joinproto.standby.messages import Change, Content, Has, View, Wired, WiringItem
from joinproto.standby.replica_state import ReplicaState, changed, declared, deleted
from joinproto.standby.variants import VariantRules
from joinproto_worlds.standby.story import Manager

if TYPE_CHECKING:
    from joinproto_worlds.standby.played import Played


@frozen(kw_only=True)
class Waiting:
    """An action that is put off until the end of a broker's turn.

    `changes`, `makes`, `removes`: to be written, all in one write.  After the write `content` is
    sent `to` a broker, the machine hears that `token` is written, and `view` is handed in.
    """

    changes: tuple[Change, ...] = ()
    makes: WiringItem | None = None
    removes: WiringItem | None = None
    to: str = ""
    content: Content | None = None
    token: int | None = None
    view: View | None = None

    @property
    def is_kept(self) -> bool:
        return bool(self.changes or self.makes or self.removes)

    @property
    def holds_back(self) -> bool:
        """Return whether later messages wait for this write: they may confirm it."""
        return self.content is not None or (self.is_kept and self.token is None)

    @property
    def behind(self) -> Waiting | None:
        """Return the part that is left to do after the write, or None."""
        if not self.is_kept:
            return self
        return None if self.token is None else Waiting(token=self.token)

    def put_in(self, rules: VariantRules, replica: ReplicaState) -> ReplicaState:
        """Return the replica after this write."""
        for change in self.changes:
            replica = changed(rules, replica, change)
        if self.makes is not None:
            replica = declared(replica, self.makes)
        return replica if self.removes is None else deleted(replica, self.removes)


@frozen
class Act:
    """One step: the event, its broker, and the other broker of a link."""

    what: str
    who: str
    other: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.who, self.what, self.other)))


@frozen
class Disk:
    """The contents of a broker's disk, whether the broker runs or not."""

    view: View = View()
    replica: ReplicaState = Factory(ReplicaState)
    mark: Mark = Mark.CLEAN

    @property
    def read(self) -> ReplicaState:
        """Return a copy of the replica, as a process reads it at its start."""
        return ReplicaState(things={**self.replica.things}, queues={**self.replica.queues})


@frozen
class Ports:
    """The ports of the broker `name` of the story `it`."""

    it: Played
    name: str

    def send(self, to: str, content: Content) -> None:
        if not self.it.is_connected(self.name, to):
            return
        if any(one.holds_back for one in self.it.writes.get(self.name, ())):
            self._put_off(Waiting(to=to, content=content))
        else:
            self._send(to, content)

    def _send(self, to: str, content: Content) -> None:
        it, name = self.it, self.name
        ends = (name + "?" if it.plot.apart and isinstance(content, Wired) else name, to)
        under_way = it.links.get(ends, ())
        if isinstance(content, Has) and under_way and isinstance(under_way[-1], Has):
            under_way = under_way[:-1]
        it.links[ends] = (*under_way, content)

    def confirm(self, token: int) -> None:
        self.it.confirmed |= {token}
        self.it.newest = max(self.it.newest, self.it.brokers[self.name].view.generation)

    # -- durable state, and messages that wait for it ---------------------------------------

    def _put_off(self, one: Waiting) -> None:
        self.it.writes[self.name] = (*self.it.writes.get(self.name, ()), one)

    def write(self, token: int, changes: Sequence[Change]) -> None:
        self._put_off(Waiting(token=token, changes=tuple(changes)))
        if not self.it.plot.halfway:
            self.written()

    def keep(self, changes: Sequence[Change]) -> None:
        self._keep(Waiting(changes=tuple(changes)))

    def make(self, thing: WiringItem) -> None:
        self._keep(Waiting(makes=thing))

    def remove(self, thing: WiringItem) -> None:
        self._keep(Waiting(removes=thing))

    def _keep(self, one: Waiting) -> None:
        self._put_off(one)
        if not self.it.plot.power:
            self.append()

    def append(self) -> None:
        """Write the pending changes to the disk, all at once; messages behind them still wait."""
        waiting = self.it.writes.pop(self.name, ())
        replica, rules = self.it.disk[self.name].replica, self.it.brokers[self.name].who.rules
        for one in waiting:
            replica = one.put_in(rules, replica)
        if any(one.is_kept for one in waiting):
            self._now(replica=replica)
        for one in waiting:
            if one.behind is not None:
                self._put_off(one.behind)

    def written(self) -> None:
        """End a turn: write the pending changes, then send the messages and tell the machine."""
        self.append()
        waiting = self.it.writes.pop(self.name, ())
        for one in waiting:
            if one.content is not None:
                self._send(one.to, one.content)
        for one in waiting:
            if one.token is not None and self.it.runs(self.name):
                self.it.tell(self.name, Written(one.token))
            elif one.view is not None:
                self._write_view(one.view)

    def write_view(self, view: View) -> None:
        if self.it.plot.power:
            self._put_off(Waiting(view=view))
        else:
            self._write_view(view)

    def _write_view(self, view: View) -> None:
        if not self.it.brokers[self.name].serves:
            return
        if self.it.plot.power or self.it.plot.manager is Manager.BUILT_IN:
            self.it.writing[self.name] = view
        else:
            self.view_written(view)

    def handed_in(self, view: View) -> None:
        """Hand a view to the manager, which takes only the direct successor of its last view."""
        it, name = self.it, self.name
        if it.plot.manager is not Manager.BUILT_IN:
            manager, fits = Managing(writing=view), True
        elif view.number == 1:  # a promotion, which the chain already has; another may follow it
            manager, fits = Managing(chain=it.chain, asked=view), True
        else:
            manager, fits = appended(Managing(chain=it.chain, writing=view), view)
            it.chain = manager.chain
        manager, due = decided(manager, view, fits=fits)
        if due is Due.PROMOTED:
            it.tell(name, it.promotion_of(name, view))
        elif due is Due.WRITTEN and it.survives(name, is_write=True):
            self.view_written(view)
        if is_over(manager, it.brokers[name]):
            it.tell(name, Superseded(it.chain))

    def view_written(self, view: View) -> None:
        """Keep a view that is written elsewhere on this broker's disk, and tell the machine."""
        self.keep_view(view)
        self.it.tell(self.name, ViewWritten(view))

    def keep_view(self, view: View) -> None:
        self.append()
        self._now(view=view)

    def keep_mark(self, mark: Mark) -> None:
        self.append()
        self._now(mark=mark)

    def _now(self, **changes: Any) -> None:
        self.it.write(self.name, evolve(self.it.disk[self.name], **changes))

    # -- links -------------------------------------------------------------------------------

    def turn(self, why: str) -> None:
        it, name = self.it, self.name
        it.writing.pop(name, None)
        if not it.plot.power:
            self.append()
        waiting = it.writes.pop(name, ())
        if kept := tuple(one for one in waiting if it.plot.power and one.is_kept):
            it.writes[name] = kept
        it.unlink(name)

    def leave(self, broker: str, why: str) -> None:
        self.it.part(self.name, broker)

    def parted(self, broker: str) -> None:
        """Drop the messages that wait to be sent to this broker, because its link is gone."""
        waiting = self.it.writes.pop(self.name, ())
        if left := tuple(one for one in waiting if one.to != broker):
            self.it.writes[self.name] = left

    def _seen(self, *_: object) -> None:
        """Do nothing: the story needs no more than the broker's new state."""

    answer = serve = _seen
