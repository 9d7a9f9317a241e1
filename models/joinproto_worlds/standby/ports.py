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
class PendingAction:
    """An action that is put off until the end of a broker's turn.

    `changes`, `makes`, `removes` are written, all in one write.  After the write `content` is sent
    to the broker `to`, the machine hears that `token` is written, and `view` is handed in.
    """

    changes: tuple[Change, ...] = ()
    makes: WiringItem | None = None
    removes: WiringItem | None = None
    to: str = ""
    content: Content | None = None
    token: int | None = None
    view: View | None = None

    @property
    def is_write(self) -> bool:
        return bool(self.changes or self.makes or self.removes)

    @property
    def holds_back(self) -> bool:
        """Return whether later messages wait for this action, because they may confirm a write."""
        return self.content is not None or (self.is_write and self.token is None)

    @property
    def after_write(self) -> PendingAction | None:
        """Return the part that is left to do after the write, or None."""
        if not self.is_write:
            return self
        return None if self.token is None else PendingAction(token=self.token)

    def put_in(self, rules: VariantRules, replica: ReplicaState) -> ReplicaState:
        """Return the replica after this write."""
        for change in self.changes:
            replica = changed(rules, replica, change)
        if self.makes is not None:
            replica = declared(replica, self.makes)
        return replica if self.removes is None else deleted(replica, self.removes)


@frozen
class Act:
    """One step.  `other`: the other broker, if the step is about a link."""

    action: str
    broker: str
    other: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.broker, self.action, self.other)))


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
    """The ports of the broker `name` of a story."""

    played: Played
    name: str

    def send(self, to: str, content: Content) -> None:
        if not self.played.is_connected(self.name, to):
            return
        if any(one.holds_back for one in self.played.writes.get(self.name, ())):
            self._put_off(PendingAction(to=to, content=content))
        else:
            self._send(to, content)

    def _send(self, to: str, content: Content) -> None:
        played, name = self.played, self.name
        ends = (name + "?" if played.plot.apart and isinstance(content, Wired) else name, to)
        under_way = played.links.get(ends, ())
        if isinstance(content, Has) and under_way and isinstance(under_way[-1], Has):
            under_way = under_way[:-1]
        played.links[ends] = (*under_way, content)

    def confirm(self, token: int) -> None:
        self.played.confirmed |= {token}
        self.played.newest = max(self.played.newest, self.played.brokers[self.name].view.generation)

    # -- durable state, and messages that wait for it ---------------------------------------

    def _put_off(self, one: PendingAction) -> None:
        self.played.writes[self.name] = (*self.played.writes.get(self.name, ()), one)

    def write(self, token: int, changes: Sequence[Change]) -> None:
        self._put_off(PendingAction(token=token, changes=tuple(changes)))
        if not self.played.plot.halfway:
            self.written()

    def keep(self, changes: Sequence[Change]) -> None:
        self._keep(PendingAction(changes=tuple(changes)))

    def make(self, thing: WiringItem) -> None:
        self._keep(PendingAction(makes=thing))

    def remove(self, thing: WiringItem) -> None:
        self._keep(PendingAction(removes=thing))

    def _keep(self, one: PendingAction) -> None:
        self._put_off(one)
        if not self.played.plot.power:
            self.append()

    def append(self) -> None:
        """Write the pending changes to the disk, all at once; later messages still wait."""
        waiting = self.played.writes.pop(self.name, ())
        replica, rules = (
            self.played.disk[self.name].replica,
            self.played.brokers[self.name].who.rules,
        )
        for one in waiting:
            replica = one.put_in(rules, replica)
        if any(one.is_write for one in waiting):
            self._write_disk(replica=replica)
        for one in waiting:
            if one.after_write is not None:
                self._put_off(one.after_write)

    def written(self) -> None:
        """End a turn: write the pending changes, then send the messages and tell the machine."""
        self.append()
        waiting = self.played.writes.pop(self.name, ())
        for one in waiting:
            if one.content is not None:
                self._send(one.to, one.content)
        for one in waiting:
            if one.token is not None and self.played.runs(self.name):
                self.played.tell(self.name, Written(one.token))
            elif one.view is not None:
                self._write_view(one.view)

    def write_view(self, view: View) -> None:
        if self.played.plot.power:
            self._put_off(PendingAction(view=view))
        else:
            self._write_view(view)

    def _write_view(self, view: View) -> None:
        if not self.played.brokers[self.name].serves:
            return
        if self.played.plot.power or self.played.plot.manager is Manager.BUILT_IN:
            self.played.writing[self.name] = view
        else:
            self.view_written(view)

    def handed_in(self, view: View) -> None:
        """Hand a view to the manager, which takes only the direct successor of its last view."""
        played, name = self.played, self.name
        if played.plot.manager is not Manager.BUILT_IN:
            manager, fits = Managing(writing=view), True
        elif view.number == 1:  # a promotion, which the chain already has; another may follow it
            manager, fits = Managing(chain=played.chain, asked=view), True
        else:
            manager, fits = appended(Managing(chain=played.chain, writing=view), view)
            played.chain = manager.chain
        manager, due = decided(manager, view, fits=fits)
        if due is Due.PROMOTED:
            played.tell(name, played.promotion_of(name, view))
        elif due is Due.WRITTEN and played.survives(name, is_write=True):
            self.view_written(view)
        if is_over(manager, played.brokers[name]):
            played.tell(name, Superseded(played.chain))

    def view_written(self, view: View) -> None:
        """Keep a view that is written elsewhere on this broker's disk, and tell the machine."""
        self.keep_view(view)
        self.played.tell(self.name, ViewWritten(view))

    def keep_view(self, view: View) -> None:
        self.append()
        self._write_disk(view=view)

    def keep_mark(self, mark: Mark) -> None:
        self.append()
        self._write_disk(mark=mark)

    def _write_disk(self, **changes: Any) -> None:
        self.played.write(self.name, evolve(self.played.disk[self.name], **changes))

    # -- links -------------------------------------------------------------------------------

    def turn(self, why: str) -> None:
        played, name = self.played, self.name
        played.writing.pop(name, None)
        if not played.plot.power:
            self.append()
        waiting = played.writes.pop(name, ())
        if kept := tuple(one for one in waiting if played.plot.power and one.is_write):
            played.writes[name] = kept
        played.unlink(name)

    def leave(self, broker: str, why: str) -> None:
        self.played.part(self.name, broker)

    def parted(self, broker: str) -> None:
        """Drop the messages that wait to be sent to `broker`, because its link is gone."""
        waiting = self.played.writes.pop(self.name, ())
        if left := tuple(one for one in waiting if one.to != broker):
            self.played.writes[self.name] = left

    def _ignore(self, *_: object) -> None:
        """Do nothing: the broker's new state is enough for the story."""

    answer = serve = _ignore
